/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test helpers over plain libc, on purpose not over src/: a fault there must
 * not hide itself from the test that looks for it.
 */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *fmt,
								...)
{
	int saved = errno;
	va_list args;

	fputs("test harness: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(saved));
	abort();
}

static void join(char path[KB_TEST_PATH_MAX], const char *dir, const char *rel)
{
	int n = snprintf(path, KB_TEST_PATH_MAX, rel[0] ? "%s/%s" : "%s%s", dir,
			 rel);

	if (n < 0 || n >= KB_TEST_PATH_MAX) {
		errno = ENAMETOOLONG;
		die("%s/%s", dir, rel);
	}
}

void kb_test_tmpdir(char path[KB_TEST_PATH_MAX])
{
	const char *base = getenv("TMPDIR");

	join(path, base && base[0] ? base : "/tmp", "kbundle-test.XXXXXX");
	if (!mkdtemp(path))
		die("cannot make %s", path);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	/* A test may have taken the permissions away. */
	if (type == FTW_DNR)
		die("cannot read %s", path);
	return remove(path);
}

/* Before the walk, so that directories without permissions can be read. */
static int open_up(const char *path, const struct stat *st, int type,
		   struct FTW *ftw)
{
	(void)ftw;
	if ((type == FTW_D || type == FTW_DNR) && (st->st_mode & 0700) != 0700)
		return chmod(path, 0700);
	return 0;
}

void kb_test_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0 && errno == ENOENT)
		return;
	(void)nftw(path, open_up, 16, FTW_PHYS);
	if (nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH) < 0)
		die("cannot remove %s", path);
}

/* Makes every directory before the last slash of path. */
static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			die("cannot make %s", path);
		*slash = '/';
	}
}

void kb_test_mkdir(const char *dir, const char *rel)
{
	char path[KB_TEST_PATH_MAX];

	join(path, dir, rel);
	make_parents(path);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		die("cannot make %s", path);
}

static void write_all(int fd, const char *data, size_t len, const char *path)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("cannot write %s", path);
		data += n;
		len -= (size_t)n;
	}
}

void kb_test_write(const char *dir, const char *rel, const void *data,
		   size_t len)
{
	char path[KB_TEST_PATH_MAX];
	int fd;

	join(path, dir, rel);
	make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		die("cannot create %s", path);
	write_all(fd, data, len, path);
	if (close(fd) < 0)
		die("cannot close %s", path);
}

void kb_test_write_text(const char *dir, const char *rel, const char *text)
{
	kb_test_write(dir, rel, text, strlen(text));
}

/* Everything that fd gives, with a NUL behind it. */
static char *read_all(int fd, size_t *ret_len, const char *name)
{
	size_t len = 0, cap = 4096;
	char *data = malloc(cap);

	for (;;) {
		ssize_t n;

		if (!data)
			die("reading %s", name);
		n = read(fd, data + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("cannot read %s", name);
		if (n == 0)
			break;
		len += (size_t)n;
		if (cap - len < 2)
			data = realloc(data, cap *= 2);
	}
	data[len] = '\0';
	if (ret_len)
		*ret_len = len;
	return data;
}

char *kb_test_read(const char *dir, const char *rel, size_t *ret_len)
{
	char path[KB_TEST_PATH_MAX];
	char *data;
	int fd;

	join(path, dir, rel);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return NULL;
	if (fd < 0)
		die("cannot open %s", path);
	data = read_all(fd, ret_len, path);
	close(fd);
	return data;
}

bool kb_test_exists(const char *dir, const char *rel)
{
	char path[KB_TEST_PATH_MAX];
	struct stat st;

	join(path, dir, rel);
	return lstat(path, &st) == 0;
}

unsigned kb_test_mode(const char *dir, const char *rel)
{
	char path[KB_TEST_PATH_MAX];
	struct stat st;

	join(path, dir, rel);
	if (lstat(path, &st) < 0)
		die("cannot look at %s", path);
	return st.st_mode & 07777;
}

static int no_dots(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 &&
	       strcmp(entry->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Sorted by bytes, so that no locale changes what a test sees. */
static int list(const char *path, struct dirent ***ret)
{
	int n = scandir(path, ret, no_dots, by_bytes);

	if (n < 0)
		die("cannot list %s", path);
	return n;
}

static void free_list(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static bool differ(char why[512], const char *path, const char *how)
{
	snprintf(why, 512, "%.400s: %s", path, how);
	return false;
}

static bool same_content(const char *a, const char *b, const struct stat *st,
			 char why[512])
{
	size_t a_len, b_len;
	char *a_data, *b_data;
	bool same;

	if (S_ISLNK(st->st_mode)) {
		char a_text[KB_TEST_PATH_MAX] = "",
		     b_text[KB_TEST_PATH_MAX] = "";

		if (readlink(a, a_text, sizeof(a_text) - 1) < 0 ||
		    readlink(b, b_text, sizeof(b_text) - 1) < 0)
			die("cannot read the links %s, %s", a, b);
		return strcmp(a_text, b_text) == 0 ||
		       differ(why, a, "another symlink text");
	}
	if (!S_ISREG(st->st_mode))
		return true;
	a_data = kb_test_read(a, "", &a_len);
	b_data = kb_test_read(b, "", &b_len);
	same = a_data && b_data && a_len == b_len &&
	       memcmp(a_data, b_data, a_len) == 0;
	free(a_data);
	free(b_data);
	return same || differ(why, a, "other content");
}

static bool same_names(const char *a, const char *b, char why[512])
{
	struct dirent **a_names, **b_names;
	int a_n = list(a, &a_names), b_n = list(b, &b_names);
	bool same = true;

	for (int i = 0; same && (i < a_n || i < b_n); i++) {
		char a_path[KB_TEST_PATH_MAX], b_path[KB_TEST_PATH_MAX];

		if (i >= a_n) {
			join(b_path, b, b_names[i]->d_name);
			same = differ(why, b_path, "only in the second tree");
		} else if (i >= b_n ||
			   strcmp(a_names[i]->d_name, b_names[i]->d_name)) {
			join(a_path, a, a_names[i]->d_name);
			same = differ(why, a_path,
				      "only in one tree, or at another place "
				      "in the order");
		} else {
			join(a_path, a, a_names[i]->d_name);
			join(b_path, b, b_names[i]->d_name);
			same = kb_test_tree_equal(a_path, b_path, why);
		}
	}
	free_list(a_names, a_n);
	free_list(b_names, b_n);
	return same;
}

bool kb_test_tree_equal(const char *a, const char *b, char why[512])
{
	struct stat a_st, b_st;

	why[0] = '\0';
	if (lstat(a, &a_st) < 0)
		return differ(why, a, strerror(errno));
	if (lstat(b, &b_st) < 0)
		return differ(why, b, strerror(errno));
	if ((a_st.st_mode & S_IFMT) != (b_st.st_mode & S_IFMT))
		return differ(why, a, "another type");
	if (S_ISDIR(a_st.st_mode))
		return same_names(a, b, why);
	return same_content(a, b, &a_st, why);
}

static void copy_file(const char *from, const char *to)
{
	size_t len;
	char *data = kb_test_read(from, "", &len);
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (!data || fd < 0)
		die("cannot copy %s to %s", from, to);
	write_all(fd, data, len, to);
	if (close(fd) < 0)
		die("cannot close %s", to);
	free(data);
}

static void copy_link(const char *from, const char *to)
{
	char text[KB_TEST_PATH_MAX] = "";

	if (readlink(from, text, sizeof(text) - 1) < 0 || symlink(text, to) < 0)
		die("cannot copy the link %s to %s", from, to);
}

static void copy_names(const char *from, const char *to)
{
	struct dirent **names;
	int n = list(from, &names);

	if (mkdir(to, 0700) < 0 && errno != EEXIST)
		die("cannot make %s", to);
	for (int i = 0; i < n; i++) {
		char a[KB_TEST_PATH_MAX], b[KB_TEST_PATH_MAX];

		join(a, from, names[i]->d_name);
		join(b, to, names[i]->d_name);
		kb_test_copy_tree(a, b);
	}
	free_list(names, n);
}

void kb_test_copy_tree(const char *from, const char *to)
{
	struct stat st;
	struct timespec times[2];

	if (lstat(from, &st) < 0)
		die("cannot look at %s", from);
	if (S_ISDIR(st.st_mode))
		copy_names(from, to);
	else if (S_ISLNK(st.st_mode))
		copy_link(from, to);
	else
		copy_file(from, to);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (!S_ISLNK(st.st_mode) && chmod(to, st.st_mode & 07777) < 0)
		die("cannot set the mode of %s", to);
	if (utimensat(AT_FDCWD, to, times, AT_SYMLINK_NOFOLLOW) < 0)
		die("cannot set the times of %s", to);
}

size_t kb_test_count_files(const char *path)
{
	struct stat st;
	struct dirent **names;
	size_t count = 0;
	int n;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) ? 1 : 0;
	n = list(path, &names);
	for (int i = 0; i < n; i++) {
		char child[KB_TEST_PATH_MAX];

		join(child, path, names[i]->d_name);
		count += kb_test_count_files(child);
	}
	free_list(names, n);
	return count;
}

size_t kb_test_count_names(const char *path, const char *prefix)
{
	struct stat st;
	struct dirent **names;
	size_t count = 0;
	int n;

	if (lstat(path, &st) < 0)
		return 0;
	n = list(path, &names);
	for (int i = 0; i < n; i++)
		if (strncmp(names[i]->d_name, prefix, strlen(prefix)) == 0)
			count++;
	free_list(names, n);
	return count;
}

bool kb_test_fixture(char path[KB_TEST_PATH_MAX], const char *name)
{
	const char *folder = getenv("KBUNDLE_FIXTURES");

#ifdef KB_TEST_FIXTURES_DEFAULT
	if (!folder || !folder[0])
		folder = KB_TEST_FIXTURES_DEFAULT;
#endif
	if (folder && folder[0]) {
		join(path, folder, name);
		if (access(path, R_OK) == 0)
			return true;
	}
	fprintf(stderr,
		"skipped: fixture %s is not here "
		"(KBUNDLE_FIXTURES names its folder)\n",
		name);
	return false;
}

bool kb_test_run(char *const argv[], char **ret_out, size_t *ret_len,
		 int *ret_status)
{
	posix_spawn_file_actions_t actions;
	int pipe_fds[2], status, r;
	char *out;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		die("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1);
	r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipe_fds[1]);
	if (r != 0) {
		close(pipe_fds[0]);
		return false;
	}
	out = read_all(pipe_fds[0], ret_len, argv[0]);
	close(pipe_fds[0]);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waiting for %s", argv[0]);
	if (ret_status)
		*ret_status = WIFEXITED(status) ? WEXITSTATUS(status)
						: 128 + WTERMSIG(status);
	if (ret_out)
		*ret_out = out;
	else
		free(out);
	return true;
}
