/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small state machine over header, content and padding of each file. Content
 * goes to the hash, to the expander and from there to the staged file, and into
 * a capture where the format (or `cat`) needs it as a whole.
 *
 * Invariant: nothing that comes in is believed; what is staged has passed every
 * comparison, but is not published by anything here.
 */
#include "sink.h"

#include "../base/error.h"
#include "../sys/io.h"
#include "capture.h"
#include "limits.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { HEADER, CONTENT, PADDING, DONE };

static const struct kb_file *current(const struct kb_sink *sink)
{
	return &sink->entry->files[sink->file];
}

/* Is this file written as it comes? The one that slimming writes anew is not.
 */
static bool is_written(const struct kb_sink *sink, const struct kb_file *file)
{
	const char *again = sink->slim_file;

	if (!sink->stage)
		return false;
	return !sink->slimmed ||
	       (sink->format->slim_keeps(sink->entry, file->name) &&
		!(again && !strcmp(again, file->name)));
}

static bool is_captured(const struct kb_sink *sink, const struct kb_file *file)
{
	const char *cat = sink->config->cat_file;

	if (!sink->is_wanted)
		return false;
	if (cat)
		return !strcmp(cat, file->name);
	return sink->format && sink->format->reads(file->name);
}

static int put_out(struct kb_expand_sink *out, const void *data, size_t len,
		   struct kbundle_error *err)
{
	struct kb_sink *sink =
		(struct kb_sink *)((char *)out - offsetof(struct kb_sink, out));

	return kb_write(sink->config->ctx, sink->fd, data, len, sink->member,
			err);
}

static int open_file(struct kb_sink *sink, const char *name,
		     struct kbundle_error *err)
{
	if (sink->dir_fd < 0 && !kb_entry_is_file(sink->entry)) {
		int r = kb_stage_dir(sink->stage, sink->number, &sink->dir_fd,
				     err);

		if (r < 0)
			return r;
	}
	return kb_stage_file(sink->stage, sink->number, sink->dir_fd,
			     *name ? name : NULL, &sink->fd, err);
}

/* A written file is complete: its times and flush, then it is closed. */
static int close_file(struct kb_sink *sink, const struct kb_file *file,
		      struct kbundle_error *err)
{
	struct kb_ctx *ctx = sink->config->ctx;
	KB_AUTO_FD int fd = kb_take_fd(&sink->fd);
	int r = 0;

	if (file->has_mtime) {
		const struct timespec times[2] = {
			{0, UTIME_OMIT}, {file->mtime_s, (long)file->mtime_ns}};

		if (ctx->fs->futimens(fd, times) < 0)
			return kb_fail_errno(err, errno,
					     "cannot set the time of %s",
					     sink->member);
	}
	if (sink->config->sync_files)
		r = kb_sync(ctx, fd, sink->member, err);
	return r < 0 ? r : kb_close_written(ctx, &fd, sink->member, err);
}

static int begin_file(struct kb_sink *sink, struct kbundle_error *err)
{
	const struct kb_file *file;
	int r;

	sink->phase = HEADER;
	sink->pos = 0;
	if (sink->file == sink->entry->n_files) {
		sink->phase = DONE;
		return 0;
	}
	file = current(sink);
	r = kb_member_path(sink->member,
			   sink->config->header->roots[sink->entry->root].name,
			   sink->entry->path, file->name, err);
	if (r < 0)
		return r;
	kb_tar_header(&sink->tar, sink->member, file->size, file->has_mtime,
		      file->mtime_s, file->mtime_ns);
	kb_expander_init(&sink->expander,
			 sink->stage ? sink->config->expansion : NULL,
			 sink->config->tokens, file);
	r = kb_hash_start(sink->hash, err);
	if (r == 0 && is_captured(sink, file))
		r = kb_captures_begin(&sink->captures, sink->file, file->size,
				      err);
	if (r == 0 && is_written(sink, file))
		r = open_file(sink, file->name, err);
	return r;
}

static int end_file(struct kb_sink *sink, struct kbundle_error *err)
{
	const struct kb_file *file = current(sink);
	uint8_t sha256[KB_SHA256_BYTES];
	int r = kb_hash_finish(sink->hash, sha256, err);

	if (r == 0 && memcmp(sha256, file->sha256, sizeof(sha256)) != 0)
		r = kb_fail(err, KBUNDLE_E_DIGEST,
			    "its bytes do not have the hash of the manifest");
	if (r < 0)
		return r;
	if (sink->fd >= 0) {
		r = close_file(sink, file, err);
		sink->files++;
		sink->bytes += file->size;
	} else if (!sink->stage) {
		sink->files++;
		sink->bytes += file->size;
	}
	return r;
}

static int feed_header(struct kb_sink *sink, const unsigned char *data,
		       size_t len, struct kbundle_error *err)
{
	const unsigned char *want = sink->tar.bytes + sink->pos;

	if (memcmp(want, data, len) != 0) {
		size_t i = 0;

		while (want[i] == data[i])
			i++;
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "byte %zu of its tar header is not what the "
			       "manifest implies",
			       (size_t)sink->pos + i);
	}
	return 0;
}

static int feed_content(struct kb_sink *sink, const unsigned char *data,
			size_t len, struct kbundle_error *err)
{
	int r = kb_hash_update(sink->hash, data, len, err);

	if (r == 0 && is_captured(sink, current(sink)))
		r = kb_captures_append(&sink->captures, sink->file, data, len,
				       err);
	return r < 0 ? r
		     : kb_expander_feed(&sink->expander, data, len,
					sink->fd >= 0 ? &sink->out : NULL, err);
}

static int feed_padding(const unsigned char *data, size_t len,
			struct kbundle_error *err)
{
	for (size_t i = 0; i < len; i++)
		if (data[i])
			return kb_fail(err, KBUNDLE_E_FORMAT,
				       "its padding is not zero");
	return 0;
}

static uint64_t phase_bytes(const struct kb_sink *sink)
{
	switch (sink->phase) {
	case HEADER:
		return sink->tar.len;
	case CONTENT:
		return current(sink)->size;
	case PADDING:
		return kb_tar_padding(current(sink)->size);
	default:
		return 0;
	}
}

/* Steps over phases that are complete, empty ones included. */
static int step(struct kb_sink *sink, struct kbundle_error *err)
{
	int r = 0;

	while (r == 0 && sink->phase != DONE &&
	       sink->pos == phase_bytes(sink)) {
		sink->pos = 0;
		if (sink->phase == CONTENT)
			r = end_file(sink, err);
		if (sink->phase == PADDING) {
			sink->file++;
			r = begin_file(sink, err);
		} else {
			sink->phase++;
		}
	}
	return r;
}

static int feed_phase(struct kb_sink *sink, const unsigned char *data,
		      size_t len, struct kbundle_error *err)
{
	switch (sink->phase) {
	case HEADER:
		return feed_header(sink, data, len, err);
	case CONTENT:
		return feed_content(sink, data, len, err);
	case PADDING:
		return feed_padding(data, len, err);
	default:
		return kb_fail(err, KBUNDLE_E_INTERNAL,
			       "bytes after the entry's end");
	}
}

int kb_sink_feed(struct kb_sink *sink, const void *data, size_t len,
		 struct kbundle_error *err)
{
	const unsigned char *from = data;
	struct kb_shown shown;
	int r = 0;

	while (r == 0 && len) {
		uint64_t left = phase_bytes(sink) - sink->pos;
		size_t n = len < left ? len : (size_t)left;

		if (sink->phase == DONE)
			n = len; /* which feed_phase() refuses */
		r = feed_phase(sink, from, n, err);
		sink->pos += n;
		from += n;
		len -= n;
		if (r == 0)
			r = step(sink, err);
	}
	if (r < 0)
		kb_wrap(err, "member %s", kb_show(&shown, sink->member));
	return r;
}

int kb_sink_begin(struct kb_sink *sink, const struct kb_sink_config *config,
		  const struct kb_entry *entry, bool wanted,
		  struct kb_stage *stage, uint64_t number, struct kb_hash *hash,
		  struct kb_arena *arena, struct kbundle_error *err)
{
	int r;

	memset(sink, 0, sizeof(*sink));
	sink->config = config;
	sink->entry = entry;
	sink->format = kb_format_find(entry->format);
	sink->stage = stage;
	sink->is_wanted = wanted;
	sink->number = number;
	sink->hash = hash;
	sink->arena = arena;
	sink->dir_fd = sink->fd = -1;
	sink->out.put = put_out;
	sink->slimmed = stage && config->slim && sink->format &&
			sink->format->slim && !entry->facts.whole;
	if (sink->slimmed)
		sink->slim_file = sink->format->slim_file(entry);
	r = kb_captures_init(&sink->captures, config->ctx, entry->n_files,
			     arena, err);
	return r < 0 ? r : begin_file(sink, err);
}

/* ---- the whole entry ---- */

static int damaged(struct kb_sink *sink, const char *file, const char *reason)
{
	sink->is_damaged = true;
	sink->damaged_file = file;
	sink->reason = reason;
	return 0;
}

/* The paths that the format finds must be exactly those that the manifest
 * rewrites: one that is not rewritten would lead a framework elsewhere. */
static bool edits_equal_rewrites(const struct kb_entry *entry,
				 const struct kb_checked *checked)
{
	size_t edit = 0;

	for (size_t i = 0; i < entry->n_files; i++) {
		const struct kb_file *file = &entry->files[i];

		for (size_t j = 0; j < file->n_rewrites; j++, edit++) {
			const struct kb_rewrite *want = &file->rewrites[j];
			const struct kb_edit *found = &checked->edits[edit];

			if (edit == checked->n_edits || found->file != i ||
			    found->offset != want->offset ||
			    found->length != want->length ||
			    found->root != want->root ||
			    strcmp(found->codec, want->codec) != 0)
				return false;
		}
	}
	return edit == checked->n_edits;
}

static int judge(struct kb_sink *sink, const struct kb_checked *checked)
{
	const struct kb_entry *entry = sink->entry;
	const char *target = entry->target ? entry->target : "";

	if (checked->verdict != KB_ENTRY_OK)
		return damaged(sink, checked->file, checked->reason);
	if (strcmp(checked->kind, entry->kind) != 0 ||
	    strcmp(checked->name, entry->name) != 0)
		return damaged(sink, NULL,
			       "its kind or name is not that of the manifest");
	/* Only binaries tell the suffix. */
	if (sink->config->skip_binaries
		    ? kb_target_base_compare(checked->target, target)
		    : strcmp(checked->target ? checked->target : "", target))
		return damaged(sink, NULL,
			       "its target is not that of the manifest");
	if (!edits_equal_rewrites(entry, checked))
		return damaged(sink, NULL,
			       "its paths are not those that the manifest "
			       "rewrites");
	return 0;
}

static int check_entry(struct kb_sink *sink, struct kbundle_error *err)
{
	const struct kb_entry *entry = sink->entry;
	struct kb_view *views =
		kb_arena_array(sink->arena, entry->n_files, sizeof(*views));
	struct kb_checked checked = {0};
	const struct kb_check check = {
		.path = entry->path,
		.root = entry->root,
		.files = views,
		.n_files = entry->n_files,
		.host_code = true,
		.skip_binaries = sink->config->skip_binaries,
		.arena = sink->arena,
	};
	int r;

	if (!views)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < entry->n_files; i++) {
		views[i].name = entry->files[i].name;
		views[i].size = entry->files[i].size;
		r = kb_captures_get(&sink->captures, i, &views[i].data, err);
		if (r < 0)
			return r;
	}
	r = sink->format->check(&check, &checked, err);
	return r < 0 ? r : judge(sink, &checked);
}

static size_t find_file(const struct kb_entry *entry, const char *name)
{
	size_t i = 0;

	while (i < entry->n_files && strcmp(entry->files[i].name, name) != 0)
		i++;
	return i;
}

/* Writes the file that slimming changes: new bytes, then expanded. */
static int write_slim(struct kb_sink *sink, struct kbundle_error *err)
{
	const char *name = sink->slim_file;
	const char *token = sink->config->tokens[sink->entry->root];
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	struct kb_file file = {.name = name};
	size_t i = name ? find_file(sink->entry, name) : 0;
	const void *stored;
	int r;

	kb_buf_init(&bytes, 4 * KB_MEMORY_FILE_MAX);
	if (!name || i == sink->entry->n_files)
		return 0;
	r = kb_captures_get(&sink->captures, i, &stored, err);
	if (r == 0)
		r = sink->format->slim(sink->entry, token, stored,
				       (size_t)sink->entry->files[i].size,
				       sink->arena, &bytes, &file.rewrites,
				       &file.n_rewrites, err);
	if (r == 0)
		r = open_file(sink, name, err);
	if (r < 0)
		return r;
	file.size = bytes.len;
	kb_expander_init(&sink->expander, sink->config->expansion,
			 sink->config->tokens, &file);
	r = kb_expander_feed(&sink->expander, bytes.data, bytes.len, &sink->out,
			     err);
	if (r == 0)
		r = close_file(sink, &file, err);
	sink->files++;
	sink->bytes += file.size;
	return r;
}

static int cat_file(struct kb_sink *sink, struct kbundle_error *err)
{
	size_t i = find_file(sink->entry, sink->config->cat_file);
	const struct kb_file *file;
	const void *data;
	int r;

	if (i == sink->entry->n_files)
		return kb_fail(err, KBUNDLE_E_NOTFOUND, "no such file");
	file = &sink->entry->files[i];
	r = kb_captures_get(&sink->captures, i, &data, err);
	if (r < 0)
		return r;
	sink->fd = sink->config->cat_fd;
	kb_expander_init(&sink->expander, sink->config->expansion,
			 sink->config->tokens, file);
	r = kb_expander_feed(&sink->expander, data, (size_t)file->size,
			     &sink->out, err);
	sink->fd = -1; /* the caller's */
	return r;
}

static int finish(struct kb_sink *sink, struct kbundle_error *err)
{
	int r = 0;

	if (!sink->is_wanted)
		return 0;
	if (sink->config->cat_file)
		return cat_file(sink, err);
	if (sink->format)
		r = check_entry(sink, err);
	if (r < 0 || sink->is_damaged || !sink->stage)
		return r;
	if (sink->slimmed)
		r = write_slim(sink, err);
	if (r == 0 && sink->config->sync_files && sink->dir_fd >= 0)
		r = kb_stage_sync_dir(sink->stage, sink->dir_fd, err);
	return r;
}

int kb_sink_end(struct kb_sink *sink, struct kbundle_error *err)
{
	struct kb_shown shown;
	int r;

	if (sink->phase != DONE)
		return kb_fail(err, KBUNDLE_E_INTERNAL,
			       "entry %s: not all of it was read",
			       kb_show(&shown, sink->entry->path));
	r = finish(sink, err);
	if (r < 0)
		kb_wrap(err, "entry %s", kb_show(&shown, sink->entry->path));
	return r;
}

void kb_sink_release(struct kb_sink *sink)
{
	kb_captures_release(&sink->captures);
	kb_close(kb_take_fd(&sink->dir_fd));
	kb_close(kb_take_fd(&sink->fd));
}
