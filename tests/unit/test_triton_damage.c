/* SPDX-License-Identifier: Apache-2.0 */
/* check on entries that are not whole: each kind of damage has its reason. */
#include "triton_entry.h"

#include <fcntl.h>
#include <unistd.h>

static char root[KB_TEST_PATH_MAX];

static void set_up(void)
{
	kb_test_tmpdir(root);
	kb_test_copy_tree(FIXTURE_ROOT, root);
}

static void tear_down(void)
{
	kb_test_remove(root);
}

TestSuite(triton_damage, .init = set_up, .fini = tear_down);

static void path_of(char path[KB_TEST_PATH_MAX], const char *key,
		    const char *file)
{
	snprintf(path, KB_TEST_PATH_MAX, "%s/%s", key, file);
}

static void write_file(const char *key, const char *file, const void *data,
		       size_t len)
{
	char path[KB_TEST_PATH_MAX];

	path_of(path, key, file);
	kb_test_write(root, path, data, len);
}

static void write_text(const char *key, const char *file, const char *text)
{
	write_file(key, file, text, strlen(text));
}

static char *read_file(const char *key, const char *file, size_t *ret_len)
{
	char path[KB_TEST_PATH_MAX];
	char *data;

	path_of(path, key, file);
	data = kb_test_read(root, path, ret_len);
	cr_assert_not_null(data, "%s", path);
	return data;
}

/* Replaces the first occurrence of a text in a file. */
static void edit(const char *key, const char *file, const char *from,
		 const char *to)
{
	KB_AUTO(kb_buf_release) struct kb_buf out;
	size_t len;
	char *data = read_file(key, file, &len), *at = strstr(data, from);

	cr_assert_not_null(at, "%s has no %s", file, from);
	kb_buf_init(&out, 1 << 20);
	cr_assert_eq(kb_buf_append(&out, data, (size_t)(at - data)), 0);
	cr_assert_eq(kb_buf_puts(&out, to), 0);
	cr_assert_eq(kb_buf_puts(&out, at + strlen(from)), 0);
	write_file(key, file, out.data, out.len);
	free(data);
}

/* Writes a number into a binary. */
static void poke(const char *key, const char *file, size_t offset,
		 unsigned char byte)
{
	size_t len;
	char *data = read_file(key, file, &len);

	cr_assert_lt(offset, len);
	data[offset] = (char)byte;
	write_file(key, file, data, len);
	free(data);
}

static void cut(const char *key, const char *file, size_t len)
{
	size_t old_len;
	char *data = read_file(key, file, &old_len);

	cr_assert_lt(len, old_len);
	write_file(key, file, data, len);
	free(data);
}

static void drop(const char *key, const char *file)
{
	char path[KB_TEST_PATH_MAX], full[2 * KB_TEST_PATH_MAX];

	path_of(path, key, file);
	snprintf(full, sizeof(full), "%s/%s", root, path);
	cr_assert_eq(unlink(full), 0, "%s", full);
}

static void expect(const char *key, enum kb_verdict verdict, const char *file,
		   const char *phrase)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l;

	check_key(root, key, &l, &arena, &result);
	cr_assert_eq(result.verdict, verdict, "%d: %s", result.verdict,
		     result.reason);
	if (verdict != KB_ENTRY_OK) {
		cr_assert_not_null(strstr(result.reason, phrase), "%s",
				   result.reason);
		if (file)
			cr_assert_str_eq(result.file, file, "%s",
					 result.reason);
		else
			cr_assert_null(result.file);
		cr_assert_eq(result.n_edits, 0);
		cr_assert_null(result.target);
	}
	unload(&l);
	kb_arena_release(&arena);
}

#define GROUP "__grp__add_kernel.json"
#define META "add_kernel.json"
#define CUBIN "add_kernel.cubin"

static void expect_damage(const char *file, const char *phrase)
{
	expect(KEY_3_9, KB_ENTRY_DAMAGED, file, phrase);
}

Test(triton_damage, none)
{
	expect(KEY_3_9, KB_ENTRY_OK, NULL, NULL);
	expect(KEY_2_1, KB_ENTRY_OK, NULL, NULL);
	expect(KEY_AUTOTUNE, KB_ENTRY_OK, NULL, NULL);
}

Test(triton_damage, group_of_zero_bytes)
{
	write_text(KEY_3_9, GROUP, "");
	expect_damage(GROUP, "has zero bytes");
}

Test(triton_damage, group_cut_short)
{
	cut(KEY_3_9, GROUP, 100);
	expect_damage(GROUP, "cannot be parsed");
}

Test(triton_damage, group_without_children)
{
	write_text(KEY_3_9, GROUP, "{}");
	expect_damage(GROUP, "has no child_paths");
}

Test(triton_damage, child_outside_the_entry)
{
	edit(KEY_3_9, GROUP, KEY_3_9 "/add_kernel.ptx",
	     KEY_AUTOTUNE "/add_kernel.ptx");
	expect_damage(GROUP, "lists add_kernel.ptx outside the entry, at ");
}

Test(triton_damage, child_missing)
{
	drop(KEY_3_9, "add_kernel.ttir");
	expect_damage(GROUP, "lists add_kernel.ttir, which is missing");
}

Test(triton_damage, child_missing_from_a_list)
{
	drop(KEY_2_1, "add_kernel.ttir");
	expect(KEY_2_1, KB_ENTRY_DAMAGED, GROUP,
	       "lists add_kernel.ttir, which is missing");
}

Test(triton_damage, child_listed_twice)
{
	edit(KEY_3_9, GROUP, "{\"add_kernel.source\": ",
	     "{\"add_kernel.json\": \"/c/" KEY_3_9
	     "/add_kernel.json\", \"add_kernel.source\": ");
	expect_damage(GROUP, "lists add_kernel.json twice");
}

Test(triton_damage, child_listed_twice_in_a_list)
{
	edit(KEY_2_1, GROUP, "[", "[\"add_kernel.ttir\", ");
	expect(KEY_2_1, KB_ENTRY_DAMAGED, GROUP, "add_kernel.ttir twice");
}

Test(triton_damage, two_groups)
{
	write_text(KEY_3_9, "__grp__other.json", "{}");
	expect_damage(GROUP, "second group file, __grp__other.json");
}

Test(triton_damage, group_of_no_name)
{
	drop(KEY_3_9, GROUP);
	write_text(KEY_3_9, "__grp__.json", "{}");
	expect_damage("__grp__.json", "name that it stands for is empty");
}

Test(triton_damage, metadata_of_zero_bytes)
{
	write_text(KEY_3_9, META, "");
	expect_damage(META, "has zero bytes");
}

Test(triton_damage, metadata_cut_short)
{
	cut(KEY_3_9, META, 100);
	expect_damage(META, "cannot be parsed");
}

Test(triton_damage, metadata_missing)
{
	drop(KEY_3_9, META);
	expect_damage(GROUP, "lists add_kernel.json, which is missing");
}

Test(triton_damage, metadata_not_listed)
{
	edit(KEY_2_1, GROUP, "\"add_kernel.json\", ", "");
	expect(KEY_2_1, KB_ENTRY_DAMAGED, GROUP,
	       "does not list the metadata, add_kernel.json");
}

Test(triton_damage, metadata_without_name)
{
	edit(KEY_3_9, META, "\"name\": ", "\"nom\": ");
	expect_damage(META, "names no kernel");
}

Test(triton_damage, metadata_without_target)
{
	edit(KEY_3_9, META, "\"target\": ", "\"cible\": ");
	expect_damage(META, "names no target");
}

Test(triton_damage, metadata_without_shared)
{
	edit(KEY_3_9, META, "\"shared\": 0", "\"shared\": \"0\"");
	expect_damage(META, "shared memory");
}

Test(triton_damage, key_is_not_the_hash)
{
	edit(KEY_3_9, META, "\"hash\": \"9", "\"hash\": \"8");
	expect_damage(META, "has a hash that is not the key's: 895421ad");
}

Test(triton_damage, hash_of_another_type)
{
	edit(KEY_3_9, META, "\"hash\": ", "\"hash\": 1, \"x\": ");
	expect_damage(META, "has a hash that is not the key's");
}

Test(triton_damage, metadata_may_have_infinities)
{
	edit(KEY_3_9, META, "\"maxnreg\": null",
	     "\"maxnreg\": -Infinity, \"y\": [NaN]");
	expect(KEY_3_9, KB_ENTRY_OK, NULL, NULL);
}

Test(triton_damage, binary_of_zero_bytes)
{
	write_text(KEY_3_9, CUBIN, "");
	expect_damage(CUBIN, "has zero bytes");
}

Test(triton_damage, binary_missing)
{
	drop(KEY_3_9, CUBIN);
	expect_damage(GROUP, "lists add_kernel.cubin, which is missing");
}

Test(triton_damage, binary_not_listed)
{
	edit(KEY_2_1, GROUP, "\"add_kernel.cubin\", ", "");
	expect(KEY_2_1, KB_ENTRY_DAMAGED, GROUP,
	       "lists no binary of add_kernel for backend cuda");
}

Test(triton_damage, binary_of_another_name)
{
	edit(KEY_2_1, GROUP, "\"add_kernel.cubin\", ", "\"other.cubin\", ");
	size_t len;
	char *data = read_file(KEY_2_1, CUBIN, &len);

	write_file(KEY_2_1, "other.cubin", data, len);
	free(data);
	expect(KEY_2_1, KB_ENTRY_DAMAGED, GROUP, "lists no binary");
}

Test(triton_damage, binary_cut_short)
{
	cut(KEY_3_9, CUBIN, 6000);
	expect_damage(CUBIN, "cut short");
}

Test(triton_damage, binary_cut_to_its_header)
{
	cut(KEY_3_9, CUBIN, 64);
	expect_damage(CUBIN, "cut short");
}

Test(triton_damage, binary_is_text)
{
	write_text(KEY_3_9, CUBIN, "// PTX");
	expect_damage(CUBIN, "is no ELF file");
}

Test(triton_damage, binary_for_another_machine)
{
	poke(KEY_3_9, CUBIN, 18, 62); /* e_machine: x86-64 */
	expect_damage(CUBIN, "(ELF machine 62) and not a cubin");
}

Test(triton_damage, target_is_not_the_binarys)
{
	edit(KEY_3_9, META, "\"arch\": 75", "\"arch\": 80");
	expect_damage(CUBIN, "holds code for cuda:sm_75, but the metadata says "
			     "cuda:sm_80");
}

Test(triton_damage, backend_is_not_the_binarys)
{
	edit(KEY_3_9, META, "\"backend\": \"cuda\", \"arch\": 75",
	     "\"backend\": \"hip\", \"arch\": \"gfx942\"");
	expect_damage(GROUP, "lists no binary of add_kernel for backend hip");
}

Test(triton_damage, kernel_not_in_the_binary)
{
	edit(KEY_3_9, META, "\"name\": \"add_kernel\"",
	     "\"name\": \"add_kernel_2\"");
	expect_damage(CUBIN, "has no kernel add_kernel_2");
}

Test(triton_damage, stage_of_zero_bytes)
{
	write_text(KEY_3_9, "add_kernel.ptx", "");
	expect_damage("add_kernel.ptx", "has zero bytes");
}

Test(triton_damage, files_that_no_group_lists_are_nobodys_business)
{
	write_text(KEY_3_9, "add_kernel.note", "\xff");
	write_text(KEY_3_9, "other.cubin", "");
	write_text(KEY_3_9, "other.json", "{");
	expect(KEY_3_9, KB_ENTRY_OK, NULL, NULL);
}

Test(triton_damage, list_of_names_in_triton_3)
{
	static const char group[] = "{\"child_paths\": [\"add_kernel.json\", "
				    "\"add_kernel.cubin\"]}";

	write_text(KEY_3_9, GROUP, group);
	expect_damage(GROUP, "lists names where Triton 3 reads paths");
}

Test(triton_damage, list_of_names_in_triton_2_3)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l;

	edit(KEY_2_1, META, "\"arch\": 75", "\"target\": [\"cuda\", 75]");
	check_key(root, KEY_2_1, &l, &arena, &result);
	cr_assert_eq(result.verdict, KB_ENTRY_OK, "%s", result.reason);
	cr_assert_str_eq(result.target, "cuda:sm_75");
	cr_assert_not(result.facts.whole, "2.3 hits on a slim entry");
	unload(&l);
	kb_arena_release(&arena);
}

Test(triton_damage, autotune)
{
	const char *file = "add_kernel.autotune.json";

	write_text(KEY_AUTOTUNE, file, "");
	expect(KEY_AUTOTUNE, KB_ENTRY_DAMAGED, file, "has zero bytes");
	write_text(KEY_AUTOTUNE, file, "{\"configs_timings\": [");
	expect(KEY_AUTOTUNE, KB_ENTRY_DAMAGED, file, "cannot be parsed");
	write_text(KEY_AUTOTUNE, file, "[]");
	expect(KEY_AUTOTUNE, KB_ENTRY_DAMAGED, file, "no JSON object");
	write_text(KEY_AUTOTUNE, file, "{\"key\": []}");
	expect(KEY_AUTOTUNE, KB_ENTRY_DAMAGED, file, "configs_timings");
	write_text(KEY_AUTOTUNE, file,
		   "{\"configs_timings\": [[{}, [Infinity, NaN]]]}");
	expect(KEY_AUTOTUNE, KB_ENTRY_OK, NULL, NULL);
	write_text(KEY_AUTOTUNE, "b.autotune.json", "{}");
	expect(KEY_AUTOTUNE, KB_ENTRY_DAMAGED, file, "second tuning result");
}

Test(triton_damage, what_was_never_committed)
{
	drop(KEY_3_9, GROUP);
	expect(KEY_3_9, KB_ENTRY_LEFTOVER, NULL, "no group file");
}

Test(triton_damage, an_empty_directory)
{
	struct kb_arena arena = KB_ARENA_INIT;
	struct kb_checked result;
	struct loaded l = {NULL, 0};

	check_views(&l, KEY_3_9, &arena, &result);
	cr_assert_eq(result.verdict, KB_ENTRY_LEFTOVER);
	cr_assert_not_null(strstr(result.reason, "empty"));
	kb_arena_release(&arena);
}

Test(triton_damage, other_backends)
{
	edit(KEY_3_9, META, "\"backend\": \"cuda\"", "\"backend\": \"cpu\"");
	expect(KEY_3_9, KB_ENTRY_POLICY, META, "backend cpu: not supported");
}

Test(triton_damage, triton_2_0)
{
	drop(KEY_2_1, GROUP);
	edit(KEY_2_1, META, "{", "{\"ctime\": {\"ptx\": 1.5}, ");
	expect(KEY_2_1, KB_ENTRY_POLICY, NULL, "Triton 2.0");
}

Test(triton_damage, amd_of_triton_2)
{
	write_text(KEY_2_1, "add_kernel.hsaco_path", "/tmp/x");
	expect(KEY_2_1, KB_ENTRY_POLICY, NULL, "2.x for AMD");
}

Test(triton_damage, intel)
{
	static const char spirv[] = "\x03\x02\x23\x07\0\0\1\0\0\0\0\0\1\0\0\0"
				    "\0\0\0";

	edit(KEY_3_9, META, "\"backend\": \"cuda\", \"arch\": 75",
	     "\"backend\": \"xpu\", \"arch\": {\"a\": 1}");
	drop(KEY_3_9, CUBIN);
	for (int i = 0; i < 2; i++)
		edit(KEY_3_9, GROUP, "kernel.cubin", "kernel.spv");
	write_file(KEY_3_9, "add_kernel.spv", spirv, 20);
	expect(KEY_3_9, KB_ENTRY_OK, NULL, NULL);
	write_file(KEY_3_9, "add_kernel.spv", spirv, 16);
	expect_damage("add_kernel.spv", "no SPIR-V");
	write_text(KEY_3_9, "add_kernel.spv", "//! SPIR-V in text form");
	expect_damage("add_kernel.spv", "no SPIR-V");
	write_file(KEY_3_9, "add_kernel.spv",
		   "\x03\x02\x23\x07 and 18 more byte", 22);
	expect_damage("add_kernel.spv", "whole words");
}

/* ---- AMD ---- */

#define KEY_HIP "EHYXWU3YFCQT342DDYJG7UNFD6AVN7OAUYDQGMTHEURZJ5J6W7RQ"

static void copy_hip(void)
{
	char from[KB_TEST_PATH_MAX], entry[KB_TEST_PATH_MAX + 64];
	char to[KB_TEST_PATH_MAX + 64];
	static const char *const files[] = {GROUP, META, "add_kernel.hsaco"};

	if (!kb_test_fixture(from, "triton-3.9.0-hip"))
		cr_skip_test("no fixtures");
	snprintf(entry, sizeof(entry), "%s/" KEY_HIP, from);
	snprintf(to, sizeof(to), "%s/" KEY_HIP, root);
	kb_test_copy_tree(entry, to);
	/* The fixtures are read-only. */
	for (size_t i = 0; i < 3; i++) {
		char path[2 * KB_TEST_PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", to, files[i]);
		cr_assert_eq(fchmodat(AT_FDCWD, to, 0755, 0), 0);
		cr_assert_eq(fchmodat(AT_FDCWD, path, 0644, 0), 0);
	}
}

Test(triton_damage, hip_target_is_not_the_binarys)
{
	copy_hip();
	expect(KEY_HIP, KB_ENTRY_OK, NULL, NULL);
	edit(KEY_HIP, META, "\"arch\": \"gfx942\"", "\"arch\": \"gfx90a\"");
	expect(KEY_HIP, KB_ENTRY_DAMAGED, "add_kernel.hsaco",
	       "holds code for hip:gfx942");
}

Test(triton_damage, cubin_in_the_place_of_a_hsaco)
{
	size_t len;
	char *data;

	copy_hip();
	data = read_file(KEY_3_9, CUBIN, &len);
	write_file(KEY_HIP, "add_kernel.hsaco", data, len);
	free(data);
	expect(KEY_HIP, KB_ENTRY_DAMAGED, "add_kernel.hsaco",
	       "is a cubin (ELF machine 190) and not a hsaco");
}

Test(triton_damage, hip_features_come_from_the_binary)
{
	struct kb_binary_fact binary = {.target = "hip:gfx90a:xnack-"};
	struct kb_kernel_fact kernel = {.name = "k"};
	struct kb_target target;

	binary.kernels = &kernel;
	binary.n_kernels = 1;
	cr_assert(kb_target_parse(&target, "hip:gfx90a"));
	cr_assert_eq(kb_triton_binary_match(&binary, "k", &target, NULL), 0);
	cr_assert_str_eq(target.text, "hip:gfx90a:xnack-");
	cr_assert(kb_target_parse(&target, "hip:gfx90a:sramecc+:xnack-"));
	cr_assert_eq(kb_triton_binary_match(&binary, "k", &target, NULL), 0);
	cr_assert_str_eq(target.text, "hip:gfx90a:xnack-");
	cr_assert(kb_target_parse(&target, "hip:gfx90a:xnack+"));
	cr_assert_eq(kb_triton_binary_match(&binary, "k", &target, NULL),
		     KBUNDLE_E_FORMAT);
	/* A binary that does not tell takes nothing away. */
	binary.target = NULL;
	cr_assert_eq(kb_triton_binary_match(&binary, "k", &target, NULL), 0);
	cr_assert_str_eq(target.text, "hip:gfx90a:xnack+");
}
