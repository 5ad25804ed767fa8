/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real syscall table: libc's own functions, but for getdents, which glibc
 * only wraps in readdir(3). Nothing else in the project makes these calls
 * directly, except kb_close() in io.c, which says why.
 */
#include "fs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The only variadic one: a wrapper gives it a fixed type. */
static int real_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return openat(dirfd, path, flags, mode);
}

static ssize_t real_getdents(int fd, void *data, size_t len)
{
	return syscall(SYS_getdents64, fd, data, len);
}

const struct kb_fs kb_fs_real = {
	.openat = real_openat,
	.close = close,
	.read = read,
	.pread = pread,
	.write = write,
	.fstat = fstat,
	.fstatat = fstatat,
	.fstatfs = fstatfs,
	.getdents = real_getdents,
	.mkdirat = mkdirat,
	.renameat = renameat,
	.renameat2 = renameat2,
	.linkat = linkat,
	.unlinkat = unlinkat,
	.futimens = futimens,
	.fsync = fsync,
	.syncfs = syncfs,
	.flock = flock,
	.lseek = lseek,
};
