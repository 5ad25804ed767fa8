/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a file still hold absolute paths? Source paths in IR text and in debug
 * sections of binaries are never edited; they are a matter of privacy, so files
 * that have some are counted.
 */
#ifndef KB_PATHSCAN_H
#define KB_PATHSCAN_H

#include <stdbool.h>
#include <stddef.h>

/* What looks like one: '/' behind a quote, NUL, blank, '=' or '(', then two
 * components at least. Pieces may be fed one by one. */
struct kb_path_scan {
	bool found;
	unsigned char before; /* byte in front of the current one */
	int state;	      /* of the small automaton in pathscan.c */
};

void kb_path_scan_init(struct kb_path_scan *scan);
void kb_path_scan_feed(struct kb_path_scan *scan, const void *data, size_t len);
bool kb_has_paths(const void *data, size_t len);

#endif
