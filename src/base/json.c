/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON scanner and the two string writers. It judges form only; what a
 * member means is the caller's. The grammar is that of Python's json module,
 * which frameworks read their caches with: RFC 8259, and NaN and infinities,
 * lone surrogates in escapes and duplicate members besides; integers of more
 * than 4300 digits are refused.
 *
 * Invariant: a token is returned only if everything up to its end is valid, so
 * decoding a returned token cannot run past it. An error leaves the scanner as
 * it was before the call: asking again gives the same error.
 */
#include "json.h"

#include "error.h"
#include "utf8.h"

#include <string.h>

#define INTEGER_DIGITS_MAX 4300 /* sys.int_info.default_max_str_digits */
#define EXACT_MAX ((int64_t)1 << 53)

enum state {
	AT_VALUE,      /* a value must follow */
	AT_KEY,	       /* a key must follow */
	AT_FIRST_KEY,  /* a key or the end of the object */
	AT_FIRST_ITEM, /* a value or the end of the array */
	AFTER_KEY,
	AFTER_VALUE
};

static const char hex_digits[] = "0123456789abcdef";

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* -1 where c is no hex digit. */
static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool is_high_surrogate(uint32_t code)
{
	return code >= 0xd800 && code <= 0xdbff;
}

static bool is_low_surrogate(uint32_t code)
{
	return code >= 0xdc00 && code <= 0xdfff;
}

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

/* Four hex digits. */
static bool read_hex4(const char *text, size_t len, uint32_t *ret_code)
{
	uint32_t code = 0;

	if (len < 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		int value = hex_value(text[i]);

		if (value < 0)
			return false;
		code = code << 4 | (uint32_t)value;
	}
	*ret_code = code;
	return true;
}

/* Moves *pos over the escape that begins there. */
static int scan_escape(const struct kb_json *json, size_t *pos,
		       struct kbundle_error *err)
{
	size_t left = json->len - *pos;
	uint32_t code;

	if (left >= 2 && json->text[*pos + 1] == 'u') {
		if (!read_hex4(json->text + *pos + 2, left - 2, &code))
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

	while (pos + n < json->len && is_digit(json->text[pos + n]))
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
	if (is_digit(c) || (c == '-' && is_digit(after))) {
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

static size_t put_utf8(char out[4], uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	} else if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	} else if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* The \u escape at text, with its second half where it is a pair. Returns the
 * bytes read; *ret_n is 0 where no file name can hold what it says. */
static size_t decode_unicode(const char *text, size_t len, char out[4],
			     size_t *ret_n)
{
	uint32_t code = 0, low = 0;
	size_t taken = 6;

	*ret_n = 0;
	if (!read_hex4(text + 2, len - 2, &code) || code == 0)
		return taken;
	if (is_high_surrogate(code)) {
		if (len < 12 || text[6] != '\\' || text[7] != 'u' ||
		    !read_hex4(text + 8, len - 8, &low) ||
		    !is_low_surrogate(low))
			return taken;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		taken = 12;
	} else if (code >= 0xdc80 && code <= 0xdcff) {
		out[0] = (char)(code - 0xdc00); /* surrogateescape */
		*ret_n = 1;
		return taken;
	} else if (is_low_surrogate(code)) {
		return taken;
	}
	*ret_n = put_utf8(out, code);
	return taken;
}

/* Decodes what the inside of a scanned string begins with: an escape or a
 * character. Returns the bytes read, and in out the *ret_n bytes that it stands
 * for; 0 of them where no file name can hold it. */
static size_t decode_one(const char *text, size_t len, char out[4],
			 size_t *ret_n)
{
	static const char escapes[] = "\"\\/bfnrt";
	static const char meant[] = "\"\\/\b\f\n\r\t";
	uint32_t code;

	if (text[0] != '\\') {
		*ret_n = kb_utf8_next((const uint8_t *)text, len, &code);
		memcpy(out, text, *ret_n);
		return *ret_n;
	}
	if (text[1] == 'u')
		return decode_unicode(text, len, out, ret_n);
	*ret_n = 1;
	out[0] = meant[strchr(escapes, text[1]) - escapes];
	return 2;
}

static bool is_string(const struct kb_json_token *token)
{
	return token->type == KB_JSON_STRING || token->type == KB_JSON_KEY;
}

static int append_decoded(struct kb_buf *buf, const char *bytes, size_t n,
			  size_t offset, struct kbundle_error *err)
{
	int r = kb_buf_append(buf, bytes, n);

	if (r == KBUNDLE_E_LIMIT)
		return kb_fail(
			err, r,
			"JSON, byte %zu: the string is too long, no more "
			"than %zu bytes are allowed",
			offset, buf->max);
	return r < 0 ? kb_fail_nomem(err) : 0;
}

int kb_json_decode(const struct kb_json *json,
		   const struct kb_json_token *token, struct kb_buf *ret,
		   size_t *offsets, struct kbundle_error *err)
{
	size_t pos = token->offset + 1, end = token->offset + token->len - 1;
	size_t old_len = ret->len;
	int r = 0;

	if (!is_string(token))
		return fault(err, token->offset, "no string");
	while (pos < end) {
		char out[4];
		size_t n, taken;

		taken = decode_one(json->text + pos, end - pos, out, &n);
		if (n == 0)
			r = fault(err, pos,
				  "a character that no file name can hold "
				  "(U+0000 or half of a surrogate pair)");
		else
			r = append_decoded(ret, out, n, pos, err);
		if (r < 0) {
			kb_buf_truncate(ret, old_len);
			return r;
		}
		for (size_t i = 0; offsets && i < n; i++)
			*offsets++ = pos;
		pos += taken;
	}
	if (offsets)
		*offsets = end;
	return 0;
}

bool kb_json_equals(const struct kb_json *json,
		    const struct kb_json_token *token, const char *text)
{
	size_t pos = token->offset + 1, end = token->offset + token->len - 1;

	if (!is_string(token))
		return false;
	while (pos < end) {
		char out[4];
		size_t n;

		pos += decode_one(json->text + pos, end - pos, out, &n);
		/* A NUL in text differs from any decoded byte and stops. */
		if (n == 0 || strncmp(text, out, n) != 0)
			return false;
		text += n;
	}
	return *text == '\0';
}

bool kb_json_integer(const struct kb_json *json,
		     const struct kb_json_token *token, int64_t *ret)
{
	const char *text = json->text + token->offset;
	bool is_negative = token->len > 0 && text[0] == '-';
	int64_t value = 0;

	if (token->type != KB_JSON_NUMBER)
		return false;
	for (size_t i = is_negative ? 1 : 0; i < token->len; i++) {
		if (!is_digit(text[i]))
			return false;
		value = 10 * value + (text[i] - '0');
		if (value > EXACT_MAX)
			return false;
	}
	*ret = is_negative ? -value : value;
	return true;
}

static int put_u_escape(struct kb_buf *buf, uint32_t unit)
{
	const char text[6] = {'\\',
			      'u',
			      hex_digits[unit >> 12 & 0xf],
			      hex_digits[unit >> 8 & 0xf],
			      hex_digits[unit >> 4 & 0xf],
			      hex_digits[unit & 0xf]};

	return kb_buf_append(buf, text, sizeof(text));
}

/* Appends one character as json.dumps() with ensure_ascii does. */
static int put_python(struct kb_buf *buf, uint32_t code)
{
	static const char escaped[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	const char *found =
		code > 0 && code < 0x80 ? strchr(escaped, (int)code) : NULL;
	int r;

	if (found) {
		const char text[2] = {'\\', letters[found - escaped]};

		return kb_buf_append(buf, text, sizeof(text));
	}
	if (code >= 0x20 && code < 0x7f)
		return kb_buf_putc(buf, (char)code);
	if (code < 0x10000)
		return put_u_escape(buf, code);
	r = put_u_escape(buf, 0xd800 + ((code - 0x10000) >> 10));
	if (r < 0)
		return r;
	return put_u_escape(buf, 0xdc00 + ((code - 0x10000) & 0x3ff));
}

int kb_json_encode_python(struct kb_buf *buf, const void *bytes, size_t len)
{
	const uint8_t *text = bytes;
	size_t old_len = buf->len;

	for (size_t pos = 0; pos < len;) {
		uint32_t code = 0;
		size_t n = kb_utf8_next(text + pos, len - pos, &code);
		int r;

		if (n == 0) { /* surrogateescape */
			code = 0xdc00U + text[pos];
			n = 1;
		}
		r = put_python(buf, code);
		if (r < 0) {
			kb_buf_truncate(buf, old_len);
			return r;
		}
		pos += n;
	}
	return 0;
}

static int put_canonical(struct kb_buf *buf, const char *text)
{
	int r = kb_buf_putc(buf, '"');

	while (r == 0 && *text) {
		size_t n = 0;

		while ((unsigned char)text[n] >= 0x20 && text[n] != '"' &&
		       text[n] != '\\')
			n++;
		r = kb_buf_append(buf, text, n);
		text += n;
		if (r < 0 || !*text)
			break;
		if ((unsigned char)*text < 0x20) {
			r = put_u_escape(buf, (unsigned char)*text);
		} else {
			const char pair[2] = {'\\', *text};

			r = kb_buf_append(buf, pair, sizeof(pair));
		}
		text++;
	}
	return r < 0 ? r : kb_buf_putc(buf, '"');
}

int kb_json_put_string(struct kb_buf *buf, const char *text)
{
	size_t old_len = buf->len;
	int r = put_canonical(buf, text);

	if (r < 0)
		kb_buf_truncate(buf, old_len);
	return r;
}
