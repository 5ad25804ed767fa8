/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail of a bundle: the seek table of the zstd seekable format
 * (docs/format.md 5). Bytes only; who reads or writes them is elsewhere.
 */
#ifndef KB_SEEKTABLE_H
#define KB_SEEKTABLE_H

#include "../base/buf.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

#define KB_SEEKTABLE_MAGIC 0x184D2A5Eu /* of the skippable frame */
#define KB_EXTENSION_MAGIC 0x184D2A5Du
#define KB_SEEKTABLE_FOOTER 9
#define KB_SKIPPABLE_HEADER 8

struct kb_frame {
	uint32_t stored_bytes;	/* compressed, as it lies in the file */
	uint32_t content_bytes; /* decompressed; 0: an extension frame */
};

struct kb_seektable {
	struct kb_frame *frames;
	size_t n, cap;
};

void kb_seektable_release(struct kb_seektable *table);
KB_DEFINE_AUTO_STRUCT(struct kb_seektable, kb_seektable_release);
/* Codes: NOMEM, LIMIT. */
int kb_seektable_add(struct kb_seektable *table, uint32_t stored_bytes,
		     uint32_t content_bytes,
		     struct kbundle_error *err) KB_MUST_CHECK;

/* Appends the whole skippable frame. */
int kb_seektable_format(const struct kb_seektable *table, struct kb_buf *buf,
			struct kbundle_error *err) KB_MUST_CHECK;

/* Size of the whole skippable frame from its last KB_SEEKTABLE_FOOTER bytes.
 * Codes: FORMAT, LIMIT. */
int kb_seektable_footer_parse(const unsigned char footer[KB_SEEKTABLE_FOOTER],
			      uint64_t *ret_bytes,
			      struct kbundle_error *err) KB_MUST_CHECK;
/* The whole skippable frame. ret is released first. Frame sizes are checked
 * against the limits of docs/format.md. Codes: FORMAT, LIMIT, NOMEM. */
int kb_seektable_parse(const unsigned char *data, size_t len,
		       struct kb_seektable *ret,
		       struct kbundle_error *err) KB_MUST_CHECK;

#endif
