/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the root before and after; who owns a staging directory is
 * tested in test_mark.c. */
#include "../../src/dep/uuid.h"
#include "../../src/sys/io.h"
#include "../../src/sys/stage.h"
#include "../lib/fault_fs.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[KB_TEST_PATH_MAX];  /* of everything */
static char root[KB_TEST_PATH_MAX]; /* below it, not made */
static struct kb_ctx ctx;
static struct kbundle_error err;
static struct kb_stage *stage;
static char logged[4096];

static void on_log(void *data, int level, const char *line)
{
	(void)data;
	snprintf(logged + strlen(logged), sizeof(logged) - strlen(logged),
		 "%d %s\n", level, line);
}

static void begin(void)
{
	struct kbundle_env env = KBUNDLE_ENV_INIT;

	kb_test_tmpdir(top);
	cr_assert_lt(snprintf(root, sizeof(root), "%s/root", top),
		     (int)sizeof(root));
	env.log = on_log;
	kb_fault_start(NULL);
	cr_assert_eq(kb_ctx_init(&ctx, &env, &kb_fault_fs, NULL), 0);
}

static void end(void)
{
	kb_ctx_release(&ctx);
	kb_test_remove(top);
}

TestSuite(stage, .init = begin, .fini = end);

static void open_stage(void)
{
	cr_assert_eq(kb_stage_open(&ctx, root, kb_uuid4, &stage, &err), 0, "%s",
		     err.message);
}

static void close_stage(void)
{
	kb_stage_close(stage);
	stage = NULL;
	cr_assert_eq(kb_test_count_names(root, "tmp."), 0,
		     "staging was left behind");
}

static void add_file(uint64_t number, int dir_fd, const char *name,
		     const char *text)
{
	int fd = -1;

	cr_assert_eq(kb_stage_file(stage, number, dir_fd, name, &fd, &err), 0,
		     "%s", err.message);
	cr_assert_eq(kb_write(&ctx, fd, text, strlen(text), "x", &err), 0);
	cr_assert_eq(kb_close_written(&ctx, &fd, "x", &err), 0);
}

/* A directory-shaped child with two files. */
static void add_entry(uint64_t number)
{
	int fd = -1;

	cr_assert_eq(kb_stage_dir(stage, number, &fd, &err), 0, "%s",
		     err.message);
	add_file(number, fd, "add.cubin", "cubin");
	add_file(number, fd, "deep/er/add.json", "json");
	cr_assert_eq(kb_stage_sync_dir(stage, fd, &err), 0);
	close(fd);
}

static enum kb_publish publish(uint64_t number, bool is_dir, const char *path)
{
	enum kb_publish result = KB_PUBLISH_DONE;
	int r = kb_stage_publish(stage, number, is_dir, path, &result, &err);

	cr_assert_eq(r, 0, "%s", err.message);
	return result;
}

static void check_text(const char *rel, const char *wanted)
{
	char *text = kb_test_read(root, rel, NULL);

	cr_assert_not_null(text, "%s is missing", rel);
	cr_assert_str_eq(text, wanted);
	free(text);
}

static void check_entry(const char *path)
{
	char rel[256];

	snprintf(rel, sizeof(rel), "%s/add.cubin", path);
	check_text(rel, "cubin");
	snprintf(rel, sizeof(rel), "%s/deep/er/add.json", path);
	check_text(rel, "json");
}

static void fail_at(uint32_t ops, uint64_t at, int sys_errno)
{
	struct kb_fault_plan plan = {
		.ops = ops, .at = at, .sys_errno = sys_errno};

	kb_fault_start(&plan);
}

/* ---- the root ---- */

Test(stage, makes_the_root_with_its_parents)
{
	strcat(root, "/a/b");
	open_stage();
	add_entry(0);
	cr_assert_eq(publish(0, true, "key"), KB_PUBLISH_DONE);
	cr_assert_eq(kb_stage_finish(stage, true, &err), 0);
	close_stage();
	check_entry("key");
}

Test(stage, gives_back_a_root_that_it_made_for_nothing)
{
	char before[KB_TEST_PATH_MAX];

	strcpy(before, root);
	strcat(root, "/a/b");
	kb_test_mkdir(before, "");
	open_stage();
	add_entry(0);
	close_stage();
	cr_assert(kb_test_exists(before, ""), "it was there before");
	cr_assert_not(kb_test_exists(before, "a"));
}

Test(stage, gives_back_no_root_that_others_use)
{
	strcat(root, "/a/b");
	open_stage();
	kb_test_write_text(top, "root/a/theirs", "x");
	close_stage();
	cr_assert_not(kb_test_exists(top, "root/a/b"));
	cr_assert(kb_test_exists(top, "root/a/theirs"));
}

Test(stage, root_may_be_reached_through_symlinks)
{
	char real[KB_TEST_PATH_MAX];

	kb_test_mkdir(top, "real/cache");
	snprintf(real, sizeof(real), "%.4000s/real", top);
	cr_assert_eq(symlink(real, root), 0);
	strcat(root, "/cache");
	open_stage();
	add_entry(0);
	cr_assert_eq(publish(0, true, "key"), KB_PUBLISH_DONE);
	close_stage();
	strcpy(root, real);
	strcat(root, "/cache");
	check_entry("key");
}

Test(stage, says_what_is_wrong_with_the_root)
{
	kb_test_write_text(top, "root", "a file");
	cr_assert_eq(kb_stage_open(&ctx, root, kb_uuid4, &stage, &err),
		     KBUNDLE_E_IO);
	cr_assert(strstr(err.message, root));
	cr_assert(strstr(err.message, "Not a directory"));
	strcat(root, "/below");
	cr_assert_eq(kb_stage_open(&ctx, root, kb_uuid4, &stage, &err),
		     KBUNDLE_E_IO);

	snprintf(root, sizeof(root), "%.4000s/dangling", top);
	cr_assert_eq(symlink("nowhere", root), 0);
	cr_assert_eq(kb_stage_open(&ctx, root, kb_uuid4, &stage, &err),
		     KBUNDLE_E_NOTFOUND);
	cr_assert(strstr(err.message, "leads nowhere"));
	cr_assert_not(kb_test_exists(top, "nowhere"));
}

Test(stage, a_read_only_root_says_who_may_write)
{
	kb_test_mkdir(top, "root");
	cr_assert_eq(chmod(top, 0755), 0);
	cr_assert_eq(chmod(root, 0555), 0);
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
	cr_expect_eq(kb_stage_open(&ctx, root, kb_uuid4, &stage, &err),
		     KBUNDLE_E_IO);
	cr_expect_eq(err.sys_errno, EACCES);
	cr_expect(strstr(err.message, "who may write"));
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
}

Test(stage, makes_the_root_again_that_another_run_gave_back)
{
	/* mkdirat: the root, then the staging in it. */
	fail_at(KB_FAULT_BIT(mkdirat), 2, ENOENT);
	open_stage();
	cr_assert(kb_fault_was_hit());
	close_stage();
	cr_assert_not(kb_test_exists(top, "root"));
}

/* ---- staging ---- */

Test(stage, works_in_one_private_directory)
{
	const char *name;

	kb_test_write_text(top, "root/theirs", "x");
	open_stage();
	cr_assert_eq(kb_test_count_names(root, ""), 2);
	cr_assert_eq(strncmp(kb_stage_path(stage), root, strlen(root)), 0);
	name = kb_stage_path(stage) + strlen(root) + 1;
	cr_assert_eq(strncmp(name, "tmp.", 4), 0);
	cr_assert_eq(strlen(name), 40);
	cr_assert_eq(kb_test_mode(root, name), 01700);
	cr_assert(kb_test_exists(kb_stage_path(stage), ".kbundle"));
	add_entry(18446744073709551615u);
	cr_assert(kb_test_exists(kb_stage_path(stage), "18446744073709551615"));
	close_stage();
	check_text("theirs", "x");
}

static char fixed_uuid[37] = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";

static void same_uuid(char ret[37])
{
	strcpy(ret, fixed_uuid);
}

static unsigned uuids_asked;

static void second_uuid_is_new(char ret[37])
{
	if (uuids_asked++ == 0)
		same_uuid(ret);
	else
		kb_uuid4(ret);
}

Test(stage, a_taken_name_is_left_alone)
{
	kb_test_write_text(root, "tmp.6ba7b810-9dad-41d1-80b4-00c04fd430c8/x",
			   "theirs");
	cr_assert_eq(
		kb_stage_open(&ctx, root, second_uuid_is_new, &stage, &err), 0);
	cr_assert_eq(uuids_asked, 2);
	kb_stage_close(stage);
	cr_assert_eq(kb_stage_open(&ctx, root, same_uuid, &stage, &err),
		     KBUNDLE_E_EXISTS);
	cr_assert_eq(kb_test_count_names(root, ""), 1);
	check_text("tmp.6ba7b810-9dad-41d1-80b4-00c04fd430c8/x", "theirs");
}

static void check_modes(mode_t mask, unsigned dir_mode, unsigned file_mode)
{
	mode_t before = umask(mask);
	char dir_name[32], name[32];

	snprintf(dir_name, sizeof(dir_name), "dir-%03o", (unsigned)mask);
	snprintf(name, sizeof(name), "file-%03o", (unsigned)mask);
	open_stage();
	add_entry(1);
	add_file(2, -1, NULL, "x");
	cr_assert_eq(publish(1, true, dir_name), KB_PUBLISH_DONE);
	cr_assert_eq(publish(2, false, name), KB_PUBLISH_DONE);
	close_stage();
	umask(before);
	cr_assert_eq(kb_test_mode(root, name), file_mode);
	cr_assert_eq(kb_test_mode(root, dir_name), dir_mode);
	strcat(dir_name, "/deep");
	cr_assert_eq(kb_test_mode(root, dir_name), dir_mode);
	strcat(dir_name, "/er/add.json");
	cr_assert_eq(kb_test_mode(root, dir_name), file_mode);
}

Test(stage, modes_are_those_of_the_umask)
{
	check_modes(022, 0755, 0644);
	check_modes(002, 0775, 0664);
	check_modes(077, 0700, 0600);
	check_modes(0, 0777, 0666);
}

/* As if mkdir and open had been called in the root itself. */
Test(stage, group_and_setgid_come_from_the_root)
{
	struct stat wanted, got;
	char path[KB_TEST_PATH_MAX];

	kb_test_mkdir(top, "root");
	if (geteuid() == 0)
		cr_assert_eq(chown(root, 0, 12345), 0);
	cr_assert_eq(chmod(root, 02775), 0);
	kb_test_write_text(root, "direct/f", "x");
	check_modes(002, 02775, 0664);
	snprintf(path, sizeof(path), "%.4000s/direct", root);
	cr_assert_eq(stat(path, &wanted), 0);
	snprintf(path, sizeof(path), "%.4000s/dir-002", root);
	cr_assert_eq(stat(path, &got), 0);
	cr_assert_eq(got.st_gid, wanted.st_gid);
	cr_assert_eq(got.st_uid, wanted.st_uid);
	snprintf(path, sizeof(path), "%.4000s/file-002", root);
	cr_assert_eq(stat(path, &got), 0);
	cr_assert_eq(got.st_gid, wanted.st_gid);
}

Test(stage, a_name_may_have_255_bytes_and_no_suffix_is_added)
{
	char name[256], path[300];
	int fd = -1;

	memset(name, 'k', 255);
	name[255] = '\0';
	open_stage();
	cr_assert_eq(kb_stage_dir(stage, 0, &fd, &err), 0);
	add_file(0, fd, name, "x");
	close(fd);
	cr_assert_eq(publish(0, true, name), KB_PUBLISH_DONE);
	close_stage();
	snprintf(path, sizeof(path), "%s", name);
	cr_assert(kb_test_exists(root, path));
	cr_assert_eq(kb_test_count_files(root), 1);
}

Test(stage, refuses_names_that_no_bundle_may_have)
{
	static const char *const names[] = {
		"../x",	    "/x",    "a/../x", "",
		".kbundle", "tmp.x", "a//b",   "a/./b",
	};
	enum kb_publish result;
	int fd = -1, file_fd = -1;

	open_stage();
	cr_assert_eq(kb_stage_dir(stage, 0, &fd, &err), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_assert_eq(
			kb_stage_file(stage, 0, fd, names[i], &file_fd, &err),
			KBUNDLE_E_INVALID, "\"%s\"", names[i]);
		cr_assert_eq(kb_stage_publish(stage, 0, true, names[i], &result,
					      &err),
			     KBUNDLE_E_INVALID, "\"%s\"", names[i]);
	}
	close(fd);
	close_stage();
	cr_assert_eq(kb_test_count_files(top), 0);
}

Test(stage, a_file_is_staged_once)
{
	int fd = -1, file_fd = -1;

	open_stage();
	cr_assert_eq(kb_stage_dir(stage, 0, &fd, &err), 0);
	add_file(0, fd, "a/b", "first");
	cr_assert_eq(kb_stage_file(stage, 0, fd, "a/b", &file_fd, &err),
		     KBUNDLE_E_EXISTS);
	cr_assert(strstr(err.message, "/0/a/b"));
	close(fd);
	close_stage();
}

Test(stage, full_disk_names_the_file_and_what_to_do)
{
	int fd = -1, file_fd = -1;
	char wanted[KB_TEST_PATH_MAX];

	open_stage();
	cr_assert_eq(kb_stage_dir(stage, 3, &fd, &err), 0);
	fail_at(KB_FAULT_BIT(openat), 1, ENOSPC);
	cr_assert_eq(kb_stage_file(stage, 3, fd, "add.cubin", &file_fd, &err),
		     KBUNDLE_E_IO);
	snprintf(wanted, sizeof(wanted),
		 "cannot create %.3000s/3/add.cubin: No space left on device; "
		 "free space or choose another directory",
		 kb_stage_path(stage));
	cr_assert_str_eq(err.message, wanted);
	close(fd);
	close_stage();
}

Test(stage, drop_takes_one_child_only)
{
	open_stage();
	add_entry(1);
	add_entry(2);
	add_file(3, -1, NULL, "x");
	kb_stage_drop(stage, 1);
	kb_stage_drop(stage, 3);
	kb_stage_drop(stage, 4);
	cr_assert_not(kb_test_exists(kb_stage_path(stage), "1"));
	cr_assert_not(kb_test_exists(kb_stage_path(stage), "3"));
	cr_assert_eq(publish(2, true, "key"), KB_PUBLISH_DONE);
	close_stage();
	check_entry("key");
}

Test(stage, sync_all_passes_what_cannot_be_synced)
{
	open_stage();
	fail_at(KB_FAULT_BIT(syncfs), 1, ENOSYS);
	cr_assert_eq(kb_stage_sync_all(stage, &err), 0);
	fail_at(KB_FAULT_BIT(syncfs), 1, EIO);
	cr_assert_eq(kb_stage_sync_all(stage, &err), KBUNDLE_E_IO);
	close_stage();
}

/* ---- publishing directories ---- */

Test(stage, publishes_onto_absent_and_empty_places)
{
	kb_test_mkdir(root, "empty");
	open_stage();
	add_entry(1);
	add_entry(2);
	cr_assert_eq(publish(1, true, "absent"), KB_PUBLISH_DONE);
	cr_assert_eq(publish(2, true, "empty"), KB_PUBLISH_DONE);
	close_stage();
	check_entry("absent");
	check_entry("empty");
}

Test(stage, leaves_a_taken_place_as_it_is)
{
	kb_test_write_text(root, "key/theirs", "x");
	open_stage();
	add_entry(1);
	cr_assert_eq(publish(1, true, "key"), KB_PUBLISH_TAKEN);
	close_stage();
	cr_assert_eq(kb_test_count_files(root), 1);
	check_text("key/theirs", "x");
}

Test(stage, leaves_an_occupied_place_as_it_is)
{
	char why[512], copy[KB_TEST_PATH_MAX];
	static const char *const places[] = {"file", "link", "dangling",
					     "file/below", "link/below"};
	char path[KB_TEST_PATH_MAX];

	kb_test_write_text(root, "file", "x");
	kb_test_mkdir(root, "empty");
	snprintf(path, sizeof(path), "%.4000s/link", root);
	cr_assert_eq(symlink("empty", path), 0);
	snprintf(path, sizeof(path), "%.4000s/dangling", root);
	cr_assert_eq(symlink("nowhere", path), 0);
	snprintf(copy, sizeof(copy), "%.4000s/copy", top);
	kb_test_copy_tree(root, copy);
	open_stage();
	for (uint64_t i = 0; i < 5; i++) {
		add_entry(i);
		cr_assert_eq(publish(i, true, places[i]), KB_PUBLISH_OCCUPIED,
			     "%s", places[i]);
	}
	close_stage();
	cr_assert(kb_test_tree_equal(copy, root, why), "%s", why);
}

Test(stage, a_mount_point_is_occupied)
{
	kb_test_mkdir(root, "mount");
	open_stage();
	add_entry(1);
	fail_at(KB_FAULT_BIT(renameat), 1, EBUSY);
	cr_assert_eq(publish(1, true, "mount"), KB_PUBLISH_OCCUPIED);
	close_stage();
}

Test(stage, another_file_system_is_told_as_such)
{
	enum kb_publish result;

	open_stage();
	add_entry(1);
	fail_at(KB_FAULT_BIT(renameat), 1, EXDEV);
	cr_assert_eq(kb_stage_publish(stage, 1, true, "key", &result, &err),
		     KBUNDLE_E_IO);
	cr_assert(strstr(err.message, "root/key"));
	cr_assert(strstr(err.message, "another file system"));
	close_stage();
	cr_assert_not(kb_test_exists(root, "key"));
}

Test(stage, makes_the_parents_of_a_deep_entry)
{
	kb_test_write_text(root, "a/theirs", "x");
	open_stage();
	add_entry(1);
	add_entry(2);
	cr_assert_eq(publish(1, true, "a/b/c"), KB_PUBLISH_DONE);
	cr_assert_eq(publish(2, true, "a/b/d"), KB_PUBLISH_DONE);
	cr_assert_eq(kb_stage_finish(stage, true, &err), 0);
	close_stage();
	check_entry("a/b/c");
	check_entry("a/b/d");
	check_text("a/theirs", "x");
	cr_assert_eq(kb_test_mode(root, "a/b"), kb_test_mode(root, "a"));
}

Test(stage, takes_back_the_parents_of_what_was_not_published)
{
	enum kb_publish result;

	kb_test_mkdir(root, "a");
	open_stage();
	add_entry(1);
	fail_at(KB_FAULT_BIT(renameat), 1, EACCES);
	cr_assert_eq(kb_stage_publish(stage, 1, true, "a/b/c/d", &result, &err),
		     KBUNDLE_E_IO);
	cr_assert_not(kb_test_exists(root, "a/b"));
	cr_assert(kb_test_exists(root, "a"), "it was there before");
	fail_at(KB_FAULT_BIT(mkdirat), 3, ENOSPC);
	cr_assert_eq(kb_stage_publish(stage, 1, true, "a/b/c/d", &result, &err),
		     KBUNDLE_E_IO);
	cr_assert_not(kb_test_exists(root, "a/b"));
	close_stage();
}

/* ---- publishing files ---- */

Test(stage, publishes_a_file_onto_an_absent_place_only)
{
	char path[KB_TEST_PATH_MAX];
	struct stat st;

	kb_test_write_text(root, "theirs", "theirs");
	kb_test_mkdir(root, "empty");
	snprintf(path, sizeof(path), "%.4000s/link", root);
	cr_assert_eq(symlink("nowhere", path), 0);
	open_stage();
	add_file(1, -1, NULL, "ours");
	cr_assert_eq(publish(1, false, "theirs"), KB_PUBLISH_TAKEN);
	cr_assert_eq(publish(1, false, "empty"), KB_PUBLISH_OCCUPIED);
	cr_assert_eq(publish(1, false, "link"), KB_PUBLISH_OCCUPIED);
	cr_assert_eq(publish(1, false, "theirs/x"), KB_PUBLISH_OCCUPIED);
	cr_assert_eq(publish(1, false, "a/b/ours"), KB_PUBLISH_DONE);
	snprintf(path, sizeof(path), "%.4000s/a/b/ours", root);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_nlink, 1, "a second link lives on in the staging");
	close_stage();
	check_text("theirs", "theirs");
	check_text("a/b/ours", "ours");
	cr_assert_not(kb_test_exists(root, "nowhere"));
}

Test(stage, publishes_a_file_where_there_are_no_hard_links)
{
	static const int reasons[] = {EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV};
	char name[32];

	kb_test_write_text(root, "theirs", "theirs");
	open_stage();
	for (uint64_t i = 0; i < 5; i++) {
		add_file(i, -1, NULL, "ours");
		fail_at(KB_FAULT_BIT(linkat), 1, reasons[i]);
		cr_assert_eq(publish(i, false, "theirs"), KB_PUBLISH_TAKEN);
		snprintf(name, sizeof(name), "ours-%d", reasons[i]);
		fail_at(KB_FAULT_BIT(linkat), 1, reasons[i]);
		cr_assert_eq(publish(i, false, name), KB_PUBLISH_DONE);
		check_text(name, "ours");
	}
	close_stage();
	check_text("theirs", "theirs");
}

static int no_link(int from_fd, const char *from, int to_fd, const char *to,
		   int flags)
{
	(void)from_fd;
	(void)from;
	(void)to_fd;
	(void)to;
	(void)flags;
	errno = EPERM;
	return -1;
}

Test(stage, says_where_a_file_cannot_be_published_at_all)
{
	struct kb_fs fs = kb_fault_fs;
	enum kb_publish result;

	fs.linkat = no_link;
	ctx.fs = &fs;
	open_stage();
	add_file(1, -1, NULL, "ours");
	fail_at(KB_FAULT_BIT(renameat2), 1, EINVAL);
	cr_assert_eq(kb_stage_publish(stage, 1, false, "ours", &result, &err),
		     KBUNDLE_E_UNSUPPORTED);
	cr_assert(strstr(err.message, "choose another directory"));
	fail_at(KB_FAULT_BIT(renameat2), 1, EIO);
	cr_assert_eq(kb_stage_publish(stage, 1, false, "ours", &result, &err),
		     KBUNDLE_E_IO);
	close_stage();
	cr_assert_not(kb_test_exists(root, "ours"));
}

/* NFS: the server did it, the answer was lost, the retry says EEXIST. */
static int link_loses_its_answer(int from_fd, const char *from, int to_fd,
				 const char *to, int flags)
{
	cr_assert_eq(linkat(from_fd, from, to_fd, to, flags), 0);
	errno = EEXIST;
	return -1;
}

Test(stage, knows_its_own_file_when_the_answer_was_lost)
{
	struct kb_fs fs = kb_fault_fs;

	fs.linkat = link_loses_its_answer;
	ctx.fs = &fs;
	open_stage();
	add_file(1, -1, NULL, "ours");
	cr_assert_eq(publish(1, false, "ours"), KB_PUBLISH_DONE);
	close_stage();
	check_text("ours", "ours");
}

/* ---- the end ---- */

static void note_sync(void *data, uint64_t number, enum kb_fault_op op, int fd,
		      const char *path)
{
	char link[64], *order = data;
	char target[KB_TEST_PATH_MAX] = "";

	(void)number;
	(void)op;
	(void)path;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	cr_assert_gt(readlink(link, target, sizeof(target) - 1), 0);
	strcat(order, target + strlen(top));
	strcat(order, " ");
}

Test(stage, finish_syncs_every_directory_that_got_a_name)
{
	char order[2048] = "";
	struct kb_fault_plan plan = {.ops = KB_FAULT_BIT(fsync),
				     .hook = note_sync,
				     .hook_data = order};

	strcat(root, "/r");
	open_stage();
	add_entry(1);
	add_entry(2);
	add_file(3, -1, NULL, "x");
	cr_assert_eq(publish(1, true, "a/b/c"), KB_PUBLISH_DONE);
	cr_assert_eq(publish(2, true, "a/b/d"), KB_PUBLISH_DONE);
	cr_assert_eq(publish(3, false, "e/f"), KB_PUBLISH_DONE);
	kb_fault_start(&plan);
	cr_assert_eq(kb_stage_finish(stage, false, &err), 0);
	cr_assert_str_eq(order, "", "it was told not to");
	cr_assert_eq(kb_stage_finish(stage, true, &err), 0);
	cr_assert_str_eq(order, "/root/r/a /root/r/a/b /root/r/e /root/r "
				"/root  ");
	close_stage();
}

Test(stage, finish_fails_where_the_disk_does)
{
	open_stage();
	add_entry(1);
	cr_assert_eq(publish(1, true, "key"), KB_PUBLISH_DONE);
	fail_at(KB_FAULT_BIT(fsync), 1, EINVAL);
	cr_assert_eq(kb_stage_finish(stage, true, &err), 0);
	fail_at(KB_FAULT_BIT(fsync), 1, EIO);
	cr_assert_eq(kb_stage_finish(stage, true, &err), KBUNDLE_E_IO);
	close_stage();
	check_entry("key");
}

Test(stage, a_cleanup_that_fails_is_a_warning)
{
	open_stage();
	add_entry(1);
	cr_assert_eq(publish(1, true, "key"), KB_PUBLISH_DONE);
	cr_assert_eq(kb_stage_finish(stage, true, &err), 0);
	/* The mark goes first, then the directory. */
	fail_at(KB_FAULT_BIT(unlinkat), 2, EBUSY);
	errno = EDOM;
	kb_stage_close(stage);
	cr_assert_eq(errno, EDOM);
	cr_assert_eq(strncmp(logged, "1 cannot remove the staging", 27), 0);
	check_entry("key");
	cr_assert_eq(kb_test_count_names(root, "tmp."), 1);

	/* The next run sees to it. */
	open_stage();
	close_stage();
	check_entry("key");
	kb_stage_close(NULL);
}

/* ---- several runs at once ---- */

#define RACERS 4
#define RACE_ROUNDS 30
#define RACE_KEYS 3

/* One process: publishes the same keys as all others. Exit code 0: each place
 * got an entry, by whomever. */
static void race(int start_fd)
{
	enum kb_publish result;
	char go, key[16];

	if (read(start_fd, &go, 1) != 0)
		_exit(2);
	if (kb_stage_open(&ctx, root, kb_uuid4, &stage, &err) < 0)
		_exit(3);
	for (uint64_t i = 0; i < RACE_KEYS; i++) {
		snprintf(key, sizeof(key), "key-%d", (int)i);
		add_entry(i);
		if (kb_stage_publish(stage, i, true, key, &result, &err) < 0)
			_exit(4);
		if (result == KB_PUBLISH_OCCUPIED)
			_exit(5);
	}
	if (kb_stage_finish(stage, true, &err) < 0)
		_exit(6);
	kb_stage_close(stage);
	if (logged[0]) /* no run died */
		fputs(logged, stderr);
	_exit(logged[0] ? 7 : 0);
}

static void race_once(void)
{
	int start[2];
	pid_t pids[RACERS];

	cr_assert_eq(pipe2(start, O_CLOEXEC), 0);
	for (int i = 0; i < RACERS; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (pids[i] == 0) {
			close(start[1]);
			race(start[0]);
		}
	}
	/* All at once: the end of the pipe is the starting shot. */
	close(start[0]);
	close(start[1]);
	for (int i = 0; i < RACERS; i++) {
		int status;

		cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0,
			  "status %#x", (unsigned)status);
	}
}

Test(stage, racing_runs_all_succeed_and_leave_nothing, .timeout = 120)
{
	for (int round = 0; round < RACE_ROUNDS; round++) {
		kb_test_remove(root);
		race_once();
		cr_assert_eq(kb_test_count_names(root, ""), RACE_KEYS);
		check_entry("key-0");
		check_entry("key-1");
		check_entry("key-2");
	}
}
