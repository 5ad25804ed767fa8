/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failing syscall table. Its members get no context, so the plan is static;
 * Criterion runs each test in a process of its own.
 */
#include "fault_fs.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static struct kb_fault_plan plan;
static atomic_uint_fast64_t calls;
static atomic_int hit_op; /* KB_FAULT_N_OPS: none yet */

static const char *const op_names[KB_FAULT_N_OPS + 1] = {
#define X(name) #name,
	KB_FAULT_OPS(X)
#undef X
		"",
};

void kb_fault_start(const struct kb_fault_plan *new_plan)
{
	plan = new_plan ? *new_plan : (struct kb_fault_plan){0};
	if (plan.ops == 0)
		plan.ops = KB_FAULT_ALL;
	atomic_store(&calls, 0);
	atomic_store(&hit_op, KB_FAULT_N_OPS);
}

uint64_t kb_fault_calls(void)
{
	return atomic_load(&calls);
}

bool kb_fault_was_hit(void)
{
	return atomic_load(&hit_op) != KB_FAULT_N_OPS;
}

const char *kb_fault_hit_name(void)
{
	return op_names[atomic_load(&hit_op)];
}

/* Counts one call; true, with errno: it fails. */
static bool fails(enum kb_fault_op op, int fd, const char *path)
{
	int none = KB_FAULT_N_OPS;
	uint64_t number;

	if (plan.mode == KB_FAULT_FREEZE && kb_fault_was_hit()) {
		errno = EIO;
		return true;
	}
	if (!(plan.ops & (UINT32_C(1) << op)))
		return false;
	number = atomic_fetch_add(&calls, 1) + 1;
	if (plan.hook)
		plan.hook(plan.hook_data, number, op, fd, path);
	if (plan.at == 0 || number < plan.at ||
	    (plan.mode == KB_FAULT_ONCE && number > plan.at))
		return false;
	atomic_compare_exchange_strong(&hit_op, &none, (int)op);
	errno = plan.mode == KB_FAULT_FREEZE ? EIO : plan.sys_errno;
	return true;
}

static int fault_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	if (fails(KB_FAULT_openat, dirfd, path))
		return -1;
	return kb_fs_real.openat(dirfd, path, flags, mode);
}

/* Linux closes the descriptor also where close fails, and so does a kill. */
static int fault_close(int fd)
{
	bool failed = fails(KB_FAULT_close, fd, NULL);
	int saved_errno = errno;
	int r = kb_fs_real.close(fd);

	if (!failed)
		return r;
	errno = saved_errno;
	return -1;
}

static ssize_t fault_read(int fd, void *data, size_t len)
{
	if (fails(KB_FAULT_read, fd, NULL))
		return -1;
	return kb_fs_real.read(fd, data, len);
}

static ssize_t fault_pread(int fd, void *data, size_t len, off_t offset)
{
	if (fails(KB_FAULT_pread, fd, NULL))
		return -1;
	return kb_fs_real.pread(fd, data, len, offset);
}

static ssize_t fault_write(int fd, const void *data, size_t len)
{
	if (fails(KB_FAULT_write, fd, NULL))
		return -1;
	return kb_fs_real.write(fd, data, len);
}

static int fault_fstat(int fd, struct stat *st)
{
	if (fails(KB_FAULT_fstat, fd, NULL))
		return -1;
	return kb_fs_real.fstat(fd, st);
}

static int fault_fstatat(int dirfd, const char *path, struct stat *st,
			 int flags)
{
	if (fails(KB_FAULT_fstatat, dirfd, path))
		return -1;
	return kb_fs_real.fstatat(dirfd, path, st, flags);
}

static int fault_fstatfs(int fd, struct statfs *st)
{
	if (fails(KB_FAULT_fstatfs, fd, NULL))
		return -1;
	return kb_fs_real.fstatfs(fd, st);
}

static ssize_t fault_getdents(int fd, void *data, size_t len)
{
	if (fails(KB_FAULT_getdents, fd, NULL))
		return -1;
	return kb_fs_real.getdents(fd, data, len);
}

static int fault_mkdirat(int dirfd, const char *path, mode_t mode)
{
	if (fails(KB_FAULT_mkdirat, dirfd, path))
		return -1;
	return kb_fs_real.mkdirat(dirfd, path, mode);
}

static int fault_renameat(int from_fd, const char *from, int to_fd,
			  const char *to)
{
	if (fails(KB_FAULT_renameat, to_fd, to))
		return -1;
	return kb_fs_real.renameat(from_fd, from, to_fd, to);
}

static int fault_renameat2(int from_fd, const char *from, int to_fd,
			   const char *to, unsigned flags)
{
	if (fails(KB_FAULT_renameat2, to_fd, to))
		return -1;
	return kb_fs_real.renameat2(from_fd, from, to_fd, to, flags);
}

static int fault_linkat(int from_fd, const char *from, int to_fd,
			const char *to, int flags)
{
	if (fails(KB_FAULT_linkat, to_fd, to))
		return -1;
	return kb_fs_real.linkat(from_fd, from, to_fd, to, flags);
}

static int fault_unlinkat(int dirfd, const char *path, int flags)
{
	if (fails(KB_FAULT_unlinkat, dirfd, path))
		return -1;
	return kb_fs_real.unlinkat(dirfd, path, flags);
}

static int fault_futimens(int fd, const struct timespec times[2])
{
	if (fails(KB_FAULT_futimens, fd, NULL))
		return -1;
	return kb_fs_real.futimens(fd, times);
}

static int fault_fsync(int fd)
{
	return fails(KB_FAULT_fsync, fd, NULL) ? -1 : 0;
}

static int fault_syncfs(int fd)
{
	return fails(KB_FAULT_syncfs, fd, NULL) ? -1 : 0;
}

static int fault_flock(int fd, int operation)
{
	if (fails(KB_FAULT_flock, fd, NULL))
		return -1;
	return kb_fs_real.flock(fd, operation);
}

static off_t fault_lseek(int fd, off_t offset, int whence)
{
	if (fails(KB_FAULT_lseek, fd, NULL))
		return -1;
	return kb_fs_real.lseek(fd, offset, whence);
}

const struct kb_fs kb_fault_fs = {
#define X(name) .name = fault_##name,
	KB_FAULT_OPS(X)
#undef X
};
