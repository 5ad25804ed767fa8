/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for names in bundles (docs/format.md, "Names") and cleaning of the
 * paths that users give. Pure text: nothing here looks at a disk.
 */
#ifndef KB_PATH_H
#define KB_PATH_H

#include "cleanup.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>

#define KB_NAME_MAX 255		/* bytes of one component */
#define KB_MEMBER_PATH_MAX 1024 /* bytes of a member path */
#define KB_PATH_DEPTH_MAX 16	/* components of a member path */
#define KB_ROOT_NAME_MAX 32
#define KB_TOKEN_MIN 8
#define KB_TOKEN_MAX 200

bool kb_utf8_is_valid(const void *text, size_t len);

/* One component: 1 to 255 bytes, valid UTF-8 without C0, DEL, C1, backslash and
 * slash; not ".", "..", ".kbundle"; does not begin with "tmp.". NULL if fine,
 * else why not, as a phrase for a message ("is empty", "has a control byte").
 */
const char *kb_name_fault(const char *name);

/* A relative path of such components; depth and length by the limits above.
 * NULL if fine, else why not. */
const char *kb_path_fault(const char *path);

/* [a-z0-9][a-z0-9._-]{0,31}, not beginning with "kbundle"; and a component as
 * above, so not beginning with "tmp." either. */
bool kb_root_name_is_valid(const char *name);

/* (/[A-Za-z0-9][A-Za-z0-9._+-]*)+, 8 to 200 bytes. */
bool kb_token_is_valid(const char *token);

/* Makes path absolute against cwd (used when path is relative; absolute) and
 * clean: no empty, "." or trailing components; ".." is resolved by text.
 * Symlinks are kept. Returns a malloc'ed string or NULL when memory is out. */
char *kb_path_absolute(const char *cwd, const char *path) KB_MUST_CHECK;

/* "<a>/<b>", malloc'ed; of one that is empty nothing is seen, and a slash that
 * ends a is not doubled. NULL when memory is out. */
char *kb_path_join(const char *a, const char *b) KB_MUST_CHECK;

/* Last component (no trailing slashes expected). Borrowed from path. */
const char *kb_path_basename(const char *path);

#endif
