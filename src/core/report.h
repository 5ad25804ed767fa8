/* SPDX-License-Identifier: Apache-2.0 */
/* What a call did: counters, notes on single entries, the bundle's id. */
#ifndef KB_REPORT_H
#define KB_REPORT_H

#include "../base/arena.h"
#include "../base/cleanup.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kbundle_report {
	const char *verb; /* static */
	bool empty;	  /* the call ended in KBUNDLE_E_EMPTY */
	char id[80];
	uint64_t counts[KBUNDLE_COUNT_MAX];
	struct kbundle_note *notes;
	size_t n_notes, cap_notes;
	struct kbundle_root *roots;
	size_t n_roots, cap_roots;
	struct kb_arena arena;
};

int kb_report_new(const char *verb, struct kbundle_report **ret,
		  struct kbundle_error *err) KB_MUST_CHECK;
KB_DEFINE_AUTO(struct kbundle_report *, kbundle_report_free);

/* Counts and keeps a note; texts are copied, file may be NULL. Not thread-safe:
 * called by the thread that sequences. Codes: NOMEM. */
int kb_report_note(struct kbundle_report *report, int count, const char *root,
		   const char *path, const char *file, const char *reason,
		   struct kbundle_error *err) KB_MUST_CHECK;
int kb_report_root(struct kbundle_report *report, const char *name,
		   const char *format, const char *path,
		   struct kbundle_error *err) KB_MUST_CHECK;
void kb_report_set_id(struct kbundle_report *report, const uint8_t id[32]);

#endif
