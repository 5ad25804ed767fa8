/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KB_VERIFY_H
#define KB_VERIFY_H

#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

/* As kbundle_verify(), with options copied and checked (API floor). */
int kb_verify(struct kb_ctx *ctx, const struct kbundle_verify_options *options,
	      struct kbundle_report *report,
	      struct kbundle_error *err) KB_MUST_CHECK;

#endif
