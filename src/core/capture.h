/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of one file as a whole: in memory up to 8 MiB, else in an unlinked
 * file that is mapped when somebody looks. */
#ifndef KB_CAPTURE_H
#define KB_CAPTURE_H

#include "../base/buf.h"
#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

struct kb_capture {
	struct kb_ctx *ctx; /* NULL: nothing is captured */
	struct kb_buf memory;
	uint64_t size;
	int spool_fd;
	void *map;
};

void kb_capture_init(struct kb_capture *capture);
/* size: how many bytes will come. Codes: NOMEM, IO. */
int kb_capture_begin(struct kb_capture *capture, struct kb_ctx *ctx,
		     uint64_t size, struct kbundle_error *err) KB_MUST_CHECK;
int kb_capture_append(struct kb_capture *capture, const void *data, size_t len,
		      struct kbundle_error *err) KB_MUST_CHECK;
/* *ret NULL: nothing was captured. Valid until release. */
int kb_capture_map(struct kb_capture *capture, const void **ret,
		   struct kbundle_error *err) KB_MUST_CHECK;
void kb_capture_release(struct kb_capture *capture);

#endif
