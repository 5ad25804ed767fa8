/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/base/target.h"

#include <criterion/criterion.h>

#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

Test(target, parse_finds_the_base)
{
	static const struct {
		const char *text, *base;
	} good[] = {
		{"cuda:sm_90", "cuda:sm_90"},
		{"cuda:sm_90a", "cuda:sm_90"},
		{"cuda:sm_100f", "cuda:sm_100"},
		{"hip:gfx90a", "hip:gfx90a"},
		{"hip:gfx90a:xnack-", "hip:gfx90a"},
		{"hip:gfx942:sramecc+:xnack-", "hip:gfx942"},
		{"hip:gfx942:sramecc-", "hip:gfx942"},
		{"xpu:pvc", "xpu:pvc"},
		{"cpu:x86-64_v3.a+b", "cpu:x86-64_v3.a+b"},
		{"cuda2:anya", "cuda2:anya"},
	};

	for (size_t i = 0; i < N(good); i++) {
		struct kb_target target;

		cr_assert(kb_target_parse(&target, good[i].text), "%s",
			  good[i].text);
		cr_assert_str_eq(target.text, good[i].text);
		cr_assert_eq(target.base_len, strlen(good[i].base), "%s",
			     good[i].text);
	}
}

Test(target, parse_refuses_what_is_not_canonical)
{
	static const char *const bad[] = {
		"",
		":",
		"cuda",
		"cuda:",
		":sm_90",
		"cuda:sm_9",
		"cuda:sm_1000",
		"cuda:sm_",
		"cuda:sm_90b",
		"cuda:sm_90aa",
		"cuda:sm_90A",
		"cuda:90",
		"cuda:gfx90a",
		"cuda:sm_90:x",
		"cuda:sm_90 ",
		"CUDA:sm_90",
		"2cuda:sm_90",
		"cu-da:sm_90",
		"hip:gfx",
		"hip:gfx90A",
		"hip:gfx90g",
		"hip:sm_90",
		"hip:gfx90a:",
		"hip:gfx90a:xnack",
		"hip:gfx90a:xnack-:sramecc+",
		"hip:gfx90a:xnack-:xnack-",
		"hip:gfx90a:sramecc+x",
		"hip:gfx90a:other+",
		"xpu:",
		"xpu:-pvc",
		"xpu:.pvc",
		"xpu:p vc",
		"xpu:pvc:a",
		"xpu:p/vc",
		"xpu:\xc3\xa9",
		" xpu:pvc",
	};

	for (size_t i = 0; i < N(bad); i++) {
		struct kb_target target;

		cr_assert_not(kb_target_parse(&target, bad[i]), "'%s'", bad[i]);
	}
}

Test(target, holds_95_bytes)
{
	char text[97] = "xpu:";
	struct kb_target target;

	memset(text + 4, 'x', 92);
	text[96] = '\0';
	cr_assert_not(kb_target_parse(&target, text));
	text[95] = '\0';
	cr_assert(kb_target_parse(&target, text));
	cr_assert_str_eq(target.text, text);
}

Test(target, cuda_is_built_or_none)
{
	struct kb_target target;

	kb_target_cuda(&target, 90, 'a');
	cr_assert_str_eq(target.text, "cuda:sm_90a");
	cr_assert_eq(target.base_len, strlen("cuda:sm_90"));
	kb_target_cuda(&target, 100, 0);
	cr_assert_str_eq(target.text, "cuda:sm_100");
	cr_assert_eq(target.base_len, strlen("cuda:sm_100"));
	kb_target_cuda(&target, 5, 0);
	cr_assert_str_eq(target.text, "");
	cr_assert_eq(target.base_len, 0);
	kb_target_cuda(&target, 4000000000, 'f');
	cr_assert_str_eq(target.text, "");
	kb_target_cuda(&target, 90, 'x');
	cr_assert_str_eq(target.text, "");
}

Test(target, order_is_bytewise_and_blind_to_the_suffix)
{
	/* Ascending; those on one line are equal. */
	static const char *const rows[][3] = {
		{"", NULL, NULL},
		{"cuda:sm_10", NULL, NULL},
		{"cuda:sm_100", "cuda:sm_100a", "cuda:sm_100f"},
		{"cuda:sm_75", NULL, NULL},
		{"cuda:sm_90", "cuda:sm_90a", NULL},
		{"hip:gfx90", NULL, NULL},
		{"hip:gfx90a", "hip:gfx90a:xnack-",
		 "hip:gfx90a:sramecc+:xnack+"},
		{"hip:gfx942", NULL, NULL},
		{"xpu:pvc", NULL, NULL},
		{"xpu:pvca", NULL, NULL},
	};

	for (size_t i = 0; i < 3 * N(rows); i++)
		for (size_t k = 0; k < 3 * N(rows); k++) {
			const char *a = rows[i / 3][i % 3];
			const char *b = rows[k / 3][k % 3];
			int order = kb_target_base_compare(a, b);
			/* NULL stands for "" */
			int row_a = a ? (int)(i / 3) : 0;
			int row_b = b ? (int)(k / 3) : 0;

			cr_assert_eq((order > 0) - (order < 0),
				     (row_a > row_b) - (row_a < row_b),
				     "%s and %s", a, b);
		}
}

Test(target, selectors_take_what_they_say)
{
	static const struct {
		const char *target, *selector;
		bool is_taken;
	} cases[] = {
		{"cuda:sm_90", "cuda:sm_90", true},
		{"cuda:sm_90", "sm_90", true},
		{"cuda:sm_90", "90", true},
		{"cuda:sm_90a", "90", true},
		{"cuda:sm_90a", "sm_90", true},
		{"cuda:sm_90a", "cuda:sm_90a", true},
		{"cuda:sm_90a", "sm_90a", true},
		{"cuda:sm_90a", "90a", true},
		{"cuda:sm_90", "sm_90a", false},
		{"cuda:sm_90f", "sm_90a", false},
		{"cuda:sm_100", "10", false},
		{"cuda:sm_100", "sm_10", false},
		{"cuda:sm_90", "hip:gfx90a", false},
		{"hip:gfx942", "gfx942", true},
		{"hip:gfx942:xnack-", "hip:gfx942", true},
		{"hip:gfx90a:xnack-", "gfx90a:xnack-", true},
		{"hip:gfx90a:xnack+", "gfx90a:xnack-", false},
		{"hip:gfx90a", "gfx90a:xnack-", false},
		{"hip:gfx90a", "gfx90", false},
		{"xpu:pvc", "xpu:pvc", true},
		{"xpu:pvc", "xpu:pv", false},
		{"", "sm_90", false},
		{NULL, "sm_90", false},
		{"cuda:sm_90", "", false},
		{"cuda:sm_90", "nonsense", false},
	};

	for (size_t i = 0; i < N(cases); i++)
		cr_assert_eq(kb_target_is_selected(cases[i].target,
						   cases[i].selector),
			     cases[i].is_taken, "%s by %s", cases[i].target,
			     cases[i].selector);
}

Test(target, selectors_that_can_take_nothing_are_invalid)
{
	static const char *const good[] = {
		"sm_90",      "sm_90a",	       "90",	     "100f",
		"cuda:sm_75", "gfx90a:xnack-", "hip:gfx942", "xpu:pvc"};
	static const char *const bad[] = {
		"",    "sm90", "sm_",  "sm_9",	"9",	"1000",	       "90x",
		"gfx", "pvc",  "cuda", "cuda:", "h100", "sm_90,sm_80", " 90"};
	char selector[120];

	for (size_t i = 0; i < N(good); i++)
		cr_assert(kb_target_selector_is_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < N(bad); i++)
		cr_assert_not(kb_target_selector_is_valid(bad[i]), "%s",
			      bad[i]);

	/* Does not fit with the backend in front. */
	memset(selector, '9', sizeof(selector));
	memcpy(selector, "gfx", 3);
	selector[92] = '\0';
	cr_assert_not(kb_target_selector_is_valid(selector));
	selector[91] = '\0';
	cr_assert(kb_target_selector_is_valid(selector));
}
