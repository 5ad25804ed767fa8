/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark `.kbundle` by which runs know each other's staging directories, and
 * the removal of those that dead runs left. Used by stage.c alone.
 *
 * Whose is a directory `tmp.<uuid4>` below a root?
 *   mark locked by a process         a living run's
 *   mark with our magic, not locked  a dead run's: removed, if the lock can be
 *                                    trusted (this boot, local file system) or
 *                                    it is older than a day
 *   no mark, empty, mode 01700, our  a run's that died before it made its mark:
 *   uid                              removed by rmdir. A living run that loses
 *                                    its fresh directory makes another one
 *   the same with an empty mark,     a run's that died before it wrote into its
 *   not locked, and nothing else     mark: as a dead run's, of any boot
 *   anything else                    not ours (TritonBundler stages in
 *                                    tmp.<uuid4> too): never touched
 */
#ifndef KB_MARK_H
#define KB_MARK_H

#include "ctx.h"

#include <stdbool.h>

#define KB_STAGING_PREFIX "tmp."
#define KB_STAGING_MODE (S_ISVTX | S_IRWXU)

/* Creates and locks the mark in a fresh staging directory. Returns 0; or 1: the
 * directory went to another run, make another one. Codes: IO, NOTFOUND. */
int kb_mark_create(struct kb_ctx *ctx, int dir_fd, int *ret_fd,
		   const char *name, struct kbundle_error *err) KB_MUST_CHECK;

/* Removes abandoned staging below a root. What cannot be removed is logged. own
 * is left alone; the time stamp of its mark says what time it is there. */
void kb_mark_sweep(struct kb_ctx *ctx, int root_fd, const char *root,
		   const char *own, int own_mark_fd);

/* Removes one staging directory whose lock the caller holds, the mark last, so
 * that a kill leaves nothing that nobody may remove. dir_fd -1: it is empty.
 * Returns 0, or -1 with errno. */
int kb_mark_remove(struct kb_ctx *ctx, int root_fd, const char *name,
		   int dir_fd);

#endif
