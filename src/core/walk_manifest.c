/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompresses manifest frames one by one and cuts lines out of them; one frame
 * and one line are held, never the manifest. The size in the member's tar
 * header is not believed: the header is built from what was read and compared.
 */
#include "walk_manifest.h"

#include "../base/error.h"
#include "limits.h"
#include "tar.h"

#include <string.h>

static int next_frame(struct kb_manifest_walk *walk, struct kbundle_error *err)
{
	uint32_t content;
	int r = kb_source_read(walk->source, walk->frame, &walk->packed,
			       &content, err);

	if (r < 0)
		return r;
	if (!content)
		return kb_source_fail_end(walk->source, "the manifest", err);
	r = kb_zstd_decompress(walk->zstd, walk->packed.data, walk->packed.len,
			       content, &walk->plain, err);
	if (r < 0) {
		kb_wrap(err, "frame %zu", walk->frame);
		return r;
	}
	walk->frame++;
	walk->pos = 0;
	return 0;
}

/* Takes len bytes, over frame borders. */
static int take(struct kb_manifest_walk *walk, unsigned char *data, size_t len,
		struct kbundle_error *err)
{
	while (len) {
		size_t n = walk->plain.len - walk->pos;
		int r = 0;

		if (!n) {
			r = next_frame(walk, err);
			if (r < 0)
				return r;
			continue;
		}
		if (n > len)
			n = len;
		memcpy(data, walk->plain.data + walk->pos, n);
		walk->pos += n;
		data += n;
		len -= n;
	}
	return 0;
}

static int count_bytes(struct kb_manifest_walk *walk, size_t len,
		       struct kbundle_error *err)
{
	walk->bytes += len;
	if (walk->bytes <= walk->limits->manifest_bytes)
		return 0;
	return kb_fail(err, KBUNDLE_E_LIMIT,
		       "the manifest has more than %llu bytes; "
		       "--limit-manifest raises the limit",
		       (unsigned long long)walk->limits->manifest_bytes);
}

/* One line; in place where it lies in one frame, else put together. */
static int get_line(struct kb_manifest_walk *walk, const char **ret_line,
		    size_t *ret_len, struct kbundle_error *err)
{
	kb_buf_clear(&walk->line);
	for (;;) {
		const char *start = walk->plain.data + walk->pos;
		size_t n = walk->plain.len - walk->pos;
		const char *end = n ? memchr(start, '\n', n) : NULL;
		size_t len = end ? (size_t)(end - start) + 1 : n;
		int r = count_bytes(walk, len, err);

		if (r == 0 && len)
			r = kb_hash_update(walk->hash, start, len, err);
		if (r < 0)
			return r;
		walk->pos += len;
		if (end && !walk->line.len) {
			*ret_line = start;
			*ret_len = len - 1;
			return 0;
		}
		r = kb_buf_append(&walk->line, start, len);
		if (r == KBUNDLE_E_LIMIT)
			return kb_fail(err, KBUNDLE_E_LIMIT,
				       "a manifest line has more than %u bytes",
				       KB_LINE_MAX);
		if (r < 0)
			return kb_fail_nomem(err);
		if (end) {
			*ret_line = walk->line.data;
			*ret_len = walk->line.len - 1;
			return 0;
		}
		r = next_frame(walk, err);
		if (r < 0)
			return r;
	}
}

static int begin(struct kb_manifest_walk *walk, struct kbundle_error *err)
{
	const char *line;
	size_t len;
	int r = kb_zstd_reader_new(&walk->zstd, err);

	if (r == 0)
		r = kb_hash_new(&walk->hash, err);
	if (r == 0)
		r = kb_hash_start(walk->hash, err);
	if (r == 0)
		r = take(walk, walk->tar, sizeof(walk->tar), err);
	if (r < 0)
		return r;
	/* Said early and plainly: most wrong inputs fail here. */
	if (memcmp(walk->tar, KB_MANIFEST_NAME, sizeof(KB_MANIFEST_NAME)) != 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "its first member is not %s: not a bundle",
			       KB_MANIFEST_NAME);
	r = get_line(walk, &line, &len, err);
	if (r == 0)
		r = kb_header_parse(line, len, &walk->arena, &walk->header,
				    err);
	if (r < 0)
		kb_wrap(err, "%s line 1", KB_MANIFEST_NAME);
	return r;
}

int kb_manifest_walk_begin(struct kb_manifest_walk *walk,
			   struct kb_source *source,
			   const struct kbundle_limits *limits,
			   struct kbundle_error *err)
{
	int r;

	memset(walk, 0, sizeof(*walk));
	walk->source = source;
	walk->limits = limits;
	kb_buf_init(&walk->packed, 2 * KB_FRAME_MAX);
	kb_buf_init(&walk->plain, KB_FRAME_MAX);
	kb_buf_init(&walk->line, KB_LINE_MAX);
	r = begin(walk, err);
	walk->lines = 1;
	return r < 0 ? r : kb_header_check(&walk->header, walk->limits, err);
}

int kb_manifest_walk_line(struct kb_manifest_walk *walk, const char **ret_line,
			  size_t *ret_len, struct kbundle_error *err)
{
	walk->lines++;
	return get_line(walk, ret_line, ret_len, err);
}

int kb_manifest_walk_end(struct kb_manifest_walk *walk, uint8_t ret_id[32],
			 size_t *ret_frames, struct kbundle_error *err)
{
	static const unsigned char zeros[KB_TAR_BLOCK];
	unsigned char padding[KB_TAR_BLOCK];
	struct kb_tar_header tar;
	size_t len = kb_tar_padding(walk->bytes);
	int r = take(walk, padding, len, err);

	if (r < 0)
		return r;
	kb_tar_header(&tar, KB_MANIFEST_NAME, walk->bytes, false, 0, 0);
	if (memcmp(tar.bytes, walk->tar, sizeof(walk->tar)) != 0 ||
	    memcmp(padding, zeros, len) != 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "member %s: its tar header or padding is not "
			       "what %llu lines of %llu bytes imply",
			       KB_MANIFEST_NAME,
			       (unsigned long long)walk->lines,
			       (unsigned long long)walk->bytes);
	if (walk->pos != walk->plain.len)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame %zu holds more than the manifest",
			       walk->frame - 1);
	*ret_frames = walk->frame;
	return kb_hash_finish(walk->hash, ret_id, err);
}

void kb_manifest_walk_release(struct kb_manifest_walk *walk)
{
	kb_zstd_reader_free(walk->zstd);
	kb_hash_free(walk->hash);
	kb_buf_release(&walk->packed);
	kb_buf_release(&walk->plain);
	kb_buf_release(&walk->line);
	kb_arena_release(&walk->arena);
	memset(walk, 0, sizeof(*walk));
}
