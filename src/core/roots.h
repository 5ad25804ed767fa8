/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caches that a call reads from: opened, their format found out, named.
 * A root given as an archive is unpacked into a private directory first, which
 * goes away on release.
 */
#ifndef KB_ROOTS_H
#define KB_ROOTS_H

#include "../../formats/format.h"
#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

#include <stddef.h>

struct kb_source_root {
	char *name;
	char *path;  /* absolute and clean, as given */
	char *token; /* "<prefix>/<name>" */
	const struct kb_format *format;
	int fd;
	char *scratch; /* private directory of an archive, or NULL */
};

struct kb_source_roots {
	struct kb_ctx *ctx;
	struct kb_source_root *items;
	size_t n;
	const char **tokens; /* items[i].token, for kb_relocate_collapse() */
};

/* spool_dir: where archives are unpacked. A tree that no format claims is taken
 * for the first format's, which finds nothing there. Roots that the user did
 * not name have no name yet. Codes: INVALID (names, format), NOTFOUND, IO,
 * UNSUPPORTED (no directory and no archive), LIMIT, CANCELLED, NOMEM. */
int kb_source_roots_open(struct kb_ctx *ctx, const struct kbundle_root *roots,
			 size_t n, const char *spool_dir,
			 const struct kbundle_limits *limits,
			 struct kb_source_roots *ret,
			 struct kbundle_error *err) KB_MUST_CHECK;
/* Names those without a name and makes all tokens; prefix NULL:
 * "/opt/kbundle". Codes: INVALID (token), NOMEM. */
int kb_source_roots_name(struct kb_source_roots *roots, const char *prefix,
			 struct kbundle_error *err) KB_MUST_CHECK;
void kb_source_roots_release(struct kb_source_roots *roots);
KB_DEFINE_AUTO_STRUCT(struct kb_source_roots, kb_source_roots_release);

/* Absolute form of a user's path. Codes: IO (no working directory), NOMEM. */
int kb_absolute(const char *path, char **ret,
		struct kbundle_error *err) KB_MUST_CHECK;

/* $TMPDIR or /tmp. */
const char *kb_tmp_dir(void);

#endif
