/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The growable byte buffer. Codes only: who appends knows what to call the
 * thing that became too long.
 *
 * Invariant: data[len] is NUL, len <= max, and while cap is 0 data is a
 * literal that nobody writes to.
 */
#include "buf.h"

#include <kbundle/kbundle.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAP 64U

void kb_buf_init(struct kb_buf *buf, size_t max)
{
	buf->data = (char *)"";
	buf->len = 0;
	buf->cap = 0;
	buf->max = max;
}

void kb_buf_release(struct kb_buf *buf)
{
	if (buf->cap > 0)
		free(buf->data);
	kb_buf_init(buf, buf->max);
}

void kb_buf_clear(struct kb_buf *buf)
{
	kb_buf_truncate(buf, 0);
}

void kb_buf_truncate(struct kb_buf *buf, size_t len)
{
	if (len >= buf->len)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

int kb_buf_reserve(struct kb_buf *buf, size_t more)
{
	size_t need, cap;
	char *data;

	if (more > buf->max - buf->len)
		return KBUNDLE_E_LIMIT;
	if (more >= SIZE_MAX - buf->len)
		return KBUNDLE_E_NOMEM;
	need = buf->len + more + 1;
	if (need <= buf->cap)
		return 0;

	cap = buf->cap > SIZE_MAX / 2 ? need : 2 * buf->cap;
	if (cap < FIRST_CAP)
		cap = FIRST_CAP;
	if (cap > buf->max)
		cap = buf->max + 1 > buf->max ? buf->max + 1 : buf->max;
	if (cap < need)
		cap = need;
	data = realloc(buf->cap > 0 ? buf->data : NULL, cap);
	if (!data)
		return KBUNDLE_E_NOMEM;
	data[buf->len] = '\0';
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int kb_buf_append(struct kb_buf *buf, const void *data, size_t len)
{
	int r;

	if (len == 0)
		return 0;
	r = kb_buf_reserve(buf, len);
	if (r < 0)
		return r;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int kb_buf_puts(struct kb_buf *buf, const char *text)
{
	return kb_buf_append(buf, text, strlen(text));
}

int kb_buf_putc(struct kb_buf *buf, char c)
{
	return kb_buf_append(buf, &c, 1);
}

int kb_buf_printf(struct kb_buf *buf, const char *fmt, ...)
{
	va_list args;
	int n, r;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0) /* more than an int can count */
		return KBUNDLE_E_LIMIT;

	r = kb_buf_reserve(buf, (size_t)n);
	if (r < 0)
		return r;
	va_start(args, fmt);
	(void)vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, args);
	va_end(args);
	buf->len += (size_t)n;
	return 0;
}

char *kb_buf_take(struct kb_buf *buf)
{
	char *data = buf->cap > 0 ? buf->data : calloc(1, 1);

	kb_buf_init(buf, buf->max);
	return data;
}

int kb_grow(void *items_ptr, size_t *cap, size_t need, size_t item_bytes)
{
	size_t more = *cap, bytes;
	void *items;

	if (need <= *cap)
		return 0;
	more = more > SIZE_MAX / 2 ? need : 2 * more;
	if (more < 8)
		more = 8;
	if (more < need)
		more = need;
	if (__builtin_mul_overflow(more, item_bytes, &bytes))
		return KBUNDLE_E_NOMEM;
	/* By memcpy, since the pointer's own type is not known here. */
	memcpy(&items, items_ptr, sizeof(items));
	items = realloc(items, bytes);
	if (!items)
		return KBUNDLE_E_NOMEM;
	memcpy(items_ptr, &items, sizeof(items));
	*cap = more;
	return 0;
}
