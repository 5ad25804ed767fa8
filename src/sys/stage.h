/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging and publishing below one root (DESIGN 4.7, docs/architecture.md).
 *
 * One run has one directory `<root>/tmp.<uuid4>/` per root. In it lies the mark
 * `.kbundle` under flock, and one child per entry named by a number. A child is
 * made whole, then published by one rename onto an absent or empty place.
 * Published entries are never changed or deleted. kb_stage_close() removes what
 * is left of the run's own staging: it is the rollback, and cannot fail.
 *
 * Threads: after open, kb_stage_dir(), kb_stage_file(), kb_stage_sync_dir() and
 * kb_stage_drop() may be called from several threads with different numbers;
 * the rest by one.
 */
#ifndef KB_STAGE_H
#define KB_STAGE_H

#include "ctx.h"
#include "walk.h" /* kb_open_parent(), for those who look at what is there */

#include <stdbool.h>
#include <stdint.h>

struct kb_stage; /* opaque: name, root fd, staging fd, mark fd */

enum kb_publish {
	KB_PUBLISH_DONE = 0,
	KB_PUBLISH_TAKEN,   /* a non-empty directory, or for a file any file */
	KB_PUBLISH_OCCUPIED /* something that no entry can be: a symlink, for a
			     * directory a file or a mount point, and so on */
};

/* Opens root (an absolute, clean path; created with its parents where missing;
 * symlinks in it are followed), makes this run's staging directory and removes
 * abandoned staging of other runs (mark.h). uuid gives a new random UUID with
 * each call, as kb_uuid4() does. If the root had to be made and nothing was
 * published, close removes the directories that this run made, if they are
 * empty. ctx must outlive the stage. Codes: IO, NOTFOUND, NOMEM; EXISTS: too
 * many UUIDs were taken. */
int kb_stage_open(struct kb_ctx *ctx, const char *root,
		  void (*uuid)(char ret[37]), struct kb_stage **ret,
		  struct kbundle_error *err) KB_MUST_CHECK;

int kb_stage_root_fd(const struct kb_stage *stage);
/* "<root>/tmp.<uuid4>", for messages and for helpers; borrowed. */
const char *kb_stage_path(const struct kb_stage *stage);

/* Makes child <number> (a directory) and returns an open descriptor of it. */
int kb_stage_dir(struct kb_stage *stage, uint64_t number, int *ret_fd,
		 struct kbundle_error *err) KB_MUST_CHECK;
/* Creates a file in a child directory, or (dir_fd -1) the file-shaped child
 * <number> itself, name NULL; mode 0666 less umask, open for reading and
 * writing. Subdirectories in name are made. Close it with kb_close_written().
 * Codes: IO, EXISTS, INVALID: no name that may be in a bundle. */
int kb_stage_file(struct kb_stage *stage, uint64_t number, int dir_fd,
		  const char *name, int *ret_fd,
		  struct kbundle_error *err) KB_MUST_CHECK;
/* fsync of a child's files was done by the caller (kb_sync()); this does its
 * directories, the deepest first. */
int kb_stage_sync_dir(struct kb_stage *stage, int dir_fd,
		      struct kbundle_error *err) KB_MUST_CHECK;
/* One syncfs of the staging's file system; EINVAL, ENOSYS, EOPNOTSUPP pass. */
int kb_stage_sync_all(struct kb_stage *stage,
		      struct kbundle_error *err) KB_MUST_CHECK;

/* Publishes child <number> at <root>/<path>. Parents of path below the root
 * are made as needed, no symlink among them is followed. is_dir: rename onto
 * an absent or empty directory; else link(2), fallback RENAME_NOREPLACE. A
 * child that was not published stays in the staging. Codes: IO, NOTFOUND,
 * NOMEM, INVALID (path), UNSUPPORTED (the file system can do neither). */
int kb_stage_publish(struct kb_stage *stage, uint64_t number, bool is_dir,
		     const char *path, enum kb_publish *ret,
		     struct kbundle_error *err) KB_MUST_CHECK;
/* What time it is for the file system: its own clock, which may be that of a
 * server. Codes: IO. */
int kb_stage_now(struct kb_stage *stage, struct timespec *ret,
		 struct kbundle_error *err) KB_MUST_CHECK;
/* Throws one child away (an entry that failed validation). */
void kb_stage_drop(struct kb_stage *stage, uint64_t number);
/* After the last publish: fsync of the root and of the parents that were
 * changed (sync), so that the renames last. Codes: IO. */
int kb_stage_finish(struct kb_stage *stage, bool sync,
		    struct kbundle_error *err) KB_MUST_CHECK;
void kb_stage_close(struct kb_stage *stage);
KB_DEFINE_AUTO(struct kb_stage *, kb_stage_close);

#endif
