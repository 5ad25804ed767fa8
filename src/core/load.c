/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read (load_read.c) is judged by its format and becomes an entry:
 * paths turned into tokens, hashed, slimmed where asked to. An entry that
 * changed meanwhile is tried again, whole; three times, then it is left out.
 * Invariant: a difference is a retry, never a mixed entry.
 */
#include "load.h"

#include "../base/error.h"
#include "../base/path.h"
#include "../sys/io.h"
#include "limits.h"
#include "load_parts.h"
#include "pathscan.h"
#include "relocate.h"
#include "select.h"
#include "tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES 3
#define RETRY_MS 20

void kb_load_leave_out(struct kb_loaded *to, int count, const char *file,
		       const char *reason)
{
	to->outcome = KB_LOAD_LEFT_OUT;
	to->count = count;
	to->file = file;
	to->reason = reason;
}

/* ---- what was read becomes an entry ---- */

static void unmap_files(struct kb_attempt *in)
{
	for (size_t i = 0; i < in->n_files; i++)
		kb_mapping_close(&in->files[i].mapping);
}

/* Bytes for the format: in memory as they are, spooled ones mapped. */
static int make_views(struct kb_attempt *in, struct kb_view *views,
		      struct kbundle_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->n_files; i++) {
		struct kb_raw_file *file = &in->files[i];

		views[i].name = file->name;
		views[i].size = (uint64_t)file->st.st_size;
		if (!file->spooled)
			views[i].data = in->to->memory.data + file->offset;
		else if (in->format->reads(file->name))
			r = kb_mapping_open(
				&file->mapping, in->to->spool_fd, file->offset,
				(size_t)file->st.st_size, &views[i].data, err);
	}
	return r;
}

static int count_of(enum kb_verdict verdict)
{
	switch (verdict) {
	case KB_ENTRY_LEFTOVER:
		return KBUNDLE_COUNT_LEFTOVER;
	case KB_ENTRY_POLICY:
		return KBUNDLE_COUNT_POLICY;
	default:
		return KBUNDLE_COUNT_DAMAGED;
	}
}

/* Names that a bundle cannot carry: NULL, or why not, and in which file. */
static const char *name_fault(const struct kb_attempt *in, const char *path,
			      const char *name, const char **ret_file)
{
	const char *root =
		in->to->config->roots->items[in->to->planned->root].name;
	const char *why = kb_name_fault(name);
	char member[KB_MEMBER_PATH_MAX + 1];

	*ret_file = NULL;
	for (size_t i = 0; !why && i < in->n_files; i++) {
		const char *file = in->files[i].name;

		*ret_file = file;
		if (*file)
			why = kb_name_fault(file);
		if (!why && kb_member_path(member, root, path, file, NULL) < 0)
			why = "has a path that a bundle cannot hold";
	}
	return why;
}

/* Stored bytes that are not those that were read. */
static int keep_bytes(struct kb_loaded *to, const struct kb_buf *bytes,
		      struct kb_file *file, struct kb_content *content,
		      struct kbundle_error *err)
{
	content->data = kb_arena_strndup(&to->arena, bytes->data, bytes->len);
	file->size = bytes->len;
	return content->data ? 0 : kb_fail_nomem(err);
}

/* Edits of one file become its stored bytes. */
static int collapse_file(struct kb_attempt *in, size_t i,
			 const struct kb_checked *checked,
			 struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	struct kb_file *file = &to->entry.files[i];
	KB_AUTO(kb_buf_release) struct kb_buf stored;
	size_t first = 0, n = 0;
	int r;

	kb_buf_init(&stored, KB_LOAD_MEMORY_MAX);
	while (first < checked->n_edits && checked->edits[first].file < i)
		first++;
	while (first + n < checked->n_edits &&
	       checked->edits[first + n].file == i)
		n++;
	if (!n)
		return 0;
	r = kb_relocate_collapse(to->contents[i].data, (size_t)file->size,
				 checked->edits + first, n,
				 to->config->roots->tokens, &to->arena, &stored,
				 &file->rewrites, err);
	if (r < 0)
		return r;
	file->n_rewrites = n;
	return keep_bytes(to, &stored, file, &to->contents[i], err);
}

static int fill_file(struct kb_attempt *in, size_t i,
		     const struct kb_checked *checked,
		     struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	const struct kb_raw_file *raw = &in->files[i];
	struct kb_file *file = &to->entry.files[i];
	struct kb_content *content = &to->contents[i];
	int r;

	file->name = raw->name;
	file->size = (uint64_t)raw->st.st_size;
	file->extra = "";
	if (raw->spooled) {
		content->spool_offset = raw->offset;
		content->has_paths = raw->has_paths;
		memcpy(file->sha256, raw->sha256, sizeof(file->sha256));
		return 0;
	}
	content->data = to->memory.data + raw->offset;
	r = collapse_file(in, i, checked, err);
	if (r < 0)
		return r;
	content->has_paths = !file->n_rewrites &&
			     kb_has_paths(content->data, (size_t)file->size);
	return kb_hash_bytes(in->hash, content->data, (size_t)file->size,
			     file->sha256, err);
}

static int fill_entry(struct kb_attempt *in, const struct kb_checked *checked,
		      struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	struct kb_entry *entry = &to->entry;

	entry->root = to->planned->root;
	entry->path = to->planned->path;
	entry->format = in->format->name;
	entry->kind = checked->kind;
	entry->name = checked->name;
	entry->target = checked->target;
	entry->facts = checked->facts;
	entry->extra = "";
	entry->n_files = in->n_files;
	entry->files =
		kb_arena_array(&to->arena, in->n_files, sizeof(*entry->files));
	to->contents =
		kb_arena_array(&to->arena, in->n_files, sizeof(*to->contents));
	if (!entry->files || !to->contents)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < in->n_files; i++) {
		int r = fill_file(in, i, checked, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The file that lists the others then lists just those that are kept. */
static int slim_file(struct kb_attempt *in, size_t i, struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	struct kb_entry *entry = &to->entry;
	struct kb_file *file = &entry->files[i];
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	int r;

	kb_buf_init(&bytes, KB_LOAD_MEMORY_MAX);
	r = in->format->slim(entry, to->config->roots->tokens[entry->root],
			     to->contents[i].data, (size_t)file->size,
			     &to->arena, &bytes, &file->rewrites,
			     &file->n_rewrites, err);
	if (r == 0)
		r = keep_bytes(to, &bytes, file, &to->contents[i], err);
	return r < 0 ? r
		     : kb_hash_bytes(in->hash, bytes.data, bytes.len,
				     file->sha256, err);
}

/* Keeps what a hit needs (docs/format.md knows no slim entries: they are
 * entries with fewer files). */
static int slim_entry(struct kb_attempt *in, struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	struct kb_entry *entry = &to->entry;
	const char *again;
	size_t kept = 0;

	if (!in->format->slim || entry->facts.whole)
		return 0;
	again = in->format->slim_file(entry);
	for (size_t i = 0; i < entry->n_files; i++) {
		struct kb_file *file = &entry->files[i];

		if (!in->format->slim_keeps(entry, file->name))
			continue;
		if (again && !strcmp(file->name, again)) {
			int r = slim_file(in, i, err);

			if (r < 0)
				return r;
		}
		entry->files[kept] = *file;
		to->contents[kept++] = to->contents[i];
	}
	entry->n_files = kept;
	return 0;
}

static bool matches_plan(const struct kb_planned *planned,
			 const struct kb_checked *checked)
{
	return !strcmp(planned->kind, checked->kind) &&
	       !strcmp(planned->name, checked->name) &&
	       !kb_target_base_compare(planned->target, checked->target);
}

/* The entry's line, held to what a reader will ask of it: what no bundle can
 * say of an entry must not cost the others their bundle. */
static int describe(struct kb_attempt *in, struct kbundle_error *err)
{
	KB_AUTO(kb_arena_release) struct kb_arena arena = KB_ARENA_INIT;
	struct kb_loaded *to = in->to;
	struct kbundle_error why = {0};
	struct kb_entry again;
	const char *reason;
	int r = kb_entry_format(&to->entry, &to->line, &why);

	if (r == 0)
		r = kb_entry_parse(to->line.data, to->line.len - 1,
				   to->config->header, &arena, &again, &why);
	if (r == KBUNDLE_E_NOMEM)
		return kb_fail_nomem(err);
	if (r == 0)
		return 0;
	reason = kb_arena_strdup(&to->arena, why.message);
	if (!reason)
		return kb_fail_nomem(err);
	kb_load_leave_out(to, KBUNDLE_COUNT_DAMAGED, NULL, reason);
	return 0;
}

static int judge(struct kb_attempt *in, struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	const struct kb_planned *planned = to->planned;
	struct kb_view *views = kb_arena_array(
		&to->arena, in->n_files ? in->n_files : 1, sizeof(*views));
	struct kb_checked checked = {0};
	struct kb_check check = {
		.path = planned->path,
		.root = planned->root,
		.files = views,
		.n_files = in->n_files,
		.host_code = to->config->host_code,
		.arena = &to->arena,
	};
	const char *fault, *file;
	int r = views ? make_views(in, views, err) : kb_fail_nomem(err);

	if (r == 0)
		r = in->format->check(&check, &checked, err);
	if (r < 0)
		return r;
	if (checked.verdict != KB_ENTRY_OK) {
		kb_load_leave_out(to, count_of(checked.verdict), checked.file,
				  checked.reason);
		return 0;
	}
	/* Its place in the bundle was fixed by what scan saw. */
	if (!matches_plan(planned, &checked)) {
		in->changed = true;
		return 0;
	}
	fault = name_fault(in, planned->path, checked.name, &file);
	if (fault) {
		kb_load_leave_out(to, KBUNDLE_COUNT_DAMAGED, file, fault);
		return 0;
	}
	if (!kb_selection_takes(to->config->selection, checked.target,
				checked.name, planned->path)) {
		kb_load_leave_out(to, KBUNDLE_COUNT_UNSELECTED, NULL, NULL);
		return 0;
	}
	r = fill_entry(in, &checked, err);
	if (r == 0 && to->config->selection->slim)
		r = slim_entry(in, err);
	return r < 0 || !to->config->header ? r : describe(in, err);
}

/* ---- tries ---- */

static void start_over(struct kb_loaded *to)
{
	kb_buf_clear(&to->memory);
	kb_buf_clear(&to->line);
	kb_arena_clear(&to->arena);
	kb_close(kb_take_fd(&to->spool_fd));
	memset(&to->entry, 0, sizeof(to->entry));
	to->contents = NULL;
	to->outcome = KB_LOADED;
	to->file = to->reason = NULL;
}

static int try_once(struct kb_loaded *to, struct kb_hash *hash,
		    bool *ret_changed, struct kbundle_error *err)
{
	struct kb_attempt in = {
		.to = to,
		.ctx = to->config->ctx,
		.format = to->config->roots->items[to->planned->root].format,
		.hash = hash,
	};
	int r = kb_load_read(&in, err);

	if (r == 0 && to->outcome == KB_LOADED && !in.changed)
		r = judge(&in, err);
	unmap_files(&in);
	*ret_changed = in.changed;
	return r;
}

int kb_load_run(struct kb_job *job, unsigned worker, struct kbundle_error *err)
{
	struct kb_loaded *to = (struct kb_loaded *)job;
	const struct timespec pause = {0, RETRY_MS * 1000000L};
	KB_AUTO(kb_hash_free) struct kb_hash *hash = NULL;
	struct kb_shown shown;
	bool changed = false;
	int r = kb_hash_new(&hash, err);

	(void)worker;
	for (int i = 0; r == 0 && i < TRIES; i++) {
		if (atomic_load(&to->config->ctx->cancelled))
			return kb_fail(err, KBUNDLE_E_CANCELLED, "cancelled");
		if (i)
			(void)nanosleep(&pause, NULL);
		start_over(to);
		r = try_once(to, hash, &changed, err);
		if (r == 0 && !changed)
			return 0;
	}
	if (r < 0) {
		kb_wrap(err, "entry %s", kb_show(&shown, to->planned->path));
		return r;
	}
	kb_load_leave_out(to, KBUNDLE_COUNT_CHANGED, NULL,
			  "changed while it was read, three times; pack again "
			  "when its writer is done");
	return 0;
}

int kb_loaded_new(const struct kb_load_config *config,
		  const struct kb_planned *planned, struct kb_loaded **ret,
		  struct kbundle_error *err)
{
	struct kb_loaded *to = calloc(1, sizeof(*to));

	if (!to)
		return kb_fail_nomem(err);
	to->job.run = kb_load_run;
	to->config = config;
	to->planned = planned;
	to->spool_fd = -1;
	kb_buf_init(&to->memory, KB_LOAD_MEMORY_MAX);
	kb_buf_init(&to->line, KB_LINE_MAX);
	*ret = to;
	return 0;
}

void kb_loaded_free(struct kb_loaded *to)
{
	if (!to)
		return;
	kb_close(to->spool_fd);
	kb_buf_release(&to->memory);
	kb_buf_release(&to->line);
	kb_arena_release(&to->arena);
	free(to);
}

void kb_loaded_drop(struct kb_job *job)
{
	kb_loaded_free((struct kb_loaded *)job);
}
