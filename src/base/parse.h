/* SPDX-License-Identifier: Apache-2.0 */
/* Strict reading of small texts: whole text or nothing, no locale, no sign. */
#ifndef KB_PARSE_H
#define KB_PARSE_H

#include "cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only, at most max. */
bool kb_parse_u64(const char *text, uint64_t max, uint64_t *ret) KB_MUST_CHECK;
/* The same with an optional K, M, G, T (powers of 1024), "KiB" and "KB" too. */
bool kb_parse_bytes(const char *text, uint64_t *ret) KB_MUST_CHECK;
/* Exactly 2*n lower-case hex digits and no more. */
bool kb_parse_hex(const char *text, uint8_t *ret, size_t n) KB_MUST_CHECK;
/* 2*n lower-case hex digits and a NUL into text. */
void kb_format_hex(char *text, const uint8_t *bytes, size_t n);
/* "12.3 MB": decimal units, for people. Returns text. */
const char *kb_format_bytes(char text[16], uint64_t bytes);

/* "<seconds>.<9 digits>", seconds 0 to 2^33-1 without leading zeros. */
bool kb_parse_mtime(const char *text, int64_t *ret_s,
		    uint32_t *ret_ns) KB_MUST_CHECK;

#endif
