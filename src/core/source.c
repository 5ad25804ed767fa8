/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outermost layer of a bundle: frames, extension frames, seek table. Frames
 * must tile the input from its first byte to the table, whichever way it is
 * read, so that every reader sees the same bundle.
 */
#include "source.h"

#include "../base/error.h"
#include "../dep/zstd.h"
#include "../sys/io.h"
#include "limits.h"
#include "roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing that begins a bundle may be longer: a frame of 8 MiB compressed. */
#define FRAME_STORED_MAX (2 * KB_FRAME_MAX)
#define EXTENSION_MAX (64u << 20)
#define READ_BYTES (256u << 10)

static int add_frame(struct kb_source *source, uint64_t offset,
		     const struct kb_frame *frame, struct kbundle_error *err)
{
	if (kb_grow(&source->offsets, &source->cap_offsets,
		    source->frames.n + 1, sizeof(*source->offsets)) < 0)
		return kb_fail_nomem(err);
	source->offsets[source->frames.n] = offset;
	return kb_seektable_add(&source->frames, frame->stored_bytes,
				frame->content_bytes, err);
}

/* ---- a file ---- */

static int pread_exactly(struct kb_source *source, void *data, size_t len,
			 uint64_t offset, struct kbundle_error *err)
{
	size_t got;
	int r = kb_pread(source->ctx, source->fd, data, len, offset, &got,
			 source->name, err);

	if (r == 0 && got != len)
		return kb_fail(err, KBUNDLE_E_FORMAT, "it is cut short");
	return r;
}

/* An extension frame stands right before the table and begins with a type. */
static int check_extension(struct kb_source *source, uint64_t offset,
			   uint32_t stored_bytes, struct kbundle_error *err)
{
	unsigned char head[KB_SKIPPABLE_HEADER];
	struct kb_zstd_header header;
	int r;

	if (stored_bytes < KB_SKIPPABLE_HEADER + 4 ||
	    stored_bytes > EXTENSION_MAX)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "at byte %llu: an extension frame of %u bytes; "
			       "12 to %u are allowed",
			       (unsigned long long)offset, stored_bytes,
			       EXTENSION_MAX);
	r = pread_exactly(source, head, sizeof(head), offset, err);
	if (r == 0)
		r = kb_zstd_header_parse(head, sizeof(head), &header, err);
	if (r < 0)
		return r;
	if (header.kind != KB_ZSTD_SKIPPABLE ||
	    header.magic != KB_EXTENSION_MAGIC ||
	    header.content_bytes != stored_bytes - KB_SKIPPABLE_HEADER)
		return kb_fail(
			err, KBUNDLE_E_FORMAT,
			"at byte %llu: the seek table has an empty frame "
			"that is no extension frame",
			(unsigned long long)offset);
	return 0;
}

static int place_frames(struct kb_source *source,
			const struct kb_seektable *table, uint64_t end,
			struct kbundle_error *err)
{
	uint64_t offset = 0;
	bool extensions = false;

	for (size_t i = 0; i < table->n; i++) {
		const struct kb_frame *frame = &table->frames[i];
		int r;

		if (!frame->content_bytes) {
			extensions = true;
			r = check_extension(source, offset, frame->stored_bytes,
					    err);
		} else if (extensions) {
			r = kb_fail(err, KBUNDLE_E_FORMAT,
				    "frame %zu follows an extension frame", i);
		} else {
			r = add_frame(source, offset, frame, err);
		}
		if (r < 0)
			return r;
		offset += frame->stored_bytes;
	}
	if (offset != end)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the frames of the seek table end at byte %llu, "
			       "but the table begins at byte %llu",
			       (unsigned long long)offset,
			       (unsigned long long)end);
	return 0;
}

static int read_table(struct kb_source *source, struct kbundle_error *err)
{
	KB_AUTO(kb_seektable_release) struct kb_seektable table = {0};
	unsigned char footer[KB_SEEKTABLE_FOOTER];
	KB_AUTO_FREE unsigned char *data = NULL;
	uint64_t len;
	int r;

	if (source->bytes < sizeof(footer))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%llu bytes are too few for a bundle",
			       (unsigned long long)source->bytes);
	r = pread_exactly(source, footer, sizeof(footer),
			  source->bytes - sizeof(footer), err);
	if (r == 0)
		r = kb_seektable_footer_parse(footer, &len, err);
	if (r < 0)
		return r;
	if (len > source->bytes)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the seek table is longer than the file");
	data = malloc((size_t)len);
	if (!data)
		return kb_fail_nomem(err);
	r = pread_exactly(source, data, (size_t)len, source->bytes - len, err);
	if (r == 0)
		r = kb_seektable_parse(data, (size_t)len, &table, err);
	return r < 0 ? r
		     : place_frames(source, &table, source->bytes - len, err);
}

/* ---- a stream ---- */

static size_t ahead_len(const struct kb_source *source)
{
	return source->ahead.len - source->ahead_at;
}

static const char *ahead_data(const struct kb_source *source)
{
	return source->ahead.data + source->ahead_at;
}

/* What was consumed makes room; only here, so that a stream of tiny frames does
 * not move the rest for each of them. */
static void make_room(struct kb_source *source)
{
	struct kb_buf *ahead = &source->ahead;

	memmove(ahead->data, ahead_data(source), ahead_len(source));
	ahead->len -= source->ahead_at;
	source->ahead_at = 0;
}

/* Reads until `ahead` has want bytes, or the input ends. */
static int read_ahead(struct kb_source *source, size_t want,
		      struct kbundle_error *err)
{
	struct kb_buf *ahead = &source->ahead;

	while (ahead_len(source) < want && !source->ended) {
		size_t n = want - ahead_len(source), got;
		int r;

		if (n < READ_BYTES)
			n = READ_BYTES;
		if (source->ahead_at)
			make_room(source);
		if (kb_buf_reserve(ahead, n) < 0)
			return kb_fail_nomem(err);
		r = kb_read(source->ctx, source->fd, ahead->data + ahead->len,
			    n, &got, source->name, err);
		if (r < 0)
			return r;
		source->ended = got < n;
		ahead->len += got;
		source->bytes += got;
	}
	return 0;
}

static void consume(struct kb_source *source, size_t len)
{
	source->ahead_at += len;
}

static uint64_t stream_offset(const struct kb_source *source)
{
	return source->bytes - ahead_len(source);
}

static int cut_short(const struct kb_source *source, struct kbundle_error *err)
{
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "it ends in the middle of a frame that begins at byte "
		       "%llu: cut short",
		       (unsigned long long)stream_offset(source));
}

/* Size of the frame that begins at the read position, read in whole. */
static int next_frame_bytes(struct kb_source *source, size_t max,
			    size_t *ret_bytes, struct kbundle_error *err)
{
	size_t want = READ_BYTES;

	for (;;) {
		int r = read_ahead(source, want, err);

		if (r == 0)
			r = kb_zstd_frame_bytes(ahead_data(source),
						ahead_len(source), ret_bytes,
						err);
		if (r < 0)
			return r;
		if (*ret_bytes && *ret_bytes <= ahead_len(source))
			return 0;
		if (source->ended)
			return cut_short(source, err);
		want = *ret_bytes ? *ret_bytes : 2 * ahead_len(source);
		if (want > max + READ_BYTES)
			return kb_fail(
				err, KBUNDLE_E_FORMAT,
				"the frame at byte %llu is too large",
				(unsigned long long)stream_offset(source));
	}
}

static int next_header(struct kb_source *source, struct kb_zstd_header *header,
		       struct kbundle_error *err)
{
	int r = read_ahead(source, KB_ZSTD_HEADER_MAX, err);

	if (r < 0)
		return r;
	if (!ahead_len(source))
		return cut_short(source, err);
	r = kb_zstd_header_parse(ahead_data(source), ahead_len(source), header,
				 err);
	if (r == 0 && header->kind == KB_ZSTD_NEITHER)
		r = kb_fail(err, KBUNDLE_E_FORMAT, "it is no zstd frame");
	if (r < 0)
		kb_wrap(err, "at byte %llu",
			(unsigned long long)stream_offset(source));
	return r;
}

static int keep_frame(struct kb_source *source, size_t len,
		      struct kbundle_error *err)
{
	int r;

	if (source->spool_fd < 0) {
		r = kb_spool_open(source->ctx, kb_tmp_dir(), &source->spool_fd,
				  err);
		if (r < 0)
			return r;
	}
	r = kb_write(source->ctx, source->spool_fd, ahead_data(source), len,
		     "spool file", err);
	source->spool_bytes += len;
	return r;
}

static int stream_read(struct kb_source *source, struct kb_buf *ret,
		       uint32_t *ret_content, struct kbundle_error *err)
{
	struct kb_zstd_header header;
	struct kb_frame frame;
	size_t len;
	int r = next_header(source, &header, err);

	*ret_content = 0;
	if (r < 0 || header.kind == KB_ZSTD_SKIPPABLE)
		return r;
	if (!header.content_bytes || header.content_bytes > KB_FRAME_MAX)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the frame at byte %llu has %llu bytes of "
			       "content; 1 to %u are allowed",
			       (unsigned long long)stream_offset(source),
			       (unsigned long long)header.content_bytes,
			       KB_FRAME_MAX);
	r = next_frame_bytes(source, FRAME_STORED_MAX, &len, err);
	if (r < 0)
		return r;
	frame.stored_bytes = (uint32_t)len;
	frame.content_bytes = (uint32_t)header.content_bytes;
	r = add_frame(source, source->spool_bytes, &frame, err);
	if (r == 0)
		r = kb_seektable_add(&source->seen, frame.stored_bytes,
				     frame.content_bytes, err);
	source->stored_bytes += frame.stored_bytes;
	source->content_bytes += frame.content_bytes;
	if (r == 0 && source->keep)
		r = keep_frame(source, len, err);
	if (r < 0)
		return r;
	if (kb_buf_append(ret, ahead_data(source), len) < 0)
		return kb_fail_nomem(err);
	consume(source, len);
	*ret_content = frame.content_bytes;
	return 0;
}

/* Extension frames and the table, and nothing behind it. */
static int stream_tail(struct kb_source *source, struct kb_buf *ret_table,
		       struct kbundle_error *err)
{
	for (;;) {
		struct kb_zstd_header header;
		size_t len;
		int r = next_header(source, &header, err);

		if (r < 0)
			return r;
		if (header.kind != KB_ZSTD_SKIPPABLE)
			return kb_fail(
				err, KBUNDLE_E_FORMAT,
				"at byte %llu: a frame after the end",
				(unsigned long long)stream_offset(source));
		r = next_frame_bytes(source, EXTENSION_MAX, &len, err);
		if (r < 0)
			return r;
		if (header.magic == KB_SEEKTABLE_MAGIC) {
			if (kb_buf_append(ret_table, ahead_data(source), len) <
			    0)
				return kb_fail_nomem(err);
			consume(source, len);
			return 0;
		}
		if (header.magic != KB_EXTENSION_MAGIC ||
		    header.content_bytes < 4)
			return kb_fail(
				err, KBUNDLE_E_FORMAT,
				"at byte %llu: a skippable frame where "
				"none belongs",
				(unsigned long long)stream_offset(source));
		r = kb_seektable_add(&source->seen, (uint32_t)len, 0, err);
		if (r < 0)
			return r;
		consume(source, len);
	}
}

static int compare_tables(const struct kb_seektable *table,
			  const struct kb_seektable *seen,
			  struct kbundle_error *err)
{
	size_t i = 0;

	while (i < table->n && i < seen->n &&
	       table->frames[i].stored_bytes == seen->frames[i].stored_bytes &&
	       table->frames[i].content_bytes == seen->frames[i].content_bytes)
		i++;
	if (i == table->n && i == seen->n)
		return 0;
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "the seek table does not agree with frame %zu", i);
}

int kb_source_finish(struct kb_source *source, struct kbundle_error *err)
{
	KB_AUTO(kb_seektable_release) struct kb_seektable table = {0};
	KB_AUTO(kb_buf_release) struct kb_buf data;
	int r;

	kb_buf_init(&data, EXTENSION_MAX);
	if (!source->is_stream)
		return 0;
	r = stream_tail(source, &data, err);
	if (r == 0)
		r = kb_seektable_parse((const unsigned char *)data.data,
				       data.len, &table, err);
	if (r == 0)
		r = compare_tables(&table, &source->seen, err);
	if (r == 0)
		r = read_ahead(source, 1, err);
	if (r == 0 && ahead_len(source))
		r = kb_fail(err, KBUNDLE_E_FORMAT,
			    "bytes follow the seek table at byte %llu",
			    (unsigned long long)stream_offset(source));
	return r;
}

/* ---- both ---- */

int kb_source_read(struct kb_source *source, size_t i, struct kb_buf *ret,
		   uint32_t *ret_content, struct kbundle_error *err)
{
	int from = source->is_stream ? source->spool_fd : source->fd;
	uint32_t len;
	size_t got;
	int r;

	kb_buf_clear(ret);
	*ret_content = 0;
	if (source->is_stream && i == source->frames.n)
		return stream_read(source, ret, ret_content, err);
	if (i >= source->frames.n)
		return 0;
	len = source->frames.frames[i].stored_bytes;
	if (len > FRAME_STORED_MAX)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame %zu has %u bytes, too many for its "
			       "content",
			       i, len);
	if (kb_buf_reserve(ret, len) < 0)
		return kb_fail_nomem(err);
	r = kb_pread(source->ctx, from, ret->data, len, source->offsets[i],
		     &got, source->name, err);
	if (r < 0)
		return r;
	if (got != len)
		return kb_fail(err, KBUNDLE_E_FORMAT, "it is cut short");
	ret->len = len;
	*ret_content = source->frames.frames[i].content_bytes;
	return 0;
}

int kb_source_fail_end(const struct kb_source *source, const char *what,
		       struct kbundle_error *err)
{
	if (source->is_stream)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s is not complete at byte %llu, where a "
			       "skippable frame stands",
			       what, (unsigned long long)stream_offset(source));
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "%s is not complete after the %zu frames of the seek "
		       "table",
		       what, source->frames.n);
}

void kb_source_stop_keeping(struct kb_source *source)
{
	source->keep = false;
}

static bool is_positionable(struct kb_source *source, const struct stat *st)
{
	return S_ISREG(st->st_mode) &&
	       source->ctx->fs->lseek(source->fd, 0, SEEK_CUR) == 0;
}

int kb_source_open(struct kb_source *source, struct kb_ctx *ctx,
		   const char *input, int fd, struct kbundle_error *err)
{
	struct stat st;
	int r = 0;

	memset(source, 0, sizeof(*source));
	source->ctx = ctx;
	source->name = input ? input : "standard input";
	source->fd = fd;
	source->spool_fd = -1;
	kb_buf_init(&source->ahead, EXTENSION_MAX + 2 * READ_BYTES);
	if (input) {
		source->fd = kb_openat(ctx, AT_FDCWD, input, O_RDONLY, 0);
		source->owns_fd = true;
	}
	if (source->fd < 0 || ctx->fs->fstat(source->fd, &st) < 0)
		return kb_fail_errno(err, errno, "cannot be opened");
	if (S_ISDIR(st.st_mode))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "it is a directory, not a bundle");
	source->is_stream = !is_positionable(source, &st);
	source->keep = source->is_stream;
	if (!source->is_stream) {
		source->bytes = (uint64_t)st.st_size;
		r = read_table(source, err);
	}
	return r;
}

void kb_source_release(struct kb_source *source)
{
	if (source->owns_fd)
		kb_close(source->fd);
	if (source->ctx)
		kb_close(source->spool_fd);
	kb_seektable_release(&source->frames);
	kb_seektable_release(&source->seen);
	kb_buf_release(&source->ahead);
	free(source->offsets);
	memset(source, 0, sizeof(*source));
}
