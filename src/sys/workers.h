/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads and ordered lanes over it. A lane hands jobs to the pool
 * and gives them back in the order in which they were submitted, whatever the
 * order in which they finish; so the bytes of a bundle never depend on the
 * number of workers. A lane holds at most `depth` jobs: kb_lane_submit() on a
 * full lane is a fault of the caller, who takes results first.
 *
 * With one worker no thread is started and kb_lane_submit() runs the job
 * itself: the same code without threads.
 *
 * A job's function returns 0 or a code with its own err filled in; what it
 * works on is reached through `struct kb_job` embedded at the start of the
 * caller's own struct.
 */
#ifndef KB_WORKERS_H
#define KB_WORKERS_H

#include "../base/cleanup.h"
#include "ctx.h"

#include <stdbool.h>
#include <stddef.h>

struct kb_pool;
struct kb_lane;

struct kb_job {
	int (*run)(struct kb_job *job, unsigned worker,
		   struct kbundle_error *err);
	int result;
	struct kbundle_error err;
	/* private */
	bool done;
	struct kb_lane *lane;
	struct kb_job *next;
};

/* workers: 1 to 64; job functions see their number, 0 to kb_pool_workers()-1.
 * Where the system allows fewer threads, the pool has fewer. Its threads block
 * all signals. Codes: NOMEM. */
int kb_pool_new(unsigned workers, struct kb_pool **ret,
		struct kbundle_error *err) KB_MUST_CHECK;
/* Its lanes are freed before it. */
void kb_pool_free(struct kb_pool *pool);
unsigned kb_pool_workers(const struct kb_pool *pool);

/* depth: at least 1. A lane is used by one thread. Codes: NOMEM. */
int kb_lane_new(struct kb_pool *pool, size_t depth, struct kb_lane **ret,
		struct kbundle_error *err) KB_MUST_CHECK;
/* Takes its waiting jobs out of the queue, waits until none of them runs, and
 * gives all jobs that were not taken, run or not, to drop (NULL: nobody). */
void kb_lane_free(struct kb_lane *lane, void (*drop)(struct kb_job *job));
bool kb_lane_is_full(const struct kb_lane *lane);
bool kb_lane_is_empty(const struct kb_lane *lane);
void kb_lane_submit(struct kb_lane *lane, struct kb_job *job);
/* Waits for the oldest job and takes it out; NULL: the lane is empty. */
struct kb_job *kb_lane_take(struct kb_lane *lane);
/* The same, but only if that job is done already; else NULL. */
struct kb_job *kb_lane_poll(struct kb_lane *lane);

/* The code of a job that was taken; its error is passed on. */
int kb_job_result(const struct kb_job *job,
		  struct kbundle_error *err) KB_MUST_CHECK;

KB_DEFINE_AUTO(struct kb_pool *, kb_pool_free);

#endif
