/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be known before a byte of payload is decompressed is
 * checked here, so that a bundle that breaks a rule costs nothing.
 */
#include "survey.h"

#include "../base/error.h"
#include "../base/keyset.h"
#include "../base/parse.h"
#include "../dep/hash.h"
#include "limits.h"
#include "tar.h"
#include "walk_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kb_id_parse(const char *text, uint8_t ret[32], struct kbundle_error *err)
{
	struct kb_shown shown;

	if (strncmp(text, "sha256:", 7) == 0 && kb_parse_hex(text + 7, ret, 32))
		return 0;
	return kb_fail(err, KBUNDLE_E_INVALID,
		       "%s is no bundle id; write sha256: and 64 lower-case "
		       "hexadecimal digits",
		       kb_show(&shown, text));
}

int kb_ratio_check(const struct kbundle_limits *limits, uint64_t content,
		   uint64_t stored, struct kbundle_error *err)
{
	if (content <= KB_RATIO_FREE || content / limits->ratio < stored)
		return 0;
	return kb_fail(err, KBUNDLE_E_LIMIT,
		       "%llu bytes from %llu compressed ones: more than %llu "
		       "to one; --limit-ratio raises the limit",
		       (unsigned long long)content, (unsigned long long)stored,
		       (unsigned long long)limits->ratio);
}

int kb_ratio_check_frames(const struct kbundle_limits *limits,
			  const struct kb_seektable *frames,
			  struct kbundle_error *err)
{
	uint64_t content = 0, stored = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < frames->n; i++) {
		content += frames->frames[i].content_bytes;
		stored += frames->frames[i].stored_bytes;
		r = kb_ratio_check(limits, content, stored, err);
	}
	return r;
}

static int start(struct kb_survey *survey, struct kb_manifest_walk *walk,
		 struct kb_survey_visitor *visitor, struct kbundle_error *err)
{
	size_t n;

	survey->header = walk->header;
	survey->arena = walk->arena;
	walk->arena = (struct kb_arena)KB_ARENA_INIT;
	n = (size_t)survey->header.entries;
	/* calloc: pages of a count that is not true are never touched. */
	survey->states = calloc(n, sizeof(*survey->states));
	survey->tar_bytes = calloc(n, sizeof(*survey->tar_bytes));
	survey->prints = calloc(n, sizeof(*survey->prints));
	survey->tokens = kb_arena_array(&survey->arena, survey->header.n_roots,
					sizeof(*survey->tokens));
	if (!survey->states || !survey->tar_bytes || !survey->prints ||
	    !survey->tokens)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < survey->header.n_roots; i++)
		survey->tokens[i] = survey->header.roots[i].token;
	return visitor && visitor->header
		       ? visitor->header(visitor, survey, err)
		       : 0;
}

static int check_file_limits(const struct kb_survey *survey,
			     const struct kb_entry *entry,
			     struct kbundle_error *err)
{
	struct kb_shown shown;

	for (size_t i = 0; i < entry->n_files; i++)
		if (entry->files[i].size > survey->limits.file_bytes)
			return kb_fail(
				err, KBUNDLE_E_LIMIT,
				"file %s has more bytes than the limit "
				"%llu; --limit-file raises it",
				kb_show(&shown, entry->files[i].name),
				(unsigned long long)survey->limits.file_bytes);
	return 0;
}

static int take_entry(struct kb_survey *survey, uint64_t index,
		      const struct kb_entry *entry,
		      struct kb_manifest_rules *rules,
		      struct kb_survey_visitor *visitor,
		      struct kbundle_error *err)
{
	const char *root = survey->header.roots[entry->root].name;
	uint64_t bytes;
	int r = kb_manifest_rules_add(rules, entry, err);

	if (r == 0)
		r = check_file_limits(survey, entry, err);
	if (r == 0)
		r = kb_tar_entry_bytes(root, entry, &bytes, err);
	if (r < 0)
		return r;
	survey->tar_bytes[index] = bytes;
	survey->payload_bytes += bytes;
	survey->states[index] = KB_STATE_WANT;
	return visitor ? visitor->entry(visitor, survey, index, entry,
					&survey->states[index], err)
		       : 0;
}

static int take_lines(struct kb_survey *survey, struct kb_manifest_walk *walk,
		      struct kb_survey_visitor *visitor,
		      struct kbundle_error *err)
{
	KB_AUTO(kb_manifest_rules_release) struct kb_manifest_rules rules = {0};
	KB_AUTO(kb_arena_release) struct kb_arena arena = KB_ARENA_INIT;
	int r = kb_manifest_rules_init(&rules, &survey->header, err);

	for (uint64_t i = 0; r == 0 && i < survey->header.entries; i++) {
		struct kb_entry entry;
		const char *line;
		size_t len;

		kb_arena_clear(&arena);
		r = kb_manifest_walk_line(walk, &line, &len, err);
		if (r < 0)
			return r;
		kb_keyset_fingerprint(survey->secret, line, len,
				      survey->prints[i].value);
		r = kb_entry_parse(line, len, &survey->header, &arena, &entry,
				   err);
		if (r == 0)
			r = take_entry(survey, i, &entry, &rules, visitor, err);
		if (r < 0)
			kb_wrap(err, "%s line %llu", KB_MANIFEST_NAME,
				(unsigned long long)i + 2);
	}
	return r < 0 ? r : kb_manifest_rules_finish(&rules, err);
}

/* A file: its frames hold what the manifest implies, no more and no less. */
static int check_frames(const struct kb_survey *survey,
			struct kbundle_error *err)
{
	const struct kb_source *source = survey->source;
	uint64_t content = 0, want = survey->payload_bytes + KB_TAR_END;
	size_t n = source->frames.n;

	if (source->is_stream)
		return 0;
	for (size_t i = survey->manifest_frames; i < n; i++)
		content += source->frames.frames[i].content_bytes;
	if (content != want)
		return kb_fail(
			err, KBUNDLE_E_FORMAT,
			"the frames behind the manifest hold %llu bytes, "
			"but the manifest implies %llu",
			(unsigned long long)content, (unsigned long long)want);
	if (source->frames.frames[n - 1].content_bytes != KB_TAR_END)
		return kb_fail(
			err, KBUNDLE_E_FORMAT,
			"the last frame is not the end of the tar alone");
	return kb_ratio_check_frames(&survey->limits, &source->frames, err);
}

static int check_id(const struct kb_survey *survey, const char *expect,
		    struct kbundle_error *err)
{
	char hex[65];
	uint8_t id[32];
	int r;

	if (!expect)
		return 0;
	r = kb_id_parse(expect, id, err);
	if (r < 0 || memcmp(id, survey->id, sizeof(id)) == 0)
		return r;
	kb_format_hex(hex, survey->id, sizeof(survey->id));
	return kb_fail(err, KBUNDLE_E_DIGEST,
		       "it is bundle sha256:%s, not the expected %s", hex,
		       expect);
}

static int walk_all(struct kb_survey *survey, const char *expect,
		    struct kb_survey_visitor *visitor,
		    struct kbundle_error *err)
{
	KB_AUTO(kb_manifest_walk_release) struct kb_manifest_walk walk = {0};
	int r = kb_manifest_walk_begin(&walk, survey->source, &survey->limits,
				       err);

	if (r == 0)
		r = start(survey, &walk, visitor, err);
	if (r == 0)
		r = take_lines(survey, &walk, visitor, err);
	if (r == 0)
		r = kb_manifest_walk_end(&walk, survey->id,
					 &survey->manifest_frames, err);
	if (r == 0)
		r = check_id(survey, expect, err);
	return r < 0 ? r : check_frames(survey, err);
}

int kb_survey(struct kb_survey *survey, struct kb_source *source,
	      const struct kbundle_limits *limits, const char *expect,
	      struct kb_survey_visitor *visitor, struct kbundle_error *err)
{
	int r;

	memset(survey, 0, sizeof(*survey));
	survey->source = source;
	r = kb_limits_init(&survey->limits, limits, err);
	if (r == 0)
		r = kb_random(survey->secret, sizeof(survey->secret), err);
	if (r == 0)
		r = walk_all(survey, expect, visitor, err);
	kb_source_stop_keeping(source);
	return r;
}

void kb_survey_release(struct kb_survey *survey)
{
	free(survey->states);
	free(survey->tar_bytes);
	free(survey->prints);
	kb_arena_release(&survey->arena);
	memset(survey, 0, sizeof(*survey));
}

/* Why this library leaves the entry alone; NULL: it does not. */
static const char *unsupported(const struct kb_survey *survey,
			       const struct kb_entry *entry, char *text,
			       size_t room)
{
	const char *unknown = kb_entry_unknown_requirement(entry);
	const char *root_format = survey->header.roots[entry->root].format;

	if (unknown) {
		(void)snprintf(text, room,
			       "requires \"%s\", which this kbundle does not "
			       "know; use a newer kbundle",
			       unknown);
		return text;
	}
	/* Nobody could tell what it would do among entries of that format. */
	if (kb_format_find(root_format) && !kb_format_find(entry->format)) {
		(void)snprintf(text, room,
			       "is of format %s, which this kbundle does not "
			       "know, in a cache of format %s; use a newer "
			       "kbundle",
			       entry->format, root_format);
		return text;
	}
	return NULL;
}

int kb_survey_note_unsupported(const struct kb_survey *survey,
			       const struct kb_entry *entry,
			       struct kbundle_report *report,
			       bool *ret_unsupported, struct kbundle_error *err)
{
	char text[256];
	const char *reason = unsupported(survey, entry, text, sizeof(text));

	*ret_unsupported = reason != NULL;
	if (!reason)
		return 0;
	return kb_report_note(report, KBUNDLE_COUNT_UNSUPPORTED,
			      survey->header.roots[entry->root].name,
			      entry->path, NULL, reason, err);
}
