/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context of one public call: a copy of the caller's environment with its
 * defaults filled in, the log, progress with cancel, and the rule for option
 * structs that may grow. Invariant: after kb_ctx_init(), also a failed one, the
 * context can be released.
 */
#include "ctx.h"

#include "../base/error.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64u
#define THREADS_DEFAULT_MAX 16u
#define OPTIONS_BYTES_MAX 4096u /* more is not a size, but garbage */
#define LOG_LINE_BYTES 2048
#define PROGRESS_INTERVAL_NS 100000000u

static unsigned online_cpus(void)
{
	cpu_set_t set;
	long n;

	/* What this process may use, not what the machine has. A machine with
	 * more CPUs than the set holds makes the call fail. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	else
		n = sysconf(_SC_NPROCESSORS_ONLN);
	if (n < 1)
		return 1;
	return n > THREADS_DEFAULT_MAX ? THREADS_DEFAULT_MAX : (unsigned)n;
}

int kb_ctx_init(struct kb_ctx *ctx, const struct kbundle_env *env,
		const struct kb_fs *fs, struct kbundle_error *err)
{
	int r;

	memset(ctx, 0, sizeof(*ctx));
	ctx->log_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	atomic_init(&ctx->cancelled, false);
	ctx->fs = fs ? fs : &kb_fs_real;
	r = kb_options_copy(&ctx->env, sizeof(ctx->env), env,
			    "struct kbundle_env", err);
	if (r < 0)
		return r;
	if (ctx->env.log_level == 0)
		ctx->env.log_level = KBUNDLE_LOG_NOTICE;
	if (ctx->env.threads > THREADS_MAX)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "%u worker threads asked for: at most %u are "
			       "supported",
			       ctx->env.threads, THREADS_MAX);
	ctx->threads = ctx->env.threads ? ctx->env.threads : online_cpus();
	return 0;
}

void kb_ctx_release(struct kb_ctx *ctx)
{
	pthread_mutex_destroy(&ctx->log_lock);
}

void kb_log(struct kb_ctx *ctx, int level, const char *fmt, ...)
{
	int saved_errno = errno;
	char line[LOG_LINE_BYTES];
	va_list args;

	if (!ctx->env.log || level > ctx->env.log_level)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	pthread_mutex_lock(&ctx->log_lock);
	ctx->env.log(ctx->env.log_data, level, line);
	pthread_mutex_unlock(&ctx->log_lock);
	errno = saved_errno;
}

int kb_progress(struct kb_ctx *ctx, const struct kbundle_progress *progress,
		bool force, struct kbundle_error *err)
{
	uint64_t now = kb_now_ns();

	if (!atomic_load(&ctx->cancelled) && ctx->env.progress &&
	    (force || now - ctx->last_progress_ns >= PROGRESS_INTERVAL_NS)) {
		ctx->last_progress_ns = now;
		if (ctx->env.progress(ctx->env.progress_data, progress))
			atomic_store(&ctx->cancelled, true);
	}
	if (atomic_load(&ctx->cancelled))
		return kb_fail(err, KBUNDLE_E_CANCELLED, "cancelled");
	return 0;
}

int kb_interrupted(struct kb_ctx *ctx, struct kbundle_error *err)
{
	const struct kbundle_progress waiting = {.phase = "wait"};

	return kb_progress(ctx, &waiting, true, err);
}

int kb_options_copy(void *dst, size_t known_bytes, const void *src,
		    const char *what, struct kbundle_error *err)
{
	size_t size = known_bytes;

	memset(dst, 0, known_bytes);
	if (src)
		memcpy(&size, src, sizeof(size));
	if (size < sizeof(size) || size > OPTIONS_BYTES_MAX)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "%s: its size member is %zu: fill the struct "
			       "with its _INIT macro",
			       what, size);
	for (size_t i = known_bytes; i < size; i++)
		if (((const unsigned char *)src)[i])
			return kb_fail(
				err, KBUNDLE_E_INVALID,
				"%s: it is %zu bytes long and sets "
				"something beyond the %zu that this "
				"libkbundle knows: a newer one is needed",
				what, size, known_bytes);
	if (src)
		memcpy(dst, src, size < known_bytes ? size : known_bytes);
	memcpy(dst, &known_bytes, sizeof(known_bytes));
	return 0;
}

uint64_t kb_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
