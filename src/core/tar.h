/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical tar (docs/format.md 2): the bytes before and after a file's content
 * as a pure function of its path, size and mtime. Never parsed, only built.
 */
#ifndef KB_TAR_H
#define KB_TAR_H

#include "../../formats/format.h"
#include "../base/path.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

#define KB_TAR_BLOCK 512
#define KB_TAR_END 1024 /* two zero blocks */
/* pax header, its records (a path of 1024 and an mtime), the header itself */
#define KB_TAR_HEADER_MAX (KB_TAR_BLOCK * 5)

struct kb_tar_header {
	unsigned char bytes[KB_TAR_HEADER_MAX];
	size_t len; /* a multiple of KB_TAR_BLOCK */
};

/* Header of a member; path is a valid member path, size below 2^33. */
void kb_tar_header(struct kb_tar_header *ret, const char *path, uint64_t size,
		   bool has_mtime, int64_t mtime_s, uint32_t mtime_ns);

/* Zero bytes that follow a content of this size. */
size_t kb_tar_padding(uint64_t size);

/* "<root>/<entry>" or "<root>/<entry>/<file>". Codes: FORMAT if it breaks the
 * limits on member paths. */
int kb_member_path(char ret[KB_MEMBER_PATH_MAX + 1], const char *root,
		   const char *entry, const char *file,
		   struct kbundle_error *err) KB_MUST_CHECK;

/* Bytes of all members of an entry with headers and padding. */
int kb_tar_entry_bytes(const char *root, const struct kb_entry *entry,
		       uint64_t *ret, struct kbundle_error *err) KB_MUST_CHECK;

#endif
