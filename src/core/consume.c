/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread walks manifest and frames and cuts the payload into
 * entries; workers decompress frames and take entries in. An entry that spans
 * more frames than may be held at once is taken in on the calling thread, frame
 * by frame, by the same code.
 */
#include "consume.h"

#include "../base/error.h"
#include "../base/keyset.h"
#include "feeder.h"
#include "limits.h"
#include "walk_manifest.h"

#include <stdlib.h>
#include <string.h>

#define SLICES 4 /* frames that an entry's job may hold */

struct slice {
	struct kb_plain_frame *frame;
	const char *data;
	size_t len;
};

/* An entry on its way through a sink. */
struct entry_job {
	struct kb_job job;
	struct consumption *in;
	uint64_t index;
	bool wanted;
	struct kb_buf line;
	struct slice slices[SLICES];
	size_t n_slices;
	struct kb_arena arena;
	struct kb_entry entry;
	struct kb_sink sink;
};

/* One run of kb_consume(). */
struct consumption {
	struct kb_consumer *consumer;
	const struct kb_survey *survey;
	struct kb_manifest_walk walk;
	struct kb_feeder feeder;
	struct kb_lane *lane;
	struct kb_hash **hashes; /* one per worker, one for the caller */
	uint8_t *needed;
	struct kb_plain_frame *frame; /* current one */
	uint64_t frame_start;	      /* where it begins in the payload */
	uint64_t payload_pos;
	struct kbundle_progress progress;
};

static void entry_job_free(struct entry_job *job)
{
	if (!job)
		return;
	kb_sink_release(&job->sink);
	for (size_t i = 0; i < job->n_slices; i++)
		kb_plain_frame_unref(job->slices[i].frame);
	kb_buf_release(&job->line);
	kb_arena_release(&job->arena);
	free(job);
}
KB_DEFINE_AUTO(struct entry_job *, entry_job_free);

static void entry_job_drop(struct kb_job *job)
{
	entry_job_free((struct entry_job *)job);
}

static int begin_entry(struct entry_job *job, struct kb_hash *hash,
		       struct kbundle_error *err)
{
	const struct kb_sink_config *config = job->in->consumer->config;
	struct kb_stage *stage = NULL;
	int r = kb_entry_parse(job->line.data, job->line.len, config->header,
			       &job->arena, &job->entry, err);

	if (r < 0)
		return r;
	if (job->wanted && config->stages)
		stage = config->stages[job->entry.root];
	return kb_sink_begin(&job->sink, config, &job->entry, job->wanted,
			     stage, job->index, hash, &job->arena, err);
}

static int run_entry(struct kb_job *job_base, unsigned worker,
		     struct kbundle_error *err)
{
	struct entry_job *job = (struct entry_job *)job_base;
	int r;

	if (atomic_load(&job->in->consumer->config->ctx->cancelled))
		return kb_fail(err, KBUNDLE_E_CANCELLED, "cancelled");
	r = begin_entry(job, job->in->hashes[worker], err);
	for (size_t i = 0; r == 0 && i < job->n_slices; i++) {
		r = kb_sink_feed(&job->sink, job->slices[i].data,
				 job->slices[i].len, err);
		kb_plain_frame_unref(kb_take(job->slices[i].frame));
	}
	return r < 0 ? r : kb_sink_end(&job->sink, err);
}

/* ---- the payload's bytes ---- */

static int next_frame(struct consumption *in, struct kbundle_error *err)
{
	const struct kb_source *source = in->survey->source;
	size_t next = in->survey->manifest_frames;
	int r;

	if (in->frame) {
		in->frame_start += in->frame->plain.len;
		next = in->frame->index + 1;
	}
	kb_plain_frame_unref(kb_take(in->frame));
	r = kb_feeder_next(&in->feeder, &in->frame, err);
	if (r < 0)
		return r;
	if (!in->frame)
		return kb_source_fail_end(source, "the payload", err);
	/* Frames that nobody needs were left out between the two. */
	for (; next < in->frame->index; next++)
		in->frame_start += source->frames.frames[next].content_bytes;
	return 0;
}

/* The next piece of [payload_pos, end) that lies in one frame. */
static int next_slice(struct consumption *in, uint64_t end, struct slice *ret,
		      struct kbundle_error *err)
{
	uint64_t in_frame;

	while (!in->frame ||
	       in->frame_start + in->frame->plain.len <= in->payload_pos) {
		int r = next_frame(in, err);

		if (r < 0)
			return r;
	}
	in_frame = in->payload_pos - in->frame_start;
	ret->data = in->frame->plain.data + in_frame;
	ret->len = in->frame->plain.len - (size_t)in_frame;
	if (ret->len > end - in->payload_pos)
		ret->len = (size_t)(end - in->payload_pos);
	ret->frame = kb_plain_frame_ref(in->frame);
	in->payload_pos += ret->len;
	return 0;
}

/* ---- results ---- */

static int hand_on(struct consumption *in, struct entry_job *job,
		   struct kbundle_error *err)
{
	const struct kb_consumed done = {
		.index = job->index,
		.wanted = job->wanted,
		.entry = &job->entry,
		.sink = &job->sink,
	};
	int r = kb_job_result(&job->job, err);

	if (r < 0)
		return r;
	in->progress.entries_done++;
	in->progress.bytes_done += in->survey->tar_bytes[job->index];
	r = in->consumer->entry ? in->consumer->entry(in->consumer, &done, err)
				: 0;
	return r < 0 ? r
		     : kb_progress(in->consumer->config->ctx, &in->progress,
				   false, err);
}

static int take_result(struct consumption *in, struct kbundle_error *err)
{
	KB_AUTO(entry_job_free)
	struct entry_job *job = (struct entry_job *)kb_lane_take(in->lane);

	return hand_on(in, job, err);
}

static int drain(struct consumption *in, struct kbundle_error *err)
{
	int r = 0;

	while (r == 0 && !kb_lane_is_empty(in->lane))
		r = take_result(in, err);
	return r;
}

/* ---- entries ---- */

/* Too large for a job: taken in here, one frame at a time. */
static int take_large(struct consumption *in, struct entry_job *job,
		      uint64_t end, struct kbundle_error *err)
{
	struct kb_hash *hash = in->hashes[in->feeder.workers];
	int r = drain(in, err);

	if (r == 0)
		r = begin_entry(job, hash, err);
	for (size_t i = 0; r == 0 && i < job->n_slices; i++) {
		r = kb_sink_feed(&job->sink, job->slices[i].data,
				 job->slices[i].len, err);
		kb_plain_frame_unref(kb_take(job->slices[i].frame));
	}
	while (r == 0 && in->payload_pos < end) {
		struct slice slice;

		r = next_slice(in, end, &slice, err);
		if (r < 0)
			return r;
		r = kb_sink_feed(&job->sink, slice.data, slice.len, err);
		kb_plain_frame_unref(slice.frame);
		if (r == 0)
			r = kb_progress(in->consumer->config->ctx,
					&in->progress, false, err);
	}
	if (r == 0)
		r = kb_sink_end(&job->sink, err);
	return r < 0 ? r : hand_on(in, job, err);
}

static int take_entry(struct consumption *in, uint64_t index, const char *line,
		      size_t len, struct kbundle_error *err)
{
	KB_AUTO(entry_job_free) struct entry_job *job = calloc(1, sizeof(*job));
	uint64_t end = in->payload_pos + in->survey->tar_bytes[index];
	uint64_t print[2];
	int r = 0;

	if (!job)
		return kb_fail_nomem(err);
	/* Whoever can write the file may change it between the two walks. */
	kb_keyset_fingerprint(in->survey->secret, line, len, print);
	if (memcmp(print, in->survey->prints[index].value, sizeof(print)) != 0)
		return kb_fail(
			err, KBUNDLE_E_DIGEST,
			"the manifest changed while the bundle was read");
	job->job.run = run_entry;
	job->in = in;
	job->index = index;
	job->wanted = in->survey->states[index] == KB_STATE_WANT;
	job->sink.dir_fd = job->sink.fd = -1;
	kb_buf_init(&job->line, KB_LINE_MAX);
	if (kb_buf_append(&job->line, line, len) < 0)
		return kb_fail_nomem(err);
	while (r == 0 && in->payload_pos < end && job->n_slices < SLICES) {
		r = next_slice(in, end, &job->slices[job->n_slices], err);
		job->n_slices += r == 0;
	}
	if (r < 0)
		return r;
	if (in->payload_pos < end)
		return take_large(in, job, end, err);
	if (kb_lane_is_full(in->lane))
		r = take_result(in, err);
	if (r == 0)
		kb_lane_submit(in->lane, &kb_take(job)->job);
	return r;
}

static int take_entries(struct consumption *in, struct kbundle_error *err)
{
	const struct kb_survey *survey = in->survey;

	for (uint64_t i = 0; i < survey->header.entries; i++) {
		const char *line;
		size_t len;
		int r = kb_manifest_walk_line(&in->walk, &line, &len, err);

		if (r == 0 && (in->consumer->everything ||
			       survey->states[i] == KB_STATE_WANT))
			r = take_entry(in, i, line, len, err);
		else if (r == 0)
			in->payload_pos += survey->tar_bytes[i];
		if (r < 0)
			return r;
	}
	return drain(in, err);
}

/* The two zero blocks, alone in their frame, and the tail. */
static int take_end(struct consumption *in, struct kbundle_error *err)
{
	static const char zeros[KB_TAR_END];
	int r;

	if (in->frame &&
	    in->frame_start + in->frame->plain.len > in->survey->payload_bytes)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame %zu holds more than the payload",
			       in->frame->index);
	r = next_frame(in, err);
	if (r < 0)
		return r;
	if (in->frame_start != in->survey->payload_bytes ||
	    in->frame->plain.len != KB_TAR_END ||
	    memcmp(in->frame->plain.data, zeros, KB_TAR_END) != 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame %zu is not the end of the tar",
			       in->frame->index);
	kb_plain_frame_unref(kb_take(in->frame));
	r = kb_feeder_next(&in->feeder, &in->frame, err);
	if (r < 0)
		return r;
	if (in->frame)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame %zu follows the end of the tar",
			       in->frame->index);
	return kb_source_finish(in->survey->source, err);
}

static int check_second_walk(struct consumption *in, struct kbundle_error *err)
{
	uint8_t id[32];
	size_t frames;
	int r = kb_manifest_walk_end(&in->walk, id, &frames, err);

	if (r == 0 && (memcmp(id, in->survey->id, sizeof(id)) != 0 ||
		       frames != in->survey->manifest_frames))
		r = kb_fail(err, KBUNDLE_E_DIGEST,
			    "the manifest changed while the bundle was read");
	return r;
}

/* Frames that hold something wanted, and the end; NULL: all of them. */
static int find_needed(struct consumption *in, struct kbundle_error *err)
{
	const struct kb_survey *survey = in->survey;
	const struct kb_seektable *frames = &survey->source->frames;
	size_t frame = survey->manifest_frames;
	uint64_t frame_end, pos = 0;

	if (in->consumer->everything)
		return 0;
	in->needed = calloc(frames->n / 8 + 1, 1);
	if (!in->needed)
		return kb_fail_nomem(err);
	frame_end = frames->frames[frame].content_bytes;
	for (uint64_t i = 0; i < survey->header.entries; i++) {
		uint64_t end = pos + survey->tar_bytes[i];

		while (frame + 1 < frames->n && frame_end <= pos)
			frame_end += frames->frames[++frame].content_bytes;
		if (survey->states[i] == KB_STATE_WANT) {
			size_t last = frame;
			uint64_t last_end = frame_end;

			in->needed[last / 8] |= (uint8_t)(1u << last % 8);
			while (last + 1 < frames->n && last_end < end) {
				last_end +=
					frames->frames[++last].content_bytes;
				in->needed[last / 8] |=
					(uint8_t)(1u << last % 8);
			}
		}
		pos = end;
	}
	in->needed[(frames->n - 1) / 8] |= (uint8_t)(1u << (frames->n - 1) % 8);
	return 0;
}

static int prepare(struct consumption *in, struct kbundle_error *err)
{
	struct kb_pool *pool = in->consumer->pool;
	unsigned workers = kb_pool_workers(pool);
	int r = find_needed(in, err);

	if (r == 0)
		r = kb_feeder_init(&in->feeder, in->survey, pool, in->needed,
				   err);
	if (r == 0)
		r = kb_lane_new(pool, 2 * (size_t)workers, &in->lane, err);
	if (r < 0)
		return r;
	in->hashes = calloc(workers + 1, sizeof(*in->hashes));
	if (!in->hashes)
		return kb_fail_nomem(err);
	for (unsigned i = 0; r == 0 && i <= workers; i++)
		r = kb_hash_new(&in->hashes[i], err);
	return r < 0 ? r
		     : kb_manifest_walk_begin(&in->walk, in->survey->source,
					      &in->survey->limits, err);
}

static void consumption_release(struct consumption *in)
{
	kb_lane_free(in->lane, entry_job_drop);
	kb_plain_frame_unref(in->frame);
	for (unsigned i = 0; in->hashes && i <= in->feeder.workers; i++)
		kb_hash_free(in->hashes[i]);
	free(in->hashes);
	kb_feeder_release(&in->feeder);
	kb_manifest_walk_release(&in->walk);
	free(in->needed);
}

/* What progress counts towards: only what is going to be read. */
static void count_totals(struct consumption *in)
{
	const struct kb_survey *survey = in->survey;

	for (uint64_t i = 0; i < survey->header.entries; i++) {
		if (!in->consumer->everything &&
		    survey->states[i] != KB_STATE_WANT)
			continue;
		in->progress.entries_total++;
		in->progress.bytes_total += survey->tar_bytes[i];
	}
}

int kb_consume(struct kb_consumer *consumer, struct kbundle_error *err)
{
	struct consumption in = {
		.consumer = consumer,
		.survey = consumer->survey,
		.progress = {.phase = consumer->phase},
	};
	int r;

	count_totals(&in);
	r = prepare(&in, err);
	if (r == 0)
		r = take_entries(&in, err);
	if (r == 0)
		r = take_end(&in, err);
	if (r == 0)
		r = check_second_walk(&in, err);
	if (r == 0)
		r = kb_progress(consumer->config->ctx, &in.progress, true, err);
	consumption_release(&in);
	return r;
}
