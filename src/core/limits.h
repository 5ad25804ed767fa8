/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds on what a bundle can make us allocate or write (docs/format.md 6). */
#ifndef KB_LIMITS_H
#define KB_LIMITS_H

#include "../base/cleanup.h"

#include <kbundle/kbundle.h>

#include <stdint.h>

#define KB_FRAME_MAX (8u << 20) /* decompressed bytes of a frame */
#define KB_FRAME_MIN_OPTION (64u << 10)
#define KB_FRAME_DEFAULT (4u << 20)
#define KB_FILE_BYTES_MAX ((UINT64_C(1) << 33) - 1) /* 11 octal digits */
#define KB_LINE_MAX (2u << 20)			    /* one manifest line */
#define KB_FILES_PER_ENTRY_MAX 4096
#define KB_ROOTS_MAX 64
#define KB_REWRITES_MAX 65536 /* of one file */
#define KB_FRAMES_MAX 4000000
#define KB_TEXT_MAX 16384	  /* a text in the manifest */
#define KB_RATIO_FREE (64u << 20) /* below this the ratio is not looked at */
#define KB_MEMORY_FILE_MAX (8u << 20) /* larger contents go to a spool */

/* Fills in defaults where user (may be NULL) has zero. Codes: INVALID. */
int kb_limits_init(struct kbundle_limits *limits,
		   const struct kbundle_limits *user,
		   struct kbundle_error *err) KB_MUST_CHECK;

#endif
