/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a bundle's manifest line by line. A reader does it twice: first alone,
 * to check it and to plan; then beside the payload. The second walk must give
 * the same id.
 */
#ifndef KB_WALK_MANIFEST_H
#define KB_WALK_MANIFEST_H

#include "../base/buf.h"
#include "../dep/hash.h"
#include "../dep/zstd.h"
#include "manifest.h"
#include "source.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

struct kb_manifest_walk {
	struct kb_source *source;
	const struct kbundle_limits *limits;
	struct kb_zstd_reader *zstd;
	struct kb_hash *hash;
	struct kb_buf packed, plain; /* current frame */
	size_t frame;		     /* number of the next one */
	size_t pos;		     /* in plain */
	struct kb_buf line;
	unsigned char tar[512]; /* header of the member, compared at the end */
	uint64_t bytes;		/* of the manifest so far */
	uint64_t lines;
	struct kb_header header; /* after begin */
	struct kb_arena arena;	 /* of the header */
};

/* Reads the first frame, the header line and checks it against the limits.
 * Codes: FORMAT, VERSION, LIMIT, IO, NOMEM. */
int kb_manifest_walk_begin(struct kb_manifest_walk *walk,
			   struct kb_source *source,
			   const struct kbundle_limits *limits,
			   struct kbundle_error *err) KB_MUST_CHECK;
/* The next entry's line without its newline; borrowed until the next call. */
int kb_manifest_walk_line(struct kb_manifest_walk *walk, const char **ret_line,
			  size_t *ret_len,
			  struct kbundle_error *err) KB_MUST_CHECK;
/* After as many lines as the header says: checks padding and tar header, and
 * that the payload begins a frame of its own. *ret_frames: frames of the
 * manifest. */
int kb_manifest_walk_end(struct kb_manifest_walk *walk, uint8_t ret_id[32],
			 size_t *ret_frames,
			 struct kbundle_error *err) KB_MUST_CHECK;
void kb_manifest_walk_release(struct kb_manifest_walk *walk);
KB_DEFINE_AUTO_STRUCT(struct kb_manifest_walk, kb_manifest_walk_release);

#endif
