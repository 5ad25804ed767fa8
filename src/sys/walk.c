/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One directory as a sorted list, and what is done to whole trees on top of
 * it: removal and fsync. Walks go through descriptors and follow no symlink,
 * so that nothing outside the tree can be reached whatever others do to it
 * meanwhile.
 */
#include "walk.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "../base/path.h"
#include "io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define GETDENTS_BYTES 32768u
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
#define TREE_DEPTH_MAX 256 /* one descriptor per level */

void kb_listing_release(struct kb_listing *listing)
{
	kb_arena_release(&listing->arena);
	free(listing->items);
	*listing = (struct kb_listing)KB_LISTING_INIT;
}

static unsigned char type_of_mode(mode_t mode)
{
	return (unsigned char)IFTODT(mode);
}

/* Not every file system tells types in its directories. 1: known now, 0: the
 * name vanished. */
static int find_type(struct kb_ctx *ctx, int fd, const char *name,
		     unsigned char *type)
{
	struct stat st;

	if (*type != DT_UNKNOWN)
		return 1;
	if (ctx->fs->fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	*type = type_of_mode(st.st_mode);
	return 1;
}

/* Adds what getdents gave. */
static int add_names(struct kb_ctx *ctx, int fd, const char *data, size_t len,
		     struct kb_listing *ret, const char *name,
		     struct kbundle_error *err)
{
	struct kb_shown shown, shown_child;
	size_t pos = 0;

	while (pos < len) {
		const struct dirent64 *entry = (const void *)(data + pos);
		struct kb_dirent item = {entry->d_name, entry->d_type};
		int r;

		pos += entry->d_reclen;
		if (strcmp(item.name, ".") == 0 || strcmp(item.name, "..") == 0)
			continue;
		r = find_type(ctx, fd, item.name, &item.type);
		if (r < 0)
			return kb_fail_errno(err, errno, "cannot look at %s/%s",
					     kb_show(&shown, name),
					     kb_show(&shown_child, item.name));
		if (r == 0)
			continue;
		item.name = kb_arena_strdup(&ret->arena, item.name);
		if (!item.name || kb_grow(&ret->items, &ret->cap, ret->n + 1,
					  sizeof(*ret->items)) < 0)
			return kb_fail_nomem(err);
		ret->items[ret->n++] = item;
	}
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct kb_dirent *left = a, *right = b;

	return strcmp(left->name, right->name);
}

int kb_list(struct kb_ctx *ctx, int fd, struct kb_listing *ret,
	    const char *name, struct kbundle_error *err)
{
	KB_AUTO_FREE char *data = malloc(GETDENTS_BYTES);
	struct kb_shown shown;
	ssize_t n;

	ret->n = 0;
	kb_arena_clear(&ret->arena);
	if (!data)
		return kb_fail_nomem(err);
	if (ctx->fs->lseek(fd, 0, SEEK_SET) < 0)
		return kb_fail_errno(err, errno, "cannot list %s",
				     kb_show(&shown, name));
	for (;;) {
		int r;

		n = ctx->fs->getdents(fd, data, GETDENTS_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kb_fail_errno(err, errno, "cannot list %s",
					     kb_show(&shown, name));
		if (n == 0)
			break;
		r = add_names(ctx, fd, data, (size_t)n, ret, name, err);
		if (r < 0)
			return r;
	}
	if (ret->n > 1)
		qsort(ret->items, ret->n, sizeof(*ret->items), by_bytes);
	return 0;
}

/* What a directory's removal met first is what is worth telling. */
static int first_of(int a, int b)
{
	return a ? a : b;
}

/* Returns 0 or an errno. */
static int remove_at(struct kb_ctx *ctx, int dirfd, const char *path,
		     unsigned char type, unsigned depth)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	KB_AUTO_FD int fd = -1;
	struct kbundle_error failure = {0};
	int fault = 0;

	if (type != DT_DIR) {
		if (ctx->fs->unlinkat(dirfd, path, 0) == 0 || errno == ENOENT)
			return 0;
		return errno;
	}
	if (depth > TREE_DEPTH_MAX)
		return ELOOP;
	fd = kb_openat(ctx, dirfd, path, DIR_FLAGS, 0);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	if (kb_list(ctx, fd, &list, path, &failure) < 0)
		fault = failure.sys_errno ? failure.sys_errno : ENOMEM;
	for (size_t i = 0; i < list.n; i++)
		fault = first_of(fault,
				 remove_at(ctx, fd, list.items[i].name,
					   list.items[i].type, depth + 1));
	if (ctx->fs->unlinkat(dirfd, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
		fault = first_of(fault, errno);
	else
		fault = 0;
	return fault;
}

int kb_remove_tree(struct kb_ctx *ctx, int dirfd, const char *path)
{
	struct stat st;
	int fault;

	if (ctx->fs->fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		fault = errno == ENOENT ? 0 : errno;
	else
		fault = remove_at(ctx, dirfd, path, type_of_mode(st.st_mode),
				  1);
	if (!fault)
		return 0;
	errno = fault;
	return -1;
}

static int sync_at(struct kb_ctx *ctx, int fd, const char *name, unsigned depth,
		   struct kbundle_error *err)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	struct kb_shown shown, shown_child;
	int r;

	if (depth > TREE_DEPTH_MAX)
		return kb_fail(err, KBUNDLE_E_LIMIT,
			       "%s: directories are nested too deeply",
			       kb_show(&shown, name));
	r = kb_list(ctx, fd, &list, name, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < list.n; i++) {
		const char *child = list.items[i].name;
		KB_AUTO_FD int child_fd = -1;

		if (list.items[i].type != DT_DIR)
			continue;
		child_fd = kb_openat(ctx, fd, child, DIR_FLAGS, 0);
		if (child_fd < 0)
			return kb_fail_errno(err, errno, "cannot open %s/%s",
					     kb_show(&shown, name),
					     kb_show(&shown_child, child));
		r = sync_at(ctx, child_fd, name, depth + 1, err);
		if (r < 0)
			return r;
	}
	return kb_sync(ctx, fd, name, err);
}

int kb_sync_dirs(struct kb_ctx *ctx, int fd, const char *name,
		 struct kbundle_error *err)
{
	return sync_at(ctx, fd, name, 1, err);
}

int kb_step_into(struct kb_ctx *ctx, int dirfd, const char *path,
		 const char **rest, bool *made)
{
	const char *slash = strchr(path, '/');
	char name[KB_NAME_MAX + 1];

	if (slash - path > KB_NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name, path, (size_t)(slash - path));
	name[slash - path] = '\0';
	*rest = slash + 1;
	if (made) {
		*made = ctx->fs->mkdirat(dirfd, name, 0777) == 0;
		if (!*made && errno != EEXIST)
			return -1;
	}
	return kb_openat(ctx, dirfd, name, DIR_FLAGS, 0);
}

int kb_open_parent(struct kb_ctx *ctx, int root_fd, const char *path,
		   int *ret_fd, const char **ret_name,
		   struct kbundle_error *err)
{
	KB_AUTO_FD int fd = -1;
	struct kb_shown shown;
	const char *rest = path;

	*ret_fd = -1;
	fd = kb_openat(ctx, root_fd, ".", O_RDONLY | O_DIRECTORY, 0);
	while (fd >= 0 && strchr(rest, '/')) {
		int next_fd = kb_step_into(ctx, fd, rest, &rest, NULL);

		kb_close(fd);
		fd = next_fd;
	}
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return kb_fail(err, KBUNDLE_E_EXISTS,
			       "on the way to %s stands a file or a symbolic "
			       "link, which is not followed",
			       kb_show(&shown, path));
	if (fd < 0)
		return kb_fail_errno(err, errno,
				     "cannot open the directory of "
				     "%s",
				     kb_show(&shown, path));
	*ret_fd = kb_take_fd(&fd);
	*ret_name = rest;
	return 0;
}
