/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line on a terminal that says how far a call is. Without a terminal it
 * shows nothing but still cancels, so it is always installed.
 */
#ifndef KB_PROGRESS_H
#define KB_PROGRESS_H

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stdint.h>

struct kb_progress {
	bool is_on;
	bool is_shown;
	char phase[24];
	uint64_t began_ms; /* the phase */
	uint64_t drawn_ms;
};

/* On if wanted and standard error is a terminal that can erase a line. */
void kb_progress_init(struct kb_progress *progress, bool wanted);
/* A kbundle_progress_fn; data is a struct kb_progress. Non-zero once a signal
 * asked for the end. */
int kb_progress_update(void *data, const struct kbundle_progress *now);
/* Before anything else is written to the terminal, and at the end. */
void kb_progress_erase(struct kb_progress *progress);

#endif
