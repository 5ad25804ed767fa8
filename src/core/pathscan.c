/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A four-state automaton over the bytes: START, '/' seen at a border, inside
 * the first component, '/' after it; a name byte then makes it a path.
 */
#include "pathscan.h"

#include <string.h>

enum { START, ROOT, FIRST, SECOND };

static bool is_border(unsigned char c)
{
	return c == '\0' || c == '"' || c == '\'' || c == ' ' || c == '\t' ||
	       c == '\n' || c == '=' || c == '(';
}

static bool is_name(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' ||
	       c == '+' || c >= 0x80;
}

void kb_path_scan_init(struct kb_path_scan *scan)
{
	scan->found = false;
	scan->before = '\0';
	scan->state = START;
}

static int step(int state, unsigned char before, unsigned char c)
{
	if (c == '/' && is_border(before))
		return ROOT;
	switch (state) {
	case ROOT:
		return is_name(c) ? FIRST : START;
	case FIRST:
		return c == '/' ? SECOND : is_name(c) ? FIRST : START;
	default:
		return START;
	}
}

void kb_path_scan_feed(struct kb_path_scan *scan, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len && !scan->found; i++) {
		if (scan->state == START) {
			/* Most bytes are nothing: find the next slash fast. */
			const unsigned char *slash =
				memchr(bytes + i, '/', len - i);
			size_t skip = slash ? (size_t)(slash - bytes) : len;

			if (skip > i)
				scan->before = bytes[skip - 1];
			i = skip;
			if (i == len)
				return;
		}
		scan->found = scan->state == SECOND && is_name(bytes[i]);
		scan->state = step(scan->state, scan->before, bytes[i]);
		scan->before = bytes[i];
	}
}

bool kb_has_paths(const void *data, size_t len)
{
	struct kb_path_scan scan;

	kb_path_scan_init(&scan);
	kb_path_scan_feed(&scan, data, len);
	return scan.found;
}
