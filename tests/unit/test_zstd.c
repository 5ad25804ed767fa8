/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/dep/zstd.h"

#include "../lib/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return *state >> 33;
}

/* Half noise, half runs: frames of several blocks of every type. */
static char *make_data(size_t len, uint64_t seed)
{
	char *data = malloc(len + 1);

	cr_assert_not_null(data);
	for (size_t i = 0; i < len; i++)
		data[i] = (i >> 16) % 2 ? (char)next_random(&seed)
					: (char)(i >> 18);
	return data;
}

static struct kb_zstd_writer *new_writer(int level)
{
	struct kb_zstd_writer *writer = NULL;

	cr_assert_eq(kb_zstd_writer_new(level, &writer, NULL), 0);
	return writer;
}

static struct kb_zstd_reader *new_reader(void)
{
	struct kb_zstd_reader *reader = NULL;

	cr_assert_eq(kb_zstd_reader_new(&reader, NULL), 0);
	return reader;
}

static void compress(int level, const void *data, size_t len,
		     struct kb_buf *ret)
{
	KB_AUTO(kb_zstd_writer_free)
	struct kb_zstd_writer *writer = new_writer(level);

	cr_assert_eq(kb_zstd_compress(writer, data, len, ret, NULL), 0);
}

/* Refused from memory that ends with the frame, with this phrase. */
static void must_refuse(const void *frame, size_t len, size_t content,
			const char *phrase)
{
	KB_AUTO(kb_zstd_reader_free) struct kb_zstd_reader *reader = NULL;
	KB_AUTO(kb_buf_release) struct kb_buf out;
	KB_AUTO_FREE char *exact = malloc(len ? len : 1);
	struct kbundle_error err = {0};

	reader = new_reader();
	kb_buf_init(&out, 8 * MIB);
	cr_assert_not_null(exact);
	memcpy(exact, frame, len);
	cr_assert_eq(
		kb_zstd_decompress(reader, exact, len, content, &out, &err),
		KBUNDLE_E_FORMAT, "%s", phrase);
	cr_assert_not_null(strstr(err.message, phrase), "%s, not %s",
			   err.message, phrase);
}

Test(zstd, gives_back_every_size_with_a_window_that_covers_it)
{
	static const size_t sizes[] = {1,     2,      255,     256,    257,
				       1023,  1024,   1025,    65791,  65792,
				       65793, 131072, MIB + 1, 8 * MIB};
	KB_AUTO(kb_zstd_writer_free)
	struct kb_zstd_writer *writer = new_writer(2);
	KB_AUTO(kb_zstd_reader_free)
	struct kb_zstd_reader *reader = new_reader();
	KB_AUTO(kb_buf_release) struct kb_buf frame, out;

	kb_buf_init(&frame, 16 * MIB);
	kb_buf_init(&out, 8 * MIB);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		KB_AUTO_FREE char *data = make_data(sizes[i], i);
		struct kb_zstd_header header;

		cr_assert_eq(
			kb_zstd_compress(writer, data, sizes[i], &frame, NULL),
			0);
		cr_assert_leq(frame.len, kb_zstd_bound(sizes[i]));
		cr_assert_eq(kb_zstd_header_parse(frame.data, frame.len,
						  &header, NULL),
			     0);
		cr_assert_eq(header.kind, KB_ZSTD_FRAME);
		cr_assert_eq(header.magic, 0xFD2FB528U);
		cr_assert_eq(header.content_bytes, sizes[i]);
		cr_assert_geq(header.window_bytes, sizes[i]);
		cr_assert_leq(header.window_bytes,
			      1U << KB_ZSTD_WINDOW_LOG_MAX);
		cr_assert_eq(kb_zstd_decompress(reader, frame.data, frame.len,
						sizes[i], &out, NULL),
			     0, "%zu", sizes[i]);
		cr_assert_eq(out.len, sizes[i]);
		cr_assert_eq(memcmp(out.data, data, sizes[i]), 0);
		cr_assert_eq(out.data[out.len], '\0');
	}
}

Test(zstd, matches_reach_over_the_whole_frame)
{
	KB_AUTO_FREE char *data = malloc(8 * MIB);
	KB_AUTO(kb_buf_release) struct kb_buf frame;
	uint64_t seed = 7;

	cr_assert_not_null(data);
	kb_buf_init(&frame, 16 * MIB);
	for (size_t i = 0; i < 4 * MIB; i++)
		data[i] = (char)next_random(&seed);
	memcpy(data + 4 * MIB, data, 4 * MIB);
	compress(2, data, 8 * MIB, &frame);
	cr_assert_lt(frame.len, 5 * MIB);
}

Test(zstd, same_data_gives_same_bytes_whatever_came_before)
{
	KB_AUTO(kb_zstd_writer_free)
	struct kb_zstd_writer *writer = new_writer(9);
	KB_AUTO_FREE char *data = make_data(300000, 1);
	KB_AUTO_FREE char *other = make_data(2 * MIB, 2);
	KB_AUTO(kb_buf_release) struct kb_buf first, second;

	kb_buf_init(&first, 4 * MIB);
	kb_buf_init(&second, 4 * MIB);
	compress(9, data, 300000, &first);
	cr_assert_eq(kb_zstd_compress(writer, other, 2 * MIB, &second, NULL),
		     0);
	cr_assert_eq(kb_zstd_compress(writer, data, 300000, &second, NULL), 0);
	cr_assert_eq(first.len, second.len);
	cr_assert_eq(memcmp(first.data, second.data, first.len), 0);
}

Test(zstd, refuses_levels_and_sizes_out_of_range)
{
	KB_AUTO(kb_zstd_writer_free)
	struct kb_zstd_writer *writer = new_writer(KB_ZSTD_LEVEL_MAX);
	struct kb_zstd_writer *none = NULL;
	KB_AUTO(kb_buf_release) struct kb_buf frame;
	KB_AUTO_FREE char *data = make_data(8 * MIB + 1, 1);

	kb_buf_init(&frame, 16 * MIB);
	cr_assert_eq(kb_zstd_writer_new(0, &none, NULL), KBUNDLE_E_INVALID);
	cr_assert_eq(kb_zstd_writer_new(20, &none, NULL), KBUNDLE_E_INVALID);
	cr_assert_null(none);
	cr_assert_eq(kb_zstd_compress(writer, data, 0, &frame, NULL),
		     KBUNDLE_E_INTERNAL);
	cr_assert_eq(kb_zstd_compress(writer, data, 8 * MIB + 1, &frame, NULL),
		     KBUNDLE_E_INTERNAL);
}

Test(zstd, a_buffer_too_small_is_told_and_not_overrun)
{
	KB_AUTO(kb_zstd_writer_free)
	struct kb_zstd_writer *writer = new_writer(1);
	KB_AUTO(kb_zstd_reader_free)
	struct kb_zstd_reader *reader = new_reader();
	KB_AUTO(kb_buf_release) struct kb_buf frame, small;

	kb_buf_init(&frame, 1000);
	kb_buf_init(&small, 4);
	cr_assert_eq(kb_zstd_compress(writer, "hello", 5, &frame, NULL), 0);
	cr_assert_eq(kb_zstd_decompress(reader, frame.data, frame.len, 5,
					&small, NULL),
		     KBUNDLE_E_INTERNAL);
	cr_assert_eq(kb_zstd_compress(writer, "hello", 5, &small, NULL),
		     KBUNDLE_E_INTERNAL);
}

Test(zstd, what_stands_in_the_header_must_be_what_was_asked_for)
{
	KB_AUTO(kb_buf_release) struct kb_buf frame;

	kb_buf_init(&frame, 2000);
	compress(2, "hello hello hello", 17, &frame);
	must_refuse(frame.data, frame.len, 16, "holds 17 bytes, not 16");
	must_refuse(frame.data, frame.len, 18, "holds 17 bytes, not 18");
}

Test(zstd, two_frames_are_not_one)
{
	static const char skippable[] = "\x5d\x2a\x4d\x18\x01\0\0\0x";
	KB_AUTO(kb_buf_release) struct kb_buf one, two;

	kb_buf_init(&one, 2000);
	kb_buf_init(&two, 4000);
	compress(2, "hello hello hello", 17, &one);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(kb_buf_append(&two, one.data, one.len), 0);
	must_refuse(two.data, two.len, 17, "hides behind it");
	must_refuse(two.data, two.len, 34, "holds 17 bytes");
	kb_buf_clear(&two);
	cr_assert_eq(kb_buf_append(&two, one.data, one.len), 0);
	cr_assert_eq(kb_buf_append(&two, skippable, 9), 0);
	must_refuse(two.data, two.len, 17, "hides behind it");
	must_refuse(skippable, 9, 1, "is no zstd frame");
	must_refuse("hello", 5, 5, "is no zstd frame");
}

Test(zstd, every_truncation_is_refused)
{
	KB_AUTO_FREE char *data = make_data(400000, 3);
	KB_AUTO(kb_buf_release) struct kb_buf frame;

	kb_buf_init(&frame, MIB);
	compress(2, data, 400000, &frame);
	for (size_t len = 0; len < frame.len;
	     len += len < 200 || len + 200 > frame.len ? 1 : 997)
		must_refuse(frame.data, len, 400000, "");
}

Test(zstd, a_flipped_bit_never_gives_other_content)
{
	KB_AUTO_FREE char *data = make_data(3000, 4);
	KB_AUTO(kb_zstd_reader_free)
	struct kb_zstd_reader *reader = new_reader();
	KB_AUTO(kb_buf_release) struct kb_buf frame, out;

	kb_buf_init(&frame, MIB);
	kb_buf_init(&out, MIB);
	for (size_t i = 0; i < 3000; i++)
		data[i] = (char)("kernels"[i % 7] + data[i] % 2);
	compress(19, data, 3000, &frame);
	for (size_t bit = 0; bit < 8 * frame.len; bit++) {
		char *byte = &frame.data[bit / 8];
		struct kbundle_error err = {0};
		int r;

		*byte = (char)(*byte ^ 1 << bit % 8);
		r = kb_zstd_decompress(reader, frame.data, frame.len, 3000,
				       &out, &err);
		if (r == 0)
			cr_assert_eq(memcmp(out.data, data, 3000), 0, "bit %zu",
				     bit);
		else
			cr_assert_eq(r, KBUNDLE_E_FORMAT, "bit %zu: %s", bit,
				     err.message);
		*byte = (char)(*byte ^ 1 << bit % 8);
	}
}

/* Frame headers by RFC 8878, section 3.1.1.1. */
Test(zstd, refuses_headers_that_bundles_may_not_have)
{
	static const struct {
		const char *bytes;
		size_t len, content;
		const char *phrase;
	} cases[] = {
		{"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello", 14, 5,
		 "has no checksum"},
		{"\x28\xb5\x2f\xfd\x04\x38\x29\0\0hello....", 18, 5,
		 "does not tell the size"},
		{"\x28\xb5\x2f\xfd\x25\x07\x05\x29\0\0hello....", 19, 5,
		 "asks for a dictionary"},
		{"\x28\xb5\x2f\xfd\x27\x07\0\0\0\x05\x29\0\0hello....", 22, 5,
		 "asks for a dictionary"},
		{"\x28\xb5\x2f\xfd\x2c\x05\x29\0\0hello....", 18, 5,
		 "reserved bit"},
		{"\x28\xb5\x2f\xfd\x84\x71\x05\0\0\0\x29\0\0hello....", 22, 5,
		 "window of 18874368 bytes"},
		{"\x28\xb5\x2f\xfd\x24\0\x01\0\0....", 13, 0, "is empty"},
		{"\x28\xb5\x2f\xfd\x24\x05\x29\0\0hello....", 18, 5,
		 "is damaged"},
		{"\x28\xb5\x2f\xfd\x24\x05\x27\0\0hello....", 18, 5,
		 "is damaged"},
		{"\x28\xb5\x2f\xfd", 4, 5, "cut short after 4"},
		{"\x28\xb5\x2f\xfd\x84\x38\x05\0\0", 9, 5, "cut short after 9"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		must_refuse(cases[i].bytes, cases[i].len, cases[i].content,
			    cases[i].phrase);
}

Test(zstd, header_reads_each_width_of_the_content_size)
{
	static const struct {
		const char *bytes;
		size_t len;
		uint64_t content, window;
	} cases[] = {
		{"\x28\xb5\x2f\xfd\x24\xff", 6, 255, 255},
		{"\x28\xb5\x2f\xfd\x64\x01\x02", 7, 0x201 + 256, 0x201 + 256},
		{"\x28\xb5\x2f\xfd\x44\x6a\0\0", 8, 256,
		 (1 << 23) + (1 << 20) * 2},
		{"\x28\xb5\x2f\xfd\x84\x00\x01\x02\x03\x04", 10, 0x4030201,
		 1024},
		{"\x28\xb5\x2f\xfd\xe4\x01\0\0\0\0\0\0\x80", 13,
		 0x8000000000000001U, 0x8000000000000001U},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kb_zstd_header header;

		cr_assert_eq(kb_zstd_header_parse(cases[i].bytes, cases[i].len,
						  &header, NULL),
			     0);
		cr_assert_eq(header.content_bytes, cases[i].content, "%zu", i);
		cr_assert_eq(header.window_bytes, cases[i].window, "%zu", i);
		cr_assert_eq(kb_zstd_header_parse(cases[i].bytes,
						  cases[i].len - 1, &header,
						  NULL),
			     KBUNDLE_E_FORMAT);
	}
}

Test(zstd, header_tells_skippable_frames_and_strangers)
{
	struct kb_zstd_header header;

	cr_assert_eq(kb_zstd_header_parse("\x5e\x2a\x4d\x18\x10\x01\0\0", 8,
					  &header, NULL),
		     0);
	cr_assert_eq(header.kind, KB_ZSTD_SKIPPABLE);
	cr_assert_eq(header.magic, 0x184D2A5EU);
	cr_assert_eq(header.content_bytes, 0x110);
	cr_assert_eq(kb_zstd_header_parse("\x5e\x2a\x4d\x18\x10\x01\0", 7,
					  &header, NULL),
		     KBUNDLE_E_FORMAT);
	cr_assert_eq(kb_zstd_header_parse("PK\3\4", 4, &header, NULL), 0);
	cr_assert_eq(header.kind, KB_ZSTD_NEITHER);
	cr_assert_eq(kb_zstd_header_parse("PK\3", 3, &header, NULL),
		     KBUNDLE_E_FORMAT);
}

Test(zstd, length_of_a_frame_is_known_from_its_beginning)
{
	static const size_t sizes[] = {1, 300, 131072, 131073, 3 * MIB};
	KB_AUTO(kb_buf_release) struct kb_buf frame;

	kb_buf_init(&frame, 16 * MIB);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		KB_AUTO_FREE char *data = make_data(sizes[i], i);
		size_t bytes = 1;

		compress(2, data, sizes[i], &frame);
		for (size_t len = 0; len <= frame.len;
		     len += len < 20 || len + 20 > frame.len ? 1 : 499) {
			cr_assert_eq(kb_zstd_frame_bytes(frame.data, len,
							 &bytes, NULL),
				     0);
			cr_assert(bytes == 0 || bytes == frame.len,
				  "%zu of %zu: %zu", len, frame.len, bytes);
		}
		cr_assert_eq(kb_zstd_frame_bytes(frame.data, frame.len, &bytes,
						 NULL),
			     0);
		cr_assert_eq(bytes, frame.len);
	}
}

Test(zstd, length_of_what_is_no_frame)
{
	size_t bytes = 1;

	cr_assert_eq(kb_zstd_frame_bytes("\x5e\x2a\x4d\x18\x10\x01\0\0", 8,
					 &bytes, NULL),
		     0);
	cr_assert_eq(bytes, 8 + 0x110);
	cr_assert_eq(
		kb_zstd_frame_bytes("\x5e\x2a\x4d\x18\x10", 5, &bytes, NULL),
		0);
	cr_assert_eq(bytes, 0);
	cr_assert_eq(kb_zstd_frame_bytes("hello", 5, &bytes, NULL),
		     KBUNDLE_E_FORMAT);
	/* a block of the reserved type, and one larger than 128 KiB */
	cr_assert_eq(kb_zstd_frame_bytes("\x28\xb5\x2f\xfd\x24\x05\x2f\0\0", 9,
					 &bytes, NULL),
		     KBUNDLE_E_FORMAT);
	cr_assert_eq(kb_zstd_frame_bytes("\x28\xb5\x2f\xfd\x24\x05\x09\0\x10",
					 9, &bytes, NULL),
		     KBUNDLE_E_FORMAT);
}

/* The oracle: the zstd program. */
Test(zstd, other_readers_read_our_frames_and_we_theirs)
{
	char dir[KB_TEST_PATH_MAX], path[KB_TEST_PATH_MAX + 16];
	KB_AUTO_FREE char *data = make_data(700000, 5);
	KB_AUTO_FREE char *out = NULL, *theirs = NULL;
	KB_AUTO(kb_zstd_reader_free)
	struct kb_zstd_reader *reader = new_reader();
	KB_AUTO(kb_buf_release) struct kb_buf frame, back;
	size_t len = 0;
	int status = -1;

	kb_test_tmpdir(dir);
	kb_buf_init(&frame, MIB);
	kb_buf_init(&back, MIB);
	compress(5, data, 700000, &frame);
	kb_test_write(dir, "ours.zst", frame.data, frame.len);
	snprintf(path, sizeof(path), "%s/ours.zst", dir);
	cr_assert(kb_test_run((char *[]){"zstd", "-dcq", path, NULL}, &out,
			      &len, &status));
	cr_assert_eq(status, 0);
	cr_assert_eq(len, 700000);
	cr_assert_eq(memcmp(out, data, len), 0);

	kb_test_write(dir, "data", data, 700000);
	snprintf(path, sizeof(path), "%s/data", dir);
	cr_assert(kb_test_run((char *[]){"zstd", "-cq", "-12", path, NULL},
			      &theirs, &len, &status));
	cr_assert_eq(status, 0);
	cr_assert_eq(
		kb_zstd_decompress(reader, theirs, len, 700000, &back, NULL),
		0);
	cr_assert_eq(memcmp(back.data, data, 700000), 0);
	kb_test_remove(dir);
}
