/* SPDX-License-Identifier: Apache-2.0 */
#include "triton_entry.h"

#include "src/sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_A "2222222222222222222222222222222222222222222222222222"
#define KEY_B "-wxXlI_lN1T6n21jbE8lqtxdUxCRCJJbWBaRBSt6r10"

/* Everything that scan says, one line each, in its order. */
struct record {
	struct kb_scan_sink sink;
	struct kb_buf text;
	int result; /* returned from entry() */
};

static int on_entry(struct kb_scan_sink *sink, const struct kb_scanned *found,
		    struct kbundle_error *err)
{
	struct record *record = (struct record *)sink;

	(void)err;
	cr_assert_not(found->is_file);
	cr_assert_eq(kb_buf_printf(&record->text, "%.6s %s %s %s\n",
				   found->path, found->kind, found->name,
				   found->target ? found->target : "-"),
		     0);
	return record->result;
}

static int on_note(struct kb_scan_sink *sink, int count, const char *path,
		   const char *file, const char *reason,
		   struct kbundle_error *err)
{
	struct record *record = (struct record *)sink;

	(void)err;
	cr_assert_eq(kb_buf_printf(&record->text, "%.6s %s%s%s: %s\n", path,
				   count == KBUNDLE_COUNT_POLICY ? "policy"
								 : "leftover",
				   file ? " " : "", file ? file : "", reason),
		     0);
	return 0;
}

static struct kb_ctx ctx;
static struct kb_fs fs;
static struct record record;
static struct kbundle_error err;
static char root[KB_TEST_PATH_MAX];

static void set_up(void)
{
	kb_test_tmpdir(root);
	fs = kb_fs_real;
	cr_assert_eq(kb_ctx_init(&ctx, NULL, &fs, NULL), 0);
	record.sink.entry = on_entry;
	record.sink.note = on_note;
	kb_buf_init(&record.text, 1 << 20);
}

static void tear_down(void)
{
	kb_buf_release(&record.text);
	kb_ctx_release(&ctx);
	kb_test_remove(root);
}

TestSuite(triton_scan, .init = set_up, .fini = tear_down);

static int scan(const char *path, bool host_code)
{
	struct kb_scan_options options = {.host_code = host_code};
	KB_AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	kb_buf_clear(&record.text);
	return kb_format_triton.scan(&ctx, fd, &options, &record.sink, &err);
}

static void expect(const char *lines)
{
	cr_assert_eq(scan(root, false), 0, "%s", err.message);
	cr_assert_str_eq(record.text.data, lines);
}

static void write_at(const char *key, const char *file, const char *text)
{
	char path[KB_TEST_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", key, file);
	kb_test_write_text(root, path, text);
}

static unsigned bid(const char *path)
{
	KB_AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned sure = 77;

	cr_assert_geq(fd, 0);
	cr_assert_eq(kb_format_triton.bid(&ctx, fd, &sure, &err), 0);
	return sure;
}

Test(triton_scan, kernels_and_tuning_results_of_all_versions)
{
	cr_assert_eq(scan(FIXTURE_ROOT, false), 0, "%s", err.message);
	cr_assert_str_eq(record.text.data,
			 "6e1380 kernel add_kernel cuda:sm_75\n"
			 "FH7LBA autotune add_kernel -\n"
			 "TFKCDL kernel add_kernel cuda:sm_75\n");
}

Test(triton_scan, targets_are_those_of_check_without_suffix)
{
	char path[KB_TEST_PATH_MAX];

	if (!kb_test_fixture(path, "triton-3.9.0-cuda"))
		cr_skip_test("no fixtures");
	cr_assert_eq(scan(path, false), 0, "%s", err.message);
	cr_assert_str_eq(record.text.data,
			 "4OIESA kernel softmax_kernel cuda:sm_90\n"
			 "FH7LBA autotune add_kernel -\n"
			 "HN57R7 kernel layernorm_kernel cuda:sm_100\n"
			 "RS52U2 kernel matmul_kernel cuda:sm_80\n"
			 "SGPEVK kernel reduce_kernel cuda:sm_80\n"
			 "TFKCDL kernel add_kernel cuda:sm_75\n");
}

Test(triton_scan, features_in_the_metadata_are_no_part_of_the_base)
{
	write_at(KEY_A, "__grp__k.json", "{}");
	write_at(KEY_A, "k.json",
		 "{\"target\": {\"backend\": \"hip\", \"arch\": "
		 "\"gfx90a:sramecc+:xnack-\"}}");
	expect("222222 kernel k hip:gfx90a\n");
}

Test(triton_scan, host_extensions)
{
	write_at(KEY_A, "cuda_utils.cpython-311-x86_64-linux-gnu.so", "x");
	expect("222222 policy: host extension (.so): left out by default, "
	       "--host-code takes it\n");
	cr_assert_eq(scan(root, true), 0);
	cr_assert_str_eq(record.text.data,
			 "222222 host-extension cuda_utils -\n");
}

Test(triton_scan, what_no_writer_committed)
{
	kb_test_mkdir(root, KEY_A);
	expect("222222 leftover: empty: the framework looked it up and "
	       "compiled nothing\n");
	write_at(KEY_A, "tmp.pid_7_1/k.cubin", "x");
	write_at(KEY_A, "lock", "");
	expect("222222 leftover: nothing but temporary names: its writer did "
	       "not finish\n");
	write_at(KEY_A, "k.ttir", "x");
	write_at(KEY_A, "k.json", "{}");
	expect("222222 leftover: no group file: its writer never committed "
	       "it\n");
}

Test(triton_scan, layouts_that_cannot_be_shipped)
{
	write_at(KEY_A, "k.json", "{\"ctime\": {\"ttir\": 1.5}}");
	write_at(KEY_A, "k.ttir", "x");
	write_at(KEY_B, "__grp__k.json", "{}");
	write_at(KEY_B, "k.hsaco_path", "/tmp/x");
	expect("-wxXlI policy: written by Triton 2.x for AMD, which keeps the "
	       "binary at a path of the old machine\n"
	       "222222 policy: written by Triton 2.0, which hits only with the "
	       "original change times of the files\n");
}

Test(triton_scan, damage_is_for_check_to_say)
{
	write_at(KEY_A, "__grp__k.json", "");
	write_at(KEY_B, "__grp__a.json", "");
	write_at(KEY_B, "__grp__b.json", "");
	write_at(KEY_B, "a.json", "{");
	expect("-wxXlI kernel a -\n"
	       "222222 kernel k -\n");
}

Test(triton_scan, what_lies_beside_an_entry)
{
	char link[2 * KB_TEST_PATH_MAX], target[2 * KB_TEST_PATH_MAX];

	write_at(KEY_A, "__grp__k.json", "{}");
	write_at(KEY_A, "k.cubin.tmp.pid_7_1", "x");
	write_at(KEY_A, "tmp.pid_7_2/k.cubin", "x");
	write_at(KEY_A, "sub/k.cubin", "x");
	snprintf(link, sizeof(link), "%s/%s/k.ptx", root, KEY_A);
	cr_assert_eq(symlink("/etc/passwd", link), 0);
	snprintf(link, sizeof(link), "%s/%s/z", root, KEY_A);
	cr_assert_eq(mkfifo(link, 0600), 0);
	write_at(".", "README", "x");
	write_at(".", "lock", "");
	write_at("tmp.1234", "k", "x");
	write_at("triton", "k", "x");
	snprintf(link, sizeof(link), "%s/%s", root, KEY_B);
	snprintf(target, sizeof(target), "%s/%s", root, KEY_A);
	cr_assert_eq(symlink(target, link), 0);
	write_at(".", KEY_2_1, "a file");
	expect("-wxXlI leftover: a symbolic link\n"
	       "222222 kernel k -\n"
	       "222222 leftover k.cubin.tmp.pid_7_1: temporary or lock: no "
	       "part of the entry\n"
	       "222222 leftover k.ptx: a symbolic link\n"
	       "222222 leftover sub: a directory in an entry\n"
	       "222222 leftover tmp.pid_7_2: temporary or lock: no part of the "
	       "entry\n"
	       "222222 leftover z: not a regular file\n"
	       "6e1380 leftover: not a directory\n"
	       "README leftover: not the name of a Triton entry\n"
	       "lock leftover: temporary or lock: left by a writer\n"
	       "tmp.12 leftover: temporary or lock: left by a writer\n"
	       "triton leftover: not the name of a Triton entry\n");
}

static int vanishing_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	if (strcmp(path, KEY_A) == 0)
		unlinkat(dirfd, path, AT_REMOVEDIR);
	return kb_fs_real.openat(dirfd, path, flags, mode);
}

Test(triton_scan, a_directory_that_vanishes_is_a_leftover)
{
	kb_test_mkdir(root, KEY_A);
	fs.openat = vanishing_openat;
	expect("222222 leftover: vanished while it was looked at\n");
}

static int denied_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	if (strcmp(path, KEY_A) == 0 || strcmp(path, "k.json") == 0) {
		errno = EACCES;
		return -1;
	}
	return kb_fs_real.openat(dirfd, path, flags, mode);
}

Test(triton_scan, an_unreadable_directory_does_not_cost_the_rest)
{
	kb_test_mkdir(root, KEY_A);
	fs.openat = denied_openat;
	cr_assert_eq(scan(root, false), 0);
	cr_assert_not_null(strstr(record.text.data, "cannot be read"), "%s",
			   record.text.data);
}

Test(triton_scan, unreadable_metadata_is_for_check_to_say)
{
	write_at(KEY_B, "__grp__k.json", "{}");
	write_at(KEY_B, "k.json", "{\"target\": [\"cuda\", 90]}");
	expect("-wxXlI kernel k cuda:sm_90\n");
	fs.openat = denied_openat;
	expect("-wxXlI kernel k -\n");
}

Test(triton_scan, the_sink_can_end_it)
{
	record.result = KBUNDLE_E_NOMEM;
	cr_assert_eq(scan(FIXTURE_ROOT, false), KBUNDLE_E_NOMEM);
	cr_assert_str_eq(record.text.data,
			 "6e1380 kernel add_kernel cuda:sm_75\n");
}

Test(triton_scan, bids_by_content)
{
	cr_assert_eq(bid(FIXTURE_ROOT), 100);
	cr_assert_eq(bid(root), 0, "an empty directory");
	kb_test_mkdir(root, KEY_A);
	cr_assert_eq(bid(root), 0, "an empty key");
	write_at(KEY_A, "k.cubin", "x");
	cr_assert(bid(root) > 0 && bid(root) < 50, "a name that fits");
	write_at(KEY_2_1, "k.autotune.json", "{}");
	cr_assert_eq(bid(root), 100);
}

Test(triton_scan, bids_nothing_on_other_caches)
{
	static const char *const others[] = {"cupy-14.2.0", "warp-1.19.0",
					     "jax-0.10.2", "vllm-rocm"};
	char path[KB_TEST_PATH_MAX];

	for (size_t i = 0; i < 4; i++) {
		if (!kb_test_fixture(path, others[i]))
			cr_skip_test("no fixtures");
		cr_assert_eq(bid(path), 0, "%s", others[i]);
	}
}
