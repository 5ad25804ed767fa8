/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling in a struct kbundle_error. The function that knows the name of the
 * thing that failed calls kb_fail() once; callers that know more context add a
 * prefix with kb_wrap(). Those that fail return the code, so that
 *
 *	return kb_fail(err, KBUNDLE_E_FORMAT, "%s: no manifest", name);
 *
 * reads well. err may be NULL everywhere. Names that come from outside are put
 * through kb_show() first.
 */
#ifndef KB_ERROR_H
#define KB_ERROR_H

#include "cleanup.h"

#include <kbundle/kbundle.h>

#include <stddef.h>

int kb_fail(struct kbundle_error *err, int code, const char *fmt, ...)
	KB_PRINTF(3, 4);

/* As kb_fail(), and appends ": <text of sys_errno>". The code follows from
 * sys_errno: ENOENT NOTFOUND, ENOMEM NOMEM, EEXIST EXISTS, else IO. */
int kb_fail_errno(struct kbundle_error *err, int sys_errno, const char *fmt,
		  ...) KB_PRINTF(3, 4);

int kb_fail_nomem(struct kbundle_error *err);

/* Puts "<text>: " in front of the message. Where the two do not fit, the outer
 * context is cut, never the root cause. */
void kb_wrap(struct kbundle_error *err, const char *fmt, ...) KB_PRINTF(2, 3);

/* A name made fit for a message: control bytes, invalid UTF-8 and backslashes
 * are shown as \xNN, long names are cut in the middle. */
struct kb_shown {
	char text[320];
};
const char *kb_show(struct kb_shown *shown, const char *name);
const char *kb_show_n(struct kb_shown *shown, const void *name, size_t len);

#endif
