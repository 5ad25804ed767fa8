/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to a temporary name in the output's directory, flushes, and renames.
 * A plain rename is used where possible; an output that exists and is no
 * regular file (a device, a fifo) is written to directly, as every tool does.
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

int kb_output_open(struct kb_output *output, const char *path, int fd,
		   struct kbundle_error *err)
{
	struct kb_shown shown;
	struct stat st;

	if (!path) {
		output->fd = fd;
		return 0;
	}
	output->path = path;
	if (output->ctx->fs->fstatat(AT_FDCWD, path, &st, 0) < 0 ||
	    S_ISREG(st.st_mode))
		return open_temporary(output, err);
	if (S_ISDIR(st.st_mode))
		return kb_fail(err, KBUNDLE_E_EXISTS,
			       "output %s is a directory; name a file",
			       kb_show(&shown, path));
	output->fd = kb_openat(output->ctx, AT_FDCWD, path, O_WRONLY, 0);
	return output->fd < 0 ? kb_fail_errno(err, errno, "cannot open %s",
					      kb_show(&shown, path))
			      : 0;
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
	return 0;
}

void kb_output_release(struct kb_output *output)
{
	if (output->path)
		kb_close(output->fd);
	if (output->temporary) {
		(void)output->ctx->fs->unlinkat(AT_FDCWD, output->temporary, 0);
		free(output->temporary);
	}
	output->fd = -1;
	output->temporary = NULL;
	output->path = NULL;
}
