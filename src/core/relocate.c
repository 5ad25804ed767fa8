/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces paths by tokens and tokens by paths, in one pass from left to right
 * and never by searching: where they stand is known from the format's grammar
 * at pack and from the manifest at unpack. A payload that happens to contain a
 * token is therefore left alone.
 */
#include "relocate.h"

#include "../base/error.h"
#include "../base/json.h"
#include "limits.h"

#include <stdlib.h>
#include <string.h>

int kb_relocate_collapse(const void *source, size_t len,
			 const struct kb_edit *edits, size_t n_edits,
			 const char *const *tokens, struct kb_arena *arena,
			 struct kb_buf *ret_bytes,
			 const struct kb_rewrite **ret_rewrites,
			 struct kbundle_error *err)
{
	struct kb_rewrite *rewrites =
		kb_arena_array(arena, n_edits, sizeof(*rewrites));
	const char *from = source;
	uint64_t pos = 0;
	int r = 0;

	if (!rewrites)
		return kb_fail_nomem(err);
	for (size_t i = 0; r == 0 && i < n_edits; i++) {
		const char *token = tokens[edits[i].root];

		r = kb_buf_append(ret_bytes, from + pos,
				  (size_t)(edits[i].offset - pos));
		rewrites[i].offset = ret_bytes->len;
		rewrites[i].length = (uint32_t)strlen(token);
		rewrites[i].root = edits[i].root;
		rewrites[i].codec = edits[i].codec;
		if (r == 0)
			r = kb_buf_puts(ret_bytes, token);
		pos = edits[i].offset + edits[i].length;
	}
	if (r == 0)
		r = kb_buf_append(ret_bytes, from + pos, len - (size_t)pos);
	if (r < 0)
		return kb_fail_nomem(err);
	*ret_rewrites = rewrites;
	return 0;
}

int kb_expansion_init(struct kb_expansion *expansion, const char *const *paths,
		      size_t n, struct kbundle_error *err)
{
	expansion->n = 0;
	expansion->json = calloc(n ? n : 1, sizeof(*expansion->json));
	if (!expansion->json)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const char *path = paths[i];
		size_t len;

		kb_buf_init(&expansion->json[i], KB_TEXT_MAX * 16);
		expansion->n = i + 1;
		/* "/" is the empty string: the slash behind it stays. */
		len = strcmp(path, "/") ? strlen(path) : 0;
		if (kb_json_encode_python(&expansion->json[i], path, len) < 0)
			return kb_fail_nomem(err);
	}
	return 0;
}

void kb_expansion_release(struct kb_expansion *expansion)
{
	for (size_t i = 0; i < expansion->n; i++)
		kb_buf_release(&expansion->json[i]);
	free(expansion->json);
	expansion->json = NULL;
	expansion->n = 0;
}

uint64_t kb_expanded_bytes(const struct kb_expansion *expansion,
			   const struct kb_file *file)
{
	uint64_t bytes = file->size;

	for (size_t i = 0; i < file->n_rewrites; i++)
		bytes += expansion->json[file->rewrites[i].root].len -
			 (uint64_t)file->rewrites[i].length;
	return bytes;
}

void kb_expander_init(struct kb_expander *expander,
		      const struct kb_expansion *expansion,
		      const char *const *tokens, const struct kb_file *file)
{
	expander->expansion = expansion;
	expander->tokens = tokens;
	expander->file = file;
	expander->pos = 0;
	expander->next = 0;
}

static int put(struct kb_expand_sink *sink, const void *data, size_t len,
	       struct kbundle_error *err)
{
	return sink && len ? sink->put(sink, data, len, err) : 0;
}

/* A piece of a token: compare it, and at its end put what stands for it. */
static int feed_token(struct kb_expander *in, const struct kb_rewrite *rewrite,
		      const char *data, size_t len, struct kb_expand_sink *sink,
		      struct kbundle_error *err)
{
	const char *token = in->tokens[rewrite->root];
	size_t at = (size_t)(in->pos - rewrite->offset);

	if (memcmp(token + at, data, len) != 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the bytes at offset %llu are not the token %s "
			       "that the manifest has there",
			       (unsigned long long)rewrite->offset, token);
	in->pos += len;
	if (at + len < rewrite->length)
		return 0;
	in->next++;
	if (!in->expansion)
		return put(sink, token, rewrite->length, err);
	return put(sink, in->expansion->json[rewrite->root].data,
		   in->expansion->json[rewrite->root].len, err);
}

int kb_expander_feed(struct kb_expander *in, const void *data, size_t len,
		     struct kb_expand_sink *sink, struct kbundle_error *err)
{
	const struct kb_file *file = in->file;
	const char *from = data;
	int r = 0;

	while (r == 0 && len) {
		const struct kb_rewrite *rewrite =
			in->next < file->n_rewrites ? &file->rewrites[in->next]
						    : NULL;
		uint64_t border = UINT64_MAX;
		size_t n = len;

		if (rewrite)
			border = in->pos < rewrite->offset
					 ? rewrite->offset
					 : rewrite->offset + rewrite->length;
		if (n > border - in->pos)
			n = (size_t)(border - in->pos);
		if (rewrite && in->pos >= rewrite->offset) {
			r = feed_token(in, rewrite, from, n, sink, err);
		} else {
			r = put(sink, from, n, err);
			in->pos += n;
		}
		from += n;
		len -= n;
	}
	return r;
}
