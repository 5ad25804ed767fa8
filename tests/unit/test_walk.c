/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/sys/io.h"
#include "../../src/sys/walk.h"
#include "../lib/fault_fs.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char dir[KB_TEST_PATH_MAX];
static int dir_fd;
static struct kb_ctx ctx;
static struct kbundle_error err;

static void begin(void)
{
	kb_test_tmpdir(dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(dir_fd, 0);
	kb_fault_start(NULL);
	cr_assert_eq(kb_ctx_init(&ctx, NULL, &kb_fault_fs, NULL), 0);
}

static void end(void)
{
	kb_ctx_release(&ctx);
	close(dir_fd);
	kb_test_remove(dir);
}

TestSuite(walk, .init = begin, .fini = end);

Test(walk, list_is_sorted_by_bytes_and_complete)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	char name[128];

	/* More than one getdents gives, in no order. */
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "%08x-%090u", i * 2654435761u, i);
		kb_test_write_text(dir, name, "");
	}
	kb_test_write_text(dir, "\xff\xfe", "");
	kb_test_write_text(dir, "-A", "");
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(kb_list(&ctx, dir_fd, &list, dir, &err), 0);
		cr_assert_eq(list.n, 2002);
		for (size_t i = 1; i < list.n; i++)
			cr_assert_lt(strcmp(list.items[i - 1].name,
					    list.items[i].name),
				     0);
		cr_assert_str_eq(list.items[0].name, "-A");
		cr_assert_str_eq(list.items[2001].name, "\xff\xfe");
	}
}

static void make_one_of_each(void)
{
	kb_test_write_text(dir, "file", "x");
	kb_test_mkdir(dir, "dir");
	cr_assert_eq(symlinkat("dir", dir_fd, "link"), 0);
	cr_assert_eq(mkfifoat(dir_fd, "fifo", 0600), 0);
}

static void check_one_of_each(const struct kb_listing *list)
{
	static const struct kb_dirent wanted[] = {
		{"dir", DT_DIR},
		{"fifo", DT_FIFO},
		{"file", DT_REG},
		{"link", DT_LNK},
	};

	cr_assert_eq(list->n, 4);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_str_eq(list->items[i].name, wanted[i].name);
		cr_assert_eq(list->items[i].type, wanted[i].type);
	}
}

/* A file system that tells no types. */
static ssize_t getdents_without_types(int fd, void *data, size_t len)
{
	ssize_t n = kb_fs_real.getdents(fd, data, len);

	for (ssize_t pos = 0; pos < n;) {
		struct dirent64 *entry = (void *)((char *)data + pos);

		entry->d_type = DT_UNKNOWN;
		pos += entry->d_reclen;
	}
	return n;
}

Test(walk, list_knows_types_also_where_the_disk_does_not_tell)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	struct kb_fs fs = kb_fault_fs;

	make_one_of_each();
	cr_assert_eq(kb_list(&ctx, dir_fd, &list, dir, &err), 0);
	check_one_of_each(&list);
	fs.getdents = getdents_without_types;
	ctx.fs = &fs;
	cr_assert_eq(kb_list(&ctx, dir_fd, &list, dir, &err), 0);
	check_one_of_each(&list);
}

static void remove_fifo(void *data, uint64_t number, enum kb_fault_op op,
			int fd, const char *path)
{
	(void)data;
	(void)number;
	if (op == KB_FAULT_fstatat && strcmp(path, "fifo") == 0)
		cr_assert_eq(unlinkat(fd, path, 0), 0);
}

Test(walk, list_leaves_out_what_vanishes_meanwhile)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	struct kb_fault_plan plan = {.hook = remove_fifo};
	struct kb_fs fs = kb_fault_fs;

	make_one_of_each();
	fs.getdents = getdents_without_types;
	ctx.fs = &fs;
	kb_fault_start(&plan);
	cr_assert_eq(kb_list(&ctx, dir_fd, &list, dir, &err), 0);
	cr_assert_eq(list.n, 3);
	cr_assert_str_eq(list.items[1].name, "file");
}

Test(walk, list_names_the_directory_that_it_cannot_read)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(getdents), .at = 1, .sys_errno = EIO};

	kb_fault_start(&plan);
	cr_assert_eq(kb_list(&ctx, dir_fd, &list, "the cache", &err),
		     KBUNDLE_E_IO);
	cr_assert(strstr(err.message, "the cache"));
}

Test(walk, remove_tree_takes_everything_and_follows_nothing)
{
	kb_test_write_text(dir, "outside/kept", "x");
	kb_test_write_text(dir, "tree/a/b/c", "x");
	kb_test_write_text(dir, "tree/d", "x");
	cr_assert_eq(symlinkat("../outside", dir_fd, "tree/link"), 0);
	cr_assert_eq(symlinkat("nowhere", dir_fd, "tree/dangling"), 0);
	cr_assert_eq(mkfifoat(dir_fd, "tree/fifo", 0600), 0);
	cr_assert_eq(kb_remove_tree(&ctx, dir_fd, "tree"), 0);
	cr_assert_not(kb_test_exists(dir, "tree"));
	cr_assert(kb_test_exists(dir, "outside/kept"));

	cr_assert_eq(kb_remove_tree(&ctx, dir_fd, "tree"), 0, "absent is fine");
	cr_assert_eq(symlinkat("outside", dir_fd, "link"), 0);
	cr_assert_eq(kb_remove_tree(&ctx, dir_fd, "link"), 0);
	cr_assert_not(kb_test_exists(dir, "link"));
	cr_assert_eq(kb_remove_tree(&ctx, dir_fd, "outside/kept"), 0);
	cr_assert_eq(kb_test_count_files(dir), 0);
}

Test(walk, remove_tree_goes_on_and_tells_the_first_failure)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(unlinkat), .at = 1, .sys_errno = EBUSY};

	kb_test_write_text(dir, "tree/a", "x");
	kb_test_write_text(dir, "tree/b", "x");
	kb_test_write_text(dir, "tree/c/d", "x");
	kb_fault_start(&plan);
	cr_assert_eq(kb_remove_tree(&ctx, dir_fd, "tree"), -1);
	cr_assert_eq(errno, EBUSY);
	cr_assert_eq(kb_test_count_files(dir), 1);
	cr_assert(kb_test_exists(dir, "tree/a"));
}

Test(walk, remove_tree_stops_at_a_depth_that_descriptors_allow)
{
	int fd = dup(dir_fd);

	for (int i = 0; i < 400; i++) {
		int next;

		cr_assert_eq(mkdirat(fd, "d", 0700), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert_geq(next, 0);
		close(fd);
		fd = next;
	}
	close(fd);
	cr_assert_eq(kb_remove_tree(&ctx, dir_fd, "d"), -1);
	cr_assert_eq(errno, ELOOP);
}

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
	strcat(order, target + strlen(dir));
	strcat(order, " ");
}

Test(walk, sync_dirs_goes_from_the_bottom_up)
{
	char order[1024] = "";
	struct kb_fault_plan plan = {.ops = KB_FAULT_BIT(fsync),
				     .hook = note_sync,
				     .hook_data = order};
	int fd;

	kb_test_write_text(dir, "e/a/b/f", "x");
	kb_test_write_text(dir, "e/c/f", "x");
	kb_test_write_text(dir, "e/f", "x");
	cr_assert_eq(symlinkat("/", dir_fd, "e/link"), 0);
	fd = openat(dir_fd, "e", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	kb_fault_start(&plan);
	cr_assert_eq(kb_sync_dirs(&ctx, fd, "e", &err), 0);
	cr_assert_str_eq(order, "/e/a/b /e/a /e/c /e ");

	plan.hook = NULL;
	plan.at = 2;
	plan.sys_errno = EIO;
	kb_fault_start(&plan);
	cr_assert_eq(kb_sync_dirs(&ctx, fd, "e", &err), KBUNDLE_E_IO);
	close(fd);
}

Test(walk, open_parent_finds_the_directory_and_the_name)
{
	const char *name = NULL;
	int fd = -1;

	kb_test_write_text(dir, "a/b/c", "x");
	cr_assert_eq(kb_open_parent(&ctx, dir_fd, "a/b/c", &fd, &name, &err),
		     0);
	cr_assert_str_eq(name, "c");
	cr_assert_eq(faccessat(fd, "c", F_OK, 0), 0);
	close(fd);
	cr_assert_eq(kb_open_parent(&ctx, dir_fd, "a", &fd, &name, &err), 0);
	cr_assert_str_eq(name, "a");
	cr_assert_eq(faccessat(fd, "a/b", F_OK, 0), 0);
	close(fd);
	cr_assert_eq(kb_open_parent(&ctx, dir_fd, "a/x/y", &fd, &name, &err),
		     0);
	cr_assert_eq(fd, -1, "a parent is missing");
}

Test(walk, open_parent_follows_no_symlink)
{
	const char *name;
	char long_name[400];
	int fd = -1;

	kb_test_write_text(dir, "a/b/c", "x");
	cr_assert_eq(symlinkat("b", dir_fd, "a/link"), 0);
	cr_assert_eq(kb_open_parent(&ctx, dir_fd, "a/link/c", &fd, &name, &err),
		     KBUNDLE_E_EXISTS);
	cr_assert(strstr(err.message, "a/link/c"));
	cr_assert_eq(kb_open_parent(&ctx, dir_fd, "a/b/c/d", &fd, &name, &err),
		     KBUNDLE_E_EXISTS);
	cr_assert_eq(fd, -1);

	memset(long_name, 'x', sizeof(long_name));
	memcpy(long_name + sizeof(long_name) - 3, "/y", 3);
	cr_assert_eq(kb_open_parent(&ctx, dir_fd, long_name, &fd, &name, &err),
		     KBUNDLE_E_IO);
	cr_assert_eq(err.sys_errno, ENAMETOOLONG);
}
