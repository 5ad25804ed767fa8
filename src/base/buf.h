/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable byte buffer that is created with its maximum. `data` is followed
 * by a NUL that `len` does not count, so that text can be read as a string
 * (data is "" rather than NULL after kb_buf_init()). Appending returns 0, or
 * KBUNDLE_E_NOMEM or KBUNDLE_E_LIMIT; after a failure the content is unchanged.
 */
#ifndef KB_BUF_H
#define KB_BUF_H

#include "cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct kb_buf {
	char *data;
	size_t len;
	size_t cap; /* bytes allocated, 0: data is a static "" */
	size_t max;
};

void kb_buf_init(struct kb_buf *buf, size_t max);
void kb_buf_release(struct kb_buf *buf); /* and makes it empty again */
void kb_buf_clear(struct kb_buf *buf);	 /* keeps the memory */
/* Cuts to at most len bytes. */
void kb_buf_truncate(struct kb_buf *buf, size_t len);

int kb_buf_reserve(struct kb_buf *buf, size_t more) KB_MUST_CHECK;
int kb_buf_append(struct kb_buf *buf, const void *data,
		  size_t len) KB_MUST_CHECK;
int kb_buf_puts(struct kb_buf *buf, const char *text) KB_MUST_CHECK;
int kb_buf_putc(struct kb_buf *buf, char c) KB_MUST_CHECK;
int kb_buf_printf(struct kb_buf *buf, const char *fmt, ...)
	KB_PRINTF(2, 3) KB_MUST_CHECK;

/* Gives the memory away as a malloc'ed, NUL-terminated string. */
char *kb_buf_take(struct kb_buf *buf);

KB_DEFINE_AUTO_STRUCT(struct kb_buf, kb_buf_release);

/* Makes room for `need` items in an array that grows, of *cap items now:
 * items_ptr is the address of its pointer. Returns 0 or NOMEM. */
int kb_grow(void *items_ptr, size_t *cap, size_t need,
	    size_t item_bytes) KB_MUST_CHECK;

#endif
