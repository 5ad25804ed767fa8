/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/core/pathscan.h"

#include <criterion/criterion.h>

#include <string.h>

static bool has(const char *text, size_t len)
{
	bool whole = kb_has_paths(text, len);

	/* Pieces give the same answer. */
	for (size_t cut = 0; cut <= len; cut++) {
		struct kb_path_scan scan;

		kb_path_scan_init(&scan);
		kb_path_scan_feed(&scan, text, cut);
		kb_path_scan_feed(&scan, text + cut, len - cut);
		cr_assert_eq(scan.found, whole, "%s cut at %zu", text, cut);
	}
	return whole;
}

Test(pathscan, source_paths_are_found)
{
	static const char debug[] = "x\0/home/u/k.py\0";

	cr_assert(has("loc(\"/home/u/k.py\":3:1)", 23));
	cr_assert(has(".file 1 \"/a/b\"", 14));
	cr_assert(has("/usr/lib", 8));
	cr_assert(has(debug, sizeof(debug)));
}

Test(pathscan, slashes_that_are_no_paths_are_not)
{
	cr_assert_not(has("", 0));
	cr_assert_not(has("// a comment", 12));
	cr_assert_not(has("a/b/c", 5));
	cr_assert_not(has("\"/single\"", 9));
	cr_assert_not(has("1 / 2 /3", 8));
	cr_assert_not(has(" /a/", 4));
}
