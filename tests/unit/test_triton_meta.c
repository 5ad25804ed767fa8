/* SPDX-License-Identifier: Apache-2.0 */
#include "triton_entry.h"

static struct kbundle_error why;

static int parse(struct kb_triton_meta *meta, const char *text)
{
	*meta = (struct kb_triton_meta)KB_TRITON_META_INIT;
	memset(&why, 0, sizeof(why));
	return kb_triton_meta_parse(text, strlen(text), meta, &why);
}

static void expect_target(const char *text, const char *want, const char *base)
{
	struct kb_triton_meta meta;
	struct kb_target target;

	cr_assert_eq(parse(&meta, text), 0, "%s: %s", text, why.message);
	cr_assert_eq(kb_triton_meta_target(&meta, &target, &why), 0, "%s: %s",
		     text, why.message);
	cr_assert_str_eq(target.text, want);
	cr_assert_eq(target.base_len, strlen(base));
	kb_triton_meta_release(&meta);
}

static void expect_no_target(const char *text, int code, const char *phrase)
{
	struct kb_triton_meta meta;
	struct kb_target target;

	cr_assert_eq(parse(&meta, text), 0, "%s: %s", text, why.message);
	cr_assert_eq(kb_triton_meta_target(&meta, &target, &why), code, "%s",
		     text);
	cr_assert_not_null(strstr(why.message, phrase), "%s: %s", text,
			   why.message);
	kb_triton_meta_release(&meta);
}

Test(triton_meta, takes_what_it_knows_and_skips_the_rest)
{
	struct kb_triton_meta meta;

	cr_assert_eq(
		parse(&meta,
		      "{\"hash\": \"ab\", \"new\": [[{}], -Infinity, "
		      "\"\\ud800\"], \"target\": {\"backend\": \"cuda\", "
		      "\"arch\": 90, \"warp_size\": 32, \"x\": {}}, "
		      "\"num_warps\": 4, \"maxnreg\": null, \"arch\": "
		      "\"sm90\", \"warp_size\": 64, \"shared\": 0, "
		      "\"triton_version\": \"3.9.0\", \"name\": \"k_0d\"}"),
		0, "%s", why.message);
	cr_assert_str_eq(meta.name, "k_0d");
	cr_assert_str_eq(meta.hash, "ab");
	cr_assert_str_eq(meta.version, "3.9.0");
	cr_assert_str_eq(meta.backend, "cuda");
	cr_assert_eq(meta.form, KB_TRITON_TARGET_MAP);
	cr_assert_eq(meta.arch_number, 90);
	cr_assert_null(meta.arch);
	cr_assert_eq(meta.warps, 4);
	cr_assert_eq(meta.warp_size, 32, "the target's goes first");
	cr_assert(meta.has_shared);
	cr_assert_eq(meta.shared, 0);
	cr_assert_not(meta.has_ctime);
	kb_triton_meta_release(&meta);
}

Test(triton_meta, other_types_count_as_absent)
{
	struct kb_triton_meta meta;

	cr_assert_eq(parse(&meta, "{\"hash\": null, \"shared\": -1, \"name\": "
				  "[\"k\"], \"num_warps\": 4.0, "
				  "\"triton_version\": \"\\udcff\", "
				  "\"target\": \"cuda\", \"warp_size\": NaN}"),
		     0, "%s", why.message);
	cr_assert_null(meta.name);
	cr_assert_null(meta.version);
	cr_assert_not(meta.has_hash);
	cr_assert_not(meta.has_shared);
	cr_assert_eq(meta.warps, 0);
	cr_assert_eq(meta.warp_size, 0);
	cr_assert_eq(meta.form, KB_TRITON_TARGET_NONE);
	kb_triton_meta_release(&meta);
}

Test(triton_meta, of_equal_members_the_last_counts)
{
	struct kb_triton_meta meta;

	cr_assert_eq(parse(&meta, "{\"name\": \"a\", \"name\": \"b\", "
				  "\"shared\": 1, \"shared\": null}"),
		     0);
	cr_assert_str_eq(meta.name, "b");
	cr_assert_not(meta.has_shared);
	kb_triton_meta_release(&meta);
}

Test(triton_meta, must_be_one_whole_object)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{} {}",
		"{\"name\": \"k\"",
		"{\"name\": }",
		"{\"name\": \"k\",}",
	};
	struct kb_triton_meta meta;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		cr_assert_eq(parse(&meta, texts[i]), KBUNDLE_E_FORMAT, "%s",
			     texts[i]);
		kb_triton_meta_release(&meta);
	}
}

Test(triton_meta, is_not_megabytes_long)
{
	size_t len = KB_TRITON_META_MAX + 1;
	char *text = malloc(len);
	struct kb_triton_meta meta = KB_TRITON_META_INIT;

	memset(text, ' ', len);
	memcpy(text, "{}", 2);
	cr_assert_eq(kb_triton_meta_parse(text, len, &meta, NULL),
		     KBUNDLE_E_LIMIT);
	cr_assert_eq(kb_triton_meta_parse(text, len - 1, &meta, NULL), 0);
	free(text);
	kb_triton_meta_release(&meta);
}

Test(triton_meta, targets_of_all_versions)
{
	expect_target("{\"arch\": 75, \"device_type\": \"cuda\"}", "cuda:sm_75",
		      "cuda:sm_75");
	expect_target("{\"target\": [\"cuda\", 90]}", "cuda:sm_90",
		      "cuda:sm_90");
	expect_target("{\"target\": {\"backend\": \"cuda\", \"arch\": 120}}",
		      "cuda:sm_120", "cuda:sm_120");
	expect_target("{\"target\": {\"arch\": \"gfx942\", \"backend\": "
		      "\"hip\"}}",
		      "hip:gfx942", "hip:gfx942");
	expect_target("{\"target\": {\"backend\": \"xpu\", \"arch\": {\"a\": "
		      "1}}}",
		      "xpu:unknown", "xpu:unknown");
	expect_target("{\"target\": {\"backend\": \"xpu\", \"arch\": \"pvc\"}}",
		      "xpu:pvc", "xpu:pvc");
	expect_target("{\"target\": {\"backend\": \"xpu\", \"arch\": \"a b\"}}",
		      "xpu:unknown", "xpu:unknown");
}

Test(triton_meta, features_of_hip_targets_get_their_order)
{
	static const char *const spellings[][2] = {
		{"gfx90a:xnack-:sramecc+", "hip:gfx90a:sramecc+:xnack-"},
		{"gfx90a:sramecc+:xnack-", "hip:gfx90a:sramecc+:xnack-"},
		{"gfx90a:xnack+", "hip:gfx90a:xnack+"},
	};
	char text[256];

	for (size_t i = 0; i < 3; i++) {
		snprintf(text, sizeof(text),
			 "{\"target\": {\"backend\": \"hip\", \"arch\": "
			 "\"%s\"}}",
			 spellings[i][0]);
		expect_target(text, spellings[i][1], "hip:gfx90a");
	}
}

Test(triton_meta, unsound_targets)
{
	static const char *const hip[] = {
		"",
		"gfx90a:",
		"gfx90a:xnack",
		"gfx90a:xnack*",
		"90a",
		"gfx90a:other+",
		"GFX90A",
		"gfx90a:xnack+x",
		"gfx9/../0",
		"gfx90a:xnack+:xnack+",
	};
	char text[256];

	for (size_t i = 0; i < sizeof(hip) / sizeof(*hip); i++) {
		snprintf(text, sizeof(text),
			 "{\"target\": {\"backend\": \"hip\", \"arch\": "
			 "\"%s\"}}",
			 hip[i]);
		expect_no_target(text, KBUNDLE_E_FORMAT, "no architecture");
	}
	expect_no_target("{\"target\": {\"backend\": \"hip\", \"arch\": 942}}",
			 KBUNDLE_E_FORMAT, "no architecture");
	expect_no_target("{\"target\": {\"backend\": \"cuda\", \"arch\": "
			 "\"90\"}}",
			 KBUNDLE_E_FORMAT, "no architecture");
	expect_no_target("{\"target\": [\"cuda\", 9]}", KBUNDLE_E_FORMAT,
			 "no architecture");
	expect_no_target("{\"target\": [\"cuda\", 1000]}", KBUNDLE_E_FORMAT,
			 "no architecture");
	expect_no_target("{\"target\": {\"arch\": 90}}", KBUNDLE_E_FORMAT,
			 "no target");
	expect_no_target("{\"arch\": 90}", KBUNDLE_E_FORMAT, "no target");
	expect_no_target("{\"target\": []}", KBUNDLE_E_FORMAT, "no target");
	expect_no_target("{}", KBUNDLE_E_FORMAT, "no target");
}

Test(triton_meta, what_cannot_be_shipped)
{
	expect_no_target("{\"target\": {\"backend\": \"cpu\", \"arch\": "
			 "\"x86\"}}",
			 KBUNDLE_E_UNSUPPORTED, "backend cpu: not supported");
	expect_no_target("{\"target\": {\"backend\": \"\\u001b[31m\"}}",
			 KBUNDLE_E_UNSUPPORTED, "backend \\x1b[31m:");
	expect_no_target("{\"target\": [\"hip\", \"gfx90a\"]}",
			 KBUNDLE_E_UNSUPPORTED, "2.x for AMD");
	expect_no_target("{\"arch\": [\"gfx90a\"], \"device_type\": \"hip\"}",
			 KBUNDLE_E_UNSUPPORTED, "2.x for AMD");
}
