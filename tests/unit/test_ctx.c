/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/sys/ctx.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

struct seen {
	unsigned lines, calls;
	int level, answer;
	char last[4096];
};

static void on_log(void *data, int level, const char *line)
{
	struct seen *seen = data;

	seen->lines++;
	seen->level = level;
	snprintf(seen->last, sizeof(seen->last), "%s", line);
	errno = EPERM;
}

static int on_progress(void *data, const struct kbundle_progress *progress)
{
	struct seen *seen = data;

	seen->calls++;
	cr_assert_str_eq(progress->phase, "read");
	return seen->answer;
}

/* An option struct of a later release than the one that the library knows. */
struct known {
	size_t size;
	uint64_t a, b;
};
struct longer {
	struct known known;
	uint64_t c;
};

Test(options, copy_takes_an_equal_a_shorter_and_a_zero_tailed_one)
{
	struct known got, equal = {sizeof(equal), 1, 2};
	struct longer longer = {{sizeof(longer), 3, 4}, 0};

	cr_assert_eq(kb_options_copy(&got, sizeof(got), &equal, "x", NULL), 0);
	cr_assert(got.size == sizeof(got) && got.a == 1 && got.b == 2);

	equal.size = offsetof(struct known, b);
	cr_assert_eq(kb_options_copy(&got, sizeof(got), &equal, "x", NULL), 0);
	cr_assert(got.size == sizeof(got) && got.a == 1 && got.b == 0);

	cr_assert_eq(kb_options_copy(&got, sizeof(got), &longer, "x", NULL), 0);
	cr_assert(got.size == sizeof(got) && got.a == 3 && got.b == 4);

	cr_assert_eq(kb_options_copy(&got, sizeof(got), NULL, "x", NULL), 0);
	cr_assert(got.size == sizeof(got) && got.a == 0 && got.b == 0);
}

Test(options, copy_refuses_no_size_a_mad_size_and_an_unknown_tail)
{
	struct kbundle_error err;
	struct known got;
	struct longer longer = {{sizeof(longer), 3, 4}, 1};

	cr_assert_eq(kb_options_copy(&got, sizeof(got), &longer, "pack options",
				     &err),
		     KBUNDLE_E_INVALID);
	cr_assert(strstr(err.message, "pack options"));
	cr_assert(strstr(err.message, "newer"));

	longer.known.size = 0;
	cr_assert_eq(
		kb_options_copy(&got, sizeof(got), &longer, "options", &err),
		KBUNDLE_E_INVALID);
	cr_assert(strstr(err.message, "_INIT"));
	longer.known.size = SIZE_MAX;
	cr_assert_eq(
		kb_options_copy(&got, sizeof(got), &longer, "options", &err),
		KBUNDLE_E_INVALID);
}

Test(ctx, fills_in_defaults)
{
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cr_assert_eq(kb_ctx_init(&ctx, NULL, NULL, NULL), 0);
	cr_assert_eq(ctx.fs, &kb_fs_real);
	cr_assert_eq(ctx.threads, 1, "not the CPUs that this process may use");
	cr_assert_eq(ctx.env.log_level, KBUNDLE_LOG_NOTICE);
	kb_log(&ctx, KBUNDLE_LOG_WARNING, "nobody listens");
	cr_assert_eq(kb_progress(&ctx, NULL, true, NULL), 0);
}

Test(ctx, takes_the_callers_threads_up_to_64)
{
	struct kbundle_env env = KBUNDLE_ENV_INIT;
	struct kbundle_error err;
	struct kb_ctx ctx;

	env.threads = 64;
	cr_assert_eq(kb_ctx_init(&ctx, &env, NULL, &err), 0);
	cr_assert_eq(ctx.threads, 64);
	kb_ctx_release(&ctx);
	env.threads = 65;
	cr_assert_eq(kb_ctx_init(&ctx, &env, NULL, &err), KBUNDLE_E_INVALID);
	cr_assert(strstr(err.message, "65"));
	kb_ctx_release(&ctx);
}

Test(log, gives_whole_lines_up_to_the_level_and_keeps_errno)
{
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	struct kbundle_env env = KBUNDLE_ENV_INIT;
	struct seen seen = {0};

	env.log = on_log;
	env.log_data = &seen;
	cr_assert_eq(kb_ctx_init(&ctx, &env, NULL, NULL), 0);
	errno = EBUSY;
	kb_log(&ctx, KBUNDLE_LOG_WARNING, "%s %d: %m", "entry", 7);
	cr_assert_eq(errno, EBUSY);
	cr_assert_str_eq(seen.last, "entry 7: Device or resource busy");
	cr_assert_eq(seen.level, KBUNDLE_LOG_WARNING);
	kb_log(&ctx, KBUNDLE_LOG_DEBUG, "too much");
	cr_assert_eq(seen.lines, 1);
}

Test(progress, comes_at_most_ten_times_a_second_but_when_forced)
{
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	struct kbundle_env env = KBUNDLE_ENV_INIT;
	struct kbundle_progress progress = {.phase = "read"};
	struct seen seen = {0};

	env.progress = on_progress;
	env.progress_data = &seen;
	cr_assert_eq(kb_ctx_init(&ctx, &env, NULL, NULL), 0);
	for (int i = 0; i < 1000; i++) {
		/* As if the last one had just been. */
		ctx.last_progress_ns = kb_now_ns();
		cr_assert_eq(kb_progress(&ctx, &progress, false, NULL), 0);
	}
	cr_assert_eq(seen.calls, 0);
	cr_assert_eq(kb_progress(&ctx, &progress, true, NULL), 0);
	cr_assert_eq(seen.calls, 1);
	ctx.last_progress_ns = kb_now_ns() - 100000000;
	cr_assert_eq(kb_progress(&ctx, &progress, false, NULL), 0);
	cr_assert_eq(seen.calls, 2);
}

Test(progress, cancels_for_good)
{
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	struct kbundle_env env = KBUNDLE_ENV_INIT;
	struct kbundle_progress progress = {.phase = "read"};
	struct kbundle_error err;
	struct seen seen = {.answer = 1};

	env.progress = on_progress;
	env.progress_data = &seen;
	cr_assert_eq(kb_ctx_init(&ctx, &env, NULL, NULL), 0);
	cr_assert_eq(kb_progress(&ctx, &progress, true, &err),
		     KBUNDLE_E_CANCELLED);
	cr_assert(atomic_load(&ctx.cancelled));
	seen.answer = 0;
	cr_assert_eq(kb_progress(&ctx, &progress, true, &err),
		     KBUNDLE_E_CANCELLED);
	cr_assert_eq(seen.calls, 1, "asked again after it said stop");
}
