/* SPDX-License-Identifier: Apache-2.0 */
/* Slim groups against Python, which would have written them. */
#include "triton_entry.h"

#define TOKEN "/opt/kbundle/triton"
#define GROUP "__grp__add_kernel.json"

static const char *const names_3_9[] = {
	GROUP,
	"add_kernel.cubin",
	"add_kernel.json",
	"add_kernel.llir",
	"add_kernel.ptx",
	"add_kernel.source",
	"add_kernel.ttgir",
	"add_kernel.ttir",
};

/* An entry of these file names, as the manifest has it. */
static void make_entry(struct kb_entry *entry, struct kb_file files[16],
		       const char *key, const char *name,
		       const char *const *names, size_t n)
{
	memset(entry, 0, sizeof(*entry));
	memset(files, 0, 16 * sizeof(*files));
	for (size_t i = 0; i < n; i++)
		files[i].name = names[i];
	entry->root = 2;
	entry->path = key;
	entry->format = "triton";
	entry->kind = "kernel";
	entry->name = name;
	entry->files = files;
	entry->n_files = n;
}

/* The group with its paths' roots exchanged and only these suffixes kept, as
 * Python writes it. */
static char *python_slim(const char *file, const char *key)
{
	static const char *const script =
		"import json, sys\n"
		"paths = json.load(open(sys.argv[1]))['child_paths']\n"
		"keep = lambda c: c.endswith(('.json', '.cubin', '.hsaco'))\n"
		"if isinstance(paths, list):\n"
		"    slim = [c for c in paths if keep(c)]\n"
		"else:\n"
		"    slim = {c: f'" TOKEN
		"/{sys.argv[2]}/{c}' for c in paths if keep(c)}\n"
		"print(json.dumps({'child_paths': slim}), end='')\n";
	char *argv[] = {"python3",
			"-c",
			(char *)(uintptr_t)script,
			(char *)(uintptr_t)file,
			(char *)(uintptr_t)key,
			NULL};
	char *out = NULL;
	int status;

	if (!kb_test_run(argv, &out, NULL, &status))
		cr_skip_test("no python3");
	cr_assert_eq(status, 0);
	return out;
}

static void expect_as_python(const struct kb_entry *entry, const char *root,
			     size_t n_rewrites)
{
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	struct kb_arena arena = KB_ARENA_INIT;
	const struct kb_rewrite *rewrites = NULL;
	const char *group = kb_format_triton.slim_file(entry);
	char rel[KB_TEST_PATH_MAX], path[2 * KB_TEST_PATH_MAX];
	struct kbundle_error err;
	size_t len, n = 99;
	char *stored, *want;

	cr_assert_not_null(group);
	snprintf(rel, sizeof(rel), "%s/%s", entry->path, group);
	snprintf(path, sizeof(path), "%s/%s", root, rel);
	stored = kb_test_read(root, rel, &len);
	want = python_slim(path, entry->path);
	kb_buf_init(&bytes, 1 << 20);
	cr_assert_eq(kb_format_triton.slim(entry, TOKEN, stored, len, &arena,
					   &bytes, &rewrites, &n, &err),
		     0, "%s", err.message);
	cr_assert_str_eq(bytes.data, want);
	cr_assert_eq(n, n_rewrites);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(rewrites[i].length, strlen(TOKEN));
		cr_assert_eq(rewrites[i].root, 2);
		cr_assert_str_eq(rewrites[i].codec, "json");
		cr_assert(i == 0 ||
			  rewrites[i].offset > rewrites[i - 1].offset);
		cr_assert_eq(memcmp(bytes.data + rewrites[i].offset, TOKEN,
				    strlen(TOKEN)),
			     0);
	}
	free(want);
	free(stored);
	kb_arena_release(&arena);
}

Test(triton_slim, keeps_what_a_hit_needs)
{
	struct kb_file files[16];
	struct kb_entry entry;

	make_entry(&entry, files, KEY_3_9, "add_kernel", names_3_9, 8);
	for (size_t i = 0; i < 8; i++)
		cr_assert_eq(kb_format_triton.slim_keeps(&entry, names_3_9[i]),
			     i < 3, "%s", names_3_9[i]);
	cr_assert_not(kb_format_triton.slim_keeps(&entry, "other.json"));
	cr_assert_not(kb_format_triton.slim_keeps(&entry, "add_kernel.jsonx"));
	cr_assert_str_eq(kb_format_triton.slim_file(&entry), GROUP);
}

Test(triton_slim, other_entries_stay_whole)
{
	static const char *const autotune[] = {"add_kernel.autotune.json"};
	static const char *const host[] = {"cuda_utils.so"};
	struct kb_file files[16];
	struct kb_entry entry;

	make_entry(&entry, files, KEY_2_1, "add_kernel", names_3_9, 8);
	entry.facts.whole = true;
	cr_assert(kb_format_triton.slim_keeps(&entry, "add_kernel.ttir"));
	cr_assert_null(kb_format_triton.slim_file(&entry));
	make_entry(&entry, files, KEY_AUTOTUNE, "add_kernel", autotune, 1);
	entry.kind = "autotune";
	cr_assert(kb_format_triton.slim_keeps(&entry, autotune[0]));
	cr_assert_null(kb_format_triton.slim_file(&entry));
	make_entry(&entry, files, KEY_AUTOTUNE, "cuda_utils", host, 1);
	entry.kind = "host-extension";
	cr_assert(kb_format_triton.slim_keeps(&entry, host[0]));
	cr_assert_null(kb_format_triton.slim_file(&entry));
}

Test(triton_slim, a_real_group_is_as_python_writes_it)
{
	struct kb_file files[16];
	struct kb_entry entry;

	make_entry(&entry, files, KEY_3_9, "add_kernel", names_3_9, 8);
	expect_as_python(&entry, FIXTURE_ROOT, 2);
}

Test(triton_slim, a_list_of_names_has_no_paths)
{
	struct kb_file files[16];
	struct kb_entry entry;

	make_entry(&entry, files, KEY_2_1, "add_kernel", names_3_9, 8);
	expect_as_python(&entry, FIXTURE_ROOT, 0);
}

Test(triton_slim, odd_names_and_spellings_are_as_python_writes_them)
{
	static const char group[] =
		"{ \"x\" : NaN,\n \"child_paths\":{\"\\u00e7\\\"k\\t.json\" :\n"
		"\"a/\\/" KEY_3_9 "\\u002f\\u00e7\\\"k\\t.json\",\"\\u00e7\\\"k"
		"\\t.ttir\":\"/" KEY_3_9 "/\xc3\xa7\\\"k\\t.ttir\",\"\xf0\x9f"
		"\x98\x80.cubin\":\"/\\udcff/" KEY_3_9 "//\\ud83d\\ude00."
		"cubin\"} , \"y\":{}}\n";
	static const char *const names[] = {"__grp__\xc3\xa7\"k\t.json"};
	struct kb_file files[16];
	struct kb_entry entry;
	char root[KB_TEST_PATH_MAX], rel[256];

	kb_test_tmpdir(root);
	make_entry(&entry, files, KEY_3_9, "\xc3\xa7\"k\t", names, 1);
	snprintf(rel, sizeof(rel), "%s/%s", KEY_3_9, names[0]);
	kb_test_write_text(root, rel, group);
	expect_as_python(&entry, root, 2);
	kb_test_remove(root);
}

Test(triton_slim, what_slim_writes_passes_check_and_is_its_own_slim)
{
	struct kb_arena arena = KB_ARENA_INIT;
	KB_AUTO(kb_buf_release) struct kb_buf once, twice;
	const struct kb_rewrite *rewrites;
	struct kb_checked whole, slim;
	struct kb_file files[16];
	struct kb_entry entry;
	struct kb_view views[3];
	struct kb_check in;
	struct loaded l;
	size_t n;

	check_key(FIXTURE_ROOT, KEY_3_9, &l, &arena, &whole);
	make_entry(&entry, files, KEY_3_9, "add_kernel", names_3_9, 3);
	kb_buf_init(&once, 1 << 20);
	kb_buf_init(&twice, 1 << 20);
	cr_assert_eq(kb_format_triton.slim(&entry, TOKEN, l.views[0].data,
					   l.views[0].size, &arena, &once,
					   &rewrites, &n, NULL),
		     0);
	for (size_t i = 0; i < 3; i++)
		views[i] = *view_of(&l, names_3_9[i]);
	views[0].data = once.data;
	views[0].size = once.len;
	in = (struct kb_check){
		.path = KEY_3_9, .files = views, .n_files = 3, .arena = &arena};
	cr_assert_eq(kb_format_triton.check(&in, &slim, NULL), 0);
	cr_assert_eq(slim.verdict, KB_ENTRY_OK, "%s", slim.reason);
	cr_assert_str_eq(slim.target, whole.target);
	cr_assert_eq(slim.facts.n_binaries, whole.facts.n_binaries);
	cr_assert_eq(slim.n_edits, n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(slim.edits[i].offset, rewrites[i].offset);
	cr_assert_eq(kb_format_triton.slim(&entry, TOKEN, once.data, once.len,
					   &arena, &twice, &rewrites, &n, NULL),
		     0);
	cr_assert_str_eq(once.data, twice.data);
	unload(&l);
	kb_arena_release(&arena);
}

Test(triton_slim, an_unsound_group_is_an_error)
{
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	struct kb_arena arena = KB_ARENA_INIT;
	const struct kb_rewrite *rewrites;
	struct kb_file files[16];
	struct kb_entry entry;
	struct kbundle_error err;
	size_t n;

	make_entry(&entry, files, KEY_3_9, "add_kernel", names_3_9, 8);
	kb_buf_init(&bytes, 1 << 20);
	cr_assert_eq(kb_format_triton.slim(&entry, TOKEN, "{}", 2, &arena,
					   &bytes, &rewrites, &n, &err),
		     KBUNDLE_E_FORMAT);
	cr_assert_not_null(strstr(err.message, KEY_3_9));
	kb_arena_release(&arena);
}

Test(triton_slim, the_buffers_limit_holds)
{
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	struct kb_arena arena = KB_ARENA_INIT;
	const struct kb_rewrite *rewrites;
	struct kb_file files[16];
	struct kb_entry entry;
	struct loaded l;
	size_t n;

	load(&l, FIXTURE_ROOT "/" KEY_3_9);
	make_entry(&entry, files, KEY_3_9, "add_kernel", names_3_9, 8);
	kb_buf_init(&bytes, 100);
	cr_assert_eq(kb_format_triton.slim(&entry, TOKEN, l.views[0].data,
					   l.views[0].size, &arena, &bytes,
					   &rewrites, &n, NULL),
		     KBUNDLE_E_LIMIT);
	unload(&l);
	kb_arena_release(&arena);
}
