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
#include "limits.h"
#include "report.h"
#include "roots.h"
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
	char *input;
	bool spent; /* a stream whose payload was read */
	/* the listing */
	struct kb_manifest_walk walk;
	bool walking;
	uint64_t next;
	struct kb_arena arena;
	struct kb_entry entry;
	struct kb_buf facts;
	char (*hashes)[65];
};

void kb_reader_close(struct kbundle_reader *reader)
{
	if (!reader)
		return;
	kb_manifest_walk_release(&reader->walk);
	kb_survey_release(&reader->survey);
	kb_source_release(&reader->source);
	kb_arena_release(&reader->arena);
	kb_buf_release(&reader->facts);
	kb_ctx_release(&reader->ctx);
	free(reader->input);
	free(reader);
}

int kb_reader_open(const struct kbundle_env *env, const char *input,
		   int input_fd, const struct kbundle_limits *limits,
		   struct kbundle_reader **ret, struct kbundle_error *err)
{
	KB_AUTO_FREE struct kbundle_reader *fresh = calloc(1, sizeof(*fresh));
	KB_AUTO(kb_reader_close) struct kbundle_reader *reader = NULL;
	struct kb_shown shown;
	int r;

	if (!fresh)
		return kb_fail_nomem(err);
	r = kb_ctx_init(&fresh->ctx, env, NULL, err);
	if (r < 0)
		return r;
	reader = kb_take(fresh);
	kb_buf_init(&reader->facts, KB_LINE_MAX);
	if (input) {
		reader->input = strdup(input);
		if (!reader->input)
			return kb_fail_nomem(err);
	}
	r = kb_source_open(&reader->source, &reader->ctx, reader->input,
			   input_fd, err);
	if (r == 0)
		r = kb_survey(&reader->survey, &reader->source, limits, NULL,
			      NULL, err);
	if (r < 0) {
		kb_wrap(err, "bundle %s", kb_show(&shown, reader->source.name));
		return r;
	}
	memcpy(reader->id, "sha256:", 7);
	kb_format_hex(reader->id + 7, reader->survey.id, 32);
	*ret = kb_take(reader);
	return 0;
}

const char *kb_reader_id(const struct kbundle_reader *reader)
{
	return reader->id;
}

uint64_t kb_reader_entries(const struct kbundle_reader *reader)
{
	return reader->survey.header.entries;
}

size_t kb_reader_roots(const struct kbundle_reader *reader)
{
	return reader->survey.header.n_roots;
}

int kb_reader_root(const struct kbundle_reader *reader, size_t i,
		   struct kbundle_root *ret)
{
	const struct kb_header *header = &reader->survey.header;

	if (i >= header->n_roots)
		return KBUNDLE_E_INVALID;
	ret->name = header->roots[i].name;
	ret->format = header->roots[i].format;
	ret->path = header->roots[i].token;
	return 0;
}

/* ---- listing ---- */

static void stop_walking(struct kbundle_reader *reader)
{
	kb_manifest_walk_release(&reader->walk);
	reader->walking = false;
	reader->next = 0;
	memset(&reader->entry, 0, sizeof(reader->entry));
}

/* Steps: 1 with reader->entry set, 0 at the end. */
static int step(struct kbundle_reader *reader, struct kbundle_error *err)
{
	const char *line;
	size_t len;
	int r = 0;

	if (!reader->walking) {
		r = kb_manifest_walk_begin(&reader->walk, &reader->source,
					   &reader->survey.limits, err);
		reader->walking = true;
	}
	if (r < 0)
		return r;
	if (reader->next == reader->survey.header.entries) {
		stop_walking(reader);
		return 0;
	}
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

static int format_hashes(struct kbundle_reader *reader,
			 struct kbundle_error *err)
{
	const struct kb_entry *entry = &reader->entry;

	reader->hashes = kb_arena_array(&reader->arena, entry->n_files,
					sizeof(*reader->hashes));
	if (!reader->hashes)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < entry->n_files; i++)
		kb_format_hex(reader->hashes[i], entry->files[i].sha256, 32);
	return 0;
}

int kb_reader_next(struct kbundle_reader *reader, struct kbundle_entry *ret,
		   struct kbundle_error *err)
{
	const struct kb_entry *entry = &reader->entry;
	int r = step(reader, err);

	if (r <= 0)
		return r;
	r = format_hashes(reader, err);
	if (r < 0)
		return r;
	kb_buf_clear(&reader->facts);
	if (kb_facts_format(&entry->facts, &reader->facts) < 0)
		return kb_fail_nomem(err);
	memset(ret, 0, sizeof(*ret));
	ret->root = reader->survey.header.roots[entry->root].name;
	ret->path = entry->path;
	ret->format = entry->format;
	ret->kind = entry->kind;
	ret->name = entry->name;
	ret->target = entry->target;
	ret->n_files = entry->n_files;
	ret->facts_json = reader->facts.data;
	for (size_t i = 0; i < entry->n_files; i++)
		ret->bytes += entry->files[i].size;
	return 1;
}

int kb_reader_file(const struct kbundle_reader *reader, size_t i,
		   struct kbundle_file *ret)
{
	const struct kb_file *file;

	if (i >= reader->entry.n_files)
		return KBUNDLE_E_INVALID;
	file = &reader->entry.files[i];
	ret->name = file->name;
	ret->size = file->size;
	ret->sha256 = reader->hashes[i];
	ret->n_rewrites = file->n_rewrites;
	return 0;
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
