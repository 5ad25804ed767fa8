/* SPDX-License-Identifier: Apache-2.0 */
/* Listing one directory, sorted by bytes: the order of the disk never matters. */
#ifndef KB_WALK_H
#define KB_WALK_H

#include "../base/arena.h"
#include "ctx.h"

#include <stddef.h>

struct kb_dirent {
	const char *name; /* bytes as the disk has them */
	unsigned char type; /* DT_REG, DT_DIR, DT_LNK, …; never DT_UNKNOWN */
};

struct kb_listing {
	struct kb_dirent *items;
	size_t n;
	struct kb_arena arena; /* names live here */
	size_t cap;
};
#define KB_LISTING_INIT { NULL, 0, KB_ARENA_INIT, 0 }

/* Lists fd (an open directory; its offset is rewound) without "." and "..".
 * The listing may be reused: it is cleared first. A name that vanishes while
 * its type is asked for is left out. Codes: IO, NOMEM. */
int kb_list(struct kb_ctx *ctx, int fd, struct kb_listing *ret,
	    const char *name, struct kbundle_error *err) KB_MUST_CHECK;
void kb_listing_release(struct kb_listing *listing);
KB_DEFINE_AUTO_STRUCT(struct kb_listing, kb_listing_release);

/* Removes a directory below dirfd with everything in it, following no symlink.
 * Returns 0 or -1 with errno of the first thing that could not be removed
 * (ENOENT at the top is success). */
int kb_remove_tree(struct kb_ctx *ctx, int dirfd, const char *path);

#endif
