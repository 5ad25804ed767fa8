/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool and its lanes under load, for the thread sanitizer: order, errors,
 * several lanes at once, lanes freed early. A plain main(), since Criterion
 * forks. Exit code 0, or 1 with what was wrong on stderr.
 */
#include "../../src/base/error.h"
#include "../../src/sys/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned faults;

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not true: %s\n", __func__,     \
				__LINE__, #condition);                         \
			faults++;                                              \
		}                                                              \
	} while (0)

struct task {
	struct kb_job job; /* first: a job is a task */
	unsigned number, seed;
	long max_us;
	uint64_t sum;
};

static atomic_uint alive, dropped, ran;
static atomic_uint running, most_running;
static atomic_uint worker_seen[64];

static void nap(long us)
{
	struct timespec time = {0, us * 1000};

	nanosleep(&time, NULL);
}

static bool fails(unsigned number)
{
	return number % 7 == 3;
}

static int work(struct kb_job *job, unsigned worker, struct kbundle_error *err)
{
	struct task *task = (struct task *)job;
	unsigned now = atomic_fetch_add(&running, 1) + 1;
	unsigned most = atomic_load(&most_running);

	while (now > most &&
	       !atomic_compare_exchange_weak(&most_running, &most, now))
		;
	atomic_fetch_add(&worker_seen[worker], 1);
	atomic_fetch_add(&ran, 1);
	if (task->max_us > 0)
		nap(rand_r(&task->seed) % task->max_us);
	for (unsigned i = 0; i <= task->number; i++)
		task->sum += i;
	atomic_fetch_sub(&running, 1);
	if (fails(task->number))
		return kb_fail(err, KBUNDLE_E_DIGEST, "task %u", task->number);
	return 0;
}

static struct task *new_task(unsigned number, long max_us)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	task->job.run = work;
	task->number = number;
	task->seed = number * 2654435761u;
	task->max_us = max_us;
	atomic_fetch_add(&alive, 1);
	return task;
}

static void free_task(struct kb_job *job)
{
	atomic_fetch_sub(&alive, 1);
	free(job);
}

static void drop_task(struct kb_job *job)
{
	atomic_fetch_add(&dropped, 1);
	free_task(job);
}

/* Takes a result and checks that it is the one whose turn it is. */
static void check_result(struct kb_job *job, unsigned number)
{
	struct task *task = (struct task *)job;
	char wanted[32];

	CHECK(task->number == number);
	CHECK(task->sum == (uint64_t)number * (number + 1) / 2);
	if (fails(number)) {
		snprintf(wanted, sizeof(wanted), "task %u", number);
		CHECK(job->result == KBUNDLE_E_DIGEST);
		CHECK(strcmp(job->err.message, wanted) == 0);
	} else {
		CHECK(job->result == 0);
	}
	free_task(job);
}

static struct kb_pool *new_pool(unsigned workers)
{
	struct kb_pool *pool = NULL;

	if (kb_pool_new(workers, &pool, NULL) < 0)
		abort();
	CHECK(kb_pool_workers(pool) == workers);
	return pool;
}

static struct kb_lane *new_lane(struct kb_pool *pool, size_t depth)
{
	struct kb_lane *lane = NULL;

	if (kb_lane_new(pool, depth, &lane, NULL) < 0)
		abort();
	return lane;
}

/* Two lanes of different depth over one pool, used as pack uses them: results
 * of the first feed the second, both bounded. */
static void two_lanes(unsigned workers)
{
	struct kb_pool *pool = new_pool(workers);
	struct kb_lane *first = new_lane(pool, 2 * workers + 1);
	struct kb_lane *second = new_lane(pool, 3);
	const unsigned total = 400;
	unsigned submitted = 0, passed = 0, taken = 0;

	CHECK(kb_lane_is_empty(first) && !kb_lane_is_full(first));
	CHECK(!kb_lane_take(first) && !kb_lane_poll(first));
	while (taken < total) {
		struct kb_job *job;

		while (submitted < total && !kb_lane_is_full(first))
			kb_lane_submit(first, &new_task(submitted++, 300)->job);
		if (kb_lane_is_full(second) || passed == total)
			check_result(kb_lane_take(second), taken++);
		job = kb_lane_poll(second);
		if (job)
			check_result(job, taken++);
		if (passed == total || kb_lane_is_full(second))
			continue;
		check_result(kb_lane_take(first), passed);
		kb_lane_submit(second, &new_task(passed++, 200)->job);
	}
	CHECK(kb_lane_is_empty(first) && kb_lane_is_empty(second));
	kb_lane_free(first, drop_task);
	kb_lane_free(second, drop_task);
	kb_pool_free(pool);
	CHECK(atomic_load(&alive) == 0);
	CHECK(atomic_load(&dropped) == 0);
}

/* A lane that is freed with jobs waiting, running and done: each is dropped
 * once, none runs afterwards, and the other lane does not notice. */
static void freed_early(unsigned workers)
{
	struct kb_pool *pool = new_pool(workers);

	for (unsigned round = 0; round < 50; round++) {
		struct kb_lane *stays = new_lane(pool, 20);
		struct kb_lane *goes = new_lane(pool, 20);
		unsigned before;

		atomic_store(&dropped, 0);
		for (unsigned i = 0; i < 20; i++) {
			kb_lane_submit(goes, &new_task(i, 400)->job);
			kb_lane_submit(stays, &new_task(i, 100)->job);
		}
		for (unsigned i = 0; i < round % 5; i++)
			check_result(kb_lane_take(goes), i);
		kb_lane_free(goes, drop_task);
		CHECK(atomic_load(&dropped) == 20 - round % 5);
		before = atomic_load(&dropped);
		for (unsigned i = 0; i < 20; i++)
			check_result(kb_lane_take(stays), i);
		CHECK(atomic_load(&dropped) == before);
		kb_lane_free(stays, drop_task);
	}
	kb_lane_free(NULL, drop_task);
	kb_pool_free(pool);
	kb_pool_free(NULL);
	CHECK(atomic_load(&alive) == 0);
	atomic_store(&dropped, 0);
}

/* Waits in each job until the other one runs too: ends only if they overlap. */
static atomic_uint met;
static pthread_mutex_t meet_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t meet_progress = PTHREAD_COND_INITIALIZER;

static int meet(struct kb_job *job, unsigned worker, struct kbundle_error *err)
{
	struct timespec limit;

	(void)worker;
	(void)job;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 60;
	pthread_mutex_lock(&meet_lock);
	atomic_fetch_add(&met, 1);
	pthread_cond_broadcast(&meet_progress);
	while (atomic_load(&met) < 2)
		if (pthread_cond_timedwait(&meet_progress, &meet_lock, &limit))
			break;
	pthread_mutex_unlock(&meet_lock);
	if (atomic_load(&met) < 2)
		return kb_fail(err, KBUNDLE_E_INTERNAL, "alone");
	return 0;
}

static void two_at_once(void)
{
	struct kb_pool *pool = new_pool(2);
	struct kb_lane *lane = new_lane(pool, 2);
	struct kb_job jobs[2] = {{.run = meet}, {.run = meet}};

	kb_lane_submit(lane, &jobs[0]);
	kb_lane_submit(lane, &jobs[1]);
	CHECK(kb_lane_take(lane) == &jobs[0] && jobs[0].result == 0);
	CHECK(kb_lane_take(lane) == &jobs[1] && jobs[1].result == 0);
	kb_lane_free(lane, NULL);
	kb_pool_free(pool);
}

static pthread_t job_thread;
static sigset_t job_mask;

static int look(struct kb_job *job, unsigned worker, struct kbundle_error *err)
{
	(void)job;
	(void)worker;
	(void)err;
	job_thread = pthread_self();
	pthread_sigmask(SIG_SETMASK, NULL, &job_mask);
	return 0;
}

/* One worker is the caller itself and is done when submit returns; threads of a
 * larger pool take no signals, and the caller's mask stays what it was. */
static void threads_are_as_promised(void)
{
	struct kb_job job = {.run = look};
	sigset_t before, after;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct kb_pool *pool = new_pool(workers);
		struct kb_lane *lane = new_lane(pool, 1);

		kb_lane_submit(lane, &job);
		CHECK(kb_lane_is_full(lane));
		if (workers == 1)
			CHECK(kb_lane_poll(lane) == &job);
		else
			CHECK(kb_lane_take(lane) == &job);
		CHECK(!pthread_equal(job_thread, pthread_self()) ==
		      (workers > 1));
		CHECK(sigismember(&job_mask, SIGINT) == (workers > 1));
		CHECK(sigismember(&job_mask, SIGTERM) == (workers > 1));
		kb_lane_free(lane, NULL);
		kb_pool_free(pool);
	}
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&before, SIGINT) == sigismember(&after, SIGINT));
}

int main(void)
{
	static const unsigned sizes[] = {1, 2, 3, 8};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned n = sizes[i];

		for (unsigned w = 0; w < 64; w++)
			atomic_store(&worker_seen[w], 0);
		atomic_store(&most_running, 0);
		two_lanes(n);
		freed_early(n);
		CHECK(atomic_load(&most_running) <= n);
		for (unsigned w = 0; w < 64; w++)
			CHECK(w < n || atomic_load(&worker_seen[w]) == 0);
		CHECK(n == 1 || atomic_load(&most_running) > 1);
	}
	two_at_once();
	threads_are_as_promised();
	if (faults == 0)
		printf("%u jobs, in order\n", atomic_load(&ran));
	return faults ? 1 : 0;
}
