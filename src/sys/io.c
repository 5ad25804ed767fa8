/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading, writing and opening with what POSIX leaves to the caller: EINTR,
 * short transfers, stale handles of network file systems, and messages that
 * tell what to do. What a file means is the caller's.
 */
#include "io.h"

#include "../base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define STALE_TRIES 5
#define SPOOL_TRIES 16
#define READ_CHUNK_BYTES 65536u
#define TRANSFER_BYTES_MAX 0x40000000u /* Linux transfers no more at once */

static const char *advice(int sys_errno)
{
	switch (sys_errno) {
	case ENOSPC:
	case EDQUOT:
		return "free space or choose another directory";
	case EROFS:
		return "choose a directory that can be written";
	case EACCES:
	case EPERM:
		return "check who owns it and who may write there";
	case ENAMETOOLONG:
		return "the file system there takes only shorter names";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files (ulimit -n)";
	case EXDEV:
		return "it lies on another file system than its root";
	default:
		return NULL;
	}
}

int kb_fail_disk(struct kbundle_error *err, int sys_errno, const char *fmt, ...)
{
	char text[sizeof(err->message)];
	va_list args;
	int r;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	r = kb_fail_errno(err, sys_errno, "%s", text);
	if (advice(sys_errno))
		kb_advise(err, advice(sys_errno));
	return r;
}

void kb_advise(struct kbundle_error *err, const char *text)
{
	size_t len, room;

	if (!err)
		return;
	len = strlen(err->message);
	room = sizeof(err->message) - len;
	/* Half an advice is none. */
	if (snprintf(err->message + len, room, "; %s", text) >= (int)room)
		err->message[len] = '\0';
}

void kb_close(int fd)
{
	int saved_errno = errno;

	if (fd >= 0)
		close(fd);
	errno = saved_errno;
}

static void nap_ms(long ms)
{
	struct timespec time = {0, ms * 1000000};

	nanosleep(&time, NULL);
}

int kb_openat(struct kb_ctx *ctx, int dirfd, const char *path, int flags,
	      mode_t mode)
{
	int fd, stale = 0;

	for (;;) {
		fd = ctx->fs->openat(dirfd, path, flags | O_CLOEXEC, mode);
		if (fd >= 0)
			return fd;
		if (errno == ESTALE && ++stale < STALE_TRIES) {
			nap_ms(1L << stale);
			continue;
		}
		if (errno != EINTR)
			return -1;
	}
}

static size_t at_most(size_t len, size_t max)
{
	return len < max ? len : max;
}

int kb_read(struct kb_ctx *ctx, int fd, void *data, size_t len, size_t *ret_len,
	    const char *name, struct kbundle_error *err)
{
	struct kb_shown shown;
	size_t done = 0;

	while (done < len) {
		ssize_t n =
			ctx->fs->read(fd, (char *)data + done,
				      at_most(len - done, TRANSFER_BYTES_MAX));

		if (n < 0 && errno == EINTR) {
			int r = kb_interrupted(ctx, err);

			if (r < 0)
				return r;
			continue;
		}
		if (n < 0)
			return kb_fail_errno(err, errno, "cannot read %s",
					     kb_show(&shown, name));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*ret_len = done;
	return 0;
}

int kb_pread(struct kb_ctx *ctx, int fd, void *data, size_t len,
	     uint64_t offset, size_t *ret_len, const char *name,
	     struct kbundle_error *err)
{
	struct kb_shown shown;
	size_t done = 0;

	while (done < len) {
		ssize_t n =
			ctx->fs->pread(fd, (char *)data + done,
				       at_most(len - done, TRANSFER_BYTES_MAX),
				       (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kb_fail_errno(err, errno,
					     "cannot read %s at byte %llu",
					     kb_show(&shown, name),
					     (unsigned long long)offset + done);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*ret_len = done;
	return 0;
}

int kb_write(struct kb_ctx *ctx, int fd, const void *data, size_t len,
	     const char *name, struct kbundle_error *err)
{
	struct kb_shown shown;
	size_t done = 0;

	while (done < len) {
		ssize_t n =
			ctx->fs->write(fd, (const char *)data + done,
				       at_most(len - done, TRANSFER_BYTES_MAX));

		if (n < 0 && errno == EINTR) {
			int r = kb_interrupted(ctx, err);

			if (r < 0)
				return r;
			continue;
		}
		if (n < 0)
			return kb_fail_disk(err, errno, "cannot write %s",
					    kb_show(&shown, name));
		/* No file answers so; a loop here would never end. */
		if (n == 0)
			return kb_fail_disk(err, ENOSPC, "cannot write %s",
					    kb_show(&shown, name));
		done += (size_t)n;
	}
	return 0;
}

int kb_sync(struct kb_ctx *ctx, int fd, const char *name,
	    struct kbundle_error *err)
{
	struct kb_shown shown;
	int r;

	do
		r = ctx->fs->fsync(fd);
	while (r < 0 && errno == EINTR);
	if (r < 0 && errno != EINVAL && errno != EOPNOTSUPP)
		return kb_fail_disk(err, errno, "cannot flush %s to the disk",
				    kb_show(&shown, name));
	return 0;
}

int kb_close_written(struct kb_ctx *ctx, int *fd, const char *name,
		     struct kbundle_error *err)
{
	struct kb_shown shown;

	/* Linux closes the descriptor even where the call fails. */
	if (ctx->fs->close(kb_take_fd(fd)) < 0 && errno != EINTR)
		return kb_fail_disk(err, errno, "cannot write %s",
				    kb_show(&shown, name));
	return 0;
}

static int over_limit(const struct kb_buf *buf, const char *path,
		      struct kbundle_error *err)
{
	struct kb_shown shown;

	return kb_fail(err, KBUNDLE_E_LIMIT,
		       "%s is larger than the limit of %zu bytes",
		       kb_show(&shown, path), buf->max);
}

/* One round of reading: 1 for more to come, 0 at the end of the file. */
static int read_some(struct kb_ctx *ctx, int fd, size_t want,
		     struct kb_buf *ret, const char *path,
		     struct kbundle_error *err)
{
	size_t room = at_most(want, ret->max - ret->len);
	size_t got;
	char beyond;
	int r;

	if (room == 0) {
		r = kb_read(ctx, fd, &beyond, 1, &got, path, err);
		if (r < 0)
			return r;
		return got ? over_limit(ret, path, err) : 0;
	}
	r = kb_buf_reserve(ret, room);
	if (r < 0)
		return kb_fail_nomem(err);
	r = kb_read(ctx, fd, ret->data + ret->len, room, &got, path, err);
	if (r < 0)
		return r;
	ret->len += got;
	ret->data[ret->len] = '\0';
	return got == room;
}

static int read_opened(struct kb_ctx *ctx, int fd, struct kb_buf *ret,
		       const char *path, struct kbundle_error *err)
{
	struct kb_shown shown;
	struct stat st;
	size_t want = READ_CHUNK_BYTES;
	int r;

	if (ctx->fs->fstat(fd, &st) < 0)
		return kb_fail_errno(err, errno, "cannot look at %s",
				     kb_show(&shown, path));
	if (!S_ISREG(st.st_mode))
		return kb_fail(err, KBUNDLE_E_UNSUPPORTED,
			       "%s is not a regular file",
			       kb_show(&shown, path));
	if (st.st_size > 0 && (uint64_t)st.st_size > ret->max - ret->len)
		return over_limit(ret, path, err);
	/* One more than it has, so that one read also finds the end. Files in
	 * /proc have a size of 0 and content all the same. */
	if (st.st_size > 0)
		want = (size_t)st.st_size + 1;
	do
		r = read_some(ctx, fd, want, ret, path, err);
	while (r > 0);
	return r;
}

int kb_read_file(struct kb_ctx *ctx, int dirfd, const char *path,
		 struct kb_buf *ret, struct kbundle_error *err)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	const size_t before = ret->len;
	struct kb_shown shown;
	struct kbundle_error failure;
	int r = 0;

	/* A file of a network file system that is replaced meanwhile can go
	 * stale after it was opened, too. */
	for (int try = 0; try < STALE_TRIES; try++) {
		KB_AUTO_FD int fd = kb_openat(ctx, dirfd, path, flags, 0);

		/* ELOOP: a symlink; ENXIO: a socket. */
		if (fd < 0 && (errno == ELOOP || errno == ENXIO))
			return kb_fail(err, KBUNDLE_E_UNSUPPORTED,
				       "%s is not a regular file",
				       kb_show(&shown, path));
		if (fd < 0)
			return kb_fail_errno(err, errno, "cannot open %s",
					     kb_show(&shown, path));
		r = read_opened(ctx, fd, ret, path, &failure);
		if (r == 0)
			return 0;
		ret->len = before;
		if (ret->cap > 0)
			ret->data[before] = '\0';
		if (failure.sys_errno != ESTALE)
			break;
	}
	if (err)
		*err = failure;
	return r;
}

/* For file systems without O_TMPFILE (NFS, FUSE, some overlays). */
static int spool_named(struct kb_ctx *ctx, int dirfd)
{
	for (int try = 0; try < SPOOL_TRIES; try++) {
		uint64_t number = 0;
		char name[48];
		int fd;

		/* Uniqueness comes from O_EXCL. The name begins as caches'
		 * temporary names do, so a kill right here harms no cache. */
		if (getrandom(&number, sizeof(number), 0) < 0)
			return -1;
		snprintf(name, sizeof(name), "tmp.kbundle-%016llx",
			 (unsigned long long)number);
		fd = kb_openat(ctx, dirfd, name, O_RDWR | O_CREAT | O_EXCL,
			       0600);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd >= 0 && ctx->fs->unlinkat(dirfd, name, 0) < 0) {
			kb_close(fd);
			return -1;
		}
		return fd;
	}
	errno = EEXIST;
	return -1;
}

int kb_spool_open(struct kb_ctx *ctx, const char *dir, int *ret_fd,
		  struct kbundle_error *err)
{
	KB_AUTO_FD int dirfd = -1;
	struct kb_shown shown;
	int fd;

	dirfd = kb_openat(ctx, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (dirfd < 0)
		return kb_fail_errno(err, errno, "cannot open the directory %s",
				     kb_show(&shown, dir));
	fd = kb_openat(ctx, dirfd, ".", O_RDWR | O_TMPFILE | O_EXCL, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR ||
		       errno == EINVAL || errno == ENOENT))
		fd = spool_named(ctx, dirfd);
	if (fd < 0)
		return kb_fail_disk(err, errno,
				    "cannot make a temporary file in %s",
				    kb_show(&shown, dir));
	*ret_fd = fd;
	return 0;
}
