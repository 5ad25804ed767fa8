/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd frames as bundles use them, by libzstd.
 *
 * Only the stable part of libzstd's interface is used, so that any shared
 * libzstd of the system fits. ZSTD_getFrameHeader() is not in it: the few bytes
 * of a frame header are read here, as RFC 8878 section 3.1.1.1 describes them.
 * What frames mean, and how large they may be, is the caller's business; what
 * is checked here is that a frame is exactly one, sized and with a checksum.
 */
#include "zstd.h"

#include "../base/error.h"

#include <inttypes.h>
#include <stdbool.h>

#include <zstd.h>
#include <zstd_errors.h>

#define FRAME_MAGIC 0xFD2FB528U
#define SKIPPABLE_MAGIC 0x184D2A50U /* and the 15 numbers after it */
#define SKIPPABLE_HEADER_BYTES 8
#define BLOCK_HEADER_BYTES 3
#define BLOCK_MAX (128U << 10)
#define CHECKSUM_BYTES 4
#define WINDOW_LOG_MIN 10
#define FRAME_MAX ((size_t)1 << KB_ZSTD_WINDOW_LOG_MAX)

enum block_type {
	BLOCK_RAW = 0,
	BLOCK_RLE = 1, /* one byte, repeated */
	BLOCK_COMPRESSED = 2,
	BLOCK_RESERVED = 3
};

struct kb_zstd_writer {
	ZSTD_CCtx *ctx;
};

struct kb_zstd_reader {
	ZSTD_DCtx *ctx;
};

static int fail_zstd(struct kbundle_error *err, size_t result, int code,
		     const char *what)
{
	if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
		return kb_fail_nomem(err);
	return kb_fail(err, code, "%s: %s", what, ZSTD_getErrorName(result));
}

/* ---- compress ---- */

static int set_parameter(ZSTD_CCtx *ctx, ZSTD_cParameter parameter, int value,
			 struct kbundle_error *err)
{
	size_t r = ZSTD_CCtx_setParameter(ctx, parameter, value);

	if (ZSTD_isError(r))
		return fail_zstd(err, r, KBUNDLE_E_INTERNAL,
				 "libzstd refuses a parameter");
	return 0;
}

int kb_zstd_writer_new(int level, struct kb_zstd_writer **ret,
		       struct kbundle_error *err)
{
	KB_AUTO(kb_zstd_writer_free) struct kb_zstd_writer *writer = NULL;
	int r;

	if (level < 1 || level > KB_ZSTD_LEVEL_MAX)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "compression level %d is not one of 1 to %d",
			       level, KB_ZSTD_LEVEL_MAX);
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return kb_fail_nomem(err);
	writer->ctx = ZSTD_createCCtx();
	if (!writer->ctx)
		return kb_fail_nomem(err);
	r = set_parameter(writer->ctx, ZSTD_c_compressionLevel, level, err);
	if (r < 0)
		return r;
	r = set_parameter(writer->ctx, ZSTD_c_checksumFlag, 1, err);
	if (r < 0)
		return r;
	r = set_parameter(writer->ctx, ZSTD_c_contentSizeFlag, 1, err);
	if (r < 0)
		return r;
	*ret = kb_take(writer);
	return 0;
}

void kb_zstd_writer_free(struct kb_zstd_writer *writer)
{
	if (!writer)
		return;
	ZSTD_freeCCtx(writer->ctx);
	free(writer);
}

static int window_log(size_t len)
{
	int log = WINDOW_LOG_MIN;

	while (log < KB_ZSTD_WINDOW_LOG_MAX && ((size_t)1 << log) < len)
		log++;
	return log;
}

/* Empties buf and makes room in it for exactly the bytes that libzstd needs. */
static int make_room(struct kb_buf *buf, size_t bytes,
		     struct kbundle_error *err)
{
	int r;

	kb_buf_clear(buf);
	r = kb_buf_reserve(buf, bytes);
	if (r == KBUNDLE_E_NOMEM)
		return kb_fail_nomem(err);
	if (r < 0)
		return kb_fail(err, KBUNDLE_E_INTERNAL,
			       "buffer for a frame may hold only %zu bytes of "
			       "%zu",
			       buf->max, bytes);
	return 0;
}

static void set_length(struct kb_buf *buf, size_t len)
{
	buf->len = len;
	buf->data[len] = '\0';
}

int kb_zstd_compress(struct kb_zstd_writer *writer, const void *data,
		     size_t len, struct kb_buf *ret, struct kbundle_error *err)
{
	size_t bound = ZSTD_compressBound(len), done;
	int r;

	if (len == 0 || len > FRAME_MAX)
		return kb_fail(err, KBUNDLE_E_INTERNAL,
			       "frame of %zu bytes: must be 1 to %zu", len,
			       FRAME_MAX);
	r = set_parameter(writer->ctx, ZSTD_c_windowLog, window_log(len), err);
	if (r < 0)
		return r;
	r = make_room(ret, bound, err);
	if (r < 0)
		return r;
	done = ZSTD_compress2(writer->ctx, ret->data, bound, data, len);
	if (ZSTD_isError(done))
		return fail_zstd(err, done, KBUNDLE_E_INTERNAL,
				 "libzstd cannot compress a frame");
	set_length(ret, done);
	return 0;
}

size_t kb_zstd_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

/* ---- headers ---- */

static uint64_t read_le(const uint8_t *bytes, size_t n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | bytes[n];
	return value;
}

static int fail_short(struct kbundle_error *err, size_t len)
{
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "frame header is cut short after %zu bytes", len);
}

static enum kb_zstd_kind kind_of(uint32_t magic)
{
	if (magic == FRAME_MAGIC)
		return KB_ZSTD_FRAME;
	if ((magic & ~0xFU) == SKIPPABLE_MAGIC)
		return KB_ZSTD_SKIPPABLE;
	return KB_ZSTD_NEITHER;
}

/* Where the fields of a frame header lie, told by its descriptor byte. */
struct layout {
	bool single_segment; /* no window descriptor: window is the content */
	bool checksum;
	size_t dictionary_bytes, content_bytes; /* widths of the fields */
	size_t header_bytes;
	unsigned content_flag;
};

static int read_layout(const uint8_t *bytes, size_t len, struct layout *ret,
		       struct kbundle_error *err)
{
	static const size_t dictionary_width[] = {0, 1, 2, 4};
	static const size_t content_width[] = {0, 2, 4, 8};
	unsigned descriptor;

	if (len < 5)
		return fail_short(err, len);
	descriptor = bytes[4];
	if (descriptor & 0x08)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame header has its reserved bit set");
	ret->single_segment = descriptor & 0x20;
	ret->checksum = descriptor & 0x04;
	ret->content_flag = descriptor >> 6;
	ret->dictionary_bytes = dictionary_width[descriptor & 3];
	ret->content_bytes = content_width[ret->content_flag];
	if (ret->content_flag == 0 && ret->single_segment)
		ret->content_bytes = 1;
	ret->header_bytes = 5 + (ret->single_segment ? 0 : 1) +
			    ret->dictionary_bytes + ret->content_bytes;
	return 0;
}

static uint64_t window_bytes(uint8_t descriptor)
{
	uint64_t base = (uint64_t)1 << (WINDOW_LOG_MIN + (descriptor >> 3));

	return base + base / 8 * (descriptor & 7);
}

static int parse_frame(const uint8_t *bytes, size_t len,
		       struct kb_zstd_header *ret, struct kbundle_error *err)
{
	struct layout layout;
	int r;

	r = read_layout(bytes, len, &layout, err);
	if (r < 0)
		return r;
	if (layout.dictionary_bytes)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame asks for a dictionary");
	if (!layout.checksum)
		return kb_fail(err, KBUNDLE_E_FORMAT, "frame has no checksum");
	if (!layout.content_bytes)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame does not tell the size of its content");
	if (len < layout.header_bytes)
		return fail_short(err, len);
	ret->content_bytes =
		read_le(bytes + layout.header_bytes - layout.content_bytes,
			layout.content_bytes);
	if (layout.content_flag == 1)
		ret->content_bytes += 256; /* the two-byte field begins there */
	ret->window_bytes = layout.single_segment ? ret->content_bytes
						  : window_bytes(bytes[5]);
	return 0;
}

int kb_zstd_header_parse(const void *data, size_t len,
			 struct kb_zstd_header *ret, struct kbundle_error *err)
{
	const uint8_t *bytes = data;
	struct kb_zstd_header header = {.kind = KB_ZSTD_NEITHER};
	int r;

	if (len < 4)
		return fail_short(err, len);
	header.magic = (uint32_t)read_le(bytes, 4);
	header.kind = kind_of(header.magic);
	if (header.kind == KB_ZSTD_SKIPPABLE) {
		if (len < SKIPPABLE_HEADER_BYTES)
			return fail_short(err, len);
		header.content_bytes = read_le(bytes + 4, 4);
	} else if (header.kind == KB_ZSTD_FRAME) {
		r = parse_frame(bytes, len, &header, err);
		if (r < 0)
			return r;
	}
	*ret = header;
	return 0;
}

/*
 * Follows the block headers from `at`. Ends with *ret_bytes 0 where the next
 * block header is beyond len.
 */
static int walk_blocks(const uint8_t *bytes, size_t len, size_t at,
		       size_t *ret_bytes, struct kbundle_error *err)
{
	bool last = false;

	*ret_bytes = 0;
	while (!last) {
		uint32_t header, size;

		if (at > len || len - at < BLOCK_HEADER_BYTES)
			return 0;
		header = (uint32_t)read_le(bytes + at, BLOCK_HEADER_BYTES);
		last = header & 1;
		size = header >> 3;
		if ((header >> 1 & 3) == BLOCK_RESERVED || size > BLOCK_MAX)
			return kb_fail(err, KBUNDLE_E_FORMAT,
				       "frame has a bad block at its byte %zu",
				       at);
		if ((header >> 1 & 3) == BLOCK_RLE)
			size = 1;
		at += BLOCK_HEADER_BYTES + size;
	}
	*ret_bytes = at;
	return 0;
}

int kb_zstd_frame_bytes(const void *data, size_t len, size_t *ret_bytes,
			struct kbundle_error *err)
{
	const uint8_t *bytes = data;
	struct layout layout;
	enum kb_zstd_kind kind;
	int r;

	*ret_bytes = 0;
	if (len < 4)
		return 0;
	kind = kind_of((uint32_t)read_le(bytes, 4));
	if (kind == KB_ZSTD_NEITHER)
		return kb_fail(err, KBUNDLE_E_FORMAT, "is no zstd frame");
	if (kind == KB_ZSTD_SKIPPABLE) {
		if (len >= SKIPPABLE_HEADER_BYTES)
			*ret_bytes = SKIPPABLE_HEADER_BYTES +
				     (size_t)read_le(bytes + 4, 4);
		return 0;
	}
	if (len < 5)
		return 0;
	r = read_layout(bytes, len, &layout, err);
	if (r < 0)
		return r;
	r = walk_blocks(bytes, len, layout.header_bytes, ret_bytes, err);
	if (r < 0)
		return r;
	if (*ret_bytes && layout.checksum)
		*ret_bytes += CHECKSUM_BYTES;
	return 0;
}

/* ---- decompress ---- */

int kb_zstd_reader_new(struct kb_zstd_reader **ret, struct kbundle_error *err)
{
	KB_AUTO(kb_zstd_reader_free)
	struct kb_zstd_reader *reader = calloc(1, sizeof(*reader));
	size_t r;

	if (!reader)
		return kb_fail_nomem(err);
	reader->ctx = ZSTD_createDCtx();
	if (!reader->ctx)
		return kb_fail_nomem(err);
	r = ZSTD_DCtx_setParameter(reader->ctx, ZSTD_d_windowLogMax,
				   KB_ZSTD_WINDOW_LOG_MAX);
	if (ZSTD_isError(r))
		return fail_zstd(err, r, KBUNDLE_E_INTERNAL,
				 "libzstd refuses a parameter");
	*ret = kb_take(reader);
	return 0;
}

void kb_zstd_reader_free(struct kb_zstd_reader *reader)
{
	if (!reader)
		return;
	ZSTD_freeDCtx(reader->ctx);
	free(reader);
}

static int check_frame(const void *data, size_t len, size_t content_bytes,
		       struct kbundle_error *err)
{
	struct kb_zstd_header header;
	size_t frame_bytes;
	int r;

	r = kb_zstd_header_parse(data, len, &header, err);
	if (r < 0)
		return r;
	if (header.kind != KB_ZSTD_FRAME)
		return kb_fail(err, KBUNDLE_E_FORMAT, "is no zstd frame");
	if (header.content_bytes != content_bytes)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame holds %" PRIu64 " bytes, not %zu",
			       header.content_bytes, content_bytes);
	if (!content_bytes)
		return kb_fail(err, KBUNDLE_E_FORMAT, "frame is empty");
	if (header.window_bytes > FRAME_MAX)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame needs a window of %" PRIu64
			       " bytes, more than %zu",
			       header.window_bytes, FRAME_MAX);
	frame_bytes = ZSTD_findFrameCompressedSize(data, len);
	if (ZSTD_isError(frame_bytes))
		return fail_zstd(err, frame_bytes, KBUNDLE_E_FORMAT,
				 "frame is damaged or cut short");
	if (frame_bytes != len)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame ends at byte %zu of %zu: something else "
			       "hides behind it",
			       frame_bytes, len);
	return 0;
}

int kb_zstd_decompress(struct kb_zstd_reader *reader, const void *data,
		       size_t len, size_t content_bytes, struct kb_buf *ret,
		       struct kbundle_error *err)
{
	size_t done;
	int r;

	r = check_frame(data, len, content_bytes, err);
	if (r < 0)
		return r;
	r = make_room(ret, content_bytes, err);
	if (r < 0)
		return r;
	done = ZSTD_decompressDCtx(reader->ctx, ret->data, content_bytes, data,
				   len);
	if (ZSTD_isError(done))
		return fail_zstd(err, done, KBUNDLE_E_FORMAT,
				 "frame is damaged");
	if (done != content_bytes)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame expands to %zu bytes, not %zu", done,
			       content_bytes);
	set_length(ret, done);
	return 0;
}
