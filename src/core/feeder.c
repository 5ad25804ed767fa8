/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ordered lane of decompression jobs. Its depth bounds memory: a few frames
 * per worker, whatever the bundle's size.
 */
#include "feeder.h"

#include "../base/error.h"
#include "../dep/zstd.h"
#include "limits.h"

#include <stdlib.h>
#include <string.h>

static int decompress(struct kb_job *job, unsigned worker,
		      struct kbundle_error *err)
{
	struct kb_plain_frame *frame = (struct kb_plain_frame *)job;
	struct kb_feeder *feeder = frame->feeder;
	uint32_t content = frame->content_bytes;
	int r = 0;

	if (!feeder->source->is_stream)
		r = kb_source_read(feeder->source, frame->index, &frame->packed,
				   &content, err);
	if (r == 0)
		r = kb_zstd_decompress(feeder->readers[worker],
				       frame->packed.data, frame->packed.len,
				       content, &frame->plain, err);
	if (r < 0)
		kb_wrap(err, "frame %zu", frame->index);
	kb_buf_release(&frame->packed);
	return r;
}

struct kb_plain_frame *kb_plain_frame_ref(struct kb_plain_frame *frame)
{
	atomic_fetch_add(&frame->refs, 1);
	return frame;
}

void kb_plain_frame_unref(struct kb_plain_frame *frame)
{
	if (!frame || atomic_fetch_sub(&frame->refs, 1) != 1)
		return;
	kb_buf_release(&frame->packed);
	kb_buf_release(&frame->plain);
	free(frame);
}

static void drop_frame(struct kb_job *job)
{
	kb_plain_frame_unref((struct kb_plain_frame *)job);
}

int kb_feeder_init(struct kb_feeder *feeder, const struct kb_survey *survey,
		   struct kb_pool *pool, const uint8_t *needed,
		   struct kbundle_error *err)
{
	memset(feeder, 0, sizeof(*feeder));
	feeder->source = survey->source;
	feeder->survey = survey;
	feeder->workers = kb_pool_workers(pool);
	feeder->needed = needed;
	feeder->next = survey->manifest_frames;
	feeder->readers = calloc(feeder->workers, sizeof(*feeder->readers));
	if (!feeder->readers)
		return kb_fail_nomem(err);
	for (unsigned i = 0; i < feeder->workers; i++) {
		int r = kb_zstd_reader_new(&feeder->readers[i], err);

		if (r < 0)
			return r;
	}
	return kb_lane_new(pool, feeder->workers, &feeder->lane, err);
}

void kb_feeder_release(struct kb_feeder *feeder)
{
	kb_lane_free(feeder->lane, drop_frame);
	for (unsigned i = 0; feeder->readers && i < feeder->workers; i++)
		kb_zstd_reader_free(feeder->readers[i]);
	free(feeder->readers);
	memset(feeder, 0, sizeof(*feeder));
}

static bool is_needed(const struct kb_feeder *feeder, size_t i)
{
	return !feeder->needed || feeder->needed[i / 8] & 1u << i % 8;
}

/* Submits one frame; at_end where there is none left. */
static int submit(struct kb_feeder *feeder, struct kbundle_error *err)
{
	struct kb_source *source = feeder->source;
	KB_AUTO(kb_plain_frame_unref) struct kb_plain_frame *frame = NULL;
	int r = 0;

	while (!source->is_stream && feeder->next < source->frames.n &&
	       !is_needed(feeder, feeder->next))
		feeder->next++;
	if (!source->is_stream && feeder->next == source->frames.n) {
		feeder->at_end = true;
		return 0;
	}
	frame = calloc(1, sizeof(*frame));
	if (!frame)
		return kb_fail_nomem(err);
	atomic_init(&frame->refs, 1);
	frame->job.run = decompress;
	frame->feeder = feeder;
	frame->index = feeder->next;
	kb_buf_init(&frame->packed, 2 * KB_FRAME_MAX);
	kb_buf_init(&frame->plain, KB_FRAME_MAX);
	if (source->is_stream)
		r = kb_source_read(source, feeder->next, &frame->packed,
				   &frame->content_bytes, err);
	else
		frame->content_bytes =
			source->frames.frames[feeder->next].content_bytes;
	if (r < 0)
		return r;
	feeder->at_end = !frame->content_bytes;
	if (feeder->at_end)
		return 0;
	feeder->next++;
	if (source->is_stream)
		r = kb_ratio_check(&feeder->survey->limits,
				   source->content_bytes, source->stored_bytes,
				   err);
	if (r == 0)
		kb_lane_submit(feeder->lane, &kb_take(frame)->job);
	return r;
}

int kb_feeder_next(struct kb_feeder *feeder, struct kb_plain_frame **ret,
		   struct kbundle_error *err)
{
	KB_AUTO(kb_plain_frame_unref) struct kb_plain_frame *frame = NULL;
	int r;

	*ret = NULL;
	while (!feeder->at_end && !kb_lane_is_full(feeder->lane)) {
		r = submit(feeder, err);
		if (r < 0)
			return r;
	}
	frame = (struct kb_plain_frame *)kb_lane_take(feeder->lane);
	if (!frame)
		return 0;
	r = kb_job_result(&frame->job, err);
	if (r == 0)
		*ret = kb_take(frame);
	return r;
}
