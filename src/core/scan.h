/* SPDX-License-Identifier: Apache-2.0 */
/* First station of pack: which entries there are, in bundle order. */
#ifndef KB_SCAN_H
#define KB_SCAN_H

#include "../base/arena.h"
#include "roots.h"

#include <kbundle/kbundle.h>

#include <stddef.h>

struct kb_planned {
	uint32_t root; /* index in the source roots */
	bool is_file;
	const char *kind, *name, *target, *path; /* target may be NULL */
};

struct kb_plan {
	struct kb_planned *items;
	size_t n, cap;
	struct kb_arena arena;
};

void kb_plan_release(struct kb_plan *plan);
KB_DEFINE_AUTO_STRUCT(struct kb_plan, kb_plan_release);

/* Scans all roots that are open; leftovers and policy cases become notes of the
 * report. Codes: IO, NOMEM, CANCELLED. */
int kb_scan(struct kb_ctx *ctx, const struct kb_source_roots *roots,
	    bool host_code, const struct kbundle_selection *selection,
	    struct kbundle_report *report, struct kb_plan *ret,
	    struct kbundle_error *err) KB_MUST_CHECK;

/* Removes roots without any planned entry, so that the bundle does not depend
 * on them, and renumbers the plan. */
void kb_plan_drop_empty_roots(struct kb_plan *plan,
			      struct kb_source_roots *roots);

#endif
