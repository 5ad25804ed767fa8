/* SPDX-License-Identifier: Apache-2.0 */
/* Collapse and expand are inverse, whatever the pieces they get. */
#include "../../src/core/relocate.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static const char *const tokens[] = {"/opt/kbundle/triton", "/opt/kbundle/b"};

struct collecting {
	struct kb_expand_sink sink;
	struct kb_buf bytes;
};

static int collect(struct kb_expand_sink *sink, const void *data, size_t len,
		   struct kbundle_error *err)
{
	(void)err;
	return kb_buf_append(&((struct collecting *)sink)->bytes, data, len);
}

static void expand(struct kb_buf *ret, const struct kb_expansion *expansion,
		   const struct kb_file *file, const char *stored, size_t piece)
{
	struct collecting to = {.sink = {.put = collect}};
	struct kb_expander expander;

	kb_buf_init(&to.bytes, 1 << 20);
	kb_expander_init(&expander, expansion, tokens, file);
	for (size_t pos = 0; pos < file->size; pos += piece) {
		size_t n = (size_t)file->size - pos;

		cr_assert_eq(kb_expander_feed(&expander, stored + pos,
					      n < piece ? n : piece, &to.sink,
					      NULL),
			     0);
	}
	*ret = to.bytes;
}

static const char source[] =
	"{\"child_paths\": {\"a\": \"/home/u/.triton/KEY/a\", \"b\": "
	"\"./x//KEY/b\"}, \"note\": \"/opt/kbundle/triton stays\"}";

static void collapse(struct kb_arena *arena, struct kb_buf *stored,
		     struct kb_file *file)
{
	const struct kb_edit edits[] = {
		{0, (size_t)(strstr(source, "/home") - source), 15, 0,
		 KB_CODEC_JSON},
		{0, (size_t)(strstr(source, "./x/") - source), 4, 1,
		 KB_CODEC_JSON},
	};

	kb_buf_init(stored, 1 << 20);
	memset(file, 0, sizeof(*file));
	cr_assert_eq(kb_relocate_collapse(source, strlen(source), edits, 2,
					  tokens, arena, stored,
					  &file->rewrites, NULL),
		     0);
	file->n_rewrites = 2;
	file->size = stored->len;
}

Test(relocate, tokens_take_the_place_of_roots_and_nothing_else_changes)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_buf stored;
	struct kb_file file;

	collapse(&arena, &stored, &file);
	cr_assert_str_eq(
		stored.data,
		"{\"child_paths\": {\"a\": \"/opt/kbundle/triton/KEY/a\""
		", \"b\": \"/opt/kbundle/b/KEY/b\"}, \"note\": "
		"\"/opt/kbundle/triton stays\"}");
	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(memcmp(stored.data + file.rewrites[i].offset,
				    tokens[i], file.rewrites[i].length),
			     0);
	kb_buf_release(&stored);
	kb_arena_release(&arena);
}

Test(relocate, expansion_is_the_same_for_every_cut_into_pieces)
{
	static const char *const paths[] = {"/new/rööt \"q\"", "/"};
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_expansion expansion;
	struct kb_buf stored, out;
	struct kb_file file;

	collapse(&arena, &stored, &file);
	cr_assert_eq(kb_expansion_init(&expansion, paths, 2, NULL), 0);
	for (size_t piece = 1; piece <= stored.len; piece++) {
		expand(&out, &expansion, &file, stored.data, piece);
		cr_assert_str_eq(
			out.data,
			"{\"child_paths\": {\"a\": \"/new/r\\u00f6\\u00f6t "
			"\\\"q\\\"/KEY/a\", \"b\": \"/KEY/b\"}, \"note\": "
			"\"/opt/kbundle/triton stays\"}");
		cr_assert_eq(out.len, kb_expanded_bytes(&expansion, &file));
		kb_buf_release(&out);
	}
	kb_expansion_release(&expansion);
	kb_buf_release(&stored);
	kb_arena_release(&arena);
}

Test(relocate, without_an_expansion_stored_bytes_come_out)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_buf stored, out;
	struct kb_file file;

	collapse(&arena, &stored, &file);
	expand(&out, NULL, &file, stored.data, 7);
	cr_assert_str_eq(out.data, stored.data);
	kb_buf_release(&out);
	kb_buf_release(&stored);
	kb_arena_release(&arena);
}

Test(relocate, bytes_that_are_not_the_token_are_refused)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_expander expander;
	struct kbundle_error err = {0};
	struct kb_buf stored;
	struct kb_file file;
	size_t at;

	collapse(&arena, &stored, &file);
	at = (size_t)(file.rewrites[1].offset + file.rewrites[1].length) - 1;
	stored.data[at] ^= 1;
	for (size_t piece = 1; piece < 40; piece += 13) {
		int r = 0;

		kb_expander_init(&expander, NULL, tokens, &file);
		for (size_t pos = 0; r == 0 && pos < file.size; pos += piece) {
			size_t n = (size_t)file.size - pos;

			r = kb_expander_feed(&expander, stored.data + pos,
					     n < piece ? n : piece, NULL, &err);
		}
		cr_assert_eq(r, KBUNDLE_E_FORMAT);
		cr_assert(strstr(err.message, "token"), "%s", err.message);
	}
	kb_buf_release(&stored);
	kb_arena_release(&arena);
}
