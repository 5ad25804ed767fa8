/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets each root's format walk it, keeps what was asked for, and sorts it into
 * bundle order. It reads names and small metadata only; whether an entry is
 * whole is found out when it is loaded (load.c).
 */
#include "scan.h"

#include "../base/error.h"
#include "manifest.h"
#include "report.h"
#include "select.h"

#include <stdlib.h>
#include <string.h>

struct collector {
	struct kb_scan_sink sink;
	struct kb_ctx *ctx;
	const struct kb_source_roots *roots;
	const struct kbundle_selection *selection;
	struct kbundle_report *report;
	struct kb_plan *plan;
	uint32_t root;
};

void kb_plan_release(struct kb_plan *plan)
{
	free(plan->items);
	kb_arena_release(&plan->arena);
	memset(plan, 0, sizeof(*plan));
}

static int collect_entry(struct kb_scan_sink *sink,
			 const struct kb_scanned *found,
			 struct kbundle_error *err)
{
	struct collector *to = (struct collector *)sink;
	struct kb_plan *plan = to->plan;
	struct kbundle_progress progress = {.phase = "scan"};
	struct kb_planned *item;

	if (!kb_selection_may_take(to->selection, found->target, found->name,
				   found->path)) {
		to->report->counts[KBUNDLE_COUNT_UNSELECTED]++;
		return 0;
	}
	if (kb_grow(&plan->items, &plan->cap, plan->n + 1,
		    sizeof(*plan->items)) < 0)
		return kb_fail_nomem(err);
	item = &plan->items[plan->n];
	item->root = to->root;
	item->is_file = found->is_file;
	item->kind = kb_arena_strdup(&plan->arena, found->kind);
	item->name = kb_arena_strdup(&plan->arena, found->name);
	item->path = kb_arena_strdup(&plan->arena, found->path);
	item->target = found->target
			       ? kb_arena_strdup(&plan->arena, found->target)
			       : NULL;
	if (!item->kind || !item->name || !item->path ||
	    (found->target && !item->target))
		return kb_fail_nomem(err);
	plan->n++;
	progress.entries_done = plan->n;
	return kb_progress(to->ctx, &progress, false, err);
}

static int collect_note(struct kb_scan_sink *sink, int count, const char *path,
			const char *file, const char *reason,
			struct kbundle_error *err)
{
	struct collector *to = (struct collector *)sink;

	return kb_report_note(to->report, count,
			      to->roots->items[to->root].name, path, file,
			      reason, err);
}

static int compare_planned(const void *left, const void *right)
{
	const struct kb_planned *a = left, *b = right;

	return kb_entry_compare(a->root, a->target, a->name, a->path, b->root,
				b->target, b->name, b->path);
}

int kb_scan(struct kb_ctx *ctx, const struct kb_source_roots *roots,
	    bool host_code, const struct kbundle_selection *selection,
	    struct kbundle_report *report, struct kb_plan *ret,
	    struct kbundle_error *err)
{
	const struct kb_scan_options options = {.host_code = host_code};
	struct collector to = {
		.sink = {.entry = collect_entry, .note = collect_note},
		.ctx = ctx,
		.roots = roots,
		.selection = selection,
		.report = report,
		.plan = ret,
	};

	for (size_t i = 0; i < roots->n; i++) {
		const struct kb_source_root *root = &roots->items[i];
		struct kb_shown shown;
		int r;

		to.root = (uint32_t)i;
		if (root->fd < 0)
			continue;
		r = root->format->scan(ctx, root->fd, &options, &to.sink, err);
		if (r < 0) {
			kb_wrap(err, "cache %s", kb_show(&shown, root->path));
			return r;
		}
	}
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(*ret->items), compare_planned);
	return 0;
}

void kb_plan_drop_empty_roots(struct kb_plan *plan,
			      struct kb_source_roots *roots)
{
	for (size_t i = roots->n; i-- > 0;) {
		bool used = false;

		for (size_t j = 0; j < plan->n && !used; j++)
			used = plan->items[j].root == i;
		if (used)
			continue;
		kb_source_roots_remove(roots, i);
		for (size_t j = 0; j < plan->n; j++)
			if (plan->items[j].root > i)
				plan->items[j].root--;
	}
}
