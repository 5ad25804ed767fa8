/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/core/seektable.h"

#include <criterion/criterion.h>

#include <string.h>

static void make(struct kb_buf *buf)
{
	struct kb_seektable table = {0};

	kb_buf_init(buf, 1 << 20);
	cr_assert_eq(kb_seektable_add(&table, 0x01020304, 8388608, NULL), 0);
	cr_assert_eq(kb_seektable_add(&table, 20, 0, NULL), 0);
	cr_assert_eq(kb_seektable_format(&table, buf, NULL), 0);
	kb_seektable_release(&table);
}

static int parse(const struct kb_buf *buf, struct kb_seektable *table,
		 struct kbundle_error *err)
{
	return kb_seektable_parse((const unsigned char *)buf->data, buf->len,
				  table, err);
}

Test(seektable, bytes_are_those_of_the_seekable_format)
{
	static const unsigned char want[] = {
		0x5e, 0x2a, 0x4d, 0x18, 25, 0,	  0,	0, /* magic, size */
		4,    3,    2,	  1,	0,  0,	  0x80, 0, /* frame 0 */
		20,   0,    0,	  0,	0,  0,	  0,	0, /* an extension */
		2,    0,    0,	  0,	0,  0xb1, 0xea, 0x92, 0x8f};
	struct kb_buf buf;

	make(&buf);
	cr_assert_eq(buf.len, sizeof(want));
	cr_assert_eq(memcmp(buf.data, want, sizeof(want)), 0);
	kb_buf_release(&buf);
}

Test(seektable, what_was_written_is_read)
{
	struct kb_seektable table = {0};
	struct kb_buf buf;
	uint64_t bytes;

	make(&buf);
	cr_assert_eq(kb_seektable_footer_parse((unsigned char *)buf.data +
						       buf.len -
						       KB_SEEKTABLE_FOOTER,
					       &bytes, NULL),
		     0);
	cr_assert_eq(bytes, buf.len);
	cr_assert_eq(parse(&buf, &table, NULL), 0);
	cr_assert_eq(table.n, 2);
	cr_assert_eq(table.frames[0].stored_bytes, 0x01020304);
	cr_assert_eq(table.frames[0].content_bytes, 8388608);
	cr_assert_eq(table.frames[1].content_bytes, 0);
	kb_seektable_release(&table);
	kb_buf_release(&buf);
}

Test(seektable, every_changed_byte_of_its_frame_is_refused)
{
	/* magic, size, number of frames, descriptor, footer magic */
	static const size_t fixed[] = {0,  1,  2,  3,  4,  5,  6,  7, 24,
				       25, 26, 27, 28, 29, 30, 31, 32};
	struct kb_buf buf;

	make(&buf);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
		struct kb_seektable table = {0};
		struct kbundle_error err = {0};

		buf.data[fixed[i]] ^= 1;
		cr_assert_lt(parse(&buf, &table, &err), 0, "byte %zu",
			     fixed[i]);
		cr_assert_gt(strlen(err.message), 10);
		buf.data[fixed[i]] ^= 1;
		kb_seektable_release(&table);
	}
	kb_buf_release(&buf);
}

Test(seektable, a_frame_over_8_mib_or_without_bytes_is_refused)
{
	struct kb_seektable table = {0};
	struct kbundle_error err = {0};
	struct kb_buf buf;

	make(&buf);
	buf.data[12] = 1;
	cr_assert_eq(parse(&buf, &table, &err), KBUNDLE_E_FORMAT);
	cr_assert(strstr(err.message, "8388609"), "%s", err.message);
	buf.data[12] = 0;
	memset(buf.data + 8, 0, 4);
	cr_assert_eq(parse(&buf, &table, &err), KBUNDLE_E_FORMAT);
	kb_seektable_release(&table);
	kb_buf_release(&buf);
}
