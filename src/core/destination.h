/* SPDX-License-Identifier: Apache-2.0 */
/* Where each root of a bundle goes on this machine. */
#ifndef KB_DESTINATION_H
#define KB_DESTINATION_H

#include "../sys/stage.h"
#include "manifest.h"
#include "place.h"

#include <kbundle/kbundle.h>

#include <stddef.h>

struct kb_destination {
	char *path;    /* absolute, clean, symlinks kept */
	char *written; /* path that goes into the files: path, or --as */
	struct kb_live_root live;
	char *spellings[3];	/* path, written, real path */
	struct kb_stage *stage; /* NULL: nothing is written there */
};

struct kb_destinations {
	struct kb_destination *items; /* one per root of the header */
	size_t n;
};

/* roots and as: those of struct kbundle_unpack_options. Opens roots that exist.
 * Codes: INVALID, NOTFOUND (no default root), IO, NOMEM. */
int kb_destinations_open(struct kb_destinations *destinations,
			 struct kb_ctx *ctx, const struct kb_header *header,
			 const struct kbundle_root *roots, size_t n_roots,
			 const char *as,
			 struct kbundle_error *err) KB_MUST_CHECK;
void kb_destinations_release(struct kb_destinations *destinations);
KB_DEFINE_AUTO_STRUCT(struct kb_destinations, kb_destinations_release);

#endif
