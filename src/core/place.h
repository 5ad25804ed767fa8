/* SPDX-License-Identifier: Apache-2.0 */
/* What is already there where an entry would go. Nothing is changed. */
#ifndef KB_PLACE_H
#define KB_PLACE_H

#include "../../formats/format.h"
#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum kb_place {
	KB_PLACE_ABSENT,   /* nothing, or an empty directory */
	KB_PLACE_PRESENT,  /* a whole entry that works there */
	KB_PLACE_UNMARKED, /* something without a commit file */
	KB_PLACE_OCCUPIED  /* something else; reason says what */
};

/* A live root: how it may be spelled in the paths of its entries. */
struct kb_live_root {
	int fd; /* -1: does not exist */
	const char *const *spellings;
	size_t n_spellings;
};

struct kb_place_look {
	enum kb_place place;
	char reason[256];
	struct timespec mtime; /* of what is there */
};

/* entry: its path, format, kind, name and the file that commits it are used.
 * Codes: IO, NOMEM. */
int kb_place_look(struct kb_ctx *ctx, const struct kb_live_root *root,
		  const struct kb_entry *entry, bool is_file,
		  struct kb_place_look *ret,
		  struct kbundle_error *err) KB_MUST_CHECK;

#endif
