/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets each root's format walk it, keeps what was asked for, and sorts it into
 * bundle order. It reads names and small metadata only; whether an entry is
 * whole is found out when it is loaded (load.c).
 */
#include "scan.h"

#include "../base/error.h"
#include "limits.h"
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
	struct kb_plan *plan;
	uint32_t root;
};

void kb_plan_release(struct kb_plan *plan)
{
	free(plan->items);
	free(plan->notes);
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
		plan->unselected++;
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
	struct kb_plan *plan = to->plan;
	struct kbundle_progress progress = {.phase = "scan",
					    .entries_done = plan->n};
	struct kb_scan_note *note;

	if (kb_grow(&plan->notes, &plan->cap_notes, plan->n_notes + 1,
		    sizeof(*plan->notes)) < 0)
		return kb_fail_nomem(err);
	note = &plan->notes[plan->n_notes];
	note->root = to->root;
	note->count = count;
	note->path = kb_arena_strdup(&plan->arena, path);
	note->file = file ? kb_arena_strdup(&plan->arena, file) : NULL;
	note->reason = kb_arena_strdup(&plan->arena, reason);
	if (!note->path || !note->reason || (file && !note->file))
		return kb_fail_nomem(err);
	plan->n_notes++;
	return kb_progress(to->ctx, &progress, false, err);
}

static int compare_planned(const void *left, const void *right)
{
	const struct kb_planned *a = left, *b = right;

	return kb_entry_compare(a->root, a->target, a->name, a->path, b->root,
				b->target, b->name, b->path);
}

int kb_scan(struct kb_ctx *ctx, const struct kb_source_roots *roots,
	    bool host_code, const struct kbundle_selection *selection,
	    struct kb_plan *ret, struct kbundle_error *err)
{
	const struct kb_scan_options options = {.host_code = host_code};
	struct collector to = {
		.sink = {.entry = collect_entry, .note = collect_note},
		.ctx = ctx,
		.roots = roots,
		.selection = selection,
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

int kb_plan_sort_roots(struct kb_plan *plan, struct kb_source_roots *roots,
		       size_t *ret_used, struct kbundle_error *err)
{
	struct kb_source_root sorted[KB_ROOTS_MAX];
	uint32_t moved[KB_ROOTS_MAX] = {0};
	bool used[KB_ROOTS_MAX] = {false};
	uint32_t next = 0;

	if (roots->n > KB_ROOTS_MAX)
		return kb_fail(err, KBUNDLE_E_INTERNAL, "too many roots");
	for (size_t i = 0; i < plan->n; i++)
		used[plan->items[i].root] = true;
	for (int want = 1; want >= 0; want--) {
		for (size_t i = 0; i < roots->n; i++) {
			if (used[i] != want)
				continue;
			sorted[next] = roots->items[i];
			moved[i] = next++;
		}
		if (want)
			*ret_used = next;
	}
	memcpy(roots->items, sorted, roots->n * sizeof(*sorted));
	for (size_t i = 0; i < plan->n; i++)
		plan->items[i].root = moved[plan->items[i].root];
	for (size_t i = 0; i < plan->n_notes; i++)
		plan->notes[i].root = moved[plan->notes[i].root];
	return 0;
}

int kb_plan_report(const struct kb_plan *plan,
		   const struct kb_source_roots *roots,
		   struct kbundle_report *report, struct kbundle_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < roots->n; i++)
		r = kb_report_root(report, roots->items[i].name,
				   roots->items[i].format->name,
				   roots->items[i].path, err);
	for (size_t i = 0; r == 0 && i < plan->n_notes; i++) {
		const struct kb_scan_note *note = &plan->notes[i];

		r = kb_report_note(report, note->count,
				   roots->items[note->root].name, note->path,
				   note->file, note->reason, err);
	}
	report->counts[KBUNDLE_COUNT_UNSELECTED] += plan->unselected;
	return r;
}
