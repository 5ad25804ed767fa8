/* SPDX-License-Identifier: Apache-2.0 */
/* Listing one directory, sorted by bytes, since the order of the disk never
 * matters; whole trees; and walks that follow no symlink. */
#ifndef KB_WALK_H
#define KB_WALK_H

#include "../base/arena.h"
#include "ctx.h"

#include <stdbool.h>
#include <stddef.h>

struct kb_dirent {
	const char *name;   /* bytes as the disk has them */
	unsigned char type; /* DT_REG, DT_DIR, DT_LNK, …; never DT_UNKNOWN */
};

struct kb_listing {
	struct kb_dirent *items;
	size_t n;
	struct kb_arena arena; /* names live here */
	size_t cap;
};
#define KB_LISTING_INIT                                                        \
	{                                                                      \
		NULL, 0, KB_ARENA_INIT, 0                                      \
	}

/* Lists fd (an open directory; its offset is rewound) without "." and "..".
 * The listing may be reused: it is cleared first. A name that vanishes while
 * its type is asked for is left out. Codes: IO, NOMEM; NOTFOUND: the directory
 * itself was removed. */
int kb_list(struct kb_ctx *ctx, int fd, struct kb_listing *ret,
	    const char *name, struct kbundle_error *err) KB_MUST_CHECK;
void kb_listing_release(struct kb_listing *listing);
KB_DEFINE_AUTO_STRUCT(struct kb_listing, kb_listing_release);

/* Removes path below dirfd, a directory with everything in it, following no
 * symlink. Goes on where something cannot be removed. Returns 0, or -1 with
 * errno of the first such thing; what is not there is removed already. */
int kb_remove_tree(struct kb_ctx *ctx, int dirfd, const char *path);

/* fsync of every directory below fd and then of fd itself, so that the names
 * in them last. Files are not synced. Codes: IO, NOMEM, LIMIT. */
int kb_sync_dirs(struct kb_ctx *ctx, int fd, const char *name,
		 struct kbundle_error *err) KB_MUST_CHECK;

/* Walks <root_fd>/<path> to the directory that holds its last component, with
 * O_NOFOLLOW at every step. *ret_fd -1: a parent is missing. Codes: IO;
 * EXISTS: a component is a symlink or no directory. *ret_name points into
 * path. */
int kb_open_parent(struct kb_ctx *ctx, int root_fd, const char *path,
		   int *ret_fd, const char **ret_name,
		   struct kbundle_error *err) KB_MUST_CHECK;

/* One step of such a walk: opens the directory that path's first component
 * names and sets *ret_rest behind its slash, which path must have. ret_made not
 * NULL: makes it (0777 less umask) where it is missing, and tells. Returns a
 * descriptor, or -1 with errno; ENOTDIR or ELOOP: a file or a symlink. */
int kb_step_into(struct kb_ctx *ctx, int dirfd, const char *path,
		 const char **ret_rest, bool *ret_made);

#endif
