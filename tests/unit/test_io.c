/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/base/buf.h"
#include "../../src/sys/io.h"
#include "../lib/fault_fs.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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
	memset(&err, 0, sizeof(err));
}

static void end(void)
{
	kb_ctx_release(&ctx);
	close(dir_fd);
	kb_test_remove(dir);
}

TestSuite(io, .init = begin, .fini = end);

/* A disk that moves at most three bytes at once and is interrupted each second
 * time. */
static unsigned interrupts;

static size_t few(size_t len)
{
	return len < 3 ? len : 3;
}

static bool interrupted(void)
{
	errno = EINTR;
	return interrupts++ % 2 == 0;
}

static ssize_t slow_read(int fd, void *data, size_t len)
{
	return interrupted() ? -1 : read(fd, data, few(len));
}

static ssize_t slow_pread(int fd, void *data, size_t len, off_t offset)
{
	return interrupted() ? -1 : pread(fd, data, few(len), offset);
}

static ssize_t slow_write(int fd, const void *data, size_t len)
{
	return interrupted() ? -1 : write(fd, data, few(len));
}

static int open_file(const char *name, int flags)
{
	int fd = openat(dir_fd, name, flags | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	return fd;
}

Test(io, transfers_are_whole_despite_short_ones_and_interrupts)
{
	const char text[] = "half a kernel is none";
	struct kb_fs slow = kb_fs_real;
	char got[64] = "";
	size_t len;
	int fd = open_file("f", O_RDWR | O_CREAT);

	slow.read = slow_read;
	slow.pread = slow_pread;
	slow.write = slow_write;
	ctx.fs = &slow;
	cr_assert_eq(kb_write(&ctx, fd, text, sizeof(text), "f", &err), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(kb_read(&ctx, fd, got, sizeof(got), &len, "f", &err), 0);
	cr_assert_eq(len, sizeof(text), "the end of the file ends it");
	cr_assert_str_eq(got, text);
	cr_assert_eq(kb_pread(&ctx, fd, got, 6, 7, &len, "f", &err), 0);
	cr_assert_eq(len, 6);
	cr_assert_eq(memcmp(got, text + 7, 6), 0);
	cr_assert_gt(interrupts, 10);
	close(fd);
}

Test(io, a_full_disk_says_what_to_do)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(write), .at = 1, .sys_errno = ENOSPC};
	int fd = open_file("f", O_WRONLY | O_CREAT);

	kb_fault_start(&plan);
	cr_assert_eq(kb_write(&ctx, fd, "x", 1, "/c/tmp.x/3/add.cubin", &err),
		     KBUNDLE_E_IO);
	cr_assert_eq(err.sys_errno, ENOSPC);
	cr_assert_str_eq(err.message,
			 "cannot write /c/tmp.x/3/add.cubin: No space left on "
			 "device; free space or choose another directory");
	kb_advise(&err, "nothing was published");
	cr_assert(strstr(err.message, "directory; nothing was published"));
	close(fd);
}

Test(io, an_advice_that_does_not_fit_is_left_out)
{
	memset(err.message, 'x', sizeof(err.message) - 5);
	err.message[sizeof(err.message) - 5] = '\0';
	kb_advise(&err, "abc");
	cr_assert_eq(strlen(err.message), sizeof(err.message) - 5);
	kb_advise(&err, "ab");
	cr_assert_eq(strlen(err.message), sizeof(err.message) - 1);
	kb_advise(NULL, "ab");
}

Test(io, open_retries_what_is_stale_but_not_for_ever)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(openat), .at = 1, .sys_errno = ESTALE};
	int fd;

	kb_test_write_text(dir, "f", "x");
	kb_fault_start(&plan);
	fd = kb_openat(&ctx, dir_fd, "f", O_RDONLY, 0);
	cr_assert_geq(fd, 0);
	cr_assert_eq(kb_fault_calls(), 2);
	cr_assert_neq(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	kb_close(fd);

	plan.mode = KB_FAULT_FROM;
	kb_fault_start(&plan);
	cr_assert_eq(kb_openat(&ctx, dir_fd, "f", O_RDONLY, 0), -1);
	cr_assert_eq(errno, ESTALE);
	cr_assert_lt(kb_fault_calls(), 10);
}

Test(io, read_file_appends_and_obeys_the_limit)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;

	kb_test_write_text(dir, "a", "0123456789");
	kb_test_write_text(dir, "empty", "");
	kb_buf_init(&buf, 15);
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "empty", &buf, &err), 0);
	cr_assert_eq(buf.len, 0);
	cr_assert_eq(kb_buf_puts(&buf, "12345"), 0);
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "a", &buf, &err), 0);
	cr_assert_str_eq(buf.data, "123450123456789");
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "a", &buf, &err),
		     KBUNDLE_E_LIMIT);
	cr_assert(strstr(err.message, "15 bytes"));
	cr_assert_str_eq(buf.data, "123450123456789");
}

/* Between fstat and the first read it gets longer than the limit. */
static void grow_file(void *data, uint64_t number, enum kb_fault_op op, int fd,
		      const char *path)
{
	(void)fd;
	(void)path;
	if (op == KB_FAULT_read && number == 1)
		kb_test_write_text(data, "a", "0123456789abcdef");
}

Test(io, read_file_obeys_the_limit_of_a_file_that_grows)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(read), .hook = grow_file, .hook_data = dir};

	kb_test_write_text(dir, "a", "01234567");
	kb_buf_init(&buf, 15);
	kb_fault_start(&plan);
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "a", &buf, &err),
		     KBUNDLE_E_LIMIT);
	cr_assert_eq(buf.len, 0);
	cr_assert_str_eq(buf.data, "");
	kb_buf_release(&buf);

	kb_test_write_text(dir, "a", "01234567");
	kb_buf_init(&buf, 16);
	kb_fault_start(&plan);
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "a", &buf, &err), 0);
	cr_assert_str_eq(buf.data, "0123456789abcdef");
}

Test(io, read_file_reads_what_says_it_has_no_size)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;

	kb_buf_init(&buf, 100000);
	cr_assert_eq(
		kb_read_file(&ctx, AT_FDCWD, "/proc/self/status", &buf, &err),
		0);
	cr_assert(strstr(buf.data, "Threads:"));
}

Test(io, read_file_opens_nothing_but_regular_files)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *const others[] = {"fifo", "link", "dir", "socket"};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	kb_buf_init(&buf, 100);
	kb_test_write_text(dir, "a", "x");
	kb_test_mkdir(dir, "dir");
	cr_assert_eq(mkfifoat(dir_fd, "fifo", 0600), 0);
	cr_assert_eq(symlinkat("a", dir_fd, "link"), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/socket",
		 dir);
	cr_assert_eq(bind(s, (struct sockaddr *)&address, sizeof(address)), 0);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(kb_read_file(&ctx, dir_fd, others[i], &buf, &err),
			     KBUNDLE_E_UNSUPPORTED, "%s", others[i]);
		cr_assert(strstr(err.message, others[i]));
	}
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "absent", &buf, &err),
		     KBUNDLE_E_NOTFOUND);
	close(s);
}

Test(io, read_file_opens_again_what_goes_stale)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(read), .at = 1, .sys_errno = ESTALE};

	kb_buf_init(&buf, 100);
	kb_test_write_text(dir, "a", "whole");
	kb_fault_start(&plan);
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "a", &buf, &err), 0);
	cr_assert_str_eq(buf.data, "whole");
	cr_assert(kb_fault_was_hit());

	plan.mode = KB_FAULT_FROM;
	kb_fault_start(&plan);
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "a", &buf, &err), KBUNDLE_E_IO);
	cr_assert_str_eq(buf.data, "whole");
	plan.sys_errno = EIO;
	kb_fault_start(&plan);
	cr_assert_eq(kb_read_file(&ctx, dir_fd, "a", &buf, &err), KBUNDLE_E_IO);
	cr_assert_eq(kb_fault_calls(), 1, "EIO is not tried again");
}

Test(io, sync_passes_what_cannot_be_synced_and_nothing_else)
{
	struct kb_fault_plan plan = {.ops = KB_FAULT_BIT(fsync), .at = 1};

	plan.sys_errno = EINVAL;
	kb_fault_start(&plan);
	cr_assert_eq(kb_sync(&ctx, dir_fd, "d", &err), 0);
	plan.sys_errno = EOPNOTSUPP;
	kb_fault_start(&plan);
	cr_assert_eq(kb_sync(&ctx, dir_fd, "d", &err), 0);
	plan.sys_errno = EIO;
	kb_fault_start(&plan);
	cr_assert_eq(kb_sync(&ctx, dir_fd, "d", &err), KBUNDLE_E_IO);
	cr_assert(strstr(err.message, "flush d"));
}

Test(io, close_written_tells_of_a_late_failure_and_closes_all_the_same)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(close), .at = 1, .sys_errno = EDQUOT};
	int fd = open_file("f", O_WRONLY | O_CREAT), number = fd;

	kb_fault_start(&plan);
	cr_assert_eq(kb_close_written(&ctx, &fd, "f", &err), KBUNDLE_E_IO);
	cr_assert(strstr(err.message, "free space"));
	cr_assert_eq(fd, -1);
	cr_assert_eq(fcntl(number, F_GETFD), -1);

	fd = open_file("f", O_WRONLY);
	cr_assert_eq(kb_close_written(&ctx, &fd, "f", &err), 0);
	errno = EBUSY;
	kb_close(-1);
	kb_close(999999);
	cr_assert_eq(errno, EBUSY);
}

static void check_spool(void)
{
	struct stat st;
	char text[4] = "";
	int fd = -1;

	cr_assert_eq(kb_spool_open(&ctx, dir, &fd, &err), 0, "%s", err.message);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_nlink, 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert_eq(write(fd, "abc", 3), 3);
	cr_assert_eq(pread(fd, text, 3, 0), 3);
	cr_assert_str_eq(text, "abc");
	cr_assert_eq(kb_test_count_files(dir), 0);
	close(fd);
}

Test(io, spool_has_no_name_and_is_private)
{
	check_spool();
}

Test(io, spool_has_no_name_where_there_is_no_tmpfile)
{
	/* The second openat is O_TMPFILE's. */
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(openat), .at = 2, .sys_errno = EOPNOTSUPP};

	kb_fault_start(&plan);
	check_spool();
	cr_assert_eq(kb_fault_calls(), 3);
}

Test(io, spool_says_what_is_wrong_with_its_directory)
{
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(openat), .at = 2, .sys_errno = ENOSPC};
	int fd = -1;

	kb_fault_start(&plan);
	cr_assert_eq(kb_spool_open(&ctx, dir, &fd, &err), KBUNDLE_E_IO);
	cr_assert(strstr(err.message, dir));
	cr_assert(strstr(err.message, "free space"));
	cr_assert_eq(kb_spool_open(&ctx, "/nowhere/at/all", &fd, &err),
		     KBUNDLE_E_NOTFOUND);
	cr_assert_eq(fd, -1);
}
