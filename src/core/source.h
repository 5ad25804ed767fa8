/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a bundle's frames come from: a file, whose seek table is read first, or
 * a stream, whose frames are seen one after another and held against the table
 * at the end. Both give the same bundle to the stations behind.
 *
 * In a stream, the frames that were read while the manifest was walked are kept
 * compressed in an unlinked spool, so that they can be read a second time.
 *
 * Threads: kb_source_read() of a file may be called from workers; everything of
 * a stream by one thread.
 */
#ifndef KB_SOURCE_H
#define KB_SOURCE_H

#include "../base/buf.h"
#include "../sys/ctx.h"
#include "seektable.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_source {
	struct kb_ctx *ctx;
	const char *name; /* for messages */
	int fd;
	bool owns_fd;
	bool is_stream;
	/* Content frames in order; offsets[i] is where frame i lies in the
	 * file (of a stream: in the spool, while it is kept). */
	struct kb_seektable frames;
	uint64_t *offsets;
	size_t cap_offsets;
	uint64_t bytes; /* whole file; of a stream: read so far */
	/* stream */
	struct kb_buf ahead;	  /* bytes read and not consumed */
	struct kb_seektable seen; /* everything, extensions included */
	uint64_t content_bytes, stored_bytes; /* sums of content frames */
	size_t ahead_at;		      /* consumed of ahead */
	int spool_fd;
	uint64_t spool_bytes;
	bool keep; /* frames go to the spool */
	bool ended;
};

/* input NULL: fd. A regular file that can be positioned is read as a file,
 * anything else as a stream. Messages speak of "it":
 * the caller puts the bundle's name in front. Codes: NOTFOUND, IO, FORMAT,
 * LIMIT, NOMEM. */
int kb_source_open(struct kb_source *source, struct kb_ctx *ctx,
		   const char *input, int fd,
		   struct kbundle_error *err) KB_MUST_CHECK;
void kb_source_release(struct kb_source *source);
KB_DEFINE_AUTO_STRUCT(struct kb_source, kb_source_release);

/* Frame number i of the content. Of a file: any. Of a stream: the next one, or
 * one that is in the spool. *ret_content 0: there is no such frame (the table
 * was reached). ret is overwritten. Codes: IO, FORMAT, NOMEM, LIMIT. */
int kb_source_read(struct kb_source *source, size_t i, struct kb_buf *ret,
		   uint32_t *ret_content,
		   struct kbundle_error *err) KB_MUST_CHECK;

/* There was no such frame: says so, with the place. what: "the manifest". */
int kb_source_fail_end(const struct kb_source *source, const char *what,
		       struct kbundle_error *err);

/* A stream: from here on frames are not kept. */
void kb_source_stop_keeping(struct kb_source *source);

/* A stream was read to its last content frame: reads what follows and checks
 * the tail. Of a file this was done at open. */
int kb_source_finish(struct kb_source *source,
		     struct kbundle_error *err) KB_MUST_CHECK;

#endif
