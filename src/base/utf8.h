/* SPDX-License-Identifier: Apache-2.0 */
/* One character of UTF-8 as Unicode defines it: no surrogates, no overlong
 * forms, nothing beyond U+10FFFF. */
#ifndef KB_UTF8_H
#define KB_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that `text` begins with, 1 to 4, and its code point;
 * 0 where the bytes are not valid or cut short. */
static inline size_t kb_utf8_next(const uint8_t *text, size_t len,
				  uint32_t *ret_code)
{
	uint32_t code, least;
	size_t n;

	if (len == 0)
		return 0;
	if (text[0] < 0x80) {
		*ret_code = text[0];
		return 1;
	} else if (text[0] >= 0xc2 && text[0] <= 0xdf) {
		n = 2;
		code = text[0] & 0x1fU;
		least = 0x80;
	} else if (text[0] >= 0xe0 && text[0] <= 0xef) {
		n = 3;
		code = text[0] & 0x0fU;
		least = 0x800;
	} else if (text[0] >= 0xf0 && text[0] <= 0xf4) {
		n = 4;
		code = text[0] & 0x07U;
		least = 0x10000;
	} else {
		return 0;
	}
	if (len < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3fU);
	}
	if (code < least || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return n;
}

/* C0, DEL and C1. */
static inline int kb_utf8_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

#endif
