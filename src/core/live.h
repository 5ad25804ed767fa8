/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares live caches with a bundle's manifest: each entry is loaded as pack
 * would load it, with tokens in the place of its paths, and must have exactly
 * the files, sizes and hashes of the manifest.
 */
#ifndef KB_LIVE_H
#define KB_LIVE_H

#include "../base/keyset.h"
#include "load.h"
#include "manifest.h"
#include "report.h"

#include <kbundle/kbundle.h>

struct kb_live {
	struct kb_ctx *ctx;
	struct kbundle_report *report;
	struct kb_source_roots roots; /* fd -1: this root is not compared */
	struct kbundle_selection selection;
	struct kb_load_config config;
	struct kb_lane *lane;
	struct kb_expected *first, **last; /* in lane order */
	struct kb_keyset members;	   /* paths of the bundle's entries */
};

/* Opens the roots that the user named. Codes: INVALID, NOTFOUND, IO, NOMEM. */
int kb_live_init(struct kb_live *live, struct kb_ctx *ctx,
		 const struct kb_header *header,
		 const struct kbundle_root *roots, size_t n_roots,
		 struct kb_pool *pool, struct kbundle_report *report,
		 struct kbundle_error *err) KB_MUST_CHECK;
void kb_live_release(struct kb_live *live);
KB_DEFINE_AUTO_STRUCT(struct kb_live, kb_live_release);

/* One entry of the manifest, in order; what differs becomes a note, now or at a
 * later call. */
int kb_live_compare(struct kb_live *live, const struct kb_entry *entry,
		    struct kbundle_error *err) KB_MUST_CHECK;
/* After the last: waits for the rest, and counts entries that the bundle lacks.
 */
int kb_live_finish(struct kb_live *live,
		   struct kbundle_error *err) KB_MUST_CHECK;

#endif
