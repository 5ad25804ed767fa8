/* SPDX-License-Identifier: Apache-2.0 */
/* Tar bytes against docs/format.md 2; other tars read them in tests/real. */
#include "../../src/core/tar.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static unsigned checksum_of(const unsigned char *block)
{
	unsigned sum = 0;

	for (int i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? ' ' : block[i];
	return sum;
}

static unsigned checksum_in(const unsigned char *block)
{
	unsigned sum = 0;

	cr_assert_eq(sscanf((const char *)block + 148, "%6o", &sum), 1);
	return sum;
}

Test(tar, a_short_path_is_one_block)
{
	struct kb_tar_header tar;

	kb_tar_header(&tar, "triton/KEY/a.cubin", 01234567, false, 0, 0);
	cr_assert_eq(tar.len, 512);
	cr_assert_str_eq((char *)tar.bytes, "triton/KEY/a.cubin");
	cr_assert_str_eq((char *)tar.bytes + 100, "0000644");
	cr_assert_str_eq((char *)tar.bytes + 108, "0000000");
	cr_assert_str_eq((char *)tar.bytes + 116, "0000000");
	cr_assert_str_eq((char *)tar.bytes + 124, "00001234567");
	cr_assert_str_eq((char *)tar.bytes + 136, "00000000000");
	cr_assert_eq(tar.bytes[156], '0');
	cr_assert_eq(memcmp(tar.bytes + 257,
			    "ustar\0"
			    "00",
			    8),
		     0);
	cr_assert_eq(checksum_in(tar.bytes), checksum_of(tar.bytes));
	cr_assert_eq(tar.bytes[154], 0);
	cr_assert_eq(tar.bytes[155], ' ');
}

Test(tar, the_largest_size_has_eleven_sevens)
{
	struct kb_tar_header tar;

	kb_tar_header(&tar, "a/b", (UINT64_C(1) << 33) - 1, false, 0, 0);
	cr_assert_str_eq((char *)tar.bytes + 124, "77777777777");
}

Test(tar, a_path_of_100_bytes_has_no_prefix_and_one_of_101_is_split)
{
	struct kb_tar_header tar;
	char path[102];

	memset(path, 'a', sizeof(path));
	path[6] = '/';
	path[100] = '\0';
	kb_tar_header(&tar, path, 0, false, 0, 0);
	cr_assert_eq(memcmp(tar.bytes, path, 100), 0);
	cr_assert_eq(tar.bytes[345], 0);
	path[100] = 'b';
	path[101] = '\0';
	kb_tar_header(&tar, path, 0, false, 0, 0);
	cr_assert_eq(tar.len, 512);
	cr_assert_str_eq((char *)tar.bytes + 345, "aaaaaa");
	cr_assert_eq(memcmp(tar.bytes, path + 7, 94), 0);
	cr_assert_eq(tar.bytes[94], 0);
}

Test(tar, a_name_over_100_bytes_gets_a_pax_record)
{
	struct kb_tar_header tar;
	char path[200], record[260];

	memset(path, 'n', sizeof(path));
	memcpy(path, "triton/", 7);
	path[180] = '\0';
	kb_tar_header(&tar, path, 5, false, 0, 0);
	cr_assert_eq(tar.len, 3 * 512);
	cr_assert_str_eq((char *)tar.bytes, "././@PaxHeader");
	cr_assert_eq(tar.bytes[156], 'x');
	/* 180 of path, " path=" and "\n", three digits: 190 */
	snprintf(record, sizeof(record), "190 path=%s\n", path);
	cr_assert_eq(strlen(record), 190);
	cr_assert_str_eq((char *)tar.bytes + 512, record);
	cr_assert_str_eq((char *)tar.bytes + 124, "00000000276");
	cr_assert_eq(memcmp(tar.bytes + 1024, path, 100), 0);
	cr_assert_eq(tar.bytes[1024 + 345], 0);
	cr_assert_eq(checksum_in(tar.bytes), checksum_of(tar.bytes));
	cr_assert_eq(checksum_in(tar.bytes + 1024),
		     checksum_of(tar.bytes + 1024));
}

Test(tar, a_kept_time_has_nanoseconds)
{
	struct kb_tar_header tar;

	kb_tar_header(&tar, "numba/a", 0, true, 1767323045, 7);
	cr_assert_eq(tar.len, 3 * 512);
	cr_assert_str_eq((char *)tar.bytes + 512,
			 "30 mtime=1767323045.000000007\n");
	cr_assert_str_eq((char *)tar.bytes + 1024 + 136, "15125632645");
}

Test(tar, a_record_length_counts_its_own_digits)
{
	/* The length with one digit less would need one more. */
	for (size_t n = 101; n < 1000; n++) {
		struct kb_tar_header tar;
		char path[1001];
		unsigned len = 0;

		memset(path, 'x', n);
		path[n] = '\0';
		kb_tar_header(&tar, path, 0, false, 0, 0);
		cr_assert_eq(sscanf((char *)tar.bytes + 512, "%u", &len), 1);
		cr_assert_eq(tar.bytes[512 + len - 1], '\n', "n %zu", n);
		cr_assert_eq(memchr(tar.bytes + 512, '\n', len),
			     tar.bytes + 512 + len - 1, "n %zu", n);
	}
}

Test(tar, padding_fills_blocks)
{
	cr_assert_eq(kb_tar_padding(0), 0);
	cr_assert_eq(kb_tar_padding(1), 511);
	cr_assert_eq(kb_tar_padding(512), 0);
	cr_assert_eq(kb_tar_padding((UINT64_C(1) << 33) - 1), 1);
}

Test(tar, member_paths_are_held_to_their_limits)
{
	char path[KB_MEMBER_PATH_MAX + 1], name[300];

	cr_assert_eq(kb_member_path(path, "triton", "KEY", "f", NULL), 0);
	cr_assert_str_eq(path, "triton/KEY/f");
	cr_assert_eq(kb_member_path(path, "cupy", "f.cubin", "", NULL), 0);
	cr_assert_str_eq(path, "cupy/f.cubin");
	cr_assert_eq(kb_member_path(path, "triton", "KEY", "../f", NULL),
		     KBUNDLE_E_FORMAT);
	memset(name, 'a', 256);
	name[256] = '\0';
	cr_assert_eq(kb_member_path(path, "triton", "KEY", name, NULL),
		     KBUNDLE_E_FORMAT);
}
