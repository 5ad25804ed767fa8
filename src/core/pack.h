/* SPDX-License-Identifier: Apache-2.0 */
/* Pack and inspect: the way from live caches to final entries. */
#ifndef KB_PACK_H
#define KB_PACK_H

#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

/* As kbundle_pack(), with options copied and checked (API floor). */
int kb_pack(struct kb_ctx *ctx, const struct kbundle_pack_options *options,
	    struct kbundle_report *report,
	    struct kbundle_error *err) KB_MUST_CHECK;

/* As kbundle_inspect(). */
int kb_inspect(struct kb_ctx *ctx,
	       const struct kbundle_inspect_options *options,
	       struct kbundle_report *report,
	       struct kbundle_error *err) KB_MUST_CHECK;

#endif
