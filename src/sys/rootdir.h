/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory that is staged in and published into: opened, made with its
 * parents where it is missing, and given back where it turned out unused. Used
 * by stage.c alone.
 */
#ifndef KB_ROOTDIR_H
#define KB_ROOTDIR_H

#include "ctx.h"

#include <stddef.h>

struct kb_rootdir {
	char *path;
	int fd;
	/* What this run made of path: lengths of its prefixes. */
	size_t *made;
	size_t n_made, cap;
};
#define KB_ROOTDIR_INIT                                                        \
	{                                                                      \
		NULL, -1, NULL, 0, 0                                           \
	}

/* Sets the path; opens nothing. Codes: NOMEM. */
int kb_rootdir_init(struct kb_rootdir *root, const char *path,
		    struct kbundle_error *err) KB_MUST_CHECK;
void kb_rootdir_release(struct kb_rootdir *root);

/* Opens path (again), following symlinks, as `mkdir -p` and open would. Codes:
 * IO, NOTFOUND, NOMEM. */
int kb_rootdir_open(struct kb_ctx *ctx, struct kb_rootdir *root,
		    struct kbundle_error *err) KB_MUST_CHECK;
/* fsync of it, and of the directories in which this run made some. Codes: IO,
 * NOTFOUND, NOMEM. */
int kb_rootdir_sync(struct kb_ctx *ctx, const struct kb_rootdir *root,
		    struct kbundle_error *err) KB_MUST_CHECK;
/* Removes what this run made, deepest first, as far as it is empty. */
void kb_rootdir_unmake(struct kb_ctx *ctx, struct kb_rootdir *root);

#endif
