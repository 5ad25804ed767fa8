/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Little-endian reading and writing of the seek table. It is held to the one
 * form that bundles use: 8-byte entries, descriptor 0, magic 0x8F92EAB1.
 */
#include "seektable.h"

#include "../base/error.h"
#include "limits.h"

#include <stdlib.h>
#include <string.h>

#define FOOTER_MAGIC 0x8F92EAB1u
#define ITEM_BYTES 8

static uint32_t get_u32(const unsigned char *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static int put_u32(struct kb_buf *buf, uint32_t value)
{
	const unsigned char bytes[4] = {
		(unsigned char)value, (unsigned char)(value >> 8),
		(unsigned char)(value >> 16), (unsigned char)(value >> 24)};

	return kb_buf_append(buf, bytes, sizeof(bytes));
}

void kb_seektable_release(struct kb_seektable *table)
{
	free(table->frames);
	memset(table, 0, sizeof(*table));
}

int kb_seektable_add(struct kb_seektable *table, uint32_t stored_bytes,
		     uint32_t content_bytes, struct kbundle_error *err)
{
	if (table->n >= KB_FRAMES_MAX)
		return kb_fail(err, KBUNDLE_E_LIMIT, "more than %d frames",
			       KB_FRAMES_MAX);
	if (kb_grow(&table->frames, &table->cap, table->n + 1,
		    sizeof(*table->frames)) < 0)
		return kb_fail_nomem(err);
	table->frames[table->n].stored_bytes = stored_bytes;
	table->frames[table->n++].content_bytes = content_bytes;
	return 0;
}

int kb_seektable_format(const struct kb_seektable *table, struct kb_buf *buf,
			struct kbundle_error *err)
{
	uint32_t size = (uint32_t)(table->n * ITEM_BYTES + KB_SEEKTABLE_FOOTER);
	int r = put_u32(buf, KB_SEEKTABLE_MAGIC);

	if (r == 0)
		r = put_u32(buf, size);
	for (size_t i = 0; r == 0 && i < table->n; i++) {
		r = put_u32(buf, table->frames[i].stored_bytes);
		if (r == 0)
			r = put_u32(buf, table->frames[i].content_bytes);
	}
	if (r == 0)
		r = put_u32(buf, (uint32_t)table->n);
	if (r == 0)
		r = kb_buf_putc(buf, 0);
	if (r == 0)
		r = put_u32(buf, FOOTER_MAGIC);
	return r < 0 ? kb_fail_nomem(err) : 0;
}

int kb_seektable_footer_parse(const unsigned char footer[KB_SEEKTABLE_FOOTER],
			      uint64_t *ret_bytes, struct kbundle_error *err)
{
	uint32_t n = get_u32(footer);

	if (get_u32(footer + 5) != FOOTER_MAGIC)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "it does not end in a seek table: not a bundle, "
			       "or cut short or extended");
	if (footer[4])
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the seek table has descriptor 0x%02x, not 0",
			       footer[4]);
	if (n > KB_FRAMES_MAX)
		return kb_fail(err, KBUNDLE_E_LIMIT,
			       "the seek table lists more than %d frames",
			       KB_FRAMES_MAX);
	*ret_bytes = KB_SKIPPABLE_HEADER + (uint64_t)n * ITEM_BYTES +
		     KB_SEEKTABLE_FOOTER;
	return 0;
}

static int add_checked(struct kb_seektable *ret, const unsigned char *item,
		       struct kbundle_error *err)
{
	uint32_t stored = get_u32(item), content = get_u32(item + 4);

	if (content > KB_FRAME_MAX)
		return kb_fail(
			err, KBUNDLE_E_FORMAT,
			"frame %zu has %u bytes of content, more than %u",
			ret->n, content, KB_FRAME_MAX);
	if (!stored)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "frame %zu has no bytes in the seek table",
			       ret->n);
	return kb_seektable_add(ret, stored, content, err);
}

int kb_seektable_parse(const unsigned char *data, size_t len,
		       struct kb_seektable *ret, struct kbundle_error *err)
{
	uint64_t bytes;
	size_t n;
	int r;

	kb_seektable_release(ret);
	if (len < KB_SKIPPABLE_HEADER + KB_SEEKTABLE_FOOTER)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the seek table is cut short");
	r = kb_seektable_footer_parse(data + len - KB_SEEKTABLE_FOOTER, &bytes,
				      err);
	if (r < 0)
		return r;
	if (bytes != len || get_u32(data) != KB_SEEKTABLE_MAGIC ||
	    get_u32(data + 4) != len - KB_SKIPPABLE_HEADER)
		return kb_fail(
			err, KBUNDLE_E_FORMAT,
			"the seek table's size is not that of its frame");
	n = (len - KB_SKIPPABLE_HEADER - KB_SEEKTABLE_FOOTER) / ITEM_BYTES;
	for (size_t i = 0; i < n; i++) {
		r = add_checked(
			ret, data + KB_SKIPPABLE_HEADER + i * ITEM_BYTES, err);
		if (r < 0)
			return r;
	}
	return 0;
}
