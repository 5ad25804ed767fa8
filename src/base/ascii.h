/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of ASCII characters, whatever the locale. */
#ifndef KB_ASCII_H
#define KB_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool kb_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* -1 where c is no hex digit. */
static inline int kb_hex_value(char c)
{
	if (kb_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Four hex digits. */
static inline bool kb_hex4_read(const char *text, size_t len,
				uint32_t *ret_code)
{
	uint32_t code = 0;

	if (len < 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		int value = kb_hex_value(text[i]);

		if (value < 0)
			return false;
		code = code << 4 | (uint32_t)value;
	}
	*ret_code = code;
	return true;
}

#endif
