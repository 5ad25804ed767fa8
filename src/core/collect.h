/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the "read" station over a plan and gives final entries out in order. */
#ifndef KB_COLLECT_H
#define KB_COLLECT_H

#include "load.h"
#include "report.h"
#include "scan.h"

struct kb_collect_sink {
	/* One whole entry; borrowed for the call. */
	int (*entry)(struct kb_collect_sink *sink,
		     const struct kb_loaded *loaded, struct kbundle_error *err);
};

/* Loads every planned entry on the pool, at most a few at a time; what is left
 * out becomes a note of the report, what is whole goes to sink in plan order.
 * Codes: those of kb_load_run() and of the sink. */
int kb_collect(const struct kb_load_config *config, const struct kb_plan *plan,
	       struct kb_pool *pool, const char *phase,
	       struct kbundle_report *report, struct kb_collect_sink *sink,
	       struct kbundle_error *err) KB_MUST_CHECK;

/* Workers for a call: the environment's threads, capped so that the limit on
 * open descriptors suffices. */
unsigned kb_worker_count(const struct kb_ctx *ctx);

#endif
