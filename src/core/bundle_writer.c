/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a bundle depend on the entries in their order, on the level and
 * on the frame size, never on the number of workers: one thread lays bytes into
 * frames, workers only compress whole frames, and an ordered lane gives them
 * back in order. Frame borders: docs/format.md 5.
 */
#include "bundle_writer.h"

#include "../base/error.h"
#include "../base/path.h"
#include "../dep/zstd.h"
#include "../sys/io.h"
#include "limits.h"
#include "output.h"
#include "survey.h"
#include "tar.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES (256u << 10)

/* A frame on its way: bytes of tar in, a zstd frame out. */
struct frame_job {
	struct kb_job job;
	struct kb_bundle_writer *writer;
	struct kb_buf plain, packed;
	struct frame_job *next; /* among the spare ones */
};

static int compress_frame(struct kb_job *job, unsigned worker,
			  struct kbundle_error *err)
{
	struct frame_job *frame = (struct frame_job *)job;

	return kb_zstd_compress(frame->writer->compressors[worker],
				frame->plain.data, frame->plain.len,
				&frame->packed, err);
}

static void frame_free(struct frame_job *frame)
{
	if (!frame)
		return;
	kb_buf_release(&frame->plain);
	kb_buf_release(&frame->packed);
	free(frame);
}

static void frame_drop(struct kb_job *job)
{
	frame_free((struct frame_job *)job);
}

static uint64_t frame_cap(const struct kb_bundle_writer *writer)
{
	uint64_t cap = 2 * writer->options.frame_bytes;

	return cap < KB_FRAME_MAX ? cap : KB_FRAME_MAX;
}

static int frame_get(struct kb_bundle_writer *writer, struct kbundle_error *err)
{
	struct frame_job *frame = writer->spare;

	if (writer->frame)
		return 0;
	if (frame) {
		writer->spare = frame->next;
	} else {
		frame = calloc(1, sizeof(*frame));
		if (!frame)
			return kb_fail_nomem(err);
		kb_buf_init(&frame->plain, KB_FRAME_MAX);
		kb_buf_init(&frame->packed, 2 * KB_FRAME_MAX);
	}
	kb_buf_clear(&frame->plain);
	frame->job.run = compress_frame;
	frame->writer = writer;
	writer->frame = frame;
	return 0;
}

int kb_bundle_writer_init(struct kb_bundle_writer *writer, struct kb_ctx *ctx,
			  const struct kb_bundle_writer_options *options,
			  struct kb_root *roots, size_t n_roots,
			  struct kbundle_error *err)
{
	unsigned workers = kb_pool_workers(options->pool);
	int r;

	memset(writer, 0, sizeof(*writer));
	writer->ctx = ctx;
	writer->options = *options;
	writer->header.roots = roots;
	writer->header.n_roots = n_roots;
	writer->payload_fd = writer->lines_fd = -1;
	kb_buf_init(&writer->line, KB_LINE_MAX);
	r = kb_hash_new(&writer->hash, err);
	if (r < 0)
		return r;
	writer->compressors = calloc(workers, sizeof(*writer->compressors));
	if (!writer->compressors)
		return kb_fail_nomem(err);
	for (unsigned i = 0; i < workers; i++) {
		r = kb_zstd_writer_new(options->level, &writer->compressors[i],
				       err);
		if (r < 0)
			return r;
	}
	r = kb_lane_new(options->pool, workers + 1, &writer->lane, err);
	if (r == 0)
		r = kb_spool_open(ctx, options->spool_dir, &writer->payload_fd,
				  err);
	if (r == 0)
		r = kb_spool_open(ctx, options->spool_dir, &writer->lines_fd,
				  err);
	return r;
}

void kb_bundle_writer_release(struct kb_bundle_writer *writer)
{
	if (!writer->options.pool)
		return;
	kb_lane_free(writer->lane, frame_drop);
	frame_free(writer->frame);
	while (writer->spare) {
		struct frame_job *next = writer->spare->next;

		frame_free(writer->spare);
		writer->spare = next;
	}
	for (unsigned i = 0;
	     writer->compressors && i < kb_pool_workers(writer->options.pool);
	     i++)
		kb_zstd_writer_free(writer->compressors[i]);
	free(writer->compressors);
	kb_hash_free(writer->hash);
	kb_seektable_release(&writer->payload);
	kb_buf_release(&writer->line);
	kb_close(writer->payload_fd);
	kb_close(writer->lines_fd);
	memset(writer, 0, sizeof(*writer));
}

/* ---- frames ---- */

/* The oldest compressed frame goes to fd and into the table. */
static int take_frame(struct kb_bundle_writer *writer, int fd,
		      struct kb_seektable *table, struct kbundle_error *err)
{
	struct frame_job *frame =
		(struct frame_job *)kb_lane_take(writer->lane);
	int r = kb_job_result(&frame->job, err);

	if (r == 0)
		r = kb_write(writer->ctx, fd, frame->packed.data,
			     frame->packed.len, "the bundle", err);
	if (r == 0)
		r = kb_seektable_add(table, (uint32_t)frame->packed.len,
				     (uint32_t)frame->plain.len, err);
	frame->next = writer->spare;
	writer->spare = frame;
	return r;
}

static int close_frame(struct kb_bundle_writer *writer, int fd,
		       struct kb_seektable *table, struct kbundle_error *err)
{
	int r = 0;

	if (!writer->frame)
		return 0;
	if (kb_lane_is_full(writer->lane))
		r = take_frame(writer, fd, table, err);
	if (r < 0)
		return r;
	kb_lane_submit(writer->lane, &writer->frame->job);
	writer->frame = NULL;
	return 0;
}

static int drain_frames(struct kb_bundle_writer *writer, int fd,
			struct kb_seektable *table, struct kbundle_error *err)
{
	int r = close_frame(writer, fd, table, err);

	while (r == 0 && !kb_lane_is_empty(writer->lane))
		r = take_frame(writer, fd, table, err);
	return r;
}

/* Appends bytes to the frame, cutting where it is full. */
static int put(struct kb_bundle_writer *writer, const void *data, size_t len,
	       int fd, struct kb_seektable *table, struct kbundle_error *err)
{
	const char *from = data;
	size_t cap = (size_t)frame_cap(writer);

	while (len) {
		size_t n;
		int r = frame_get(writer, err);

		if (r < 0)
			return r;
		n = cap - writer->frame->plain.len;
		if (n > len)
			n = len;
		if (kb_buf_append(&writer->frame->plain, from, n) < 0)
			return kb_fail_nomem(err);
		from += n;
		len -= n;
		if (writer->frame->plain.len == cap)
			r = close_frame(writer, fd, table, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_payload(struct kb_bundle_writer *writer, const void *data,
		       size_t len, struct kbundle_error *err)
{
	return put(writer, data, len, writer->payload_fd, &writer->payload,
		   err);
}

static const char zeros[KB_TAR_END];

/* ---- entries ---- */

/* A new frame begins where the root or the target's base changes. */
static int begin_run(struct kb_bundle_writer *writer,
		     const struct kb_entry *entry, struct kbundle_error *err)
{
	const char *target = entry->target ? entry->target : "";

	if (writer->header.entries &&
	    (writer->last_root != entry->root ||
	     kb_target_base_compare(writer->last_target, target) != 0)) {
		int r = close_frame(writer, writer->payload_fd,
				    &writer->payload, err);

		if (r < 0)
			return r;
	}
	writer->last_root = entry->root;
	memccpy(writer->last_target, target, '\0', KB_TARGET_MAX - 1);
	return 0;
}

/* Borders inside a run depend on what lies there, so that a changed entry
 * disturbs only its neighbours. */
static int end_entry(struct kb_bundle_writer *writer,
		     const struct kb_entry *entry, struct kbundle_error *err)
{
	uint8_t digest[KB_SHA256_BYTES];
	int r;

	if (!writer->frame ||
	    writer->frame->plain.len < writer->options.frame_bytes)
		return 0;
	r = kb_hash_bytes(writer->hash, entry->path, strlen(entry->path),
			  digest, err);
	if (r < 0 || digest[0] & 0x0f)
		return r;
	return close_frame(writer, writer->payload_fd, &writer->payload, err);
}

static int put_spooled(struct kb_bundle_writer *writer, int fd, uint64_t offset,
		       uint64_t len, struct kbundle_error *err)
{
	KB_AUTO_FREE char *chunk = malloc(COPY_BYTES);

	if (!chunk)
		return kb_fail_nomem(err);
	while (len) {
		size_t want = len < COPY_BYTES ? (size_t)len : COPY_BYTES, got;
		int r = kb_pread(writer->ctx, fd, chunk, want, offset, &got,
				 "spool file", err);

		if (r == 0 && got != want)
			r = kb_fail(err, KBUNDLE_E_INTERNAL,
				    "the spool file became shorter");
		if (r == 0)
			r = put_payload(writer, chunk, got, err);
		if (r < 0)
			return r;
		offset += got;
		len -= got;
	}
	return 0;
}

static int put_file(struct kb_bundle_writer *writer,
		    const struct kb_loaded *loaded, size_t i,
		    struct kbundle_error *err)
{
	const struct kb_entry *entry = &loaded->entry;
	const struct kb_file *file = &entry->files[i];
	char path[KB_MEMBER_PATH_MAX + 1];
	struct kb_tar_header header;
	int r = kb_member_path(path, writer->header.roots[entry->root].name,
			       entry->path, file->name, err);

	if (r < 0)
		return r;
	kb_tar_header(&header, path, file->size, file->has_mtime, file->mtime_s,
		      file->mtime_ns);
	r = put_payload(writer, header.bytes, header.len, err);
	if (r == 0 && loaded->contents[i].data)
		r = put_payload(writer, loaded->contents[i].data,
				(size_t)file->size, err);
	else if (r == 0)
		r = put_spooled(writer, loaded->spool_fd,
				loaded->contents[i].spool_offset, file->size,
				err);
	return r < 0 ? r
		     : put_payload(writer, zeros, kb_tar_padding(file->size),
				   err);
}

int kb_bundle_writer_entry(struct kb_bundle_writer *writer,
			   const struct kb_loaded *loaded,
			   struct kbundle_error *err)
{
	const struct kb_entry *entry = &loaded->entry;
	int r = begin_run(writer, entry, err);

	for (size_t i = 0; r == 0 && i < entry->n_files; i++) {
		r = put_file(writer, loaded, i, err);
		writer->header.bytes += entry->files[i].size;
	}
	if (r == 0)
		r = end_entry(writer, entry, err);
	if (r == 0)
		r = kb_write(writer->ctx, writer->lines_fd, loaded->line.data,
			     loaded->line.len, "spool file", err);
	writer->lines_bytes += loaded->line.len;
	writer->header.entries++;
	writer->header.files += entry->n_files;
	return r < 0 ? r
		     : kb_header_check(&writer->header, writer->options.limits,
				       err);
}

/* ---- join ---- */

/* The entries' lines, hashed into the id on their way into frames. */
static int put_lines(struct kb_bundle_writer *writer, int fd,
		     struct kb_seektable *table, struct kbundle_error *err)
{
	KB_AUTO_FREE char *chunk = malloc(COPY_BYTES);
	uint64_t done = 0;

	if (!chunk)
		return kb_fail_nomem(err);
	while (done < writer->lines_bytes) {
		size_t got;
		int r = kb_pread(writer->ctx, writer->lines_fd, chunk,
				 COPY_BYTES, done, &got, "spool file", err);

		if (r == 0 && !got)
			r = kb_fail(err, KBUNDLE_E_INTERNAL,
				    "the spool file became shorter");
		if (r == 0)
			r = kb_hash_update(writer->hash, chunk, got, err);
		if (r == 0)
			r = put(writer, chunk, got, fd, table, err);
		if (r < 0)
			return r;
		done += got;
	}
	return 0;
}

static int put_manifest(struct kb_bundle_writer *writer, int fd,
			struct kb_seektable *table, struct kbundle_error *err)
{
	struct kb_tar_header tar;
	uint64_t size;
	int r;

	kb_buf_clear(&writer->line);
	r = kb_header_format(&writer->header, &writer->line, err);
	if (r < 0)
		return r;
	size = writer->line.len + writer->lines_bytes;
	if (size > KB_FILE_BYTES_MAX ||
	    size > writer->options.limits->manifest_bytes)
		return kb_fail(
			err, KBUNDLE_E_LIMIT,
			"the manifest has %llu bytes, more than a reader "
			"takes; --limit-manifest raises the limit here, "
			"and readers need it too",
			(unsigned long long)size);
	kb_tar_header(&tar, KB_MANIFEST_NAME, size, false, 0, 0);
	r = put(writer, tar.bytes, tar.len, fd, table, err);
	if (r == 0)
		r = kb_hash_start(writer->hash, err);
	if (r == 0)
		r = kb_hash_update(writer->hash, writer->line.data,
				   writer->line.len, err);
	if (r == 0)
		r = put(writer, writer->line.data, writer->line.len, fd, table,
			err);
	if (r == 0)
		r = put_lines(writer, fd, table, err);
	if (r == 0)
		r = kb_hash_finish(writer->hash, writer->id, err);
	if (r == 0)
		r = put(writer, zeros, kb_tar_padding(size), fd, table, err);
	return r < 0 ? r : drain_frames(writer, fd, table, err);
}

/* Payload frames as they are, from the spool. */
static int copy_payload(struct kb_bundle_writer *writer, int fd,
			struct kb_seektable *table, struct kbundle_error *err)
{
	KB_AUTO_FREE char *chunk = malloc(COPY_BYTES);
	uint64_t done = 0;
	size_t got;
	int r = chunk ? 0 : kb_fail_nomem(err);

	for (size_t i = 0; r == 0 && i < writer->payload.n; i++)
		r = kb_seektable_add(
			table, writer->payload.frames[i].stored_bytes,
			writer->payload.frames[i].content_bytes, err);
	while (r == 0) {
		r = kb_pread(writer->ctx, writer->payload_fd, chunk, COPY_BYTES,
			     done, &got, "spool file", err);
		if (r < 0 || !got)
			return r;
		r = kb_write(writer->ctx, fd, chunk, got, "the bundle", err);
		done += got;
	}
	return r;
}

static int write_bundle(struct kb_bundle_writer *writer, int fd,
			struct kbundle_error *err)
{
	KB_AUTO(kb_seektable_release) struct kb_seektable table = {0};
	KB_AUTO(kb_buf_release) struct kb_buf tail;
	int r;

	kb_buf_init(&tail, SIZE_MAX / 2);
	r = put_manifest(writer, fd, &table, err);
	if (r == 0)
		r = copy_payload(writer, fd, &table, err);
	if (r == 0)
		r = put(writer, zeros, KB_TAR_END, fd, &table, err);
	if (r == 0)
		r = drain_frames(writer, fd, &table, err);
	if (r == 0)
		r = kb_seektable_format(&table, &tail, err);
	if (r < 0)
		return r;
	writer->bundle_bytes = tail.len;
	for (size_t i = 0; i < table.n; i++)
		writer->bundle_bytes += table.frames[i].stored_bytes;
	r = kb_ratio_check_frames(writer->options.limits, &table, err);
	if (r < 0)
		return r;
	return kb_write(writer->ctx, fd, tail.data, tail.len, "the bundle",
			err);
}

int kb_bundle_writer_finish(struct kb_bundle_writer *writer,
			    struct kbundle_error *err)
{
	KB_AUTO(kb_output_release) struct kb_output output;
	int r = drain_frames(writer, writer->payload_fd, &writer->payload, err);

	kb_output_init(&output, writer->ctx);
	if (r == 0)
		r = kb_output_open(&output, writer->options.output,
				   writer->options.output_fd, err);
	if (r == 0)
		r = write_bundle(writer, output.fd, err);
	return r < 0 ? r : kb_output_commit(&output, err);
}
