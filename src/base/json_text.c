/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What JSON strings and numbers say, and the two ways strings are written:
 * Python's, into caches, and the canonical one, into manifests. Strings are
 * file names here: bytes, decoded and encoded as os.fsencode() and
 * os.fsdecode() do.
 *
 * Invariant: only tokens from kb_json_next() are decoded, whose form is sound
 * already.
 */
#include "json.h"

#include "ascii.h"
#include "error.h"
#include "utf8.h"

#include <string.h>

#define EXACT_MAX (((int64_t)1 << 53) - 1)

static const char hex_digits[] = "0123456789abcdef";

static bool is_high_surrogate(uint32_t code)
{
	return code >= 0xd800 && code <= 0xdbff;
}

static bool is_low_surrogate(uint32_t code)
{
	return code >= 0xdc00 && code <= 0xdfff;
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
	if (!kb_hex4_read(text + 2, len - 2, &code) || code == 0)
		return taken;
	if (is_high_surrogate(code)) {
		if (len < 12 || text[6] != '\\' || text[7] != 'u' ||
		    !kb_hex4_read(text + 8, len - 8, &low) ||
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
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "JSON, byte %zu: no string", token->offset);
	while (pos < end) {
		char out[4];
		size_t n, taken;

		taken = decode_one(json->text + pos, end - pos, out, &n);
		if (n == 0)
			r = kb_fail(
				err, KBUNDLE_E_FORMAT,
				"JSON, byte %zu: a character that no file name "
				"can hold (U+0000 or half of a surrogate pair)",
				pos);
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
		if (!kb_is_digit(text[i]))
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
