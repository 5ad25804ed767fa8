/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at an entry that somebody else published where ours would go. It is
 * never changed; the question is only what to tell the user. Few calls to the
 * system: there may be a million entries, and most are simply there already.
 *
 * Triton follows the paths of the group, not the directory that it lies in; so
 * an entry is present only where these lead back here.
 */
#include "triton_parts.h"

#include "../src/base/error.h"
#include "../src/sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REASON_MAX 256

struct looker {
	struct kb_ctx *ctx;
	int root_fd, dir_fd;
	const struct kb_entry *entry;
	const char *const *spellings;
	size_t n_spellings;
	char *reason;
};

static enum kb_resident occupied(struct looker *l, const char *fmt, ...)
	KB_PRINTF(2, 3);

static enum kb_resident occupied(struct looker *l, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(l->reason, REASON_MAX, fmt, args);
	va_end(args);
	return KB_RESIDENT_OCCUPIED;
}

/* A file whose presence is all that is asked for. */
static enum kb_resident look_at_file(struct looker *l, const char *file)
{
	struct kb_shown shown;
	struct stat st;

	if (l->ctx->fs->fstatat(l->dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) <
	    0) {
		if (errno == ENOENT)
			return KB_RESIDENT_UNMARKED;
		return occupied(l, "its %s cannot be looked at: %s",
				kb_show(&shown, file), strerror(errno));
	}
	if (!S_ISREG(st.st_mode))
		return occupied(l, "its %s is no regular file",
				kb_show(&shown, file));
	if (st.st_size == 0)
		return occupied(l, "its %s has zero bytes",
				kb_show(&shown, file));
	return KB_RESIDENT_PRESENT;
}

static size_t trimmed_len(const char *path)
{
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	return len;
}

static bool leads_here(const struct looker *l, const char *root)
{
	const struct kb_fs *fs = l->ctx->fs;
	size_t len = trimmed_len(root);
	struct stat there, here;

	for (size_t i = 0; i < l->n_spellings; i++) {
		if (trimmed_len(l->spellings[i]) == len &&
		    memcmp(l->spellings[i], root, len) == 0)
			return true;
	}
	return fs->fstatat(AT_FDCWD, *root ? root : "/", &there, 0) == 0 &&
	       fs->fstat(l->root_fd, &here) == 0 &&
	       there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

static enum kb_resident look_at_root(struct looker *l, const char *root)
{
	struct kb_shown shown;

	if (*root && *root != '/')
		return occupied(l,
				"its paths are relative, to whatever working "
				"directory a process has: %s",
				kb_show(&shown, root));
	if (!leads_here(l, root))
		return occupied(l, "its paths do not lead here but to %s",
				kb_show(&shown, *root ? root : "/"));
	return KB_RESIDENT_PRESENT;
}

static enum kb_resident look_at_children(struct looker *l,
					 const struct kb_triton_group *group)
{
	char file[NAME_MAX + 16];
	enum kb_resident found;
	bool has_meta = false;

	snprintf(file, sizeof(file), "%s.json", l->entry->name);
	for (size_t i = 0; i < group->n; i++) {
		const struct kb_triton_child *child = &group->children[i];

		has_meta |= strcmp(child->name, file) == 0;
		/* Without it Triton compiles again, or raises. */
		if (kb_triton_binary_kind(child->name)) {
			found = look_at_file(l, child->name);
			if (found == KB_RESIDENT_UNMARKED)
				return occupied(l, "its binary is missing");
			if (found != KB_RESIDENT_PRESENT)
				return found;
		}
		/* Equal roots share one string. */
		if (!group->is_map ||
		    (i > 0 && child->root == group->children[i - 1].root))
			continue;
		found = look_at_root(l, child->root);
		if (found != KB_RESIDENT_PRESENT)
			return found;
	}
	if (!has_meta)
		return occupied(l, "its group file does not list the metadata");
	found = look_at_file(l, file);
	if (found == KB_RESIDENT_UNMARKED)
		return occupied(l, "its metadata is missing");
	return found;
}

static int look_at_group(struct looker *l, const char *file,
			 enum kb_resident *ret, struct kbundle_error *err)
{
	KB_AUTO(kb_triton_group_release)
	struct kb_triton_group group = KB_TRITON_GROUP_INIT;
	KB_AUTO(kb_buf_release) struct kb_buf text;
	struct kbundle_error why;
	int r;

	kb_buf_init(&text, KB_TRITON_GROUP_MAX);
	r = kb_read_file(l->ctx, l->dir_fd, file, &text, &why);
	if (r == KBUNDLE_E_NOTFOUND) {
		*ret = KB_RESIDENT_UNMARKED;
		return 0;
	}
	if (r == 0) {
		r = kb_triton_group_parse(text.data, text.len, l->entry->path,
					  &group, &why);
		if (r < 0)
			kb_wrap(&why, "its group file");
	}
	if (r == KBUNDLE_E_NOMEM)
		return kb_fail_nomem(err);
	*ret = r < 0 ? occupied(l, "%s", why.message)
		     : look_at_children(l, &group);
	return 0;
}

const char *kb_triton_commit_file_of(const struct kb_entry *entry)
{
	struct kb_triton_shape shape;

	kb_triton_shape_of(&shape, entry);
	return kb_triton_commit_file(&shape);
}

int kb_triton_resident(struct kb_ctx *ctx, int root_fd, int dir_fd,
		       const struct kb_entry *entry,
		       const char *const *spellings, size_t n_spellings,
		       enum kb_resident *ret, char reason[256],
		       struct kbundle_error *err)
{
	struct looker l = {.ctx = ctx,
			   .root_fd = root_fd,
			   .dir_fd = dir_fd,
			   .entry = entry,
			   .spellings = spellings,
			   .n_spellings = n_spellings,
			   .reason = reason};
	struct kb_triton_shape shape;
	const char *commit;

	kb_triton_shape_of(&shape, entry);
	commit = kb_triton_commit_file(&shape);
	if (!commit)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "entry %s has no file that commits it",
			       entry->path);
	if (commit == shape.group)
		return look_at_group(&l, commit, ret, err);
	*ret = look_at_file(&l, commit);
	return 0;
}
