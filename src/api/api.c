/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public verbs: copies and checks the caller's option structs, makes the
 * context of the call, and hands over to the core. A report is given out where
 * the call succeeded, and where it found nothing to do.
 */
#include "../../formats/format.h"
#include "../base/error.h"
#include "../core/limits.h"
#include "../core/pack.h"
#include "../core/report.h"
#include "../core/unpack.h"
#include "../core/verify.h"
#include "../dep/zstd.h"

#include <kbundle/kbundle.h>

#include <stdlib.h>

const char *kbundle_version(void)
{
	return KBUNDLE_VERSION_STRING;
}

void kbundle_free(void *buffer)
{
	free(buffer);
}

int kbundle_default_root(const char *format, char **ret_path,
			 struct kbundle_error *err)
{
	const struct kb_format *found = kb_format_find(format ? format : "");
	struct kb_shown shown;

	if (!found)
		return kb_fail(err, KBUNDLE_E_INVALID, "format %s is unknown",
			       kb_show(&shown, format ? format : "(none)"));
	return found->default_root(ret_path, err);
}

static int check_range(const char *what, uint64_t value, uint64_t min,
		       uint64_t max, struct kbundle_error *err)
{
	if (value >= min && value <= max)
		return 0;
	return kb_fail(err, KBUNDLE_E_INVALID,
		       "%s is %llu; allowed is %llu to %llu", what,
		       (unsigned long long)value, (unsigned long long)min,
		       (unsigned long long)max);
}

static int check_roots(const struct kbundle_root *roots, size_t n, size_t min,
		       struct kbundle_error *err)
{
	if (n < min)
		return kb_fail(err, KBUNDLE_E_INVALID, "no cache is given");
	if (n > KB_ROOTS_MAX)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "more than %d caches are given", KB_ROOTS_MAX);
	if (n && !roots)
		return kb_fail(err, KBUNDLE_E_INVALID, "roots is NULL");
	return 0;
}

/* Ends a call: gives the report out where it says something. */
static int finish(int r, struct kbundle_report **report,
		  struct kbundle_report **ret_report)
{
	if (ret_report && (r == 0 || r == KBUNDLE_E_EMPTY))
		*ret_report = kb_take(*report);
	return r;
}

int kbundle_pack(const struct kbundle_env *env,
		 const struct kbundle_pack_options *user_options,
		 struct kbundle_report **ret_report, struct kbundle_error *err)
{
	KB_AUTO(kbundle_report_free) struct kbundle_report *report = NULL;
	struct kbundle_pack_options options;
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	int r = kb_ctx_init(&ctx, env, NULL, err);

	if (r == 0)
		r = kb_options_copy(&options, sizeof(options), user_options,
				    "pack options", err);
	if (r == 0)
		r = check_roots(options.roots, options.n_roots, 1, err);
	if (r == 0 && options.level)
		r = check_range("level", (uint64_t)options.level, 1,
				KB_ZSTD_LEVEL_MAX, err);
	if (r == 0 && options.frame_bytes)
		r = check_range("frame size", options.frame_bytes,
				KB_FRAME_MIN_OPTION, KB_FRAME_MAX, err);
	if (r == 0)
		r = kb_report_new("pack", &report, err);
	if (r == 0)
		r = kb_pack(&ctx, &options, report, err);
	return finish(r, &report, ret_report);
}

int kbundle_unpack(const struct kbundle_env *env,
		   const struct kbundle_unpack_options *user_options,
		   struct kbundle_report **ret_report,
		   struct kbundle_error *err)
{
	KB_AUTO(kbundle_report_free) struct kbundle_report *report = NULL;
	struct kbundle_unpack_options options;
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	int r = kb_ctx_init(&ctx, env, NULL, err);

	if (r == 0)
		r = kb_options_copy(&options, sizeof(options), user_options,
				    "unpack options", err);
	if (r == 0)
		r = check_roots(options.roots, options.n_roots, 0, err);
	if (r == 0)
		r = check_range("sync", (uint64_t)options.sync, 0,
				KBUNDLE_SYNC_NONE, err);
	if (r == 0)
		r = check_range("validate", (uint64_t)options.validate, 0,
				KBUNDLE_VALIDATE_NONE, err);
	if (r == 0)
		r = check_range("publish", (uint64_t)options.publish, 0,
				KBUNDLE_PUBLISH_ENTRY, err);
	if (r == 0)
		r = kb_report_new("unpack", &report, err);
	if (r == 0)
		r = kb_unpack(&ctx, &options, report, err);
	return finish(r, &report, ret_report);
}

int kbundle_verify(const struct kbundle_env *env,
		   const struct kbundle_verify_options *user_options,
		   struct kbundle_report **ret_report,
		   struct kbundle_error *err)
{
	KB_AUTO(kbundle_report_free) struct kbundle_report *report = NULL;
	struct kbundle_verify_options options;
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	int r = kb_ctx_init(&ctx, env, NULL, err);

	if (r == 0)
		r = kb_options_copy(&options, sizeof(options), user_options,
				    "verify options", err);
	if (r == 0)
		r = check_roots(options.roots, options.n_roots, 0, err);
	if (r == 0)
		r = check_range("validate", (uint64_t)options.validate, 0,
				KBUNDLE_VALIDATE_NONE, err);
	if (r == 0)
		r = kb_report_new("verify", &report, err);
	if (r == 0)
		r = kb_verify(&ctx, &options, report, err);
	return finish(r, &report, ret_report);
}

int kbundle_inspect(const struct kbundle_env *env,
		    const struct kbundle_inspect_options *user_options,
		    struct kbundle_report **ret_report,
		    struct kbundle_error *err)
{
	KB_AUTO(kbundle_report_free) struct kbundle_report *report = NULL;
	struct kbundle_inspect_options options;
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	int r = kb_ctx_init(&ctx, env, NULL, err);

	if (r == 0)
		r = kb_options_copy(&options, sizeof(options), user_options,
				    "inspect options", err);
	if (r == 0)
		r = check_roots(options.roots, options.n_roots, 1, err);
	if (r == 0)
		r = kb_report_new("inspect", &report, err);
	if (r == 0)
		r = kb_inspect(&ctx, &options, report, err);
	return finish(r, &report, ret_report);
}
