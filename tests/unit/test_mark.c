/* SPDX-License-Identifier: Apache-2.0 */
/* Which staging directories a run removes when it opens its own, and which it
 * never touches. */
#include "../../src/dep/uuid.h"
#include "../../src/sys/stage.h"
#include "../lib/fault_fs.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define NAME "tmp.6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define DAY_S (24 * 60 * 60)

static char root[KB_TEST_PATH_MAX];
static char dir[KB_TEST_PATH_MAX]; /* <root>/NAME */
static struct kb_ctx ctx;
static struct kb_fs fs;
static struct kbundle_error err;
static char magic_and_boot[128];
static char logged[4096];

static long fs_type;

static int fstatfs_of_type(int fd, struct statfs *st)
{
	int r = kb_fs_real.fstatfs(fd, st);

	st->f_type = fs_type;
	return r;
}

static void on_log(void *data, int level, const char *line)
{
	(void)data;
	snprintf(logged + strlen(logged), sizeof(logged) - strlen(logged),
		 "%d %s\n", level, line);
}

static void begin(void)
{
	struct kbundle_env env = KBUNDLE_ENV_INIT;
	char *boot = kb_test_read("/proc/sys/kernel/random", "boot_id", NULL);

	kb_test_tmpdir(root);
	snprintf(dir, sizeof(dir), "%.4000s/" NAME, root);
	env.log = on_log;
	kb_fault_start(NULL);
	/* Whatever $TMPDIR lies on, these tests are about a local disk. */
	fs = kb_fault_fs;
	fs.fstatfs = fstatfs_of_type;
	fs_type = EXT4_SUPER_MAGIC;
	cr_assert_eq(kb_ctx_init(&ctx, &env, &fs, NULL), 0);
	cr_assert_not_null(boot);
	snprintf(magic_and_boot, sizeof(magic_and_boot),
		 "kbundle staging 1\n%s", boot);
	free(boot);
}

static void end(void)
{
	kb_ctx_release(&ctx);
	kb_test_remove(root);
}

TestSuite(mark, .init = begin, .fini = end);

/* Another run's staging: its mark holds text (NULL: there is none). */
static void make_staging(mode_t mode, const char *text, const char *file)
{
	cr_assert_eq(mkdir(dir, mode), 0);
	cr_assert_eq(chmod(dir, mode), 0);
	if (text)
		kb_test_write_text(dir, ".kbundle", text);
	if (file)
		kb_test_write_text(dir, file, "staged");
}

static void set_age(const char *path, time_t seconds)
{
	struct timespec now, times[2];

	cr_assert_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
	times[0] = times[1] = now;
	times[1].tv_sec -= seconds;
	cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void make_old(time_t seconds)
{
	char mark[KB_TEST_PATH_MAX];

	snprintf(mark, sizeof(mark), "%.4000s/.kbundle", dir);
	set_age(mark, seconds);
	set_age(dir, seconds);
}

static void run_once(void)
{
	struct kb_stage *stage = NULL;
	int r = kb_stage_open(&ctx, root, kb_uuid4, &stage, &err);

	cr_assert_eq(r, 0, "%s", err.message);
	kb_stage_close(stage);
}

static void check_removed(void)
{
	run_once();
	cr_assert_not(kb_test_exists(root, NAME));
	cr_assert(strstr(logged, "2 removed the staging directory"), "%s",
		  logged);
	cr_assert(strstr(logged, NAME));
}

static void check_kept(void)
{
	char copy[KB_TEST_PATH_MAX], why[512];

	kb_test_tmpdir(copy);
	kb_test_remove(copy);
	kb_test_copy_tree(root, copy);
	run_once();
	cr_assert(kb_test_tree_equal(copy, root, why), "%s", why);
	kb_test_remove(copy);
}

Test(mark, a_dead_run_is_cleaned_up)
{
	make_staging(01700, magic_and_boot, "3/deep/er/add.cubin");
	kb_test_write_text(root, "outside/kept", "x");
	cr_assert_eq(symlink("../outside", strcat(dir, "/link")), 0);
	check_removed();
	cr_assert(kb_test_exists(root, "outside/kept"));
}

Test(mark, a_living_run_is_left_alone)
{
	struct kb_stage *theirs = NULL;
	const char *name;
	int fd = -1;

	cr_assert_eq(kb_stage_open(&ctx, root, kb_uuid4, &theirs, &err), 0);
	cr_assert_eq(kb_stage_dir(theirs, 1, &fd, &err), 0);
	close(fd);
	run_once();
	name = kb_stage_path(theirs);
	cr_assert(kb_test_exists(name, "1"));
	cr_assert(kb_test_exists(name, ".kbundle"));
	cr_assert_str_empty(logged);
	kb_stage_close(theirs);
	cr_assert_eq(kb_test_count_names(root, ""), 0);
}

Test(mark, the_lock_says_it_even_of_an_old_one)
{
	char mark[KB_TEST_PATH_MAX];
	int fd;

	make_staging(01700, magic_and_boot, "1/f");
	snprintf(mark, sizeof(mark), "%.4000s/.kbundle", dir);
	fd = open(mark, O_RDWR | O_CLOEXEC);
	cr_assert_eq(flock(fd, LOCK_EX), 0);
	make_old(100 * DAY_S);
	check_kept();
	close(fd);
	check_removed();
}

Test(mark, what_has_no_mark_is_nobodys)
{
	/* As TritonBundler and Inductor stage. */
	make_staging(0755, NULL, "key/k.cubin");
	set_age(dir, 100 * DAY_S);
	check_kept();
}

Test(mark, a_mark_without_the_magic_is_nobodys)
{
	make_staging(01700, "someone else's file\n", "1/f");
	make_old(100 * DAY_S);
	check_kept();
}

Test(mark, a_mark_that_is_no_file_is_nobodys)
{
	char mark[KB_TEST_PATH_MAX];

	make_staging(01700, NULL, "1/f");
	snprintf(mark, sizeof(mark), "%.4000s/.kbundle", dir);
	kb_test_write_text(root, "real", magic_and_boot);
	cr_assert_eq(symlink("../real", mark), 0);
	check_kept();
	cr_assert_eq(unlink(mark), 0);
	cr_assert_eq(mkfifo(mark, 0600), 0);
	run_once();
	cr_assert(kb_test_exists(dir, ".kbundle"));
	cr_assert(kb_test_exists(dir, "1/f"));
}

Test(mark, another_boot_says_nothing_until_a_day_is_over)
{
	make_staging(01700,
		     "kbundle staging 1\n"
		     "00000000-0000-4000-8000-000000000000\n",
		     "1/f");
	check_kept();
	make_old(DAY_S - 60);
	check_kept();
	make_old(DAY_S + 60);
	check_removed();
}

Test(mark, a_mark_without_a_boot_id_needs_a_day)
{
	make_staging(01700, "kbundle staging 1\n\n", "1/f");
	check_kept();
	make_old(DAY_S + 60);
	check_removed();
}

Test(mark, locks_of_a_network_file_system_need_a_day)
{
	make_staging(01700, magic_and_boot, "1/f");
	fs_type = NFS_SUPER_MAGIC;
	check_kept();
	fs_type = 0x65735546; /* FUSE */
	check_kept();
	make_old(DAY_S + 60);
	check_removed();
}

Test(mark, either_time_stamp_keeps_it_young)
{
	make_staging(01700, magic_and_boot, "1/f");
	fs_type = NFS_SUPER_MAGIC;
	make_old(DAY_S + 60);
	set_age(dir, 60);
	check_kept();
}

Test(mark, an_empty_one_made_as_we_make_them_goes)
{
	make_staging(01700, NULL, NULL);
	run_once();
	cr_assert_not(kb_test_exists(root, NAME));
}

Test(mark, an_empty_one_made_otherwise_stays)
{
	make_staging(0700, NULL, NULL);
	check_kept();
	cr_assert_eq(chmod(dir, 01755), 0);
	check_kept();
}

Test(mark, an_empty_one_of_another_user_stays)
{
	if (geteuid() != 0)
		cr_skip_test("only root can make a directory of another user");
	make_staging(01700, NULL, NULL);
	cr_assert_eq(chown(dir, 12345, 12345), 0);
	check_kept();
}

Test(mark, an_empty_mark_alone_is_as_good_as_none)
{
	make_staging(01700, "", NULL);
	run_once();
	cr_assert_not(kb_test_exists(root, NAME));
	cr_assert_str_empty(logged, "it may have been a living run's");
	make_staging(01700, "", NULL);
	fs_type = NFS_SUPER_MAGIC;
	check_kept();
	make_old(DAY_S + 60);
	run_once();
	cr_assert_not(kb_test_exists(root, NAME));
}

Test(mark, an_empty_mark_with_company_is_nobodys)
{
	make_staging(01700, "", "1/f");
	make_old(100 * DAY_S);
	check_kept();
	kb_test_remove(dir);
	make_staging(0755, "", NULL);
	make_old(100 * DAY_S);
	check_kept();
}

Test(mark, only_directories_named_as_ours_are_looked_at)
{
	static const char *const names[] = {
		"tmp.6ba7b810-9dad-11d1-80b4-00c04fd430c8",  /* version 1 */
		"tmp.6ba7b810-9dad-41d1-c0b4-00c04fd430c8",  /* variant */
		"tmp.6ba7b810-9dad-41d1-80b4-00c04fd430c",   /* short */
		"tmp.6ba7b810-9dad-41d1-80b4-00c04fd430c8x", /* long */
		"tmp.6BA7B810-9DAD-41D1-80B4-00C04FD430C8",
		"tmp.6ba7b810x9dadx41d1x80b4x00c04fd430c8",
		"tmp.pid_7_6ba7b810-9dad-41d1-80b4-00c04fd430c8",
		"tmp.",
		"6ba7b810-9dad-41d1-80b4-00c04fd430c8",
	};
	char path[KB_TEST_PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/.kbundle", names[i]);
		kb_test_write_text(root, path, magic_and_boot);
		snprintf(path, sizeof(path), "%.3000s/%s", root, names[i]);
		cr_assert_eq(chmod(path, 01700), 0);
	}
	kb_test_write_text(root, "tmp.00000000-0000-4000-8000-000000000000",
			   "a file");
	check_kept();
}

Test(mark, no_symlink_is_followed_to_one)
{
	char outside[KB_TEST_PATH_MAX];

	kb_test_tmpdir(outside);
	kb_test_write_text(outside, ".kbundle", magic_and_boot);
	kb_test_write_text(outside, "1/f", "x");
	cr_assert_eq(chmod(outside, 01700), 0);
	cr_assert_eq(symlink(outside, dir), 0);
	check_kept();
	cr_assert_eq(kb_test_count_files(outside), 2);
	kb_test_remove(outside);
}

Test(mark, what_cannot_be_removed_keeps_its_mark_and_is_told)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(unlinkat), .at = 1, .sys_errno = EBUSY};

	make_staging(01700, magic_and_boot, "1/f");
	kb_fault_start(&plan);
	run_once();
	cr_assert(strstr(logged, "2 cannot remove the abandoned"), "%s",
		  logged);
	cr_assert(kb_test_exists(dir, "1/f"));
	cr_assert(kb_test_exists(dir, ".kbundle"), "nobody may remove it now");
	kb_fault_start(NULL);
	check_removed();
}

Test(mark, a_root_that_cannot_be_listed_is_told)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(getdents), .at = 1, .sys_errno = EIO};

	make_staging(01700, magic_and_boot, "1/f");
	kb_fault_start(&plan);
	run_once();
	cr_assert(strstr(logged, "2 did not look for abandoned staging"), "%s",
		  logged);
	cr_assert(kb_test_exists(dir, "1/f"));
}

/* ---- a run whose fresh directory is taken away ---- */

/* Another run, which sweeps at the worst moment. */
struct thief {
	enum kb_fault_op op; /* openat: the directory is made and not opened;
			      * flock: its mark is made and not locked */
	unsigned hits;
	bool keep_lock;
	int lock_fd;
};

static void sweep_of_another_run(const char *name)
{
	cr_assert(unlinkat(AT_FDCWD, name, AT_REMOVEDIR) == 0 ||
		  errno == ENOENT);
}

static void steal(void *data, uint64_t number, enum kb_fault_op op, int fd,
		  const char *path)
{
	struct thief *thief = data;
	char link[64], name[KB_TEST_PATH_MAX] = "";
	char mark[KB_TEST_PATH_MAX] = "";

	(void)number;
	if (thief->hits > 0 || op != thief->op)
		return;
	if (op == KB_FAULT_openat && strncmp(path, "tmp.", 4) == 0) {
		thief->hits++;
		snprintf(name, sizeof(name), "%.3000s/%s", root, path);
		sweep_of_another_run(name);
	} else if (op == KB_FAULT_flock) {
		thief->hits++;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		cr_assert_gt(readlink(link, mark, sizeof(mark) - 1), 0);
		memcpy(name, mark, sizeof(name));
		*strrchr(name, '/') = '\0';
		if (thief->keep_lock) {
			thief->lock_fd = open(mark, O_RDWR | O_CLOEXEC);
			cr_assert_eq(flock(thief->lock_fd, LOCK_EX), 0);
		}
		cr_assert_eq(unlink(mark), 0);
		sweep_of_another_run(name);
	}
}

static void check_stolen(struct thief *thief)
{
	struct kb_fault_plan plan = {.hook = steal, .hook_data = thief};
	struct kb_stage *stage = NULL;
	int fd = -1;

	kb_fault_start(&plan);
	cr_assert_eq(kb_stage_open(&ctx, root, kb_uuid4, &stage, &err), 0, "%s",
		     err.message);
	cr_assert_eq(thief->hits, 1);
	cr_assert(kb_test_exists(kb_stage_path(stage), ".kbundle"));
	cr_assert_eq(kb_stage_dir(stage, 0, &fd, &err), 0);
	close(fd);
	kb_stage_close(stage);
	cr_assert_eq(kb_test_count_names(root, ""), 0);
}

Test(mark, a_run_that_loses_its_directory_makes_another)
{
	struct thief thief = {.op = KB_FAULT_openat};

	check_stolen(&thief);
}

Test(mark, a_run_that_loses_its_mark_makes_another)
{
	struct thief thief = {.op = KB_FAULT_flock};
	struct thief locker = {.op = KB_FAULT_flock, .keep_lock = true};

	check_stolen(&thief);
	check_stolen(&locker);
	close(locker.lock_fd);
}

Test(mark, a_run_goes_on_where_nothing_can_be_locked)
{
	struct kb_fault_plan plan = {.ops = KB_FAULT_BIT(flock),
				     .at = 1,
				     .sys_errno = ENOLCK,
				     .mode = KB_FAULT_FROM};

	make_staging(01700, magic_and_boot, "1/f");
	make_old(100 * DAY_S);
	kb_fault_start(&plan);
	check_kept();
}
