/* SPDX-License-Identifier: Apache-2.0 */
#include "core_run.h"

#include "../../src/core/pack.h"
#include "../../src/core/report.h"
#include "../../src/core/unpack.h"
#include "../../src/core/verify.h"
#include "harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void start(struct kb_test_run_result *ret, struct kb_ctx *ctx,
		  const struct kb_fs *fs, unsigned threads, const char *verb)
{
	struct kbundle_env env = {.size = sizeof(env), .threads = threads};

	memset(ret, 0, sizeof(*ret));
	if (kb_ctx_init(ctx, &env, fs, NULL) < 0 ||
	    kb_report_new(verb, &ret->report, NULL) < 0)
		abort();
}

static void end(struct kb_test_run_result *ret, struct kb_ctx *ctx)
{
	ret->exit = kbundle_report_exit(ret->report);
	kb_ctx_release(ctx);
}

void kb_test_pack(struct kb_test_run_result *ret, const struct kb_fs *fs,
		  unsigned threads, const char *cache, const char *bundle,
		  const struct kbundle_pack_options *more)
{
	struct kbundle_root root = {.path = cache};
	struct kbundle_pack_options options = {.size = sizeof(options)};
	struct kb_ctx ctx;

	if (more)
		options = *more;
	options.roots = &root;
	options.n_roots = 1;
	options.output = bundle;
	start(ret, &ctx, fs, threads, "pack");
	ret->r = kb_pack(&ctx, &options, ret->report, &ret->err);
	end(ret, &ctx);
}

void kb_test_unpack(struct kb_test_run_result *ret, const struct kb_fs *fs,
		    unsigned threads, const char *bundle, const char *root,
		    const struct kbundle_unpack_options *more)
{
	struct kbundle_root where = {.path = root};
	struct kbundle_unpack_options options = {.size = sizeof(options)};
	struct kb_ctx ctx;

	if (more)
		options = *more;
	options.roots = &where;
	options.n_roots = 1;
	options.input = bundle;
	start(ret, &ctx, fs, threads, "unpack");
	ret->r = kb_unpack(&ctx, &options, ret->report, &ret->err);
	end(ret, &ctx);
}

void kb_test_verify(struct kb_test_run_result *ret, const struct kb_fs *fs,
		    unsigned threads, const char *bundle, const char *root)
{
	struct kbundle_root where = {.path = root};
	struct kbundle_verify_options options = {
		.size = sizeof(options),
		.input = bundle,
		.roots = &where,
		.n_roots = root ? 1 : 0,
	};
	struct kb_ctx ctx;

	start(ret, &ctx, fs, threads, "verify");
	ret->r = kb_verify(&ctx, &options, ret->report, &ret->err);
	end(ret, &ctx);
}

void kb_test_result_release(struct kb_test_run_result *result)
{
	kbundle_report_free(result->report);
	result->report = NULL;
}

void kb_test_small_cache(const char *dir, char cache[4096])
{
	(void)snprintf(cache, 4096, "%s/cache", dir);
	kb_test_copy_tree(KB_TEST_SOURCE_DIR "/tests/fixtures/triton", cache);
}

size_t kb_test_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	if (!dir)
		abort();
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}
