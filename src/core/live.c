/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads live entries on the pool and holds each against what the manifest says.
 * Only facts on disk are compared: whether the directory was filled by kbundle
 * or by the framework itself makes no difference.
 */
#include "live.h"

#include "../base/error.h"
#include "../dep/hash.h"
#include "../sys/io.h"
#include "scan.h"
#include "tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* What the manifest says of an entry that is being loaded. */
struct kb_expected {
	struct kb_expected *next;
	struct kb_planned planned;
	struct kb_entry entry; /* root, path and files */
	struct kb_arena arena;
};

static void expected_free(struct kb_expected *expected)
{
	if (!expected)
		return;
	kb_arena_release(&expected->arena);
	free(expected);
}
KB_DEFINE_AUTO(struct kb_expected *, expected_free);

void kb_live_release(struct kb_live *live)
{
	kb_lane_free(live->lane, kb_loaded_drop);
	while (live->first) {
		struct kb_expected *next = live->first->next;

		expected_free(live->first);
		live->first = next;
	}
	kb_source_roots_release(&live->roots);
	kb_keyset_release(&live->members);
	memset(live, 0, sizeof(*live));
}

/* ---- roots ---- */

static int open_root(struct kb_live *live, const struct kb_header *header,
		     size_t i, const char *path, struct kbundle_error *err)
{
	struct kb_source_root *root = &live->roots.items[i];
	struct kb_shown shown;
	int r = kb_absolute(path, &root->path, err);

	if (r < 0)
		return r;
	if (!root->format)
		return kb_fail(err, KBUNDLE_E_UNSUPPORTED,
			       "root %s is of format %s, which this kbundle "
			       "does not know: its live cache cannot be "
			       "compared",
			       root->name, header->roots[i].format);
	root->fd = kb_openat(live->ctx, AT_FDCWD, root->path,
			     O_RDONLY | O_DIRECTORY, 0);
	if (root->fd < 0)
		return kb_fail_errno(err, errno, "cannot open cache %s",
				     kb_show(&shown, root->path));
	return kb_report_root(live->report, root->name, root->format->name,
			      root->path, err);
}

static int copy_roots(struct kb_live *live, const struct kb_header *header,
		      struct kbundle_error *err)
{
	struct kb_source_roots *roots = &live->roots;

	roots->ctx = live->ctx;
	roots->items = calloc(header->n_roots, sizeof(*roots->items));
	roots->tokens = calloc(header->n_roots, sizeof(*roots->tokens));
	if (!roots->items || !roots->tokens)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < header->n_roots; i++) {
		struct kb_source_root *root = &roots->items[i];

		root->fd = -1;
		roots->n = i + 1;
		root->format = kb_format_find(header->roots[i].format);
		root->name = strdup(header->roots[i].name);
		root->token = strdup(header->roots[i].token);
		roots->tokens[i] = root->token;
		if (!root->name || !root->token)
			return kb_fail_nomem(err);
	}
	return 0;
}

int kb_live_init(struct kb_live *live, struct kb_ctx *ctx,
		 const struct kb_header *header,
		 const struct kbundle_root *roots, size_t n_roots,
		 struct kb_pool *pool, struct kbundle_report *report,
		 struct kbundle_error *err)
{
	uint64_t secret[2];
	int r;

	memset(live, 0, sizeof(*live));
	live->ctx = ctx;
	live->report = report;
	live->last = &live->first;
	live->config = (struct kb_load_config){
		.ctx = ctx,
		.roots = &live->roots,
		.selection = &live->selection,
		.spool_dir = kb_tmp_dir(),
		.host_code = true,
	};
	r = kb_random(secret, sizeof(secret), err);
	if (r < 0)
		return r;
	kb_keyset_init(&live->members, secret);
	r = copy_roots(live, header, err);
	for (size_t i = 0; r == 0 && i < n_roots; i++) {
		size_t at;

		r = kb_header_find_root(header, &roots[i], n_roots, &at, err);
		if (r == 0 && live->roots.items[at].fd >= 0)
			r = kb_fail(err, KBUNDLE_E_INVALID,
				    "root %s is given twice",
				    live->roots.items[at].name);
		if (r == 0)
			r = open_root(live, header, at, roots[i].path, err);
	}
	return r < 0 ? r
		     : kb_lane_new(pool, 2 * (size_t)kb_pool_workers(pool),
				   &live->lane, err);
}

/* ---- comparing ---- */

static int note(struct kb_live *live, const struct kb_expected *expected,
		int count, const char *file, const char *reason,
		struct kbundle_error *err)
{
	return kb_report_note(live->report, count,
			      live->roots.items[expected->entry.root].name,
			      expected->entry.path, file, reason, err);
}

/* The first file by which two sorted lists differ; NULL: none. */
static const char *difference(const struct kb_entry *want,
			      const struct kb_entry *have,
			      const char **ret_reason)
{
	for (size_t i = 0; i < want->n_files || i < have->n_files; i++) {
		const struct kb_file *a =
			i < want->n_files ? &want->files[i] : NULL;
		const struct kb_file *b =
			i < have->n_files ? &have->files[i] : NULL;
		int c = !a ? 1 : !b ? -1 : strcmp(a->name, b->name);

		*ret_reason = c < 0 ? "is missing" : "is not in the bundle";
		if (c)
			return c < 0 ? a->name : b->name;
		*ret_reason = "differs from the bundle";
		if (a->size != b->size ||
		    memcmp(a->sha256, b->sha256, sizeof(a->sha256)) != 0)
			return a->name;
	}
	return NULL;
}

static int take_result(struct kb_live *live, struct kbundle_error *err)
{
	KB_AUTO(kb_loaded_free)
	struct kb_loaded *loaded = (struct kb_loaded *)kb_lane_take(live->lane);
	KB_AUTO(expected_free) struct kb_expected *expected = live->first;
	const char *file, *reason;
	int r;

	live->first = expected->next;
	if (!live->first)
		live->last = &live->first;
	r = kb_job_result(&loaded->job, err);
	if (r < 0)
		return r;
	if (loaded->outcome == KB_LOAD_ABSENT)
		return note(live, expected, KBUNDLE_COUNT_MISSING, NULL,
			    "is in the bundle and not in the cache", err);
	if (loaded->outcome == KB_LOAD_LEFT_OUT)
		return note(live, expected, KBUNDLE_COUNT_DRIFTED, loaded->file,
			    loaded->reason, err);
	file = difference(&expected->entry, &loaded->entry, &reason);
	return file ? note(live, expected, KBUNDLE_COUNT_DRIFTED, file, reason,
			   err)
		    : 0;
}

static int expect(const struct kb_entry *entry, struct kb_expected **ret,
		  struct kbundle_error *err)
{
	KB_AUTO(expected_free)
	struct kb_expected *expected = calloc(1, sizeof(*expected));
	struct kb_arena *arena;
	struct kb_entry *copy;

	if (!expected)
		return kb_fail_nomem(err);
	arena = &expected->arena;
	copy = &expected->entry;
	*copy = *entry;
	copy->path = kb_arena_strdup(arena, entry->path);
	copy->files =
		kb_arena_array(arena, entry->n_files, sizeof(*copy->files));
	expected->planned.root = entry->root;
	expected->planned.is_file = kb_entry_is_file(entry);
	expected->planned.path = copy->path;
	expected->planned.kind = kb_arena_strdup(arena, entry->kind);
	expected->planned.name = kb_arena_strdup(arena, entry->name);
	expected->planned.target =
		entry->target ? kb_arena_strdup(arena, entry->target) : NULL;
	if (!copy->path || !copy->files || !expected->planned.kind ||
	    !expected->planned.name ||
	    (entry->target && !expected->planned.target))
		return kb_fail_nomem(err);
	for (size_t i = 0; i < entry->n_files; i++) {
		copy->files[i] = entry->files[i];
		copy->files[i].name =
			kb_arena_strdup(arena, entry->files[i].name);
		if (!copy->files[i].name)
			return kb_fail_nomem(err);
	}
	*ret = kb_take(expected);
	return 0;
}

int kb_live_compare(struct kb_live *live, const struct kb_entry *entry,
		    struct kbundle_error *err)
{
	KB_AUTO(kb_loaded_free) struct kb_loaded *loaded = NULL;
	KB_AUTO(expected_free) struct kb_expected *expected = NULL;
	char path[KB_MEMBER_PATH_MAX + 1];
	int r = 0;

	if (live->roots.items[entry->root].fd < 0)
		return 0;
	r = kb_member_path(path, live->roots.items[entry->root].name,
			   entry->path, "", err);
	if (r < 0)
		return r;
	if (kb_keyset_add(&live->members, path, strlen(path)) < 0)
		return kb_fail_nomem(err);
	if (kb_lane_is_full(live->lane))
		r = take_result(live, err);
	if (r == 0)
		r = expect(entry, &expected, err);
	if (r == 0)
		r = kb_loaded_new(&live->config, &expected->planned, &loaded,
				  err);
	if (r < 0)
		return r;
	*live->last = expected;
	live->last = &kb_take(expected)->next;
	kb_lane_submit(live->lane, &kb_take(loaded)->job);
	return 0;
}

/* Entries of the live caches that the bundle lacks. */
static int count_extra(struct kb_live *live, struct kbundle_error *err)
{
	KB_AUTO(kb_plan_release) struct kb_plan plan = {0};
	int r = kb_scan(live->ctx, &live->roots, true, &live->selection, &plan,
			err);

	for (size_t i = 0; r == 0 && i < plan.n; i++) {
		char path[KB_MEMBER_PATH_MAX + 1];
		const struct kb_planned *planned = &plan.items[i];
		const char *root = live->roots.items[planned->root].name;

		if (kb_member_path(path, root, planned->path, "", NULL) < 0 ||
		    !kb_keyset_has(&live->members, path, strlen(path)))
			live->report->counts[KBUNDLE_COUNT_EXTRA]++;
	}
	return r;
}

int kb_live_finish(struct kb_live *live, struct kbundle_error *err)
{
	int r = 0;

	while (r == 0 && !kb_lane_is_empty(live->lane))
		r = take_result(live, err);
	return r < 0 ? r : count_extra(live, err);
}
