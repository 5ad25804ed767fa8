/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an entry was compiled for: backend and architecture, with a suffix where
 * one is known. As text: "cuda:sm_90a", "hip:gfx90a:xnack-", "xpu:pvc".
 *
 *   cuda  base "cuda:sm_90", suffix "a" or "f"
 *   hip   base "hip:gfx90a", suffix ":sramecc+:xnack-" (each part optional)
 *   other base is everything, no suffix
 */
#ifndef KB_TARGET_H
#define KB_TARGET_H

#include "cleanup.h"

#include <stdbool.h>
#include <stddef.h>

#define KB_TARGET_MAX 96 /* bytes with the NUL */

struct kb_target {
	char text[KB_TARGET_MAX]; /* "" : none */
	size_t base_len;	  /* bytes of text without the suffix */
};

/* Canonical text -> target. Returns false if it is none: backend
 * [a-z][a-z0-9]*, ':', then for cuda sm_<2 or 3 digits>[af], for hip
 * gfx<hex digits> with features sorted sramecc before xnack, else
 * [A-Za-z0-9][A-Za-z0-9._+-]*. */
bool kb_target_parse(struct kb_target *target, const char *text) KB_MUST_CHECK;

/* Builds cuda targets: sm 90, suffix 'a', 'f' or 0. Arguments of which no
 * target can be made give the target of none. */
void kb_target_cuda(struct kb_target *target, unsigned sm, char suffix);

/* Compares the parts without suffix bytewise, as bundle order wants it; ""
 * sorts first. Arguments are canonical texts or NULL/"". */
int kb_target_base_compare(const char *a, const char *b);

/* Does a user's selector take this target? Selectors: "cuda:sm_90", "sm_90",
 * "90", "sm_90a", "gfx942", "hip:gfx942", "gfx90a:xnack-". Without a suffix it
 * takes every suffix; with one only that. A target of none is never taken. */
bool kb_target_is_selected(const char *target, const char *selector);

/* Could this be a selector at all? */
bool kb_target_selector_is_valid(const char *selector);

#endif
