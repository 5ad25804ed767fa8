/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the tar bytes of one entry, piece by piece: compares headers and
 * padding with what the manifest implies, checks hashes and tokens, and, where
 * asked to, expands and stages the files, and lets the format check the whole.
 * Whether anything is published is for others to say.
 */
#ifndef KB_SINK_H
#define KB_SINK_H

#include "../../formats/format.h"
#include "../dep/hash.h"
#include "../sys/stage.h"
#include "capture.h"
#include "manifest.h"
#include "relocate.h"
#include "tar.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The same for all entries of a call. */
struct kb_sink_config {
	struct kb_ctx *ctx;
	const struct kb_header *header;
	const char *const *tokens;	      /* of the header's roots */
	const struct kb_expansion *expansion; /* needed where stages are */
	struct kb_stage *const *stages;	      /* one per root, NULL: not staged;
					       * NULL: nothing is staged */
	bool slim;
	bool skip_binaries;   /* formats do not look into binaries */
	bool sync_files;      /* fsync each file and directory */
	const char *cat_file; /* write this file of the entry to cat_fd */
	int cat_fd;
};

struct kb_sink {
	const struct kb_sink_config *config;
	const struct kb_entry *entry;
	const struct kb_format *format; /* NULL: unknown */
	bool is_wanted;			/* else only its bytes are verified */
	struct kb_stage *stage;		/* NULL: nothing is written */
	uint64_t number;		/* of the staged child */
	struct kb_hash *hash;		/* borrowed */
	struct kb_arena *arena;
	struct kb_captures captures;
	size_t file; /* index of the current one */
	int phase;
	uint64_t pos; /* in the phase */
	struct kb_tar_header tar;
	char member[KB_MEMBER_PATH_MAX + 1];
	struct kb_expander expander;
	struct kb_expand_sink out;
	int dir_fd, fd;
	bool slimmed;
	const char *slim_file; /* that slimming writes anew, or NULL */
	/* after end */
	bool is_damaged;
	const char *damaged_file, *reason; /* in the arena */
	uint64_t files, bytes;		   /* written, or verified */
};

/* stage NULL: nothing is written. Texts of the result lie in arena. */
int kb_sink_begin(struct kb_sink *sink, const struct kb_sink_config *config,
		  const struct kb_entry *entry, bool wanted,
		  struct kb_stage *stage, uint64_t number, struct kb_hash *hash,
		  struct kb_arena *arena,
		  struct kbundle_error *err) KB_MUST_CHECK;
/* Codes: FORMAT, DIGEST, IO, NOMEM; messages begin with the member. */
int kb_sink_feed(struct kb_sink *sink, const void *data, size_t len,
		 struct kbundle_error *err) KB_MUST_CHECK;
/* All bytes were fed. What is wrong with the entry itself is in is_damaged. */
int kb_sink_end(struct kb_sink *sink, struct kbundle_error *err) KB_MUST_CHECK;
void kb_sink_release(struct kb_sink *sink);
KB_DEFINE_AUTO_STRUCT(struct kb_sink, kb_sink_release);

#endif
