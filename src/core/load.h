/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Station "read": one entry from a live cache into memory, whole and unmixed,
 * checked by its format, paths turned into tokens, hashed. What comes out is
 * final: exactly what goes into a bundle.
 */
#ifndef KB_LOAD_H
#define KB_LOAD_H

#include "../../formats/format.h"
#include "../sys/workers.h"
#include "manifest.h"
#include "roots.h"
#include "scan.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

struct kb_load_config {
	struct kb_ctx *ctx;
	const struct kb_source_roots *roots;
	const struct kbundle_selection *selection;
	const struct kb_header
		*header;       /* of the bundle that is made, or NULL */
	const char *spool_dir; /* for entries of more than 8 MiB */
	bool host_code;
};

/* Content of one file of the entry, parallel to entry.files. */
struct kb_content {
	const void *data; /* stored bytes; NULL: they lie in the spool */
	uint64_t spool_offset;
	bool has_paths; /* absolute paths are still inside */
};

enum kb_load_outcome {
	KB_LOADED,
	KB_LOAD_LEFT_OUT, /* `count` and `reason` tell why */
	KB_LOAD_ABSENT	  /* no such entry (any more) */
};

struct kb_loaded {
	struct kb_job job; /* run by kb_load_run() */
	const struct kb_load_config *config;
	const struct kb_planned *planned;
	enum kb_load_outcome outcome;
	int count; /* KBUNDLE_COUNT_DAMAGED, _CHANGED, _POLICY, … */
	const char *file, *reason;
	struct kb_entry entry;
	struct kb_content *contents;
	int spool_fd;
	struct kb_buf line; /* of the manifest, where config has a header */
	struct kb_arena arena;
	struct kb_buf memory; /* contents as they were read */
};

/* planned is borrowed. Codes: NOMEM. */
int kb_loaded_new(const struct kb_load_config *config,
		  const struct kb_planned *planned, struct kb_loaded **ret,
		  struct kbundle_error *err) KB_MUST_CHECK;
void kb_loaded_free(struct kb_loaded *loaded);
KB_DEFINE_AUTO(struct kb_loaded *, kb_loaded_free);
/* For kb_lane_free(). */
void kb_loaded_drop(struct kb_job *job);

/* Does the work; `job` is a kb_loaded's. What is wrong with the entry itself is
 * an outcome. Codes: NOMEM, IO (spool), CANCELLED, INTERNAL. */
int kb_load_run(struct kb_job *job, unsigned worker, struct kbundle_error *err);

#endif
