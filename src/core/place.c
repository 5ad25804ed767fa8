/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the place of an entry in a live cache with as few calls as will do:
 * usually everything is there, or nothing is. Whether something is "whole" is
 * for the entry's format to say; an unknown format's is believed to be.
 */
#include "place.h"

#include "../base/error.h"
#include "../sys/io.h"
#include "../sys/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int occupied(struct kb_place_look *look, const char *why)
{
	look->place = KB_PLACE_OCCUPIED;
	(void)snprintf(look->reason, sizeof(look->reason), "%s", why);
	return 0;
}

static int look_empty(struct kb_ctx *ctx, int dir_fd, const char *path,
		      struct kb_place_look *look, struct kbundle_error *err)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	struct stat st;
	int r = kb_list(ctx, dir_fd, &list, path, err);

	if (r == KBUNDLE_E_NOTFOUND || (r == 0 && !list.n)) {
		look->place = KB_PLACE_ABSENT;
		return 0;
	}
	if (r < 0)
		return r;
	if (ctx->fs->fstat(dir_fd, &st) < 0)
		return kb_fail_errno(err, errno, "%s", path);
	look->mtime = st.st_mtim;
	return 0;
}

static int look_inside(struct kb_ctx *ctx, const struct kb_live_root *root,
		       int dir_fd, const struct kb_entry *entry, bool is_file,
		       struct kb_place_look *look, struct kbundle_error *err)
{
	const struct kb_format *format = kb_format_find(entry->format);
	enum kb_resident resident = KB_RESIDENT_PRESENT;
	int r = 0;

	look->place = KB_PLACE_PRESENT;
	/* What nothing commits is no whole entry: its check will say so. */
	if (format && !format->commit_file(entry))
		resident = KB_RESIDENT_UNMARKED;
	else if (format)
		r = format->resident(ctx, root->fd, dir_fd, entry,
				     root->spellings, root->n_spellings,
				     &resident, look->reason, err);
	if (r < 0)
		return r;
	if (resident == KB_RESIDENT_OCCUPIED)
		look->place = KB_PLACE_OCCUPIED;
	if (resident == KB_RESIDENT_UNMARKED)
		look->place = KB_PLACE_UNMARKED;
	if (is_file || (format && resident != KB_RESIDENT_UNMARKED))
		return 0;
	return look_empty(ctx, dir_fd, entry->path, look, err);
}

/* A file where the entry is a directory, a symlink, and the like. */
static int look_odd(int sys_errno, const struct kb_entry *entry,
		    struct kb_place_look *look, struct kbundle_error *err)
{
	struct kb_shown shown;

	if (sys_errno == ENOENT) {
		look->place = KB_PLACE_ABSENT;
		return 0;
	}
	if (sys_errno == ENOTDIR || sys_errno == ELOOP)
		return occupied(look, "a file or a symbolic link stands there");
	if (sys_errno == EACCES)
		return occupied(look, "what stands there cannot be read");
	return kb_fail_errno(err, sys_errno, "entry %s",
			     kb_show(&shown, entry->path));
}

static int look_at_file(struct kb_ctx *ctx, int parent, const char *name,
			const struct kb_entry *entry,
			struct kb_place_look *look, struct kbundle_error *err)
{
	struct stat st;

	look->place = KB_PLACE_PRESENT;
	if (ctx->fs->fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return look_odd(errno, entry, look, err);
	if (!S_ISREG(st.st_mode))
		return occupied(look, "what stands there is no regular file");
	return 0;
}

int kb_place_look(struct kb_ctx *ctx, const struct kb_live_root *root,
		  const struct kb_entry *entry, bool is_file,
		  struct kb_place_look *ret, struct kbundle_error *err)
{
	KB_AUTO_FD int parent = -1;
	KB_AUTO_FD int fd = -1;
	struct kbundle_error why = {0};
	const char *name;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (root->fd < 0)
		return 0;
	r = kb_open_parent(ctx, root->fd, entry->path, &parent, &name, &why);
	if (r == KBUNDLE_E_EXISTS)
		return occupied(ret,
				"a directory on its way is a symbolic link "
				"or a file");
	if (r < 0 && err)
		*err = why;
	if (r < 0 || parent < 0)
		return r;
	if (is_file) {
		r = look_at_file(ctx, parent, name, entry, ret, err);
		return r < 0 || ret->place != KB_PLACE_PRESENT
			       ? r
			       : look_inside(ctx, root, parent, entry, true,
					     ret, err);
	}
	fd = kb_openat(ctx, parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
		       0);
	if (fd < 0)
		return look_odd(errno, entry, ret, err);
	return look_inside(ctx, root, fd, entry, false, ret, err);
}
