/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging and publishing below one root. What an entry is, whether it is sound
 * and what to say of a taken place is the caller's; marks are mark.c's.
 *
 * Invariant: below the root, outside the run's own staging directory, nothing
 * changes but by the one rename or link that publishes a child, the mkdir of a
 * missing parent for it, and the rmdir of such a parent where it failed.
 */
#include "stage.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "../base/path.h"
#include "io.h"
#include "mark.h"
#include "rootdir.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>

#define OPEN_TRIES 16
#define CHILD_NAME_BYTES 24 /* decimal digits of a uint64_t */
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

struct kb_stage {
	struct kb_ctx *ctx;
	struct kb_rootdir root;
	char name[64]; /* of the staging directory; "": there is none */
	char *path;    /* <root>/<name> */
	int dir_fd, mark_fd;
	/* Parents below the root that got an entry, relative to it. */
	char **parents;
	size_t n_parents, parents_cap;
	bool published;
};

static void format_child(char text[CHILD_NAME_BYTES], uint64_t number)
{
	snprintf(text, CHILD_NAME_BYTES, "%llu", (unsigned long long)number);
}

/* ---- opening ----------------------------------------------------------- */

/* 0; 1: the name was taken or the directory went to another run's sweep. */
static int make_staging(struct kb_stage *stage, void (*uuid)(char ret[37]),
			struct kbundle_error *err)
{
	struct kb_ctx *ctx = stage->ctx;
	struct kb_shown shown;
	char text[37], name[sizeof(stage->name)];

	uuid(text);
	snprintf(name, sizeof(name), KB_STAGING_PREFIX "%s", text);
	free(stage->path);
	stage->path = kb_path_join(stage->root.path, name);
	if (!stage->path)
		return kb_fail_nomem(err);
	if (ctx->fs->mkdirat(stage->root.fd, name, KB_STAGING_MODE) < 0) {
		/* ENOENT: the root is gone; it was another run's, which made
		 * it and gave up. */
		if (errno == EEXIST || errno == ENOENT)
			return 1;
		return kb_fail_disk(err, errno,
				    "cannot make the staging directory %s",
				    kb_show(&shown, stage->path));
	}
	memcpy(stage->name, name, sizeof(name));
	stage->dir_fd = kb_openat(ctx, stage->root.fd, name, DIR_FLAGS, 0);
	if (stage->dir_fd < 0 && errno == ENOENT)
		return 1;
	if (stage->dir_fd < 0)
		return kb_fail_disk(err, errno,
				    "cannot open the staging directory %s",
				    kb_show(&shown, stage->path));
	return kb_mark_create(ctx, stage->dir_fd, &stage->mark_fd, stage->path,
			      err);
}

int kb_stage_now(struct kb_stage *stage, struct timespec *ret,
		 struct kbundle_error *err)
{
	const struct kb_fs *fs = stage->ctx->fs;
	struct kb_shown shown;
	struct stat st;

	if (fs->futimens(stage->dir_fd, NULL) < 0 ||
	    fs->fstat(stage->dir_fd, &st) < 0)
		return kb_fail_errno(err, errno, "%s",
				     kb_show(&shown, stage->path));
	*ret = st.st_mtim;
	return 0;
}

static void forget_staging(struct kb_stage *stage)
{
	kb_close(kb_take_fd(&stage->mark_fd));
	kb_close(kb_take_fd(&stage->dir_fd));
	stage->name[0] = '\0';
}

int kb_stage_open(struct kb_ctx *ctx, const char *root,
		  void (*uuid)(char ret[37]), struct kb_stage **ret,
		  struct kbundle_error *err)
{
	KB_AUTO(kb_stage_close) struct kb_stage *stage = NULL;
	struct kb_shown shown;
	int r;

	stage = calloc(1, sizeof(*stage));
	if (!stage)
		return kb_fail_nomem(err);
	stage->ctx = ctx;
	stage->dir_fd = stage->mark_fd = -1;
	r = kb_rootdir_init(&stage->root, root, err);
	if (r < 0)
		return r;
	for (int try = 0; try < OPEN_TRIES; try++) {
		r = kb_rootdir_open(ctx, &stage->root, err);
		if (r < 0)
			return r;
		r = make_staging(stage, uuid, err);
		if (r < 0)
			return r;
		if (r == 0) {
			kb_mark_sweep(ctx, stage->root.fd, root, stage->name,
				      stage->mark_fd);
			*ret = kb_take(stage);
			return 0;
		}
		forget_staging(stage);
	}
	return kb_fail(err, KBUNDLE_E_EXISTS,
		       "cannot make a staging directory in %s: each of %d "
		       "names was taken or removed at once by others",
		       kb_show(&shown, root), OPEN_TRIES);
}

int kb_stage_root_fd(const struct kb_stage *stage)
{
	return stage->root.fd;
}

const char *kb_stage_path(const struct kb_stage *stage)
{
	return stage->path;
}

/* ---- staging ----------------------------------------------------------- */

int kb_stage_dir(struct kb_stage *stage, uint64_t number, int *ret_fd,
		 struct kbundle_error *err)
{
	char child[CHILD_NAME_BYTES];
	struct kb_shown shown;

	format_child(child, number);
	if (stage->ctx->fs->mkdirat(stage->dir_fd, child, 0777) < 0)
		return kb_fail_disk(err, errno, "cannot make %s/%s",
				    kb_show(&shown, stage->path), child);
	*ret_fd = kb_openat(stage->ctx, stage->dir_fd, child, DIR_FLAGS, 0);
	if (*ret_fd < 0)
		return kb_fail_disk(err, errno, "cannot open %s/%s",
				    kb_show(&shown, stage->path), child);
	return 0;
}

/* Creates a file below dir_fd, with the directories that its name has. Returns
 * a descriptor, or -1 with errno. */
static int create_below(struct kb_ctx *ctx, int dir_fd, const char *name)
{
	KB_AUTO_FD int owned_fd = -1;

	while (strchr(name, '/')) {
		bool made;
		int next_fd = kb_step_into(ctx, dir_fd, name, &name, &made);

		if (next_fd < 0)
			return -1;
		kb_close(owned_fd);
		owned_fd = dir_fd = next_fd;
	}
	return kb_openat(ctx, dir_fd, name,
			 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
}

int kb_stage_file(struct kb_stage *stage, uint64_t number, int dir_fd,
		  const char *name, int *ret_fd, struct kbundle_error *err)
{
	struct kb_shown shown, shown_name;
	char child[CHILD_NAME_BYTES];
	const char *fault;

	format_child(child, number);
	if (dir_fd < 0) {
		*ret_fd = create_below(stage->ctx, stage->dir_fd, child);
		if (*ret_fd < 0)
			return kb_fail_disk(err, errno, "cannot create %s/%s",
					    kb_show(&shown, stage->path),
					    child);
		return 0;
	}
	/* The last gate before the disk; the manifest was checked already. */
	fault = kb_path_fault(name);
	if (fault)
		return kb_fail(err, KBUNDLE_E_INVALID, "file name %s %s",
			       kb_show(&shown_name, name), fault);
	*ret_fd = create_below(stage->ctx, dir_fd, name);
	if (*ret_fd < 0)
		return kb_fail_disk(err, errno, "cannot create %s/%s/%s",
				    kb_show(&shown, stage->path), child,
				    kb_show(&shown_name, name));
	return 0;
}

int kb_stage_sync_dir(struct kb_stage *stage, int dir_fd,
		      struct kbundle_error *err)
{
	return kb_sync_dirs(stage->ctx, dir_fd, stage->path, err);
}

int kb_stage_sync_all(struct kb_stage *stage, struct kbundle_error *err)
{
	struct kb_shown shown;
	int r;

	do
		r = stage->ctx->fs->syncfs(stage->dir_fd);
	while (r < 0 && errno == EINTR);
	if (r < 0 && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return kb_fail_disk(err, errno, "cannot flush %s to the disk",
				    kb_show(&shown, stage->path));
	return 0;
}

void kb_stage_drop(struct kb_stage *stage, uint64_t number)
{
	char child[CHILD_NAME_BYTES];
	struct kb_shown shown;

	format_child(child, number);
	/* What stays is removed, or told, when the stage is closed. */
	if (kb_remove_tree(stage->ctx, stage->dir_fd, child) < 0)
		kb_log(stage->ctx, KBUNDLE_LOG_DEBUG,
		       "cannot remove %s/%s yet: %m",
		       kb_show(&shown, stage->path), child);
}

/* ---- publishing -------------------------------------------------------- */

struct publication {
	struct kb_stage *stage;
	const char *path; /* whole, below the root */
	char child[CHILD_NAME_BYTES];
	bool is_dir;
	enum kb_publish result;
};

static int fail_to_publish(const struct publication *p, int sys_errno,
			   struct kbundle_error *err)
{
	struct kb_shown shown_root, shown_path;

	return kb_fail_disk(err, sys_errno, "cannot publish %s/%s",
			    kb_show(&shown_root, p->stage->root.path),
			    kb_show(&shown_path, p->path));
}

/* The kernel replaces an empty directory and nothing else (rename(2)). */
static int publish_dir(struct publication *p, int dirfd, const char *name,
		       struct kbundle_error *err)
{
	const struct kb_fs *fs = p->stage->ctx->fs;

	p->result = KB_PUBLISH_DONE;
	if (fs->renameat(p->stage->dir_fd, p->child, dirfd, name) == 0)
		return 0;
	switch (errno) {
	case ENOTEMPTY:
	case EEXIST:
		p->result = KB_PUBLISH_TAKEN;
		return 0;
	case ENOTDIR: /* a file, or a symlink whatever it leads to */
	case EBUSY:   /* a mount point */
		p->result = KB_PUBLISH_OCCUPIED;
		return 0;
	default:
		return fail_to_publish(p, errno, err);
	}
}

/* What stands where a file could not be linked? */
static enum kb_publish look_at_place(const struct publication *p, int dirfd,
				     const char *name)
{
	const struct kb_fs *fs = p->stage->ctx->fs;
	struct stat there, ours;

	/* Gone again: its writer is at work. */
	if (fs->fstatat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return KB_PUBLISH_TAKEN;
	if (!S_ISREG(there.st_mode))
		return KB_PUBLISH_OCCUPIED;
	/* NFS may do the work, lose the answer and say EEXIST to the retry. */
	if (fs->fstatat(p->stage->dir_fd, p->child, &ours,
			AT_SYMLINK_NOFOLLOW) == 0 &&
	    there.st_dev == ours.st_dev && there.st_ino == ours.st_ino)
		return KB_PUBLISH_DONE;
	return KB_PUBLISH_TAKEN;
}

static bool cannot_link(int sys_errno)
{
	return sys_errno == EPERM || sys_errno == EOPNOTSUPP ||
	       sys_errno == ENOSYS || sys_errno == EMLINK || sys_errno == EXDEV;
}

static int publish_file(struct publication *p, int dirfd, const char *name,
			struct kbundle_error *err)
{
	const struct kb_fs *fs = p->stage->ctx->fs;
	const int from_fd = p->stage->dir_fd;
	struct kb_shown shown_root, shown_path;

	p->result = KB_PUBLISH_DONE;
	if (fs->linkat(from_fd, p->child, dirfd, name, 0) == 0) {
		/* At once, since it changes the file's ctime, which readers
		 * compare. What fails is left to close. */
		(void)fs->unlinkat(from_fd, p->child, 0);
		return 0;
	}
	if (cannot_link(errno) && fs->renameat2(from_fd, p->child, dirfd, name,
						RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST) {
		p->result = look_at_place(p, dirfd, name);
		return 0;
	}
	if (errno == EINVAL || errno == ENOSYS)
		return kb_fail(
			err, KBUNDLE_E_UNSUPPORTED,
			"cannot publish %s/%s: the file system there has "
			"neither hard links nor a rename that replaces "
			"nothing; choose another directory",
			kb_show(&shown_root, p->stage->root.path),
			kb_show(&shown_path, p->path));
	return fail_to_publish(p, errno, err);
}

/* Publishes at `rest`, what remains of the path below dirfd. */
static int publish_below(struct publication *p, int dirfd, const char *rest,
			 struct kbundle_error *err)
{
	struct kb_ctx *ctx = p->stage->ctx;
	const char *parent = rest;
	KB_AUTO_FD int fd = -1;
	bool made = false;
	int r;

	if (!strchr(rest, '/'))
		return p->is_dir ? publish_dir(p, dirfd, rest, err)
				 : publish_file(p, dirfd, rest, err);
	fd = kb_step_into(ctx, dirfd, parent, &rest, &made);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		p->result = KB_PUBLISH_OCCUPIED;
		return 0;
	}
	if (fd < 0)
		r = fail_to_publish(p, errno, err);
	else
		r = publish_below(p, fd, rest, err);
	if (made && (r < 0 || p->result != KB_PUBLISH_DONE)) {
		KB_AUTO_FREE char *name = strndup(parent, strcspn(parent, "/"));

		/* Only if it is still empty. */
		if (name)
			(void)ctx->fs->unlinkat(dirfd, name, AT_REMOVEDIR);
	}
	return r;
}

/* For kb_stage_finish(). Entries come sorted, so a parent follows itself. */
static int remember_parent(struct kb_stage *stage, const char *path,
			   struct kbundle_error *err)
{
	const char *slash = strrchr(path, '/');
	KB_AUTO_FREE char *parent = NULL;

	if (!slash)
		return 0;
	parent = strndup(path, (size_t)(slash - path) + 1);
	if (!parent)
		return kb_fail_nomem(err);
	if (stage->n_parents > 0 &&
	    strcmp(stage->parents[stage->n_parents - 1], parent) == 0)
		return 0;
	if (kb_grow(&stage->parents, &stage->parents_cap, stage->n_parents + 1,
		    sizeof(*stage->parents)) < 0)
		return kb_fail_nomem(err);
	stage->parents[stage->n_parents++] = kb_take(parent);
	return 0;
}

int kb_stage_publish(struct kb_stage *stage, uint64_t number, bool is_dir,
		     const char *path, enum kb_publish *ret,
		     struct kbundle_error *err)
{
	struct publication p = {.stage = stage, .path = path, .is_dir = is_dir};
	const char *fault = kb_path_fault(path);
	struct kb_shown shown;
	int r;

	/* The last gate before the disk; the manifest was checked already. */
	if (fault)
		return kb_fail(err, KBUNDLE_E_INVALID, "entry path %s %s",
			       kb_show(&shown, path), fault);
	/* Before the rename: after it, nothing may fail. */
	r = remember_parent(stage, path, err);
	if (r < 0)
		return r;
	format_child(p.child, number);
	r = publish_below(&p, stage->root.fd, path, err);
	if (r < 0)
		return r;
	if (p.result == KB_PUBLISH_DONE)
		stage->published = true;
	*ret = p.result;
	return 0;
}

/* ---- the end ----------------------------------------------------------- */

/* fsync of each directory of `parent` ("a/b/") below the root. */
static int sync_parents(struct kb_stage *stage, const char *parent,
			struct kbundle_error *err)
{
	struct kb_shown shown_root, shown;
	const char *rest = parent;
	KB_AUTO_FD int owned_fd = -1;
	int dirfd = stage->root.fd;

	while (*rest) {
		int next_fd =
			kb_step_into(stage->ctx, dirfd, rest, &rest, NULL);
		int r;

		/* No entry of this run is in what others removed since. */
		if (next_fd < 0 && errno == ENOENT)
			return 0;
		if (next_fd < 0)
			return kb_fail_disk(
				err, errno, "cannot open %s/%s",
				kb_show(&shown_root, stage->root.path),
				kb_show(&shown, parent));
		kb_close(owned_fd);
		owned_fd = dirfd = next_fd;
		r = kb_sync(stage->ctx, dirfd, parent, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int kb_stage_finish(struct kb_stage *stage, bool sync,
		    struct kbundle_error *err)
{
	int r;

	if (!sync || !stage->published)
		return 0;
	for (size_t i = 0; i < stage->n_parents; i++) {
		r = sync_parents(stage, stage->parents[i], err);
		if (r < 0)
			return r;
	}
	return kb_rootdir_sync(stage->ctx, &stage->root, err);
}

void kb_stage_close(struct kb_stage *stage)
{
	int saved_errno = errno;
	struct kb_shown shown;

	if (!stage)
		return;
	if (stage->name[0] && kb_mark_remove(stage->ctx, stage->root.fd,
					     stage->name, stage->dir_fd) < 0)
		kb_log(stage->ctx, KBUNDLE_LOG_WARNING,
		       "cannot remove the staging directory %s: %m; the next "
		       "unpack into this root will try again",
		       kb_show(&shown, stage->path));
	forget_staging(stage);
	if (!stage->published)
		kb_rootdir_unmake(stage->ctx, &stage->root);
	for (size_t i = 0; i < stage->n_parents; i++)
		free(stage->parents[i]);
	free(stage->parents);
	free(stage->path);
	kb_rootdir_release(&stage->root);
	free(stage);
	errno = saved_errno;
}
