/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of one entry whose bytes are looked at as a whole. All together take at
 * most 8 MiB of memory; what does not fit lies in one unlinked file and is
 * mapped when somebody looks.
 */
#ifndef KB_CAPTURE_H
#define KB_CAPTURE_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

struct kb_captures {
	struct kb_ctx *ctx;
	struct kb_capture *items; /* one per file, in the arena */
	size_t n;
	struct kb_buf memory;
	int spool_fd;
	uint64_t spool_bytes;
};

/* Codes: NOMEM. */
int kb_captures_init(struct kb_captures *captures, struct kb_ctx *ctx, size_t n,
		     struct kb_arena *arena,
		     struct kbundle_error *err) KB_MUST_CHECK;
/* File i begins, and will have size bytes. Files follow one another. Codes:
 * NOMEM, IO. */
int kb_captures_begin(struct kb_captures *captures, size_t i, uint64_t size,
		      struct kbundle_error *err) KB_MUST_CHECK;
int kb_captures_append(struct kb_captures *captures, size_t i, const void *data,
		       size_t len, struct kbundle_error *err) KB_MUST_CHECK;
/* After the last append: bytes of file i, valid until release; *ret NULL: it
 * was not captured. */
int kb_captures_get(struct kb_captures *captures, size_t i, const void **ret,
		    struct kbundle_error *err) KB_MUST_CHECK;
void kb_captures_release(struct kb_captures *captures);

#endif
