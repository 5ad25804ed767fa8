/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers prop_json_python.py about src/base/json.c: reads requests from stdin
 * until its end and writes one answer for each. Numbers are u32, little-endian.
 *
 * Request: kind, length, that many bytes. Kinds:
 *   J  a document. Answer: V, I or L (valid, invalid, limit exceeded); after V
 *      for each string or number token, in order,
 *        S  length, decoded bytes, an offset for each of them and one more
 *        R  the string has no bytes that a file name can hold
 *        N  length, the integer in decimal (empty: not one that is exact)
 *      and then E.
 *   P  bytes. Answer: length, kb_json_encode_python() of them
 *   C  bytes without NUL. Answer: length, kb_json_put_string() of them
 */
#include "../../src/base/buf.h"
#include "../../src/base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)64 << 20)

static void stop(const char *why)
{
	fprintf(stderr, "json_driver: %s\n", why);
	exit(2);
}

static void put(const void *bytes, size_t n)
{
	if (n > 0 && fwrite(bytes, 1, n, stdout) != n)
		stop("cannot write");
}

static void put_kind(char kind)
{
	put(&kind, 1);
}

static void put_u32(size_t value)
{
	const unsigned char bytes[4] = {
		(unsigned char)value, (unsigned char)(value >> 8),
		(unsigned char)(value >> 16), (unsigned char)(value >> 24)};

	put(bytes, sizeof(bytes));
}

static void put_bytes(const void *bytes, size_t n)
{
	put_u32(n);
	put(bytes, n);
}

static void answer_string(const struct kb_json *json,
			  const struct kb_json_token *token)
{
	KB_AUTO_FREE size_t *offsets = calloc(token->len, sizeof(*offsets));
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	int r;

	kb_buf_init(&bytes, MAX_BYTES);
	if (!offsets)
		stop("out of memory");
	r = kb_json_decode(json, token, &bytes, offsets, NULL);
	if (r < 0) {
		if (r != KBUNDLE_E_FORMAT || bytes.len > 0)
			stop("decode failed in another way than it may");
		put_kind('R');
		return;
	}
	if (!kb_json_equals(json, token, bytes.data))
		stop("a string does not equal what it decodes to");
	put_kind('S');
	put_bytes(bytes.data, bytes.len);
	for (size_t i = 0; i <= bytes.len; i++)
		put_u32(offsets[i]);
}

static void answer_number(const struct kb_json *json,
			  const struct kb_json_token *token)
{
	char text[32] = "";
	int64_t value;

	if (kb_json_integer(json, token, &value))
		(void)snprintf(text, sizeof(text), "%" PRId64, value);
	put_kind('N');
	put_bytes(text, strlen(text));
}

/* Skipping the one value of a valid document must lead to its end. */
static void check_skip(const void *text, size_t len)
{
	struct kb_json json;
	struct kb_json_token token;

	kb_json_init(&json, text, len);
	if (kb_json_next(&json, &token, NULL) < 0 ||
	    kb_json_skip(&json, &token, NULL) < 0 ||
	    kb_json_next(&json, &token, NULL) < 0 || token.type != KB_JSON_END)
		stop("skip does not lead to the end");
}

static void answer_document(const char *text, size_t len)
{
	struct kb_json json;
	struct kb_json_token token;
	int r;

	kb_json_init(&json, text, len);
	do {
		r = kb_json_next(&json, &token, NULL);
	} while (r == 0 && token.type != KB_JSON_END);
	if (kb_json_is_valid(text, len) != (r == 0))
		stop("kb_json_is_valid disagrees with the tokens");
	if (r < 0) {
		put_kind(r == KBUNDLE_E_LIMIT ? 'L' : 'I');
		return;
	}
	check_skip(text, len);

	put_kind('V');
	kb_json_init(&json, text, len);
	do {
		if (kb_json_next(&json, &token, NULL) < 0)
			stop("a second reading differs");
		if (token.type == KB_JSON_STRING || token.type == KB_JSON_KEY)
			answer_string(&json, &token);
		else if (token.type == KB_JSON_NUMBER)
			answer_number(&json, &token);
	} while (token.type != KB_JSON_END);
	put_kind('E');
}

static void answer_written(char kind, const char *bytes, size_t len)
{
	KB_AUTO(kb_buf_release) struct kb_buf text;
	int r;

	kb_buf_init(&text, MAX_BYTES);
	r = kind == 'P' ? kb_json_encode_python(&text, bytes, len)
			: kb_json_put_string(&text, bytes);
	if (r < 0)
		stop("cannot encode");
	put_bytes(text.data, text.len);
}

static void read_exact(void *ret, size_t n)
{
	if (n > 0 && fread(ret, 1, n, stdin) != n)
		stop("a request is cut short");
}

int main(void)
{
	int kind;

	while ((kind = getchar()) != EOF) {
		KB_AUTO_FREE char *bytes = NULL;
		unsigned char head[4];
		size_t len;

		read_exact(head, sizeof(head));
		len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 |
		      (size_t)head[3] << 24;
		/* A document ends with its memory, so that a sanitizer sees a
		 * byte read too many; a string has its NUL. */
		bytes = calloc(1, kind == 'C' || len == 0 ? len + 1 : len);
		if (!bytes)
			stop("out of memory");
		read_exact(bytes, len);
		if (kind == 'J')
			answer_document(bytes, len);
		else if (kind == 'P' || kind == 'C')
			answer_written((char)kind, bytes, len);
		else
			stop("unknown request");
	}
	if (fflush(stdout) != 0)
		stop("cannot write");
	return 0;
}
