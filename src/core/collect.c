/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a bounded number of entries in flight: workers read ahead while the
 * calling thread hands finished ones on in order.
 */
#include "collect.h"

#include "../base/error.h"
#include "select.h"

#include <sys/resource.h>

#define FDS_KEPT 64	 /* for everything but the workers */
#define FDS_PER_WORKER 8 /* an entry's directory, a file, a spool, … */

unsigned kb_worker_count(const struct kb_ctx *ctx)
{
	struct rlimit limit;
	rlim_t fit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return ctx->threads;
	fit = limit.rlim_cur > FDS_KEPT
		      ? (limit.rlim_cur - FDS_KEPT) / FDS_PER_WORKER
		      : 1;
	if (fit < 1)
		fit = 1;
	return fit < ctx->threads ? (unsigned)fit : ctx->threads;
}

static int take_out(const struct kb_load_config *config,
		    const struct kb_loaded *loaded,
		    struct kbundle_report *report, struct kbundle_error *err)
{
	const struct kb_planned *planned = loaded->planned;

	if (loaded->outcome == KB_LOAD_ABSENT)
		return kb_report_note(report, KBUNDLE_COUNT_LEFTOVER,
				      config->roots->items[planned->root].name,
				      planned->path, NULL,
				      "vanished while the cache was read", err);
	if (loaded->count == KBUNDLE_COUNT_UNSELECTED) {
		report->counts[KBUNDLE_COUNT_UNSELECTED]++;
		return 0;
	}
	return kb_report_note(report, loaded->count,
			      config->roots->items[planned->root].name,
			      planned->path, loaded->file, loaded->reason, err);
}

static int hand_on(const struct kb_load_config *config,
		   const struct kb_loaded *loaded,
		   struct kbundle_report *report, struct kb_collect_sink *sink,
		   struct kbundle_error *err)
{
	int r = kb_job_result(&loaded->job, err);

	if (r < 0)
		return r;
	if (loaded->outcome != KB_LOADED)
		return take_out(config, loaded, report, err);
	r = sink->entry(sink, loaded, err);
	if (r < 0)
		return r;
	report->counts[KBUNDLE_COUNT_ENTRIES]++;
	report->counts[KBUNDLE_COUNT_FILES] += loaded->entry.n_files;
	for (size_t i = 0; i < loaded->entry.n_files; i++) {
		report->counts[KBUNDLE_COUNT_BYTES] +=
			loaded->entry.files[i].size;
		report->counts[KBUNDLE_COUNT_PATHS_LEFT] +=
			loaded->contents[i].has_paths;
	}
	return 0;
}

static int run(const struct kb_load_config *config, const struct kb_plan *plan,
	       struct kb_lane *lane, const char *phase,
	       struct kbundle_report *report, struct kb_collect_sink *sink,
	       struct kbundle_error *err)
{
	uint64_t whole = 0;
	struct kbundle_progress progress = {.phase = phase,
					    .entries_total = plan->n};
	size_t next = 0;

	while (next < plan->n || !kb_lane_is_empty(lane)) {
		KB_AUTO(kb_loaded_free) struct kb_loaded *loaded = NULL;
		int r;

		while (next < plan->n && !kb_lane_is_full(lane)) {
			r = kb_loaded_new(config, &plan->items[next], &loaded,
					  err);
			if (r < 0)
				return r;
			next++;
			kb_lane_submit(lane, &kb_take(loaded)->job);
		}
		loaded = (struct kb_loaded *)kb_lane_take(lane);
		r = hand_on(config, loaded, report, sink, err);
		whole += loaded->outcome == KB_LOADED &&
			 loaded->entry.facts.whole;
		progress.entries_done++;
		progress.bytes_done = report->counts[KBUNDLE_COUNT_BYTES];
		if (r == 0)
			r = kb_progress(config->ctx, &progress,
					progress.entries_done == plan->n, err);
		if (r < 0)
			return r;
	}
	if (config->selection->slim)
		kb_selection_notice_whole(config->ctx, whole);
	return 0;
}

int kb_collect(const struct kb_load_config *config, const struct kb_plan *plan,
	       struct kb_pool *pool, const char *phase,
	       struct kbundle_report *report, struct kb_collect_sink *sink,
	       struct kbundle_error *err)
{
	struct kb_lane *lane = NULL;
	int r = kb_lane_new(pool, 2 * (size_t)kb_pool_workers(pool), &lane,
			    err);

	if (r < 0)
		return r;
	r = run(config, plan, lane, phase, report, sink, err);
	kb_lane_free(lane, kb_loaded_drop);
	return r;
}
