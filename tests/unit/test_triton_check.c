/* SPDX-License-Identifier: Apache-2.0 */
/* Whole entries of every version pass, with the facts that they hold. What is
 * not whole: test_triton_damage.c. */
#include "triton_entry.h"

/* ---- real caches ---- */

static void check_edits(const struct loaded *l, const struct kb_checked *result)
{
	const struct kb_view *group = NULL;
	size_t len, back_len;
	char *changed, *back;

	for (size_t i = 0; i < l->n; i++) {
		if (kb_triton_is_group(l->views[i].name))
			group = &l->views[i];
	}
	if (result->n_edits == 0)
		return;
	for (size_t i = 0; i < result->n_edits; i++) {
		const struct kb_edit *edit = &result->edits[i];

		cr_assert_eq(&l->views[edit->file], group);
		cr_assert_str_eq(edit->codec, "json");
		cr_assert_eq(edit->root, 3, "the root that the entry lies in");
	}
	/* One root in a real group: exchanged and put back it is the same. */
	char original[512];

	snprintf(original, sizeof(original), "%.*s",
		 (int)result->edits[0].length,
		 (const char *)group->data + result->edits[0].offset);
	changed = apply_edits(group, result->edits, result->n_edits, "/t/oken",
			      &len);
	cr_assert_null(strstr(changed, original));
	{
		struct kb_view view = {group->name, changed, len};
		struct loaded again = {NULL, l->n};
		struct kb_arena arena = KB_ARENA_INIT;
		struct kb_checked twice;
		char key[80];

		again.views = malloc(l->n * sizeof(*again.views));
		memcpy(again.views, l->views, l->n * sizeof(*again.views));
		again.views[group - l->views] = view;
		/* The key stands right behind the token. */
		snprintf(key, sizeof(key), "%.*s",
			 (int)strcspn(strstr(changed, "/t/oken/") + 8, "/"),
			 strstr(changed, "/t/oken/") + 8);
		check_views(&again, key, &arena, &twice);
		cr_assert_eq(twice.verdict, KB_ENTRY_OK, "%s", twice.reason);
		cr_assert_eq(twice.n_edits, result->n_edits);
		cr_assert_str_eq(twice.target, result->target);
		back = apply_edits(&view, twice.edits, twice.n_edits, original,
				   &back_len);
		cr_assert_eq(back_len, group->size);
		cr_assert_eq(memcmp(back, group->data, back_len), 0);
		free(back);
		free(again.views);
		kb_arena_release(&arena);
	}
	free(changed);
}

static size_t check_root(const char *root)
{
	DIR *stream = opendir(root);
	struct dirent *item;
	size_t n = 0;

	cr_assert_not_null(stream, "%s", root);
	while ((item = readdir(stream))) {
		struct kb_arena arena = KB_ARENA_INIT;
		struct kb_checked result;
		struct loaded l;

		if (!kb_format_triton.path_is_valid(item->d_name))
			continue;
		check_key(root, item->d_name, &l, &arena, &result);
		cr_assert_eq(result.verdict, KB_ENTRY_OK, "%s/%s: %s: %s", root,
			     item->d_name, result.file, result.reason);
		cr_assert_str_eq(result.facts.producer, "triton");
		check_edits(&l, &result);
		n++;
		unload(&l);
		kb_arena_release(&arena);
	}
	closedir(stream);
	return n;
}

static void check_fixture(const char *name, const char *below, size_t entries)
{
	char path[KB_TEST_PATH_MAX], root[KB_TEST_PATH_MAX + 64];

	if (!kb_test_fixture(path, name))
		cr_skip_test("no fixtures");
	snprintf(root, sizeof(root), "%s%s", path, below);
	cr_assert_eq(check_root(root), entries, "%s", root);
}

#define FIXTURE_TEST(id, name, below, entries)                                 \
	Test(triton_check, fixture_##id)                                       \
	{                                                                      \
		check_fixture(name, below, entries);                           \
	}

FIXTURE_TEST(2_1_cuda, "triton-2.1.0-cuda", "", 5)
FIXTURE_TEST(3_1_cuda, "triton-3.1.0-cuda", "", 5)
FIXTURE_TEST(3_2_cuda, "triton-3.2.0-cuda", "", 5)
FIXTURE_TEST(3_4_cuda, "triton-3.4.0-cuda", "", 6)
FIXTURE_TEST(3_9_cuda, "triton-3.9.0-cuda", "", 6)
FIXTURE_TEST(3_9_hip, "triton-3.9.0-hip", "", 2)
FIXTURE_TEST(vector_add, "triton-vector-add-cache", "", 1)
FIXTURE_TEST(vector_add_rocm, "triton-vector-add-cache-rocm", "", 1)
FIXTURE_TEST(inductor, "inductor-gpu-sm90-2.15.0",
	     "/inductor-gpu-cache/triton/0", 2)
FIXTURE_TEST(vllm_rocm, "vllm-rocm",
	     "/torch_compile_cache/d4ec7c2a7d/rank_0_0/triton_cache", 6)

Test(triton_check, facts_of_a_3_9_kernel)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l;

	check_key(FIXTURE_ROOT, KEY_3_9, &l, &arena, &result);
	cr_assert_eq(result.verdict, KB_ENTRY_OK, "%s", result.reason);
	cr_assert_null(result.reason);
	cr_assert_str_eq(result.kind, "kernel");
	cr_assert_str_eq(result.name, "add_kernel");
	cr_assert_str_eq(result.target, "cuda:sm_75");
	cr_assert_eq(result.n_edits, 7);
	cr_assert_str_eq(result.facts.version, "3.9.0");
	cr_assert_str_eq(result.facts.symbol, "add_kernel");
	cr_assert_eq(result.facts.warps, 1);
	cr_assert_eq(result.facts.warp_size, 32);
	cr_assert(result.facts.has_shared);
	cr_assert_eq(result.facts.shared, 0);
	cr_assert_not(result.facts.whole);
	cr_assert_eq(result.facts.n_binaries, 1);
	cr_assert_str_eq(result.facts.binaries[0].file, "add_kernel.cubin");
	cr_assert_str_eq(result.facts.binaries[0].kind, "cubin");
	cr_assert_str_eq(result.facts.binaries[0].target, "cuda:sm_75");
	cr_assert_eq(result.facts.binaries[0].abi, 7);
	cr_assert_eq(result.facts.binaries[0].n_kernels, 1);
	cr_assert_str_eq(result.facts.binaries[0].kernels[0].name,
			 "add_kernel");
	cr_assert_gt(result.facts.binaries[0].kernels[0].registers, 0);
	unload(&l);
	kb_arena_release(&arena);
}

Test(triton_check, facts_of_a_2_1_kernel)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l;

	check_key(FIXTURE_ROOT, KEY_2_1, &l, &arena, &result);
	cr_assert_eq(result.verdict, KB_ENTRY_OK, "%s", result.reason);
	cr_assert_str_eq(result.name, "add_kernel");
	cr_assert_str_eq(result.target, "cuda:sm_75");
	cr_assert_eq(result.n_edits, 0);
	cr_assert_null(result.facts.version);
	cr_assert_str_eq(result.facts.symbol, "add_kernel_0d1d2d3");
	cr_assert(result.facts.whole);
	unload(&l);
	kb_arena_release(&arena);
}

Test(triton_check, facts_of_a_tuning_result)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l;

	check_key(FIXTURE_ROOT, KEY_AUTOTUNE, &l, &arena, &result);
	cr_assert_eq(result.verdict, KB_ENTRY_OK, "%s", result.reason);
	cr_assert_str_eq(result.kind, "autotune");
	cr_assert_str_eq(result.name, "add_kernel");
	cr_assert_null(result.target);
	cr_assert_eq(result.n_edits, 0);
	cr_assert_eq(result.facts.n_binaries, 0);
	unload(&l);
	kb_arena_release(&arena);
}

Test(triton_check, the_binary_adds_the_suffix)
{
	char path[KB_TEST_PATH_MAX];
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l;

	if (!kb_test_fixture(path, "triton-3.9.0-cuda"))
		cr_skip_test("no fixtures");
	check_key(path, "4OIESAXELJMR6MVTYKGVEDEK6INQVVW2W5RZGJT26CMVUYSRDACA",
		  &l, &arena, &result);
	cr_assert_eq(result.verdict, KB_ENTRY_OK, "%s", result.reason);
	cr_assert_str_eq(result.target, "cuda:sm_90a");
	unload(&l);
	kb_arena_release(&arena);
}

Test(triton_check, binaries_may_be_left_alone)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l;
	struct kb_check in;
	char dir[KB_TEST_PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/%s", FIXTURE_ROOT, KEY_3_9);
	load(&l, dir);
	for (size_t i = 0; i < l.n; i++) {
		if (strcmp(l.views[i].name, "add_kernel.cubin") == 0)
			l.views[i].size = 3;
	}
	in = (struct kb_check){.path = KEY_3_9,
			       .files = l.views,
			       .n_files = l.n,
			       .skip_binaries = true,
			       .arena = &arena};
	cr_assert_eq(kb_format_triton.check(&in, &result, NULL), 0);
	cr_assert_eq(result.verdict, KB_ENTRY_OK, "%s", result.reason);
	cr_assert_str_eq(result.target, "cuda:sm_75");
	cr_assert_eq(result.facts.n_binaries, 0);
	in.skip_binaries = false;
	cr_assert_eq(kb_format_triton.check(&in, &result, NULL), 0);
	cr_assert_eq(result.verdict, KB_ENTRY_DAMAGED);
	unload(&l);
	kb_arena_release(&arena);
}

/* ---- host extensions ---- */

static void check_host(const char *fixture, const char *key, const char *name)
{
	char path[KB_TEST_PATH_MAX], dir[KB_TEST_PATH_MAX + 64];
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l;
	struct kb_check in;

	if (!kb_test_fixture(path, fixture))
		cr_skip_test("no fixtures");
	snprintf(dir, sizeof(dir), "%s/%s", path, key);
	load(&l, dir);
	in = (struct kb_check){
		.path = key, .files = l.views, .n_files = l.n, .arena = &arena};
	cr_assert_eq(kb_format_triton.check(&in, &result, NULL), 0);
	cr_assert_eq(result.verdict, KB_ENTRY_POLICY);
	cr_assert_not_null(strstr(result.reason, "--host-code"));
	in.host_code = true;
	cr_assert_eq(kb_format_triton.check(&in, &result, NULL), 0);
	cr_assert_eq(result.verdict, KB_ENTRY_OK, "%s", result.reason);
	cr_assert_str_eq(result.kind, "host-extension");
	cr_assert_str_eq(result.name, name);
	cr_assert_null(result.target);
	cr_assert_eq(result.n_edits, 0);
	cr_assert_eq(result.facts.n_binaries, 1);
	cr_assert_str_eq(result.facts.binaries[0].kind, "so");
	l.views[0].size /= 2;
	cr_assert_eq(kb_format_triton.check(&in, &result, NULL), 0);
	cr_assert_eq(result.verdict, KB_ENTRY_DAMAGED);
	l.views[0].size = 0;
	cr_assert_eq(kb_format_triton.check(&in, &result, NULL), 0);
	cr_assert_eq(result.verdict, KB_ENTRY_DAMAGED);
	unload(&l);
	kb_arena_release(&arena);
}

Test(triton_check, host_extensions_are_asked_for)
{
	check_host("triton-3.9.0-so",
		   "63SG7DQXB5C56M4Z4C6RQW7IE2GKSGVZHQEO2GZSWTW5CNAVE7JA",
		   "cuda_utils");
	check_host("triton-3.4.0-so",
		   "TL5ANEFEILPTPIBQX4VBDVVSLVE2WLEITFKTBY6WGGPJCFYZQ3GA",
		   "__triton_launcher");
}
