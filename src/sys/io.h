/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing whole ranges, with EINTR and short transfers handled,
 * and owned descriptors. `name` is what error messages call the thing.
 */
#ifndef KB_IO_H
#define KB_IO_H

#include "../base/buf.h"
#include "ctx.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As kb_fail_errno(), and adds what the user can do where sys_errno tells: "…:
 * No space left on device; free space or choose another directory". */
int kb_fail_disk(struct kbundle_error *err, int sys_errno, const char *fmt, ...)
	KB_PRINTF(3, 4);
/* Appends "; <text>" to a message, where it fits. */
void kb_advise(struct kbundle_error *err, const char *text);

/* Keeps errno; -1 is fine. The one call that does not go through the table,
 * since a destructor has no context: who wrote to fd and must know that it
 * arrived closes with kb_close_written(). */
void kb_close(int fd);
static inline void kb_auto_close(int *fd)
{
	kb_close(*fd);
}
#define KB_AUTO_FD __attribute__((cleanup(kb_auto_close)))
static inline int kb_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* openat with O_CLOEXEC, EINTR and a bounded retry of ESTALE (NFS). Returns a
 * descriptor, or -1 with errno set: the caller knows how to word it. */
int kb_openat(struct kb_ctx *ctx, int dirfd, const char *path, int flags,
	      mode_t mode);

/* Reads until len bytes or end of input; *ret_len tells. Codes: IO,
 * CANCELLED. */
int kb_read(struct kb_ctx *ctx, int fd, void *data, size_t len, size_t *ret_len,
	    const char *name, struct kbundle_error *err) KB_MUST_CHECK;
int kb_pread(struct kb_ctx *ctx, int fd, void *data, size_t len,
	     uint64_t offset, size_t *ret_len, const char *name,
	     struct kbundle_error *err) KB_MUST_CHECK;
/* Writes all of it. Codes: IO (disk full says so and what to do). */
int kb_write(struct kb_ctx *ctx, int fd, const void *data, size_t len,
	     const char *name, struct kbundle_error *err) KB_MUST_CHECK;

/* fsync. A file system that cannot do it for this kind of file (EINVAL,
 * EOPNOTSUPP) is no failure. Codes: IO. */
int kb_sync(struct kb_ctx *ctx, int fd, const char *name,
	    struct kbundle_error *err) KB_MUST_CHECK;
/* Closes what was written and sets *fd to -1, also on failure. Network file
 * systems tell here that the disk or the quota is full. Codes: IO. */
int kb_close_written(struct kb_ctx *ctx, int *fd, const char *name,
		     struct kbundle_error *err) KB_MUST_CHECK;

/* Reads a whole small file below a directory, without following a symlink in
 * its last component and without blocking on a fifo; it must be a regular
 * file. Appends to ret, whose maximum is the limit; on failure ret is as
 * before. Codes: IO, NOTFOUND, NOMEM, LIMIT; UNSUPPORTED: not a regular file.
 */
int kb_read_file(struct kb_ctx *ctx, int dirfd, const char *path,
		 struct kb_buf *ret, struct kbundle_error *err) KB_MUST_CHECK;

/* An unlinked, private (0600) file in a directory, for spooling; O_TMPFILE, or
 * a file that is unlinked at once where the file system has none. It is open
 * for reading and writing. Codes: IO, NOTFOUND. */
int kb_spool_open(struct kb_ctx *ctx, const char *dir, int *ret_fd,
		  struct kbundle_error *err) KB_MUST_CHECK;

#endif
