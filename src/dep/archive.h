/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads any archive of a cache that a user has (tar in any compression, zip;
 * libarchive) into a private directory, under the rules for hostile input.
 */
#ifndef KB_ARCHIVE_H
#define KB_ARCHIVE_H

#include "../base/cleanup.h"
#include "../sys/ctx.h"

#include <stdbool.h>
#include <stdint.h>

struct kb_archive_limits {
	uint64_t total_bytes, file_bytes, files;
	uint64_t ratio; /* unpacked by read bytes, past 64 MiB; 0: any */
};

/*
 * Extracts fd (positioned at its start) below dir_fd, an empty private
 * directory. Only regular files and directories are made: other types are
 * counted in *ret_left; absolute names, "..", names too long or too deep and
 * duplicates of files are refused (FORMAT). Components "." are dropped. No
 * mode, owner or time is restored. `name` is what messages call the archive.
 * Codes: FORMAT (not an archive that libarchive knows, or damaged, with the
 * member), LIMIT (limits->files counts members of any type), IO, NOMEM,
 * CANCELLED. On failure what was written stays: the caller owns the directory.
 */
int kb_archive_extract(struct kb_ctx *ctx, int fd, int dir_fd,
		       const struct kb_archive_limits *limits, const char *name,
		       uint64_t *ret_left,
		       struct kbundle_error *err) KB_MUST_CHECK;

#endif
