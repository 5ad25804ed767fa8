/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkdir -p with a memory. Invariant: `made` names only directories whose
 * mkdir(2) was ours, and they are removed only by rmdir(2), so what others put
 * there meanwhile keeps them.
 */
#include "rootdir.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

int kb_rootdir_init(struct kb_rootdir *root, const char *path,
		    struct kbundle_error *err)
{
	*root = (struct kb_rootdir)KB_ROOTDIR_INIT;
	root->path = strdup(path);
	return root->path ? 0 : kb_fail_nomem(err);
}

void kb_rootdir_release(struct kb_rootdir *root)
{
	kb_close(root->fd);
	free(root->path);
	free(root->made);
	*root = (struct kb_rootdir)KB_ROOTDIR_INIT;
}

/* Length of path without its last component and the slashes before it; "/"
 * stays. */
static size_t parent_len(const char *path, size_t len)
{
	while (len > 1 && path[len - 1] != '/')
		len--;
	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

/* Length of the longest prefix of path that is there; path is cut to it. Codes
 * as kb_fail_disk(). */
static int find_existing(struct kb_ctx *ctx, char *path, size_t *ret_len,
			 struct kbundle_error *err)
{
	size_t len = strlen(path);
	struct kb_shown shown;
	struct stat st;

	while (len > 1 && ctx->fs->fstatat(AT_FDCWD, path, &st, 0) < 0) {
		if (errno != ENOENT)
			return kb_fail_disk(err, errno, "cannot look at %s",
					    kb_show(&shown, path));
		len = parent_len(path, len);
		path[len] = '\0';
	}
	*ret_len = len;
	return 0;
}

static int make_one(struct kb_ctx *ctx, struct kb_rootdir *root,
		    const char *path, struct kbundle_error *err)
{
	struct kb_shown shown;

	if (kb_grow(&root->made, &root->cap, root->n_made + 1,
		    sizeof(*root->made)) < 0)
		return kb_fail_nomem(err);
	if (ctx->fs->mkdirat(AT_FDCWD, path, 0777) == 0)
		root->made[root->n_made++] = strlen(path);
	else if (errno != EEXIST)
		return kb_fail_disk(err, errno, "cannot make the directory %s",
				    kb_show(&shown, path));
	return 0;
}

static int make_missing(struct kb_ctx *ctx, struct kb_rootdir *root,
			struct kbundle_error *err)
{
	KB_AUTO_FREE char *path = strdup(root->path);
	size_t len = 0;
	int r;

	if (!path)
		return kb_fail_nomem(err);
	/* What exists is not given to mkdir(2), which may say EROFS or EACCES
	 * of it instead of EEXIST. */
	r = find_existing(ctx, path, &len, err);
	while (r == 0 && root->path[len]) {
		do {
			path[len] = root->path[len];
			len++;
		} while (root->path[len] && root->path[len] != '/');
		path[len] = '\0';
		r = make_one(ctx, root, path, err);
	}
	return r;
}

int kb_rootdir_open(struct kb_ctx *ctx, struct kb_rootdir *root,
		    struct kbundle_error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY;
	struct kb_shown shown;
	int r;

	kb_close(kb_take_fd(&root->fd));
	root->fd = kb_openat(ctx, AT_FDCWD, root->path, flags, 0);
	if (root->fd < 0 && errno == ENOENT) {
		r = make_missing(ctx, root, err);
		if (r < 0)
			return r;
		root->fd = kb_openat(ctx, AT_FDCWD, root->path, flags, 0);
	}
	if (root->fd >= 0)
		return 0;
	r = kb_fail_disk(err, errno, "cannot open the directory %s",
			 kb_show(&shown, root->path));
	if (r == KBUNDLE_E_NOTFOUND)
		kb_advise(err, "a symbolic link there leads nowhere, or it was "
			       "removed meanwhile");
	return r;
}

/* fsync of the directory that holds the one named by a prefix of path. */
static int sync_above(struct kb_ctx *ctx, const struct kb_rootdir *root,
		      size_t len, struct kbundle_error *err)
{
	KB_AUTO_FREE char *above =
		strndup(root->path, parent_len(root->path, len));
	KB_AUTO_FD int fd = -1;
	struct kb_shown shown;

	if (!above)
		return kb_fail_nomem(err);
	fd = kb_openat(ctx, AT_FDCWD, above, O_RDONLY | O_DIRECTORY, 0);
	/* Who may write there need not be allowed to read there. */
	if (fd < 0 && errno == EACCES)
		return 0;
	if (fd < 0)
		return kb_fail_disk(err, errno, "cannot open the directory %s",
				    kb_show(&shown, above));
	return kb_sync(ctx, fd, above, err);
}

int kb_rootdir_sync(struct kb_ctx *ctx, const struct kb_rootdir *root,
		    struct kbundle_error *err)
{
	int r = kb_sync(ctx, root->fd, root->path, err);

	for (size_t i = root->n_made; r == 0 && i > 0; i--)
		r = sync_above(ctx, root, root->made[i - 1], err);
	return r;
}

void kb_rootdir_unmake(struct kb_ctx *ctx, struct kb_rootdir *root)
{
	for (; root->n_made > 0; root->n_made--) {
		root->path[root->made[root->n_made - 1]] = '\0';
		/* ENOENT: made twice, since others removed it in between. */
		if (ctx->fs->unlinkat(AT_FDCWD, root->path, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			return;
	}
}
