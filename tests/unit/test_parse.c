/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/base/parse.h"

#include <criterion/criterion.h>

#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

Test(parse, u64_takes_digits_up_to_max)
{
	static const struct {
		const char *text;
		uint64_t max, value;
	} good[] = {
		{"0", 0, 0},
		{"007", 7, 7},
		{"19", 19, 19},
		{"18446744073709551615", UINT64_MAX, UINT64_MAX},
	};
	static const struct {
		const char *text;
		uint64_t max;
	} bad[] = {
		{"", 9},
		{"-1", 9},
		{"+1", 9},
		{" 1", 9},
		{"1 ", 9},
		{"0x1", 99},
		{"1.0", 9},
		{"1e1", 99},
		{"20", 19},
		{"a", 9},
		{"\xd9\xa1", 9},
		{"18446744073709551616", UINT64_MAX},
		{"99999999999999999999", UINT64_MAX},
		{"184467440737095516150", UINT64_MAX},
	};

	for (size_t i = 0; i < N(good); i++) {
		uint64_t value = 77;

		cr_assert(kb_parse_u64(good[i].text, good[i].max, &value), "%s",
			  good[i].text);
		cr_assert_eq(value, good[i].value);
	}
	for (size_t i = 0; i < N(bad); i++) {
		uint64_t value = 77;

		cr_assert_not(kb_parse_u64(bad[i].text, bad[i].max, &value),
			      "'%s'", bad[i].text);
		cr_assert_eq(value, 77);
	}
}

Test(parse, bytes_takes_binary_units)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{"0", 0},
		{"512", 512},
		{"1K", 1024},
		{"64KiB", 65536},
		{"64KB", 65536},
		{"8M", 8U << 20},
		{"3GiB", (uint64_t)3 << 30},
		{"16777215T", (uint64_t)16777215 << 40},
	};
	static const char *const bad[] = {
		"",	"K",	     "1k",
		"1KI",	"1Ki",	     "1 K",
		"1KBB", "1B",	     "1P",
		"-1K",	"1.5G",	     "1Kb",
		"1iB",	"1KiBx",     "0x1K",
		"1K ",	"16777216T", "18446744073709551615K",
	};

	for (size_t i = 0; i < N(good); i++) {
		uint64_t value = 77;

		cr_assert(kb_parse_bytes(good[i].text, &value), "%s",
			  good[i].text);
		cr_assert_eq(value, good[i].value);
	}
	for (size_t i = 0; i < N(bad); i++) {
		uint64_t value = 77;

		cr_assert_not(kb_parse_bytes(bad[i], &value), "'%s'", bad[i]);
		cr_assert_eq(value, 77);
	}
}

Test(parse, hex_is_exact_and_lower_case)
{
	static const char *const bad[] = {"",	     "00ff1",  "00ff1",
					  "00ff100", "00FF10", "00fg10",
					  " 0ff10",  "00ff1 "};
	uint8_t bytes[3] = {7, 7, 7};
	char text[7];

	for (size_t i = 0; i < N(bad); i++) {
		cr_assert_not(kb_parse_hex(bad[i], bytes, 3), "%s", bad[i]);
		cr_assert_eq(bytes[0], 7);
	}
	cr_assert(kb_parse_hex("00ff1a", bytes, 3));
	cr_assert_arr_eq(bytes, "\x00\xff\x1a", 3);
	kb_format_hex(text, bytes, 3);
	cr_assert_str_eq(text, "00ff1a");
	cr_assert(kb_parse_hex("", bytes, 0));
	cr_assert_not(kb_parse_hex("0", bytes, 0));
}

Test(parse, hex_of_every_byte_comes_back)
{
	for (unsigned i = 0; i < 256; i++) {
		uint8_t byte = (uint8_t)i, back = (uint8_t)~i;
		char text[3];

		kb_format_hex(text, &byte, 1);
		cr_assert(kb_parse_hex(text, &back, 1));
		cr_assert_eq(back, byte);
	}
}

Test(parse, format_bytes_is_for_people)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0 B"},
		{999, "999 B"},
		{1000, "1.0 kB"},
		{1049, "1.0 kB"},
		{1050, "1.1 kB"},
		{12345678, "12.3 MB"},
		{999949, "999.9 kB"},
		{999950, "1.0 MB"},
		{999999, "1.0 MB"},
		{1000000, "1.0 MB"},
		{999949999, "999.9 MB"},
		{999950000, "1.0 GB"},
		{8589934591, "8.6 GB"},
		{1099511627776, "1.1 TB"},
		{999950000000000, "1.0 PB"},
		{UINT64_MAX, "18.4 EB"},
	};

	for (size_t i = 0; i < N(cases); i++) {
		char text[16];

		cr_assert_str_eq(kb_format_bytes(text, cases[i].bytes),
				 cases[i].text);
	}
}

Test(parse, mtime_has_one_form)
{
	static const struct {
		const char *text;
		int64_t s;
		uint32_t ns;
	} good[] = {
		{"0.000000000", 0, 0},
		{"1700000000.123456789", 1700000000, 123456789},
		{"8589934591.999999999", 8589934591, 999999999},
	};
	static const char *const bad[] = {
		"",
		"0",
		"0.",
		"0.0",
		"00.000000000",
		"01.000000000",
		"-1.000000000",
		"0.00000000",
		"0.0000000000",
		"0.00000000a",
		"0.-00000000",
		"8589934592.000000000",
		".000000000",
		" 0.000000000",
		"0.000000000 ",
		"0,000000000",
	};
	int64_t s = 7;
	uint32_t ns = 7;

	for (size_t i = 0; i < N(bad); i++)
		cr_assert_not(kb_parse_mtime(bad[i], &s, &ns), "'%s'", bad[i]);
	cr_assert(s == 7 && ns == 7);
	for (size_t i = 0; i < N(good); i++) {
		cr_assert(kb_parse_mtime(good[i].text, &s, &ns));
		cr_assert_eq(s, good[i].s);
		cr_assert_eq(ns, good[i].ns);
	}
}
