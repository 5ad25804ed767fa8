/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second walk over a bundle: the manifest again, beside the payload. Entries go
 * through sinks on the workers; results come back in bundle order. At the end
 * everything that was to be read has been verified, the id is the same as that
 * of the first walk, and the tail is sound.
 */
#ifndef KB_CONSUME_H
#define KB_CONSUME_H

#include "../sys/workers.h"
#include "sink.h"
#include "survey.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stdint.h>

struct kb_consumed {
	uint64_t index;
	bool wanted;
	const struct kb_entry *entry; /* borrowed for the call */
	const struct kb_sink *sink;   /* its result */
};

struct kb_consumer {
	const struct kb_survey *survey;
	const struct kb_sink_config *config;
	struct kb_pool *pool;
	const char *phase; /* of progress */
	bool everything;   /* read and verify what is not wanted, too */
	/* Called on the calling thread for each entry that was read. */
	int (*entry)(struct kb_consumer *consumer,
		     const struct kb_consumed *done, struct kbundle_error *err);
};

/* Codes: FORMAT, DIGEST, LIMIT, IO, NOMEM, CANCELLED, and the callback's. */
int kb_consume(struct kb_consumer *consumer,
	       struct kbundle_error *err) KB_MUST_CHECK;

#endif
