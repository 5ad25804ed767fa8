/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to a temporary name in the output's directory, flushes, and renames.
 * Symbolic links are followed and stay. What is no regular file, and what lies
 * in /dev or /proc, is written to as it is, as every tool does.
 */
#include "output.h"

#include "../base/error.h"
#include "../dep/uuid.h"
#include "../sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *kb_directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/")
			     : strndup(path, (size_t)(slash - path));
}

void kb_output_init(struct kb_output *output, struct kb_ctx *ctx)
{
	memset(output, 0, sizeof(*output));
	output->ctx = ctx;
	output->fd = -1;
}

static int open_temporary(struct kb_output *output, struct kbundle_error *err)
{
	KB_AUTO_FREE char *dir = kb_directory_of(output->path);
	struct kb_shown shown;
	char uuid[37];

	kb_uuid4(uuid);
	if (!dir ||
	    asprintf(&output->temporary, "%s/.kbundle-%s.tmp", dir, uuid) < 0) {
		output->temporary = NULL;
		return kb_fail_nomem(err);
	}
	output->fd = kb_openat(output->ctx, AT_FDCWD, output->temporary,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
	if (output->fd >= 0)
		return 0;
	free(kb_take(output->temporary));
	return kb_fail_errno(err, errno, "cannot create %s",
			     kb_show(&shown, output->path));
}

/* What stands there is written to, not replaced: a device, a fifo, and the
 * links of /dev and /proc to streams that are open already. */
static int open_in_place(struct kb_output *output, struct kbundle_error *err)
{
	struct kb_shown shown;

	output->fd = kb_openat(output->ctx, AT_FDCWD, output->path,
			       O_WRONLY | O_TRUNC, 0);
	return output->fd < 0 ? kb_fail_errno(err, errno, "cannot open %s",
					      kb_show(&shown, output->path))
			      : 0;
}

/* A link of /dev or /proc, such as /dev/stdout: replacing what it leads to, or
 * the link, is never what is meant. */
static bool is_stream_link(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 ||
	       strncmp(path, "/proc/", 6) == 0;
}

/* A symbolic link stays: the file that it leads to is replaced. */
static int resolve(struct kb_output *output, const char *path,
		   struct kbundle_error *err)
{
	struct kb_shown shown;

	free(output->path);
	output->path = realpath(path, NULL);
	return output->path ? 0
			    : kb_fail_errno(err, errno,
					    "cannot follow the symbolic link "
					    "%s",
					    kb_show(&shown, path));
}

int kb_output_open(struct kb_output *output, const char *path, int fd,
		   struct kbundle_error *err)
{
	const struct kb_fs *fs = output->ctx->fs;
	struct kb_shown shown;
	struct stat st;
	int r = 0;

	if (!path) {
		output->fd = fd;
		return 0;
	}
	output->path = strdup(path);
	if (!output->path)
		return kb_fail_nomem(err);
	if (fs->fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return open_temporary(output, err);
	if (S_ISLNK(st.st_mode) && is_stream_link(path))
		return open_in_place(output, err);
	if (S_ISLNK(st.st_mode))
		r = resolve(output, path, err);
	if (r == 0 && fs->fstatat(AT_FDCWD, output->path, &st, 0) < 0)
		r = kb_fail_errno(err, errno, "%s", kb_show(&shown, path));
	if (r < 0)
		return r;
	if (S_ISDIR(st.st_mode))
		return kb_fail(err, KBUNDLE_E_EXISTS,
			       "output %s is a directory; name a file",
			       kb_show(&shown, path));
	return S_ISREG(st.st_mode) ? open_temporary(output, err)
				   : open_in_place(output, err);
}

/* The new name lasts, too. */
static int sync_directory(struct kb_output *output, struct kbundle_error *err)
{
	KB_AUTO_FREE char *dir = kb_directory_of(output->path);
	KB_AUTO_FD int fd = -1;

	if (!dir)
		return kb_fail_nomem(err);
	fd = kb_openat(output->ctx, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	/* A directory that may be written and not read cannot be synced. */
	return fd < 0 ? 0 : kb_sync(output->ctx, fd, dir, err);
}

int kb_output_commit(struct kb_output *output, struct kbundle_error *err)
{
	struct kb_shown shown;
	int r;

	if (!output->temporary)
		return 0;
	r = kb_sync(output->ctx, output->fd, output->path, err);

	if (r == 0)
		r = kb_close_written(output->ctx, &output->fd, output->path,
				     err);
	if (r < 0)
		return r;
	if (output->ctx->fs->renameat(AT_FDCWD, output->temporary, AT_FDCWD,
				      output->path) < 0)
		return kb_fail_errno(err, errno, "cannot create %s",
				     kb_show(&shown, output->path));
	free(kb_take(output->temporary));
	return sync_directory(output, err);
}

void kb_output_release(struct kb_output *output)
{
	if (output->path)
		kb_close(output->fd);
	if (output->temporary) {
		(void)output->ctx->fs->unlinkat(AT_FDCWD, output->temporary, 0);
		free(output->temporary);
	}
	free(output->path);
	output->fd = -1;
	output->temporary = NULL;
	output->path = NULL;
}
