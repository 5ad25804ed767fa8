/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The syscall table: every call of this project that looks at or changes a
 * disk goes through a `const struct kb_fs *`. It is the one seam for tests,
 * which copy kb_fs_real, replace members, and so make a disk fill up, a file
 * change between two reads, or a rename fail, at any point they like.
 *
 * Members have the signatures and results (-1 and errno) of the calls they are
 * named after. All descriptors are opened O_CLOEXEC by the callers.
 */
#ifndef KB_FS_H
#define KB_FS_H

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>

struct kb_fs {
	int (*openat)(int dirfd, const char *path, int flags, mode_t mode);
	int (*close)(int fd);
	ssize_t (*read)(int fd, void *data, size_t len);
	ssize_t (*pread)(int fd, void *data, size_t len, off_t offset);
	ssize_t (*write)(int fd, const void *data, size_t len);
	int (*fstat)(int fd, struct stat *st);
	int (*fstatat)(int dirfd, const char *path, struct stat *st, int flags);
	int (*fstatfs)(int fd, struct statfs *st);
	ssize_t (*getdents)(int fd, void *data, size_t len);
	int (*mkdirat)(int dirfd, const char *path, mode_t mode);
	int (*renameat)(int from_fd, const char *from, int to_fd,
			const char *to);
	int (*renameat2)(int from_fd, const char *from, int to_fd,
			 const char *to, unsigned flags);
	int (*linkat)(int from_fd, const char *from, int to_fd, const char *to,
		      int flags);
	int (*unlinkat)(int dirfd, const char *path, int flags);
	int (*futimens)(int fd, const struct timespec times[2]);
	int (*fsync)(int fd);
	int (*syncfs)(int fd);
	int (*flock)(int fd, int operation);
	off_t (*lseek)(int fd, off_t offset, int whence);
};

extern const struct kb_fs kb_fs_real;

#endif
