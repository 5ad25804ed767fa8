/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one public call carries through all floors: the caller's environment,
 * the syscall table, the log and the cancel flag. First parameter of
 * everything that works on a disk. Read-only once threads run, but for
 * `cancelled` and the log, which are safe to use from any thread.
 */
#ifndef KB_CTX_H
#define KB_CTX_H

#include "../base/cleanup.h"
#include "fs.h"

#include <kbundle/kbundle.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct kb_ctx {
	const struct kb_fs *fs;
	struct kbundle_env env; /* copied, missing members zero */
	unsigned threads;	/* 1 to 64 */
	atomic_bool cancelled;	/* workers look at it between two entries */
	pthread_mutex_t log_lock;
	uint64_t last_progress_ns;
};

/* env NULL: defaults. fs NULL: kb_fs_real. Codes: INVALID (size or tail). */
int kb_ctx_init(struct kb_ctx *ctx, const struct kbundle_env *env,
		const struct kb_fs *fs,
		struct kbundle_error *err) KB_MUST_CHECK;
void kb_ctx_release(struct kb_ctx *ctx);
KB_DEFINE_AUTO_STRUCT(struct kb_ctx, kb_ctx_release);

void kb_log(struct kb_ctx *ctx, int level, const char *fmt, ...)
	KB_PRINTF(3, 4);

/* Calls the progress callback if it is time (force: always). Only from the
 * calling thread. Codes: CANCELLED, also where ctx->cancelled is set. */
int kb_progress(struct kb_ctx *ctx, const struct kbundle_progress *progress,
		bool force, struct kbundle_error *err) KB_MUST_CHECK;

/* A call that may wait for long was interrupted by a signal: asks the progress
 * callback whether to go on, so that a reader of a stalled pipe can be
 * cancelled. Workers block signals: only the calling thread comes here. Codes:
 * CANCELLED. */
int kb_interrupted(struct kb_ctx *ctx, struct kbundle_error *err) KB_MUST_CHECK;

/*
 * Copies an extensible option struct: the first member of both is `size_t
 * size`. dst (known_bytes long) is zeroed and filled with what src has; a
 * longer src whose tail is not all zero, or a size of 0, is INVALID. src NULL:
 * dst is all zero but for size.
 */
int kb_options_copy(void *dst, size_t known_bytes, const void *src,
		    const char *what, struct kbundle_error *err) KB_MUST_CHECK;

/* Monotonic clock. */
uint64_t kb_now_ns(void);

#endif
