/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KB_UNPACK_H
#define KB_UNPACK_H

#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

/* As kbundle_unpack(), with options copied and checked (API floor). */
int kb_unpack(struct kb_ctx *ctx, const struct kbundle_unpack_options *options,
	      struct kbundle_report *report,
	      struct kbundle_error *err) KB_MUST_CHECK;

#endif
