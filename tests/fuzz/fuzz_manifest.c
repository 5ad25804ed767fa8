/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A header line, then entry lines. Whatever is accepted must be canonical:
 * written back, it is the same bytes.
 */
#include "../../src/core/manifest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void expect_same(const struct kb_buf *buf, const char *line, size_t len)
{
	if (buf->len != len + 1 || memcmp(buf->data, line, len) ||
	    buf->data[len] != '\n')
		abort();
}

static size_t line_len(const char *line, size_t left)
{
	const char *end = memchr(line, '\n', left);

	return end ? (size_t)(end - line) : left;
}

static void entries(const char *line, size_t left,
		    const struct kb_header *header, struct kb_buf *buf)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_entry entry;

	while (left > 0) {
		size_t len = line_len(line, left);

		if (kb_entry_parse(line, len, header, &arena, &entry, NULL) ==
		    0) {
			kb_buf_clear(buf);
			if (kb_entry_format(&entry, buf, NULL) == 0)
				expect_same(buf, line, len);
		}
		kb_arena_clear(&arena);
		line += len;
		left -= len;
		if (left > 0) {
			line++;
			left--;
		}
	}
	kb_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Where the input has no header of its own, this one stands. */
	static const char usual[] =
		"{\"kbundle\":1,\"requires\":[],\"roots\":[{\"name\":"
		"\"triton\","
		"\"format\":\"triton\",\"token\":\"/opt/kbundle/triton\"}],"
		"\"entries\":1,\"files\":1,\"bytes\":1}";
	const char *line = (const char *)data;
	size_t len = line_len(line, size);
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_header header;
	struct kb_buf buf;

	kb_buf_init(&buf, 1 << 20);
	if (kb_header_parse(line, len, &arena, &header, NULL) == 0) {
		if (kb_header_format(&header, &buf, NULL) == 0)
			expect_same(&buf, line, len);
		entries(line + len, size - len, &header, &buf);
	}
	if (kb_header_parse(usual, sizeof(usual) - 1, &arena, &header, NULL))
		abort();
	entries(line, size, &header, &buf);
	kb_buf_release(&buf);
	kb_arena_release(&arena);
	return 0;
}
