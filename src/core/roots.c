/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens what a user named as a cache. A directory is taken as it is; a regular
 * file must be an archive of a cache and is unpacked, under the rules for
 * hostile input (dep/archive.c), into a directory that nobody else can read.
 */
#include "roots.h"

#include "../base/error.h"
#include "../base/path.h"
#include "../dep/archive.h"
#include "../dep/uuid.h"
#include "../sys/io.h"
#include "../sys/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PREFIX "/opt/kbundle"
#define NESTING_MAX                                                            \
	16 /* directories between an archive's top and its cache               \
	    */

const char *kb_tmp_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

int kb_absolute(const char *path, char **ret, struct kbundle_error *err)
{
	KB_AUTO_FREE char *cwd = NULL;

	if (!*path)
		return kb_fail(err, KBUNDLE_E_INVALID, "a path is empty");
	if (*path != '/') {
		cwd = getcwd(NULL, 0);
		if (!cwd)
			return kb_fail_errno(err, errno,
					     "cannot tell the working "
					     "directory");
	}
	*ret = kb_path_absolute(cwd ? cwd : "/", path);
	return *ret ? 0 : kb_fail_nomem(err);
}

static void root_release(struct kb_ctx *ctx, struct kb_source_root *root)
{
	kb_close(root->fd);
	if (root->scratch)
		(void)kb_remove_tree(ctx, AT_FDCWD, root->scratch);
	free(root->name);
	free(root->path);
	free(root->token);
	free(root->scratch);
}

void kb_source_roots_release(struct kb_source_roots *roots)
{
	for (size_t i = 0; i < roots->n; i++)
		root_release(roots->ctx, &roots->items[i]);
	free(roots->items);
	free(roots->tokens);
	memset(roots, 0, sizeof(*roots));
}

/* An archive may hold the cache below directories of its own (".triton/cache",
 * "cache"): goes down while there is nothing but one directory. */
static int find_cache(struct kb_ctx *ctx, int *fd,
		      const struct kb_format **format, const char *path,
		      struct kbundle_error *err)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;

	for (int depth = 0; depth < NESTING_MAX; depth++) {
		int below, r = kb_format_detect(ctx, *fd, format, err);

		if (r < 0 || *format)
			return r;
		r = kb_list(ctx, *fd, &list, path, err);
		if (r < 0)
			return r;
		if (list.n != 1 || list.items[0].type != DT_DIR)
			return 0;
		below = kb_openat(ctx, *fd, list.items[0].name,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (below < 0)
			return kb_fail_errno(err, errno, "%s", path);
		kb_close(*fd);
		*fd = below;
	}
	return 0;
}

static int open_archive(struct kb_ctx *ctx, struct kb_source_root *root,
			const char *spool_dir,
			const struct kbundle_limits *limits,
			const struct kb_format **found,
			struct kbundle_error *err)
{
	KB_AUTO_FD int archive = kb_take_fd(&root->fd);
	const struct kb_archive_limits bounds = {limits->total_bytes,
						 limits->file_bytes,
						 limits->files, limits->ratio};
	struct kb_shown shown;
	uint64_t left = 0;
	char uuid[37];
	int r;

	kb_show(&shown, root->path);
	kb_uuid4(uuid);
	if (asprintf(&root->scratch, "%s/kbundle-%s", spool_dir, uuid) < 0) {
		root->scratch = NULL;
		return kb_fail_nomem(err);
	}
	if (ctx->fs->mkdirat(AT_FDCWD, root->scratch, 0700) < 0)
		return kb_fail_errno(err, errno,
				     "cannot make a directory to unpack "
				     "archive %s in %s",
				     shown.text, spool_dir);
	root->fd = kb_openat(ctx, AT_FDCWD, root->scratch,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (root->fd < 0)
		return kb_fail_errno(err, errno, "%s", root->scratch);
	r = kb_archive_extract(ctx, archive, root->fd, &bounds, shown.text,
			       &left, err);
	/* FORMAT speaks of bundles; this is an input that is of no use here. */
	if (r == KBUNDLE_E_FORMAT && err)
		err->code = KBUNDLE_E_UNSUPPORTED;
	if (r < 0)
		return r == KBUNDLE_E_FORMAT ? KBUNDLE_E_UNSUPPORTED : r;
	if (left)
		kb_log(ctx, KBUNDLE_LOG_NOTICE,
		       "%s: left out %llu members that are no regular files",
		       shown.text, (unsigned long long)left);
	return find_cache(ctx, &root->fd, found, shown.text, err);
}

static int open_root(struct kb_ctx *ctx, struct kb_source_root *root,
		     const char *spool_dir, const struct kbundle_limits *limits,
		     const struct kb_format **found, struct kbundle_error *err)
{
	struct kb_shown shown;
	struct stat st;

	kb_show(&shown, root->path);
	root->fd =
		kb_openat(ctx, AT_FDCWD, root->path, O_RDONLY | O_NONBLOCK, 0);
	if (root->fd < 0)
		return kb_fail_errno(err, errno, "cannot open cache %s",
				     shown.text);
	if (ctx->fs->fstat(root->fd, &st) < 0)
		return kb_fail_errno(err, errno, "%s", shown.text);
	if (S_ISDIR(st.st_mode))
		return kb_format_detect(ctx, root->fd, found, err);
	if (S_ISREG(st.st_mode))
		return open_archive(ctx, root, spool_dir, limits, found, err);
	return kb_fail(err, KBUNDLE_E_UNSUPPORTED,
		       "%s is neither a directory nor an archive", shown.text);
}

static int check_name(const struct kb_source_roots *roots,
		      struct kb_source_root *root, const char *given,
		      struct kbundle_error *err)
{
	struct kb_shown shown;

	if (!given)
		return 0;
	if (!kb_root_name_is_valid(given))
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "root name %s: use [a-z0-9][a-z0-9._-]*, at "
			       "most 32 characters, not beginning with kbundle",
			       kb_show(&shown, given));
	for (size_t i = 0; i < roots->n; i++)
		if (roots->items[i].name &&
		    !strcmp(roots->items[i].name, given))
			return kb_fail(err, KBUNDLE_E_INVALID,
				       "root name %s is given twice", given);
	root->name = strdup(given);
	return root->name ? 0 : kb_fail_nomem(err);
}

static bool is_taken(const struct kb_source_roots *roots, const char *name)
{
	for (size_t i = 0; i < roots->n; i++)
		if (roots->items[i].name && !strcmp(roots->items[i].name, name))
			return true;
	return false;
}

/* The format's name, with a number where that is taken. */
static int choose_name(const struct kb_source_roots *roots,
		       struct kb_source_root *root, struct kbundle_error *err)
{
	KB_AUTO_FREE char *name = strdup(root->format->name);

	for (unsigned number = 2; name && is_taken(roots, name); number++) {
		free(name);
		if (asprintf(&name, "%s-%u", root->format->name, number) < 0)
			name = NULL;
	}
	if (!name)
		return kb_fail_nomem(err);
	root->name = kb_take(name);
	return 0;
}

static int make_token(struct kb_source_roots *roots, size_t i,
		      const char *prefix, struct kbundle_error *err)
{
	struct kb_source_root *root = &roots->items[i];
	struct kb_shown shown;

	if (asprintf(&root->token, "%s/%s", prefix, root->name) < 0) {
		root->token = NULL;
		return kb_fail_nomem(err);
	}
	if (!kb_token_is_valid(root->token))
		return kb_fail(
			err, KBUNDLE_E_INVALID,
			"token %s: use an absolute path of 8 to 200 "
			"bytes, each component [A-Za-z0-9][A-Za-z0-9._+-]*",
			kb_show(&shown, root->token));
	roots->tokens[i] = root->token;
	return 0;
}

int kb_source_roots_name(struct kb_source_roots *roots, const char *prefix,
			 struct kbundle_error *err)
{
	for (size_t i = 0; i < roots->n; i++) {
		int r = roots->items[i].name
				? 0
				: choose_name(roots, &roots->items[i], err);

		if (r == 0)
			r = make_token(roots, i,
				       prefix ? prefix : DEFAULT_PREFIX, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int choose_format(struct kb_source_root *root, const char *given,
			 const struct kb_format *found,
			 struct kbundle_error *err)
{
	struct kb_shown shown;

	root->format = given ? kb_format_find(given) : found;
	if (root->format)
		return 0;
	if (given)
		return kb_fail(err, KBUNDLE_E_INVALID, "format %s is unknown",
			       kb_show(&shown, given));
	/* An empty cache and one of nobody look alike: Triton's is assumed, so
	 * that the answer is "nothing found" and not "unknown". */
	root->format = kb_formats[0];
	return 0;
}

static int add_root(struct kb_source_roots *roots,
		    const struct kbundle_root *given, const char *spool_dir,
		    const struct kbundle_limits *limits,
		    struct kbundle_error *err)
{
	struct kb_source_root *root = &roots->items[roots->n];
	const struct kb_format *found = NULL;
	int r;

	root->fd = -1;
	roots->n++;
	if (!given->path)
		return kb_fail(err, KBUNDLE_E_INVALID, "a root has no path");
	r = check_name(roots, root, given->name, err);
	if (r == 0)
		r = kb_absolute(given->path, &root->path, err);
	if (r == 0)
		r = open_root(roots->ctx, root, spool_dir, limits, &found, err);
	return r < 0 ? r : choose_format(root, given->format, found, err);
}

int kb_source_roots_open(struct kb_ctx *ctx, const struct kbundle_root *roots,
			 size_t n, const char *spool_dir,
			 const struct kbundle_limits *limits,
			 struct kb_source_roots *ret, struct kbundle_error *err)
{
	ret->ctx = ctx;
	ret->n = 0;
	ret->items = calloc(n ? n : 1, sizeof(*ret->items));
	ret->tokens = calloc(n ? n : 1, sizeof(*ret->tokens));
	if (!ret->items || !ret->tokens)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		int r = add_root(ret, &roots[i], spool_dir, limits, err);

		if (r < 0)
			return r;
	}
	return 0;
}
