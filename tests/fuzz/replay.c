/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives every file of the folders named to a fuzz target, once, without a
 * fuzzer: what a fuzzer found stays found, with any compiler.
 *
 *	replay FOLDER...
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool read_whole(int fd, uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = read(fd, data, len);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* 1: was given, 0: is no file, -1: could not be read. */
static int replay_file(int dirfd, const char *name)
{
	struct stat st;
	uint8_t *data = NULL;
	bool read_all = false;
	int fd = openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return 0;
	}
	/* Exactly as long as the input, so that a checker sees its end. */
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (data)
		read_all = read_whole(fd, data, (size_t)st.st_size);
	close(fd);
	if (read_all)
		LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	free(data);
	return read_all ? 1 : -1;
}

static long replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	long n = 0;

	if (!dir) {
		perror(path);
		return -1;
	}
	while ((entry = readdir(dir))) {
		int r = replay_file(dirfd(dir), entry->d_name);

		if (r < 0) {
			perror(entry->d_name);
			n = -1;
			break;
		}
		n += r;
	}
	closedir(dir);
	return n;
}

int main(int argc, char *argv[])
{
	long total = 0;

	for (int i = 1; i < argc; i++) {
		long n = replay_folder(argv[i]);

		if (n < 0)
			return 1;
		total += n;
	}
	printf("%ld inputs\n", total);
	/* No input at all proves nothing. */
	return total > 0 ? 0 : 1;
}
