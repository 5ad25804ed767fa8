/* SPDX-License-Identifier: Apache-2.0 */
/* The format's table: names and the default root. The parts have tests of
 * their own, test_triton_<part>.c. */
#include "triton_entry.h"

#include <unistd.h>

#define HEX64 "995421ad26423ef9dd4c0e79793c202290e6a640c8b59f1e02df459030ac2b4b"

static bool is_key(const char *name)
{
	return kb_format_triton.path_is_valid(name);
}

Test(triton, keys_have_exactly_four_forms)
{
	cr_assert(is_key(KEY_2_1));
	cr_assert(is_key(HEX64));
	cr_assert(is_key("-wxXlI_lN1T6n21jbE8lqtxdUxCRCJJbWBaRBSt6r10"));
	cr_assert(is_key(KEY_3_9));
}

Test(triton, other_names_are_no_keys)
{
	static const char *const names[] = {
		"",
		".",
		"..",
		"lock",
		"tmp.pid_12_8a6e",
		"6e1380bbb79e032d5d942237fcc2240",   /* 31 */
		"6e1380bbb79e032d5d942237fcc224055", /* 33 */
		"6E1380BBB79E032D5D942237FCC22405",  /* upper case */
		"6e1380bbb79e032d5d942237fcc2240g",  /* no digit */
		"995421AD26423ef9dd4c0e79793c202290e6a640c8b59f1e02df459030ac2b"
		"4b",
		"+wxXlI-lN1T6n21jbE8lqtxdUxCRCJJbWBaRBSt6r10", /* not urlsafe */
		"CwxXlI-lN1T6n21jbE8lqtxdUxCRCJJbWBaRBSt6r1=", /* padded */
		"TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNF1",
		"tfkcdljgii7ptxkmbz4xspbaekionjsazc2z6hqc35czamfmfnfq",
		KEY_3_9 "/x",
		"../../../../../../../../etc/passwd/../../../../.",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cr_assert_not(is_key(names[i]), "%s", names[i]);
}

Test(triton, one_hash_is_spelled_in_three_ways)
{
	/* base64.urlsafe_b64encode, base64.b32encode of the same bytes. */
	static const char *const hash =
		"e12a56c4ce40aab26a5d2c75d01cd6edba51c3ebc2e93bf0a3b4b4a2d7fe2f"
		"ab";

	cr_assert(kb_triton_key_has_hash(hash, hash));
	cr_assert(kb_triton_key_has_hash(
		"4SpWxM5AqrJqXSx10BzW7bpRw-vC6Tvwo7S0otf-L6s", hash));
	cr_assert(kb_triton_key_has_hash(
		"4EVFNRGOICVLE2S5FR25AHGW5W5FDQ7LYLUTX4FDWS2KFV76F6VQ", hash));
	cr_assert(kb_triton_key_has_hash(KEY_2_1, hash), "md5 tells nothing");
	cr_assert_not(kb_triton_key_has_hash(KEY_3_9, hash));
	cr_assert_not(kb_triton_key_has_hash(
		"4SpWxM5AqrJqXSx10BzW7bpRw-vC6Tvwo7S0otf-L6t", hash));
	cr_assert_not(kb_triton_key_has_hash(KEY_3_9, "short"));
	cr_assert(kb_triton_key_has_hash(KEY_3_9, HEX64));
}

Test(triton, temporary_names_are_ignored)
{
	static const char *const ignored[] = {
		"tmp.pid_12_0c9e7f8a", "tmp.8a6e", "k.cubin.tmp.pid_7_1",
		"k.json.tmp",	       "lock",	   "k.lock",
		".lockfile",	       ".nfs0001",
	};
	static const char *const kept[] = {
		"k.json",  "__grp__k.json", "k.cubin",	"tmpk.json",
		"k.tmp.x", "block",	    "k.source", "locks",
	};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		cr_assert(kb_format_triton.is_ignored(ignored[i]), "%s",
			  ignored[i]);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		cr_assert_not(kb_format_triton.is_ignored(kept[i]), "%s",
			      kept[i]);
}

Test(triton, check_reads_metadata_and_binaries_only)
{
	cr_assert(kb_format_triton.reads("__grp__k.json"));
	cr_assert(kb_format_triton.reads("k.json"));
	cr_assert(kb_format_triton.reads("k.autotune.json"));
	cr_assert(kb_format_triton.reads("k.cubin"));
	cr_assert(kb_format_triton.reads("k.hsaco"));
	cr_assert(kb_format_triton.reads("k.zebin"));
	cr_assert(kb_format_triton.reads("k.spv"));
	cr_assert(kb_format_triton.reads("cuda_utils.so"));
	cr_assert_not(kb_format_triton.reads("k.ptx"));
	cr_assert_not(kb_format_triton.reads("k.ttir"));
	cr_assert_not(kb_format_triton.reads("json"));
}

Test(triton, only_groups_hold_paths)
{
	cr_assert(kb_format_triton.may_rewrite("__grp__k.json", "json"));
	cr_assert_not(kb_format_triton.may_rewrite("__grp__k.json", "python"));
	cr_assert_not(kb_format_triton.may_rewrite("k.json", "json"));
	cr_assert_not(kb_format_triton.may_rewrite("__grp__k.cubin", "json"));
	cr_assert_not(kb_format_triton.may_rewrite("x__grp__k.json", "json"));
}

static void expect_root(const char *want)
{
	struct kbundle_error err;
	char *path = NULL;

	cr_assert_eq(kb_format_triton.default_root(&path, &err), 0);
	cr_assert_str_eq(path, want);
	free(path);
}

Test(triton, default_root_follows_the_environment)
{
	char cwd[KB_TEST_PATH_MAX / 2], want[KB_TEST_PATH_MAX];

	cr_assert_not_null(getcwd(cwd, sizeof(cwd)));
	setenv("HOME", "/home/u", 1);
	setenv("TRITON_HOME", "/data/t/", 1);
	setenv("TRITON_CACHE_DIR", "/c//x/../cache/", 1);
	expect_root("/c/cache");
	setenv("TRITON_CACHE_DIR", "rel", 1);
	snprintf(want, sizeof(want), "%s/rel", cwd);
	expect_root(want);
	setenv("TRITON_CACHE_DIR", "", 1);
	expect_root("/data/t/.triton/cache");
	unsetenv("TRITON_HOME");
	expect_root("/home/u/.triton/cache");
}

Test(triton, default_root_asks_for_the_home_of_the_user)
{
	struct kbundle_error err;
	char *path = NULL;

	unsetenv("TRITON_CACHE_DIR");
	unsetenv("TRITON_HOME");
	unsetenv("HOME");
	if (kb_format_triton.default_root(&path, &err) == 0) {
		cr_assert_eq(*path, '/');
		cr_assert_str_eq(path + strlen(path) - strlen("/.triton/cache"),
				 "/.triton/cache");
		free(path);
	} else {
		cr_assert_eq(err.code, KBUNDLE_E_NOTFOUND);
	}
}
