/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd frames as bundles use them: one frame at a time, with content size and
 * checksum, no dictionary, window at most 2^KB_ZSTD_WINDOW_LOG_MAX. Contexts
 * are reused; one context is used by one thread.
 */
#ifndef KB_ZSTD_H
#define KB_ZSTD_H

#include "../base/buf.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

#define KB_ZSTD_WINDOW_LOG_MAX 23
#define KB_ZSTD_LEVEL_MAX 19

struct kb_zstd_writer;
struct kb_zstd_reader;

int kb_zstd_writer_new(int level, struct kb_zstd_writer **ret,
		       struct kbundle_error *err) KB_MUST_CHECK;
void kb_zstd_writer_free(struct kb_zstd_writer *writer);
KB_DEFINE_AUTO(struct kb_zstd_writer *, kb_zstd_writer_free);
/* Compresses data (1 byte to 8 MiB) into one frame, in place of what ret held.
 * The window covers the data. Codes: NOMEM, INTERNAL. */
int kb_zstd_compress(struct kb_zstd_writer *writer, const void *data,
		     size_t len, struct kb_buf *ret,
		     struct kbundle_error *err) KB_MUST_CHECK;

int kb_zstd_reader_new(struct kb_zstd_reader **ret,
		       struct kbundle_error *err) KB_MUST_CHECK;
void kb_zstd_reader_free(struct kb_zstd_reader *reader);
KB_DEFINE_AUTO(struct kb_zstd_reader *, kb_zstd_reader_free);
/*
 * Decompresses exactly one frame of exactly these bytes; its content must be
 * exactly content_bytes, which the caller checked against its limit. In place
 * of what ret held. Checks first: magic, one frame only
 * (ZSTD_findFrameCompressedSize equals len), content size present and equal,
 * checksum flag, no dictionary id, window. Codes: FORMAT with a phrase that
 * says which of these failed ("frame has no checksum"), NOMEM.
 */
int kb_zstd_decompress(struct kb_zstd_reader *reader, const void *data,
		       size_t len, size_t content_bytes, struct kb_buf *ret,
		       struct kbundle_error *err) KB_MUST_CHECK;

enum kb_zstd_kind {
	KB_ZSTD_FRAME,
	KB_ZSTD_SKIPPABLE,
	KB_ZSTD_NEITHER /* no magic number of zstd */
};
#define KB_ZSTD_HEADER_MAX 18

struct kb_zstd_header {
	enum kb_zstd_kind kind;
	uint32_t magic;
	uint64_t content_bytes; /* frame: content; skippable: its user data */
	uint64_t window_bytes;
};
/* What begins at data, from its first bytes (KB_ZSTD_HEADER_MAX, or all there
 * is). Codes: FORMAT: cut short, no content size, dictionary, no checksum. */
int kb_zstd_header_parse(const void *data, size_t len,
			 struct kb_zstd_header *ret,
			 struct kbundle_error *err) KB_MUST_CHECK;

/* Bytes of the frame or skippable frame that begins at data; 0: not known yet
 * from these len bytes, more are needed. For reading a stream. Codes: FORMAT.
 */
int kb_zstd_frame_bytes(const void *data, size_t len, size_t *ret_bytes,
			struct kbundle_error *err) KB_MUST_CHECK;

/* Largest compressed size of len bytes. */
size_t kb_zstd_bound(size_t len);

#endif
