/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle that stays open: its manifest was surveyed, and is walked again for
 * each listing; payload is read for `cat` alone, and only the frames that hold
 * the entry.
 */
#include "reader.h"

#include "../base/error.h"
#include "../base/parse.h"
#include "collect.h"
#include "consume.h"
#include "describe.h"
#include "limits.h"
#include "report.h"
#include "roots.h"
#include "select.h"
#include "source.h"
#include "survey.h"
#include "walk_manifest.h"

#include <stdlib.h>
#include <string.h>

struct kbundle_reader {
	struct kb_ctx ctx;
	struct kb_source source;
	struct kb_survey survey;
	char id[80];
	bool spent; /* a stream whose payload was read */
	struct kbundle_selection selection;
	struct kbundle_bundle_root *roots;
	struct kb_arena kept; /* what lives as long as the reader */
	/* the listing */
	struct kb_manifest_walk walk;
	bool walking;
	uint64_t next;
	struct kb_entry entry;
	struct kbundle_entry seen; /* n_files 0: none was stepped to */
	struct kbundle_file *files;
	struct kb_buf facts;
	struct kb_arena arena; /* of entry and files */
};

void kb_reader_close(struct kbundle_reader *reader)
{
	if (!reader)
		return;
	kb_manifest_walk_release(&reader->walk);
	kb_survey_release(&reader->survey);
	kb_source_release(&reader->source);
	kb_arena_release(&reader->kept);
	kb_arena_release(&reader->arena);
	kb_buf_release(&reader->facts);
	kb_ctx_release(&reader->ctx);
	free(reader);
}

/* The caller's list may be gone when the reader steps. */
static int keep_list(struct kb_arena *kept, const char *const **list, size_t n,
		     struct kbundle_error *err)
{
	const char **copy;

	if (!n)
		return 0;
	copy = kb_arena_array(kept, n, sizeof(*copy));
	if (!copy)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		copy[i] = kb_arena_strdup(kept, (*list)[i]);
		if (!copy[i])
			return kb_fail_nomem(err);
	}
	*list = copy;
	return 0;
}

static int keep_selection(struct kbundle_reader *reader,
			  const struct kbundle_selection *user,
			  struct kbundle_error *err)
{
	struct kbundle_selection *own = &reader->selection;
	int r = kb_selection_init(own, user, err);

	if (r == 0)
		r = keep_list(&reader->kept, &own->archs, own->n_archs, err);
	if (r == 0)
		r = keep_list(&reader->kept, &own->names, own->n_names, err);
	if (r == 0)
		r = keep_list(&reader->kept, &own->keys, own->n_keys, err);
	return r;
}

static int keep_roots(struct kbundle_reader *reader, struct kbundle_error *err)
{
	const struct kb_header *header = &reader->survey.header;

	reader->roots = kb_arena_array(&reader->kept, header->n_roots,
				       sizeof(*reader->roots));
	if (!reader->roots)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < header->n_roots; i++) {
		reader->roots[i].name = header->roots[i].name;
		reader->roots[i].format = header->roots[i].format;
		reader->roots[i].token = header->roots[i].token;
	}
	return 0;
}

int kb_reader_open(const struct kbundle_env *env,
		   const struct kbundle_reader_options *options,
		   struct kbundle_reader **ret, struct kbundle_error *err)
{
	KB_AUTO_FREE struct kbundle_reader *fresh = calloc(1, sizeof(*fresh));
	KB_AUTO(kb_reader_close) struct kbundle_reader *reader = NULL;
	const char *input = NULL;
	struct kb_shown shown;
	int r;

	if (!fresh)
		return kb_fail_nomem(err);
	r = kb_ctx_init(&fresh->ctx, env, NULL, err);
	if (r < 0)
		return r;
	reader = kb_take(fresh);
	kb_buf_init(&reader->facts, KB_LINE_MAX);
	r = keep_selection(reader, options->selection, err);
	if (r < 0)
		return r;
	if (options->input) {
		input = kb_arena_strdup(&reader->kept, options->input);
		if (!input)
			return kb_fail_nomem(err);
	}
	r = kb_source_open(&reader->source, &reader->ctx, input,
			   options->input_fd, err);
	if (r == 0)
		r = kb_survey(&reader->survey, &reader->source, options->limits,
			      options->expect, NULL, err);
	if (r < 0) {
		kb_wrap(err, "bundle %s", kb_show(&shown, reader->source.name));
		return r;
	}
	r = keep_roots(reader, err);
	if (r < 0)
		return r;
	memcpy(reader->id, "sha256:", 7);
	kb_format_hex(reader->id + 7, reader->survey.id, 32);
	*ret = kb_take(reader);
	return 0;
}

const char *kb_reader_id(const struct kbundle_reader *reader)
{
	return reader->id;
}

uint64_t kb_reader_n_entries(const struct kbundle_reader *reader)
{
	return reader->survey.header.entries;
}

size_t kb_reader_n_roots(const struct kbundle_reader *reader)
{
	return reader->survey.header.n_roots;
}

const struct kbundle_bundle_root *
kb_reader_root(const struct kbundle_reader *reader, size_t i)
{
	return i < reader->survey.header.n_roots ? &reader->roots[i] : NULL;
}

/* ---- listing ---- */

static void stop_walking(struct kbundle_reader *reader)
{
	kb_manifest_walk_release(&reader->walk);
	reader->walking = false;
	reader->next = 0;
	memset(&reader->entry, 0, sizeof(reader->entry));
	memset(&reader->seen, 0, sizeof(reader->seen));
}

static int step_line(struct kbundle_reader *reader, struct kbundle_error *err)
{
	const char *line;
	size_t len;
	int r = 0;

	if (!reader->walking)
		r = kb_manifest_walk_begin(&reader->walk, &reader->source,
					   &reader->survey.limits, err);
	reader->walking = true;
	if (r < 0 || reader->next == reader->survey.header.entries)
		return r;
	kb_arena_clear(&reader->arena);
	r = kb_manifest_walk_line(&reader->walk, &line, &len, err);
	if (r == 0)
		r = kb_entry_parse(line, len, &reader->survey.header,
				   &reader->arena, &reader->entry, err);
	if (r < 0)
		return r;
	reader->next++;
	return 1;
}

/* Steps: 1 with reader->entry set, 0 at the end. */
static int step(struct kbundle_reader *reader, struct kbundle_error *err)
{
	struct kb_shown shown;
	int r = step_line(reader, err);

	if (r < 0)
		kb_wrap(err, "bundle %s", kb_show(&shown, reader->source.name));
	if (r <= 0)
		stop_walking(reader);
	return r;
}

static int describe_files(struct kbundle_reader *reader,
			  struct kbundle_error *err)
{
	const struct kb_entry *entry = &reader->entry;
	char(*hashes)[65] =
		kb_arena_array(&reader->arena, entry->n_files, sizeof(*hashes));

	reader->files = kb_arena_array(&reader->arena, entry->n_files,
				       sizeof(*reader->files));
	if (!hashes || !reader->files)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < entry->n_files; i++) {
		const struct kb_file *file = &entry->files[i];

		kb_format_hex(hashes[i], file->sha256, 32);
		reader->files[i].name = file->name;
		reader->files[i].size = file->size;
		reader->files[i].sha256 = hashes[i];
		reader->files[i].n_rewrites = file->n_rewrites;
	}
	return 0;
}

int kb_reader_next(struct kbundle_reader *reader,
		   const struct kbundle_entry **ret, struct kbundle_error *err)
{
	const struct kb_entry *entry = &reader->entry;
	int r;

	*ret = NULL;
	do {
		r = step(reader, err);
	} while (r > 0 && !kb_selection_takes(&reader->selection, entry->target,
					      entry->name, entry->path));
	if (r <= 0)
		return r;
	r = describe_files(reader, err);
	if (r == 0)
		r = kb_entry_describe(entry, reader->roots[entry->root].name,
				      &reader->facts, &reader->seen, err);
	if (r < 0) {
		stop_walking(reader);
		return r;
	}
	*ret = &reader->seen;
	return 1;
}

const struct kbundle_file *kb_reader_file(const struct kbundle_reader *reader,
					  size_t i)
{
	return i < reader->seen.n_files ? &reader->files[i] : NULL;
}

/* ---- cat ---- */

/* "<root>/<entry>[/<file>]" of the current entry: its file's name, or NULL. */
static const char *match_member(const struct kbundle_reader *reader,
				const char *member)
{
	const struct kb_entry *entry = &reader->entry;
	const char *root = reader->survey.header.roots[entry->root].name;
	size_t root_len = strlen(root), path_len = strlen(entry->path);
	const char *rest;

	if (strncmp(member, root, root_len) != 0 || member[root_len] != '/' ||
	    strncmp(member + root_len + 1, entry->path, path_len) != 0)
		return NULL;
	rest = member + root_len + 1 + path_len;
	if (*rest == '/')
		rest++;
	else if (*rest)
		return NULL;
	for (size_t i = 0; i < entry->n_files; i++)
		if (!strcmp(entry->files[i].name, rest))
			return entry->files[i].name;
	return NULL;
}

static int find_member(struct kbundle_reader *reader, const char *member,
		       uint64_t *ret_index, uint32_t *ret_root, char **ret_file,
		       struct kbundle_error *err)
{
	struct kb_shown shown;
	int r;

	stop_walking(reader);
	while ((r = step(reader, err)) > 0) {
		const char *file = match_member(reader, member);

		if (!file)
			continue;
		*ret_index = reader->next - 1;
		*ret_root = reader->entry.root;
		*ret_file = strdup(file);
		stop_walking(reader);
		return *ret_file ? 0 : kb_fail_nomem(err);
	}
	if (r == 0)
		r = kb_fail(err, KBUNDLE_E_NOTFOUND,
			    "the bundle has no member %s; `kbundle list -v` "
			    "shows what it has",
			    kb_show(&shown, member));
	return r;
}

static int cat_entry(struct kbundle_reader *reader, uint64_t index,
		     const struct kb_expansion *expansion, const char *file,
		     int output_fd, struct kbundle_error *err)
{
	KB_AUTO(kb_pool_free) struct kb_pool *pool = NULL;
	const struct kb_sink_config config = {
		.ctx = &reader->ctx,
		.header = &reader->survey.header,
		.tokens = reader->survey.tokens,
		.expansion = expansion,
		.cat_file = file,
		.cat_fd = output_fd,
	};
	struct kb_consumer consumer = {
		.survey = &reader->survey,
		.config = &config,
		.phase = "cat",
		.everything = reader->source.is_stream,
	};
	int r = kb_pool_new(kb_worker_count(&reader->ctx), &pool, err);

	if (r < 0)
		return r;
	consumer.pool = pool;
	memset(reader->survey.states, KB_STATE_SKIP,
	       (size_t)reader->survey.header.entries);
	reader->survey.states[index] = KB_STATE_WANT;
	return kb_consume(&consumer, err);
}

int kb_reader_cat(struct kbundle_reader *reader, const char *member,
		  const char *root_path, int output_fd,
		  struct kbundle_error *err)
{
	KB_AUTO(kb_expansion_release) struct kb_expansion expansion = {0};
	KB_AUTO_FREE char *absolute = NULL;
	KB_AUTO_FREE char *file = NULL;
	const char *paths[KB_ROOTS_MAX];
	struct kb_shown shown;
	uint64_t index = 0;
	uint32_t root = 0;
	int r = 0;

	if (reader->spent)
		return kb_fail(
			err, KBUNDLE_E_INVALID,
			"a stream gives one member only; read the bundle "
			"from a file");
	if (root_path)
		r = kb_absolute(root_path, &absolute, err);
	if (r == 0)
		r = find_member(reader, member, &index, &root, &file, err);
	if (r == 0 && root_path) {
		for (size_t i = 0; i < reader->survey.header.n_roots; i++)
			paths[i] =
				i == root ? absolute : reader->survey.tokens[i];
		r = kb_expansion_init(&expansion, paths,
				      reader->survey.header.n_roots, err);
	}
	if (r < 0)
		return r;
	reader->spent = reader->source.is_stream;
	r = cat_entry(reader, index, root_path ? &expansion : NULL, file,
		      output_fd, err);
	if (r < 0)
		kb_wrap(err, "bundle %s", kb_show(&shown, reader->source.name));
	return r;
}
