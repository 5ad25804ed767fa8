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

/* Something that scan found and that is no entry. */
struct kb_scan_note {
	uint32_t root;
	int count;			  /* enum kbundle_count */
	const char *path, *file, *reason; /* file may be NULL */
};

struct kb_plan {
	struct kb_planned *items;
	size_t n, cap;
	struct kb_scan_note *notes;
	size_t n_notes, cap_notes;
	uint64_t unselected;
	struct kb_arena arena;
};

void kb_plan_release(struct kb_plan *plan);
KB_DEFINE_AUTO_STRUCT(struct kb_plan, kb_plan_release);

/* Scans all roots that are open. Codes: IO, NOMEM, CANCELLED. */
int kb_scan(struct kb_ctx *ctx, const struct kb_source_roots *roots,
	    bool host_code, const struct kbundle_selection *selection,
	    struct kb_plan *ret, struct kbundle_error *err) KB_MUST_CHECK;

/*
 * Puts the roots without any planned entry last, so that neither names nor
 * indexes of the others depend on them, and renumbers the plan. *ret_used: how
 * many have entries.
 */
int kb_plan_sort_roots(struct kb_plan *plan, struct kb_source_roots *roots,
		       size_t *ret_used,
		       struct kbundle_error *err) KB_MUST_CHECK;

/* Roots, and what scan noted, go into the report; the roots have names. */
int kb_plan_report(const struct kb_plan *plan,
		   const struct kb_source_roots *roots,
		   struct kbundle_report *report,
		   struct kbundle_error *err) KB_MUST_CHECK;

#endif
