/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole run of staging and publishing, once for each of its system calls,
 * with that call failing: by itself, with all that follow, or as if the process
 * had been killed there. After each run an entry is there whole or not at all,
 * nothing else in the root changed, no descriptor leaked, and one clean run
 * later no staging is left.
 */
#include "../../src/dep/uuid.h"
#include "../../src/sys/io.h"
#include "../../src/sys/stage.h"
#include "../lib/fault_fs.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As TritonBundler stages: a UUID of version 4, no mark. */
#define FOREIGN "tmp.6ba7b810-9dad-41d1-80b4-00c04fd430c8"
/* Directories that the run publishes into besides the root. */
#define PARENT "made"

static const struct {
	const char *path;
	bool is_dir;
} entries[] = {
	{"key-absent", true},
	{"key-empty", true},
	{PARENT "/by/us", true},
	{"file.cubin", false},
};
#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))
/* Number of a child that stays in the staging, as where its place is taken. */
#define NOT_PUBLISHED 99

static char top[KB_TEST_PATH_MAX];
static char root[KB_TEST_PATH_MAX];
static char wanted[KB_TEST_PATH_MAX]; /* what published entries look like */
static char others[KB_TEST_PATH_MAX]; /* the root as it was */
static struct kb_ctx ctx;
static struct kb_fs fs;
static bool root_is_new;

/* Whatever $TMPDIR lies on: the sweep of dead runs trusts local locks. */
static int fstatfs_local(int fd, struct statfs *st)
{
	int r = kb_fault_fs.fstatfs(fd, st);

	st->f_type = EXT4_SUPER_MAGIC;
	return r;
}

static void make_entry(const char *dir, const char *path, bool is_dir)
{
	char name[256];

	if (!is_dir) {
		kb_test_write_text(dir, path, "one file");
		return;
	}
	snprintf(name, sizeof(name), "%s/add.cubin", path);
	kb_test_write_text(dir, name, "cubin");
	snprintf(name, sizeof(name), "%s/deep/add.json", path);
	kb_test_write_text(dir, name, "json");
}

static void begin(void)
{
	kb_test_tmpdir(top);
	snprintf(wanted, sizeof(wanted), "%.3000s/wanted", top);
	snprintf(others, sizeof(others), "%.3000s/others", top);
	for (size_t i = 0; i < N_ENTRIES; i++)
		make_entry(wanted, entries[i].path, entries[i].is_dir);
	kb_test_write_text(others, "theirs/k.cubin", "theirs");
	kb_test_write_text(others, FOREIGN "/k.cubin", "theirs");
	kb_test_mkdir(others, "key-empty");
	kb_test_mkdir(others, "nothing-of-ours");
	fs = kb_fault_fs;
	fs.fstatfs = fstatfs_local;
	kb_fault_start(NULL);
	cr_assert_eq(kb_ctx_init(&ctx, NULL, &fs, NULL), 0);
}

static void end(void)
{
	kb_ctx_release(&ctx);
	kb_test_remove(top);
}

TestSuite(fault_stage, .init = begin, .fini = end, .timeout = 300);

/* ---- the run ---- */

static int put_file(struct kb_stage *stage, uint64_t number, int dir_fd,
		    const char *name, const char *text,
		    struct kbundle_error *err)
{
	KB_AUTO_FD int fd = -1;
	int r = kb_stage_file(stage, number, dir_fd, name, &fd, err);

	if (r < 0)
		return r;
	r = kb_write(&ctx, fd, text, strlen(text), "file", err);
	if (r < 0)
		return r;
	r = kb_sync(&ctx, fd, "file", err);
	if (r < 0)
		return r;
	return kb_close_written(&ctx, &fd, "file", err);
}

static int put_entry(struct kb_stage *stage, uint64_t number, bool is_dir,
		     struct kbundle_error *err)
{
	KB_AUTO_FD int dir_fd = -1;
	int r;

	if (!is_dir)
		return put_file(stage, number, -1, NULL, "one file", err);
	r = kb_stage_dir(stage, number, &dir_fd, err);
	if (r < 0)
		return r;
	r = put_file(stage, number, dir_fd, "add.cubin", "cubin", err);
	if (r < 0)
		return r;
	r = put_file(stage, number, dir_fd, "deep/add.json", "json", err);
	if (r < 0)
		return r;
	return kb_stage_sync_dir(stage, dir_fd, err);
}

/* As unpack does it: everything is staged and flushed before the first entry
 * is published. *ret_staged: that point was reached. */
static int run(bool *ret_staged, struct kbundle_error *err)
{
	KB_AUTO(kb_stage_close) struct kb_stage *stage = NULL;
	int r = kb_stage_open(&ctx, root, kb_uuid4, &stage, err);

	*ret_staged = false;
	for (size_t i = 0; r == 0 && i < N_ENTRIES; i++)
		r = put_entry(stage, i, entries[i].is_dir, err);
	if (r == 0)
		r = put_entry(stage, NOT_PUBLISHED, true, err);
	if (r == 0)
		r = kb_stage_sync_all(stage, err);
	if (r < 0)
		return r;
	*ret_staged = true;
	for (size_t i = 0; r == 0 && i < N_ENTRIES; i++) {
		enum kb_publish result;

		r = kb_stage_publish(stage, i, entries[i].is_dir,
				     entries[i].path, &result, err);
	}
	return r < 0 ? r : kb_stage_finish(stage, true, err);
}

/* ---- what must hold after it ---- */

static size_t open_descriptors(void)
{
	return kb_test_count_names("/proc/self/fd", "");
}

static bool is_published(const char *path)
{
	char place[KB_TEST_PATH_MAX], model[KB_TEST_PATH_MAX], why[512];
	struct stat st;

	snprintf(place, sizeof(place), "%.3000s/%s", root, path);
	snprintf(model, sizeof(model), "%.3000s/%s", wanted, path);
	/* An empty directory is what was there before. */
	if (lstat(place, &st) < 0 ||
	    (S_ISDIR(st.st_mode) && kb_test_count_names(place, "") == 0))
		return false;
	cr_assert(kb_test_tree_equal(model, place, why),
		  "half an entry: %s (%s failed)", why, kb_fault_hit_name());
	return true;
}

/* No staging stayed. Takes the entries out, and the parent made for one, and
 * compares the rest with what was there before. */
static void check_others(void)
{
	char path[KB_TEST_PATH_MAX], why[512];
	DIR *dir = opendir(root);
	const struct dirent *name;

	if (!dir) {
		cr_assert(root_is_new && errno == ENOENT);
		return;
	}
	while ((name = readdir(dir))) {
		bool ours = strncmp(name->d_name, "tmp.", 4) == 0 &&
			    strcmp(name->d_name, FOREIGN) != 0;

		cr_assert_not(ours, "%s stayed (%s failed)", name->d_name,
			      kb_fault_hit_name());
		for (size_t i = 0; i < N_ENTRIES; i++)
			ours = ours ||
			       strcmp(name->d_name, entries[i].path) == 0;
		if (!ours && strcmp(name->d_name, PARENT) != 0)
			continue;
		snprintf(path, sizeof(path), "%.3000s/%s", root, name->d_name);
		kb_test_remove(path);
	}
	closedir(dir);
	if (root_is_new) {
		cr_assert_eq(kb_test_count_names(root, ""), 0);
		return;
	}
	kb_test_mkdir(root, "key-empty");
	cr_assert(kb_test_tree_equal(others, root, why), "%s (%s failed)", why,
		  kb_fault_hit_name());
}

static void make_root(void)
{
	snprintf(root, sizeof(root), "%.3000s/root", top);
	kb_test_remove(root);
	if (root_is_new)
		strcat(root, "/deep/down");
	else
		kb_test_copy_tree(others, root);
}

/* Opens and closes a stage with a disk that works again. */
static void run_cleanly(void)
{
	struct kb_stage *stage = NULL;
	struct kbundle_error err;

	kb_fault_start(NULL);
	cr_assert_eq(kb_stage_open(&ctx, root, kb_uuid4, &stage, &err), 0, "%s",
		     err.message);
	kb_stage_close(stage);
}

static void check_outcome(const struct kb_fault_plan *plan, int r, bool staged,
			  const struct kbundle_error *err)
{
	size_t published = 0;

	for (size_t i = 0; i < N_ENTRIES; i++)
		if (is_published(entries[i].path))
			published++;
	cr_assert(root_is_new || kb_test_exists(root, "key-empty"));
	if (r < 0) {
		cr_assert_eq(err->code, r);
		cr_assert_neq(err->message[0], '\0');
	} else {
		cr_assert_eq(published, N_ENTRIES, "it said that all is well");
	}
	cr_assert(staged || published == 0, "published before all was staged");
	/* A killed run takes nothing back. */
	if (plan->mode == KB_FAULT_ONCE && !staged && root_is_new &&
	    strcmp(kb_fault_hit_name(), "unlinkat") != 0)
		cr_assert_not(kb_test_exists(root, ""),
			      "the root stayed (%s %d failed)",
			      kb_fault_hit_name(), (int)plan->at);
}

static void sweep(struct kb_fault_plan plan)
{
	bool hit = true;

	for (plan.at = 1; hit; plan.at++) {
		struct kbundle_error err = {0};
		size_t before = open_descriptors();
		bool staged;
		int r;

		make_root();
		kb_fault_start(&plan);
		r = run(&staged, &err);
		hit = kb_fault_was_hit();
		cr_assert_eq(open_descriptors(), before, "%s leaks",
			     kb_fault_hit_name());
		cr_assert(hit || r == 0, "%s", err.message);
		check_outcome(&plan, r, staged, &err);
		run_cleanly();
		check_others();
	}
	/* The sweep was over a run of the size that it is meant to be. */
	cr_assert_gt(plan.at, 80);
}

static void sweep_both_roots(int sys_errno, enum kb_fault_mode mode)
{
	struct kb_fault_plan plan = {.sys_errno = sys_errno, .mode = mode};

	root_is_new = false;
	sweep(plan);
	root_is_new = true;
	sweep(plan);
}

Test(fault_stage, one_call_finds_the_disk_full)
{
	sweep_both_roots(ENOSPC, KB_FAULT_ONCE);
}

Test(fault_stage, one_call_fails)
{
	sweep_both_roots(EIO, KB_FAULT_ONCE);
}

Test(fault_stage, one_call_does_not_find_what_was_there)
{
	sweep_both_roots(ENOENT, KB_FAULT_ONCE);
}

Test(fault_stage, the_disk_is_full_from_some_call_on)
{
	sweep_both_roots(ENOSPC, KB_FAULT_FROM);
}

Test(fault_stage, the_disk_fails_from_some_call_on)
{
	sweep_both_roots(EIO, KB_FAULT_FROM);
}

Test(fault_stage, the_process_is_killed_at_some_call)
{
	sweep_both_roots(EIO, KB_FAULT_FREEZE);
}

/* Interrupts are no failures: whatever they hit, all is published. */
Test(fault_stage, calls_that_block_are_interrupted)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(openat) | KB_FAULT_BIT(read) |
		       KB_FAULT_BIT(pread) | KB_FAULT_BIT(write) |
		       KB_FAULT_BIT(getdents) | KB_FAULT_BIT(fsync) |
		       KB_FAULT_BIT(syncfs) | KB_FAULT_BIT(flock) |
		       KB_FAULT_BIT(close),
		.sys_errno = EINTR,
	};
	bool hit = true;

	for (plan.at = 1; hit; plan.at++) {
		struct kbundle_error err = {0};
		bool staged;

		make_root();
		kb_fault_start(&plan);
		cr_assert_eq(run(&staged, &err), 0, "%s: %s",
			     kb_fault_hit_name(), err.message);
		hit = kb_fault_was_hit();
		check_outcome(&plan, 0, staged, &err);
		check_others();
	}
	cr_assert_gt(plan.at, 40);
}

/* The disk is full for what makes something, and for nothing else: then the
 * run itself must take everything back. */
Test(fault_stage, a_full_disk_leaves_nothing_behind)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(mkdirat) | KB_FAULT_BIT(write) |
		       KB_FAULT_BIT(renameat) | KB_FAULT_BIT(linkat),
		.sys_errno = ENOSPC,
		.mode = KB_FAULT_FROM,
	};
	bool hit = true;

	for (plan.at = 1; hit; plan.at++) {
		struct kbundle_error err = {0};
		bool staged;
		int r;

		make_root();
		kb_fault_start(&plan);
		r = run(&staged, &err);
		hit = kb_fault_was_hit();
		cr_assert_eq(r, hit ? KBUNDLE_E_IO : 0);
		cr_assert(!hit || strstr(err.message, "free space"), "%s",
			  err.message);
		check_outcome(&plan, r, staged, &err);
		cr_assert_eq(kb_test_exists(root, PARENT),
			     is_published(entries[2].path));
		check_others();
	}
	cr_assert_gt(plan.at, 15);
}
