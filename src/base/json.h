/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON scanner that accepts what Python's json.loads() accepts of a UTF-8
 * text (NaN, Infinity, lone surrogates in escapes), and a writer.
 *
 * The scanner hands out tokens as byte ranges of the text, so that a caller can
 * replace one value and leave every other byte as it was. It keeps no tree and
 * allocates nothing.
 */
#ifndef KB_JSON_H
#define KB_JSON_H

#include "buf.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KB_JSON_DEPTH_MAX 128

enum kb_json_type {
	KB_JSON_END,
	KB_JSON_OBJECT, /* { */
	KB_JSON_OBJECT_END,
	KB_JSON_ARRAY, /* [ */
	KB_JSON_ARRAY_END,
	KB_JSON_KEY, /* a member's name */
	KB_JSON_STRING,
	KB_JSON_NUMBER, /* also NaN, Infinity, -Infinity */
	KB_JSON_TRUE,
	KB_JSON_FALSE,
	KB_JSON_NULL
};

struct kb_json_token {
	enum kb_json_type type;
	size_t offset; /* in the text; strings with their quotes */
	size_t len;
	unsigned depth; /* of containers around it; 0: top level */
};

struct kb_json {
	const char *text;
	size_t len, pos;
	unsigned depth;
	int state;
	uint8_t is_object[KB_JSON_DEPTH_MAX / 8];
};

void kb_json_init(struct kb_json *json, const void *text, size_t len);

/* Next token. Errors: KBUNDLE_E_FORMAT with the byte offset and what is wrong
 * there; KBUNDLE_E_LIMIT for depth. After KB_JSON_END only white space
 * followed. An invalid UTF-8 byte or a BOM is an error, as in Python. */
int kb_json_next(struct kb_json *json, struct kb_json_token *ret,
		 struct kbundle_error *err) KB_MUST_CHECK;

/* Skips the value that token began: all of an object or array, the value of a
 * key, and nothing for other tokens, which are read already. */
int kb_json_skip(struct kb_json *json, const struct kb_json_token *token,
		 struct kbundle_error *err) KB_MUST_CHECK;

/* True if the whole text is one valid JSON value. */
bool kb_json_is_valid(const void *text, size_t len);

/*
 * Decodes a string token into bytes, as json.loads() and then os.fsencode()
 * do: \udc80 to \udcff become the raw byte, other lone surrogates are an error
 * (KBUNDLE_E_FORMAT). \u0000 is an error: no path and no name holds it.
 * Appends to ret. If offsets is not NULL it receives, for each decoded byte,
 * the text offset where the escape or character that made it begins, and after
 * them one more: that of the closing quote; it is an array of at least
 * token->len elements.
 */
int kb_json_decode(const struct kb_json *json,
		   const struct kb_json_token *token, struct kb_buf *ret,
		   size_t *offsets, struct kbundle_error *err) KB_MUST_CHECK;

/* Is this string token exactly `text`, after decoding? */
bool kb_json_equals(const struct kb_json *json,
		    const struct kb_json_token *token, const char *text);

/* An integer token (no fraction, no exponent) within ±(2^53 - 1). */
bool kb_json_integer(const struct kb_json *json,
		     const struct kb_json_token *token, int64_t *ret);

/* Appends bytes as the inside of a JSON string (no quotes), as Python's
 * json.dumps(os.fsdecode(bytes)) writes them: ASCII only. */
int kb_json_encode_python(struct kb_buf *buf, const void *bytes,
			  size_t len) KB_MUST_CHECK;

/* Appends a string with its quotes in canonical form (docs/format.md): only
 * `"`, `\` and control bytes below 0x20 are escaped, the latter as \u00xx. */
int kb_json_put_string(struct kb_buf *buf, const char *text) KB_MUST_CHECK;

#endif
