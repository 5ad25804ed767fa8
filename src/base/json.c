/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON scanner. It judges form only; what a string or a number says is for
 * json_text.c, and what a member means for the caller. The grammar is that of
 * Python's json module, which frameworks read their caches with: RFC 8259, and
 * NaN and infinities, lone surrogates in escapes and duplicate members besides;
 * integers of more than 4300 digits are refused.
 *
 * Invariant: a token is returned only if everything up to its end is valid, so
 * decoding a returned token cannot run past it. An error leaves the scanner as
 * it was before the call: asking again gives the same error.
 */
#include "json.h"

#include "ascii.h"
#include "error.h"
#include "utf8.h"

#include <string.h>

#define INTEGER_DIGITS_MAX 4300 /* sys.int_info.default_max_str_digits */

enum state {
	AT_VALUE,      /* a value must follow */
	AT_KEY,	       /* a key must follow */
	AT_FIRST_KEY,  /* a key or the end of the object */
	AT_FIRST_ITEM, /* a value or the end of the array */
	AFTER_KEY,
	AFTER_VALUE
};

void kb_json_init(struct kb_json *json, const void *text, size_t len)
{
	*json = (struct kb_json){.text = text, .len = len, .state = AT_VALUE};
}

static bool in_object(const struct kb_json *json)
{
	unsigned top = json->depth - 1;

	return json->is_object[top / 8] >> top % 8 & 1;
}

static void skip_space(struct kb_json *json)
{
	while (json->pos < json->len &&
	       (json->text[json->pos] == ' ' || json->text[json->pos] == '\t' ||
		json->text[json->pos] == '\n' || json->text[json->pos] == '\r'))
		json->pos++;
}

static bool at(const struct kb_json *json, char c)
{
	return json->pos < json->len && json->text[json->pos] == c;
}

static int fault(struct kbundle_error *err, size_t offset, const char *what)
{
	return kb_fail(err, KBUNDLE_E_FORMAT, "JSON, byte %zu: %s", offset,
		       what);
}

static int expected(const struct kb_json *json, struct kbundle_error *err,
		    const char *what)
{
	if (json->pos == json->len)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "JSON, byte %zu: the text ends where %s belongs",
			       json->pos, what);
	return kb_fail(err, KBUNDLE_E_FORMAT, "JSON, byte %zu: no %s",
		       json->pos, what);
}

/* Moves *pos over the escape that begins there. */
static int scan_escape(const struct kb_json *json, size_t *pos,
		       struct kbundle_error *err)
{
	size_t left = json->len - *pos;
	uint32_t code;

	if (left >= 2 && json->text[*pos + 1] == 'u') {
		if (!kb_hex4_read(json->text + *pos + 2, left - 2, &code))
			return fault(err, *pos,
				     "\\u without four hexadecimal digits");
		*pos += 6;
		return 0;
	}
	if (left < 2)
		return fault(err, json->len, "the text ends inside a string");
	if (json->text[*pos + 1] == '\0' ||
	    !strchr("\"\\/bfnrt", json->text[*pos + 1]))
		return fault(err, *pos, "unknown escape in a string");
	*pos += 2;
	return 0;
}

/* Moves pos over the string that begins there. */
static int scan_string(struct kb_json *json, struct kbundle_error *err)
{
	size_t pos = json->pos + 1;

	while (pos < json->len) {
		unsigned char c = (unsigned char)json->text[pos];
		uint32_t code;
		size_t n;
		int r;

		if (c == '"') {
			json->pos = pos + 1;
			return 0;
		} else if (c < 0x20) {
			return fault(err, pos, "control byte in a string");
		} else if (c == '\\') {
			r = scan_escape(json, &pos, err);
			if (r < 0)
				return r;
		} else if (c < 0x80) {
			pos++;
		} else {
			n = kb_utf8_next((const uint8_t *)json->text + pos,
					 json->len - pos, &code);
			if (n == 0)
				return fault(err, pos, "invalid UTF-8");
			pos += n;
		}
	}
	return fault(err, json->len, "the text ends inside a string");
}

static size_t count_digits(const struct kb_json *json, size_t pos)
{
	size_t n = 0;

	while (pos + n < json->len && kb_is_digit(json->text[pos + n]))
		n++;
	return n;
}

/* Moves pos over the number that begins there, of at least one digit. A
 * fraction or an exponent
 * without digits is not part of it: what stands there is then out of place. */
static int scan_number(struct kb_json *json, struct kbundle_error *err)
{
	size_t pos = json->pos + (at(json, '-') ? 1 : 0);
	size_t n = json->text[pos] == '0' ? 1 : count_digits(json, pos), after;
	bool is_integer = true;

	pos += n;
	if (pos < json->len && json->text[pos] == '.' &&
	    count_digits(json, pos + 1) > 0) {
		pos += 1 + count_digits(json, pos + 1);
		is_integer = false;
	}
	if (pos < json->len && (json->text[pos] | 0x20) == 'e') {
		after = pos + 1;
		if (after < json->len &&
		    (json->text[after] == '+' || json->text[after] == '-'))
			after++;
		if (count_digits(json, after) > 0) {
			pos = after + count_digits(json, after);
			is_integer = false;
		}
	}
	if (is_integer && n > INTEGER_DIGITS_MAX)
		return fault(err, json->pos,
			     "an integer of more than 4300 digits");
	json->pos = pos;
	return 0;
}

static int scan_open(struct kb_json *json, struct kb_json_token *ret,
		     struct kbundle_error *err)
{
	bool is_object = at(json, '{');
	unsigned bit = 1U << json->depth % 8;
	uint8_t *bits;

	if (json->depth == KB_JSON_DEPTH_MAX)
		return kb_fail(err, KBUNDLE_E_LIMIT,
			       "JSON, byte %zu: nested more than %d deep",
			       json->pos, KB_JSON_DEPTH_MAX);
	bits = &json->is_object[json->depth / 8];
	*bits = (uint8_t)(is_object ? *bits | bit : *bits & ~bit);
	ret->type = is_object ? KB_JSON_OBJECT : KB_JSON_ARRAY;
	json->depth++;
	json->pos++;
	json->state = is_object ? AT_FIRST_KEY : AT_FIRST_ITEM;
	return 0;
}

static int scan_close(struct kb_json *json, struct kb_json_token *ret)
{
	ret->type = in_object(json) ? KB_JSON_OBJECT_END : KB_JSON_ARRAY_END;
	json->depth--;
	ret->depth = json->depth;
	json->pos++;
	json->state = AFTER_VALUE;
	return 0;
}

static int scan_word(struct kb_json *json, struct kb_json_token *ret,
		     struct kbundle_error *err)
{
	static const struct {
		const char *text;
		enum kb_json_type type;
	} words[] = {
		{"true", KB_JSON_TRUE},	      {"false", KB_JSON_FALSE},
		{"null", KB_JSON_NULL},	      {"NaN", KB_JSON_NUMBER},
		{"Infinity", KB_JSON_NUMBER}, {"-Infinity", KB_JSON_NUMBER},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].text);

		if (json->len - json->pos >= n &&
		    memcmp(json->text + json->pos, words[i].text, n) == 0) {
			ret->type = words[i].type;
			json->pos += n;
			return 0;
		}
	}
	return expected(json, err, "value");
}

static int scan_value(struct kb_json *json, struct kb_json_token *ret,
		      struct kbundle_error *err)
{
	char c = json->pos < json->len ? json->text[json->pos] : '\0';
	char after =
		json->len - json->pos > 1 ? json->text[json->pos + 1] : '\0';

	if (c == '{' || c == '[')
		return scan_open(json, ret, err);
	json->state = AFTER_VALUE;
	if (c == '"') {
		ret->type = KB_JSON_STRING;
		return scan_string(json, err);
	}
	if (kb_is_digit(c) || (c == '-' && kb_is_digit(after))) {
		ret->type = KB_JSON_NUMBER;
		return scan_number(json, err);
	}
	return scan_word(json, ret, err);
}

static int scan_key(struct kb_json *json, struct kb_json_token *ret,
		    struct kbundle_error *err)
{
	if (!at(json, '"'))
		return expected(json, err, "member name in quotes");
	ret->type = KB_JSON_KEY;
	json->state = AFTER_KEY;
	return scan_string(json, err);
}

static int scan_end(const struct kb_json *json, struct kb_json_token *ret,
		    struct kbundle_error *err)
{
	if (json->pos < json->len)
		return fault(err, json->pos, "more text after the value");
	ret->type = KB_JSON_END;
	return 0;
}

/* Moves over what may stand between two tokens; then state and the byte at pos
 * say what the next one is. */
static int scan_separator(struct kb_json *json, struct kbundle_error *err)
{
	skip_space(json);
	if (json->state == AFTER_KEY) {
		if (!at(json, ':'))
			return expected(json, err, "colon");
		json->state = AT_VALUE;
	} else if (json->state == AFTER_VALUE && json->depth > 0) {
		bool is_object = in_object(json);

		if (at(json, is_object ? '}' : ']'))
			return 0;
		if (!at(json, ','))
			return expected(json, err,
					is_object ? "comma or }"
						  : "comma or ]");
		json->state = is_object ? AT_KEY : AT_VALUE;
	} else {
		return 0;
	}
	json->pos++;
	skip_space(json);
	return 0;
}

static int scan_token(struct kb_json *json, struct kb_json_token *ret,
		      struct kbundle_error *err)
{
	int r = scan_separator(json, err);

	if (r < 0)
		return r;
	ret->offset = json->pos;
	ret->depth = json->depth;
	switch ((enum state)json->state) {
	case AT_KEY:
		return scan_key(json, ret, err);
	case AT_FIRST_KEY:
		return at(json, '}') ? scan_close(json, ret)
				     : scan_key(json, ret, err);
	case AT_FIRST_ITEM:
		return at(json, ']') ? scan_close(json, ret)
				     : scan_value(json, ret, err);
	case AFTER_VALUE:
		return json->depth > 0 ? scan_close(json, ret)
				       : scan_end(json, ret, err);
	case AT_VALUE:
	case AFTER_KEY:
		break;
	}
	return scan_value(json, ret, err);
}

int kb_json_next(struct kb_json *json, struct kb_json_token *ret,
		 struct kbundle_error *err)
{
	struct kb_json before = *json;
	struct kb_json_token token = {.type = KB_JSON_END};
	int r = scan_token(json, &token, err);

	if (r < 0) {
		*json = before;
		return r;
	}
	token.len = json->pos - token.offset;
	*ret = token;
	return 0;
}

int kb_json_skip(struct kb_json *json, const struct kb_json_token *token,
		 struct kbundle_error *err)
{
	struct kb_json_token inner = *token;
	int r;

	if (inner.type == KB_JSON_KEY) {
		r = kb_json_next(json, &inner, err);
		if (r < 0)
			return r;
	}
	if (inner.type != KB_JSON_OBJECT && inner.type != KB_JSON_ARRAY)
		return 0;
	do {
		r = kb_json_next(json, &inner, err);
		if (r < 0)
			return r;
	} while (inner.depth > token->depth);
	return 0;
}

bool kb_json_is_valid(const void *text, size_t len)
{
	struct kb_json json;
	struct kb_json_token token;

	kb_json_init(&json, text, len);
	do {
		if (kb_json_next(&json, &token, NULL) < 0)
			return false;
	} while (token.type != KB_JSON_END);
	return true;
}
