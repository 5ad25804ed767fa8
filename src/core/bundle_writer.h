/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stations "sequencer", "compress" and "writer" of pack: takes final entries in
 * bundle order, lays them into the tar, cuts frames, compresses them side by
 * side and spools them in order; at the end joins manifest, payload and table
 * into the output, which appears complete or not at all.
 *
 *	init, entry…, finish or release (rollback)
 */
#ifndef KB_BUNDLE_WRITER_H
#define KB_BUNDLE_WRITER_H

#include "../dep/hash.h"
#include "../sys/workers.h"
#include "load.h"
#include "manifest.h"
#include "seektable.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

struct kb_bundle_writer_options {
	struct kb_pool *pool;
	int level;
	uint64_t frame_bytes; /* F of docs/format.md 5 */
	const char *spool_dir;
	const struct kbundle_limits *limits; /* those that readers have */
	const char *output;		     /* NULL: output_fd */
	int output_fd;
};

struct kb_bundle_writer {
	struct kb_ctx *ctx;
	struct kb_bundle_writer_options options;
	struct kb_header header; /* roots given at init, sums counted here */
	struct kb_hash *hash;
	struct kb_zstd_writer **compressors; /* one per worker */
	struct kb_lane *lane;
	struct frame_job *frame; /* being filled, or NULL */
	struct frame_job *spare; /* emptied ones, for reuse */
	int payload_fd;		 /* spool of payload frames */
	struct kb_seektable payload;
	int lines_fd; /* spool of the entries' lines */
	uint64_t lines_bytes;
	struct kb_buf line; /* scratch */
	uint32_t last_root;
	char last_target[KB_TARGET_MAX];
	uint8_t id[KB_SHA256_BYTES]; /* after finish */
	uint64_t bundle_bytes;	     /* after finish */
};

/* roots are borrowed. Codes: IO, NOMEM, INTERNAL. */
int kb_bundle_writer_init(struct kb_bundle_writer *writer, struct kb_ctx *ctx,
			  const struct kb_bundle_writer_options *options,
			  struct kb_root *roots, size_t n_roots,
			  struct kbundle_error *err) KB_MUST_CHECK;
void kb_bundle_writer_release(struct kb_bundle_writer *writer);
KB_DEFINE_AUTO_STRUCT(struct kb_bundle_writer, kb_bundle_writer_release);

/* Adds an entry; loaded is not kept. Codes: IO, NOMEM, LIMIT, INTERNAL. */
int kb_bundle_writer_entry(struct kb_bundle_writer *writer,
			   const struct kb_loaded *loaded,
			   struct kbundle_error *err) KB_MUST_CHECK;
/* Writes the output. Codes: IO, NOMEM, LIMIT, CANCELLED. */
int kb_bundle_writer_finish(struct kb_bundle_writer *writer,
			    struct kbundle_error *err) KB_MUST_CHECK;

#endif
