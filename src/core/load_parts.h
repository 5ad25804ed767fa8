/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by load.c and load_read.c, and by nothing else: one try at an entry.
 */
#ifndef KB_LOAD_PARTS_H
#define KB_LOAD_PARTS_H

#include "../dep/hash.h"
#include "load.h"
#include "mapping.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define KB_LOAD_MEMORY_MAX (32u << 20) /* contents of one entry in memory */

/* A file as it was read. */
struct kb_raw_file {
	const char *name;
	struct stat st;
	bool spooled;
	bool has_paths;		   /* of spooled files, found on the way */
	uint64_t offset;	   /* in memory or in the spool */
	uint8_t sha256[32];	   /* of spooled files, made on the way */
	struct kb_mapping mapping; /* of spooled files that the format reads */
};

struct kb_attempt {
	struct kb_loaded *to;
	struct kb_ctx *ctx;
	const struct kb_format *format;
	struct kb_hash *hash;
	struct kb_raw_file *files; /* in the arena of `to`, sorted by name */
	size_t n_files;
	uint64_t spool_bytes;
	bool changed; /* while it was read: nothing of it counts */
};

/* The entry will not be in the bundle; both texts live as long as `to`. */
void kb_load_leave_out(struct kb_loaded *to, int count, const char *file,
		       const char *reason);

/* Opens the entry, reads all its files and looks at all of them again. What
 * was found is in->changed, or an outcome of in->to that is not KB_LOADED, or
 * else in->files. Codes: NOMEM, IO (spool), CANCELLED, INTERNAL. */
int kb_load_read(struct kb_attempt *in,
		 struct kbundle_error *err) KB_MUST_CHECK;

#endif
