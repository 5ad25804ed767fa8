/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing of small texts: numbers, sizes, hex, times. The C
 * library's own readers take white space, signs, prefixes and trailing text,
 * and depend on the locale; these take the whole text or nothing.
 *
 * Invariant: *ret is written only on success.
 */
#include "parse.h"

#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the digits that text begins with, at least one; returns what follows
 * them, NULL where there are none or the number is above max. */
static const char *read_digits(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!is_digit(*text))
		return NULL;
	for (; is_digit(*text); text++)
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'),
					   &value) ||
		    value > max)
			return NULL;
	*ret = value;
	return text;
}

bool kb_parse_u64(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t value;

	text = read_digits(text, max, &value);
	if (!text || *text)
		return false;
	*ret = value;
	return true;
}

bool kb_parse_bytes(const char *text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t value;

	text = read_digits(text, UINT64_MAX, &value);
	if (!text)
		return false;
	if (*text) {
		unit = strchr(units, *text++);
		if (!unit || (*text && strcmp(text, "B") != 0 &&
			      strcmp(text, "iB") != 0))
			return false;
		if (__builtin_mul_overflow(
			    value, (uint64_t)1 << 10 * (unit - units + 1),
			    &value))
			return false;
	}
	*ret = value;
	return true;
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool kb_parse_hex(const char *text, uint8_t *ret, size_t n)
{
	if (strnlen(text, 2 * n + 1) != 2 * n)
		return false;
	for (size_t i = 0; i < 2 * n; i++)
		if (hex_value(text[i]) < 0)
			return false;
	for (size_t i = 0; i < n; i++)
		ret[i] = (uint8_t)(hex_value(text[2 * i]) << 4 |
				   hex_value(text[2 * i + 1]));
	return true;
}

void kb_format_hex(char *text, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 0xf];
	}
	text[2 * n] = '\0';
}

const char *kb_format_bytes(char text[16], uint64_t bytes)
{
	static const char units[] = "kMGTPE";
	uint64_t unit = 1000;
	unsigned tenths;
	size_t i = 0;

	if (bytes < 1000) {
		(void)snprintf(text, 16, "%u B", (unsigned)bytes);
		return text;
	}
	/* From 999.95 on, one decimal shows the next unit. */
	while (units[i + 1] && bytes / unit >= 999 &&
	       bytes - 999 * unit >= unit / 20 * 19) {
		unit *= 1000;
		i++;
	}
	tenths = (unsigned)(bytes / (unit / 10));
	if (bytes % (unit / 10) >= unit / 20)
		tenths++;
	(void)snprintf(text, 16, "%u.%u %cB", tenths / 10 % 10000, tenths % 10,
		       units[i]);
	return text;
}

bool kb_parse_mtime(const char *text, int64_t *ret_s, uint32_t *ret_ns)
{
	const uint64_t max_s = ((uint64_t)1 << 33) - 1;
	const char *point;
	uint64_t s, ns;

	if (text[0] == '0' && is_digit(text[1]))
		return false;
	point = read_digits(text, max_s, &s);
	if (!point || *point != '.' || strlen(point + 1) != 9 ||
	    !kb_parse_u64(point + 1, 999999999, &ns))
		return false;
	*ret_s = (int64_t)s;
	*ret_ns = (uint32_t)ns;
	return true;
}
