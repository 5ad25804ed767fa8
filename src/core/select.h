/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries a user asked for. */
#ifndef KB_SELECT_H
#define KB_SELECT_H

#include "../base/cleanup.h"
#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stdint.h>

/* A checked copy of the caller's struct (its lists stay borrowed); user NULL:
 * everything. Codes: INVALID with the selector that is none. */
int kb_selection_init(struct kbundle_selection *selection,
		      const struct kbundle_selection *user,
		      struct kbundle_error *err) KB_MUST_CHECK;

/* Could it take an entry of which only the target's base is known? */
bool kb_selection_may_take(const struct kbundle_selection *selection,
			   const char *base, const char *name,
			   const char *path);

bool kb_selection_takes(const struct kbundle_selection *selection,
			const char *target, const char *name, const char *path);

/* Tells the user that n entries stayed whole although slim ones were asked
 * for; says nothing where n is 0. */
void kb_selection_notice_whole(struct kb_ctx *ctx, uint64_t n);

#endif
