/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool: threads that take jobs from one first-in-first-out queue. A lane: a
 * ring of its jobs in the order of submission. A job is in both while it waits.
 *
 * Invariant: under the pool's lock, a job is in the queue, or counted in its
 * lane's `running`, or `done`. The ring belongs to the lane's one user and
 * needs no lock; the pool's threads never look at it.
 */
#include "workers.h"

#include "../base/error.h"

#include <pthread.h>
#include <signal.h>

struct worker {
	struct kb_pool *pool;
	pthread_t thread;
	unsigned number;
};

struct kb_pool {
	pthread_mutex_t lock;
	pthread_cond_t work; /* the queue got a job, or stop was set */
	struct kb_job *first, *last;
	bool stop;
	unsigned n_threads; /* 0: submit runs the job itself */
	struct worker *workers;
};

struct kb_lane {
	struct kb_pool *pool;
	pthread_cond_t progress; /* a job of this lane ended */
	size_t running;
	struct kb_job **ring;
	size_t depth, begin, used;
};

static struct kb_job *queue_pop(struct kb_pool *pool)
{
	struct kb_job *job = pool->first;

	pool->first = job->next;
	if (!pool->first)
		pool->last = NULL;
	job->next = NULL;
	return job;
}

static void queue_push(struct kb_pool *pool, struct kb_job *job)
{
	job->next = NULL;
	if (pool->last)
		pool->last->next = job;
	else
		pool->first = job;
	pool->last = job;
}

static void queue_remove_lane(struct kb_pool *pool, const struct kb_lane *lane)
{
	struct kb_job *job = pool->first;

	pool->first = pool->last = NULL;
	while (job) {
		struct kb_job *next = job->next;

		if (job->lane != lane)
			queue_push(pool, job);
		job = next;
	}
}

static void *worker_main(void *data)
{
	struct worker *worker = data;
	struct kb_pool *pool = worker->pool;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct kb_job *job;

		while (!pool->first && !pool->stop)
			pthread_cond_wait(&pool->work, &pool->lock);
		if (pool->stop)
			break;
		job = queue_pop(pool);
		job->lane->running++;
		pthread_mutex_unlock(&pool->lock);
		job->result = job->run(job, worker->number, &job->err);
		pthread_mutex_lock(&pool->lock);
		job->done = true;
		job->lane->running--;
		/* Under the lock: the lane may be freed right after it. */
		pthread_cond_signal(&job->lane->progress);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void start_threads(struct kb_pool *pool, unsigned workers)
{
	sigset_t all, before;

	/* Signals are the business of the program's own threads; new threads
	 * inherit this mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < workers; i++) {
		struct worker *worker = &pool->workers[i];

		worker->pool = pool;
		worker->number = i;
		/* A limit on threads makes the pool smaller, not useless. */
		if (pthread_create(&worker->thread, NULL, worker_main, worker))
			break;
		pool->n_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int kb_pool_new(unsigned workers, struct kb_pool **ret,
		struct kbundle_error *err)
{
	KB_AUTO(kb_pool_free) struct kb_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return kb_fail_nomem(err);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	if (workers > 1) {
		pool->workers = calloc(workers, sizeof(*pool->workers));
		if (!pool->workers)
			return kb_fail_nomem(err);
		start_threads(pool, workers);
	}
	*ret = kb_take(pool);
	return 0;
}

void kb_pool_free(struct kb_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->n_threads; i++)
		pthread_join(pool->workers[i].thread, NULL);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool->workers);
	free(pool);
}

unsigned kb_pool_workers(const struct kb_pool *pool)
{
	return pool->n_threads ? pool->n_threads : 1;
}

int kb_lane_new(struct kb_pool *pool, size_t depth, struct kb_lane **ret,
		struct kbundle_error *err)
{
	KB_AUTO_FREE struct kb_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return kb_fail_nomem(err);
	lane->ring = calloc(depth, sizeof(struct kb_job *));
	if (!lane->ring)
		return kb_fail_nomem(err);
	lane->pool = pool;
	lane->depth = depth;
	pthread_cond_init(&lane->progress, NULL);
	*ret = kb_take(lane);
	return 0;
}

static struct kb_job *ring_pop(struct kb_lane *lane)
{
	struct kb_job *job = lane->ring[lane->begin];

	lane->begin = (lane->begin + 1) % lane->depth;
	lane->used--;
	return job;
}

void kb_lane_free(struct kb_lane *lane, void (*drop)(struct kb_job *job))
{
	if (!lane)
		return;
	pthread_mutex_lock(&lane->pool->lock);
	queue_remove_lane(lane->pool, lane);
	while (lane->running > 0)
		pthread_cond_wait(&lane->progress, &lane->pool->lock);
	pthread_mutex_unlock(&lane->pool->lock);
	while (lane->used > 0) {
		struct kb_job *job = ring_pop(lane);

		if (drop)
			drop(job);
	}
	pthread_cond_destroy(&lane->progress);
	free(lane->ring);
	free(lane);
}

bool kb_lane_is_full(const struct kb_lane *lane)
{
	return lane->used == lane->depth;
}

bool kb_lane_is_empty(const struct kb_lane *lane)
{
	return lane->used == 0;
}

void kb_lane_submit(struct kb_lane *lane, struct kb_job *job)
{
	struct kb_pool *pool = lane->pool;

	lane->ring[(lane->begin + lane->used) % lane->depth] = job;
	lane->used++;
	job->lane = lane;
	job->done = false;
	job->result = 0;
	if (!pool->n_threads) {
		job->result = job->run(job, 0, &job->err);
		job->done = true;
		return;
	}
	pthread_mutex_lock(&pool->lock);
	queue_push(pool, job);
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

struct kb_job *kb_lane_take(struct kb_lane *lane)
{
	const struct kb_job *oldest;

	if (lane->used == 0)
		return NULL;
	oldest = lane->ring[lane->begin];
	pthread_mutex_lock(&lane->pool->lock);
	while (!oldest->done)
		pthread_cond_wait(&lane->progress, &lane->pool->lock);
	pthread_mutex_unlock(&lane->pool->lock);
	return ring_pop(lane);
}

struct kb_job *kb_lane_poll(struct kb_lane *lane)
{
	bool done;

	if (lane->used == 0)
		return NULL;
	pthread_mutex_lock(&lane->pool->lock);
	done = lane->ring[lane->begin]->done;
	pthread_mutex_unlock(&lane->pool->lock);
	return done ? ring_pop(lane) : NULL;
}

int kb_job_result(const struct kb_job *job, struct kbundle_error *err)
{
	if (job->result < 0 && err)
		*err = job->err;
	return job->result;
}
