/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompressed payload frames, in order, some of them ahead of need. Frames of
 * a file are read and decompressed by workers; those of a stream are read by
 * the calling thread and decompressed by workers.
 */
#ifndef KB_FEEDER_H
#define KB_FEEDER_H

#include "../base/buf.h"
#include "../sys/workers.h"
#include "survey.h"

#include <kbundle/kbundle.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame, shared by the entries whose bytes it holds. */
struct kb_plain_frame {
	struct kb_job job;
	struct kb_feeder *feeder;
	size_t index; /* among the source's frames */
	uint32_t content_bytes;
	struct kb_buf packed, plain;
	atomic_uint refs;
};

struct kb_feeder {
	struct kb_source *source;
	const struct kb_survey *survey;
	struct kb_zstd_reader **readers; /* one per worker */
	unsigned workers;
	struct kb_lane *lane;
	const uint8_t *needed; /* bit per frame; NULL: all */
	size_t next;	       /* frame to submit */
	bool at_end;	       /* of a stream */
};

int kb_feeder_init(struct kb_feeder *feeder, const struct kb_survey *survey,
		   struct kb_pool *pool, const uint8_t *needed,
		   struct kbundle_error *err) KB_MUST_CHECK;
void kb_feeder_release(struct kb_feeder *feeder);
KB_DEFINE_AUTO_STRUCT(struct kb_feeder, kb_feeder_release);

/* The next needed frame, with a reference of the caller's; *ret NULL: there is
 * none. Codes: FORMAT, IO, NOMEM, LIMIT. */
int kb_feeder_next(struct kb_feeder *feeder, struct kb_plain_frame **ret,
		   struct kbundle_error *err) KB_MUST_CHECK;

struct kb_plain_frame *kb_plain_frame_ref(struct kb_plain_frame *frame);
void kb_plain_frame_unref(struct kb_plain_frame *frame);
KB_DEFINE_AUTO(struct kb_plain_frame *, kb_plain_frame_unref);

#endif
