/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks of staging directories and the sweep over abandoned ones.
 *
 * Invariant: nothing is removed but by the holder of the lock of its mark, or
 * by rmdir(2), which removes only what is empty. Order of birth: directory,
 * empty mark, lock, magic. Order of death: content, mark, directory. So at each
 * point in between, what a kill leaves is one of the kinds in mark.h.
 */
#include "mark.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "io.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MARK_NAME ".kbundle"
#define MARK_MAGIC "kbundle staging 1\n"
#define MARK_BYTES_MAX 128
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define UUID_LEN 36
#define DAY_S (24 * 60 * 60)

/* Not in <linux/magic.h> of all releases that we build on. */
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e
#define XFS_MAGIC 0x58465342
#define JFS_MAGIC 0x3153464a

struct boot {
	char id[UUID_LEN + 1]; /* "": not known */
};

/* Another run's staging directory, its mark locked by us. */
struct found {
	const char *name;
	int dir_fd, mark_fd; /* borrowed */
	struct stat dir, mark;
};

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_uuid(const char *text, bool version4)
{
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !is_hex(text[i]))
			return false;
	}
	if (text[UUID_LEN] != '\0')
		return false;
	return !version4 || (text[14] == '4' && strchr("89ab", text[19]));
}

static bool is_staging_name(const char *name)
{
	const size_t prefix_len = strlen(KB_STAGING_PREFIX);

	return strncmp(name, KB_STAGING_PREFIX, prefix_len) == 0 &&
	       is_uuid(name + prefix_len, true);
}

/* Where it cannot be told (no /proc), only age says that a run is dead. */
static void find_boot(struct kb_ctx *ctx, struct boot *ret)
{
	KB_AUTO(kb_buf_release) struct kb_buf text;

	ret->id[0] = '\0';
	kb_buf_init(&text, MARK_BYTES_MAX);
	if (kb_read_file(ctx, AT_FDCWD, BOOT_ID_FILE, &text, NULL) < 0 ||
	    text.len != UUID_LEN + 1)
		return;
	text.data[UUID_LEN] = '\0';
	if (is_uuid(text.data, false))
		memcpy(ret->id, text.data, UUID_LEN + 1);
}

static int lock(struct kb_ctx *ctx, int fd)
{
	int r;

	do
		r = ctx->fs->flock(fd, LOCK_EX | LOCK_NB);
	while (r < 0 && errno == EINTR);
	return r;
}

static bool is_gone(int sys_errno)
{
	return sys_errno == ENOENT || sys_errno == ESTALE;
}

int kb_mark_create(struct kb_ctx *ctx, int dir_fd, int *ret_fd,
		   const char *name, struct kbundle_error *err)
{
	KB_AUTO_FD int fd = -1;
	KB_AUTO(kb_buf_release) struct kb_buf text;
	struct kb_shown shown;
	struct boot boot;
	struct stat st;
	int r;

	kb_buf_init(&text, MARK_BYTES_MAX);
	fd = kb_openat(ctx, dir_fd, MARK_NAME,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0 && is_gone(errno))
		return 1;
	if (fd < 0)
		return kb_fail_disk(err, errno, "cannot create %s/" MARK_NAME,
				    kb_show(&shown, name));
	if (lock(ctx, fd) < 0) {
		if (errno == EWOULDBLOCK)
			return 1;
		/* Nobody else can lock it there either, so nobody removes it:
		 * a kill leaves rubbish, but no run is in danger. */
		kb_log(ctx, KBUNDLE_LOG_DEBUG,
		       "cannot lock %s/" MARK_NAME ": %m",
		       kb_show(&shown, name));
	}
	/* Another run may have had the lock and removed it just before. */
	r = ctx->fs->fstat(fd, &st);
	if ((r < 0 && is_gone(errno)) || (r == 0 && st.st_nlink == 0))
		return 1;
	if (r < 0)
		return kb_fail_errno(err, errno, "cannot look at %s/" MARK_NAME,
				     kb_show(&shown, name));
	find_boot(ctx, &boot);
	r = kb_buf_printf(&text, MARK_MAGIC "%s\n", boot.id);
	if (r < 0)
		return kb_fail_nomem(err);
	r = kb_write(ctx, fd, text.data, text.len, name, err);
	if (r < 0)
		return r;
	*ret_fd = kb_take_fd(&fd);
	return 0;
}

/* A list of what is known to be local: an unknown one is treated with the care
 * that a network file system needs. */
static bool is_local(struct kb_ctx *ctx, int fd)
{
	struct statfs st;

	if (ctx->fs->fstatfs(fd, &st) < 0)
		return false;
	switch ((unsigned long)st.f_type) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case XFS_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case ZFS_MAGIC:
	case BCACHEFS_MAGIC:
	case JFS_MAGIC:
		return true;
	default:
		return false;
	}
}

/* Made as we make them and by us; the setgid bit comes from the root. */
static bool is_as_made(const struct stat *dir)
{
	return dir->st_uid == geteuid() &&
	       (dir->st_mode & 07777 & ~(mode_t)S_ISGID) == KB_STAGING_MODE;
}

static bool holds_only_mark(struct kb_ctx *ctx, int dir_fd, const char *name)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;

	return kb_list(ctx, dir_fd, &list, name, NULL) == 0 && list.n == 1 &&
	       strcmp(list.items[0].name, MARK_NAME) == 0;
}

static bool is_of_boot(const char *text, const struct boot *boot)
{
	const char *id = text + strlen(MARK_MAGIC);

	return boot->id[0] && strncmp(id, boot->id, UUID_LEN) == 0 &&
	       strcmp(id + UUID_LEN, "\n") == 0;
}

static bool is_old(const struct found *found, const struct stat *now)
{
	time_t dir_s = found->dir.st_mtime, mark_s = found->mark.st_mtime;

	return now->st_mtime - (dir_s > mark_s ? dir_s : mark_s) > DAY_S;
}

/* May the holder of the mark's lock remove this directory? */
static bool is_abandoned(struct kb_ctx *ctx, const struct found *found,
			 const struct stat *now)
{
	char text[MARK_BYTES_MAX + 1];
	struct boot boot;
	size_t len;

	/* No link: its run, or another sweep, has just removed it all. */
	if (!S_ISREG(found->mark.st_mode) || found->mark.st_nlink == 0 ||
	    kb_pread(ctx, found->mark_fd, text, MARK_BYTES_MAX, 0, &len,
		     found->name, NULL) < 0)
		return false;
	text[len] = '\0';
	if (len == 0 && (!is_as_made(&found->dir) ||
			 !holds_only_mark(ctx, found->dir_fd, found->name)))
		return false;
	if (len > 0 && strncmp(text, MARK_MAGIC, strlen(MARK_MAGIC)) != 0)
		return false;
	if (is_old(found, now))
		return true;
	find_boot(ctx, &boot);
	return is_local(ctx, found->dir_fd) &&
	       (len == 0 || is_of_boot(text, &boot));
}

/* Everything but the mark. Returns 0 or an errno. */
static int remove_content(struct kb_ctx *ctx, int dir_fd, const char *name)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	struct kbundle_error failure = {0};
	int fault = 0;

	if (kb_list(ctx, dir_fd, &list, name, &failure) < 0)
		return failure.sys_errno ? failure.sys_errno : ENOMEM;
	for (size_t i = 0; i < list.n; i++)
		if (strcmp(list.items[i].name, MARK_NAME) != 0 &&
		    kb_remove_tree(ctx, dir_fd, list.items[i].name) < 0)
			fault = fault ? fault : errno;
	/* Do not take ENOENT's word for it: without its mark, a directory that
	 * still has something in it could never be removed. */
	if (!fault && list.n > 1 && !holds_only_mark(ctx, dir_fd, name))
		fault = ENOTEMPTY;
	return fault;
}

int kb_mark_remove(struct kb_ctx *ctx, int root_fd, const char *name,
		   int dir_fd)
{
	int fault = dir_fd < 0 ? 0 : remove_content(ctx, dir_fd, name);

	/* ENOENT: the directory itself is gone. rmdir will tell. */
	if (fault && fault != ENOENT) {
		errno = fault;
		return -1;
	}
	if (dir_fd >= 0 && !fault &&
	    ctx->fs->unlinkat(dir_fd, MARK_NAME, 0) < 0 && errno != ENOENT)
		return -1;
	if (ctx->fs->unlinkat(root_fd, name, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		return -1;
	return 0;
}

static void remove_found(struct kb_ctx *ctx, int root_fd, const char *root,
			 const struct found *found)
{
	struct kb_shown shown;

	if (kb_mark_remove(ctx, root_fd, found->name, found->dir_fd) < 0)
		kb_log(ctx, KBUNDLE_LOG_NOTICE,
		       "cannot remove the abandoned staging directory %s/%s: "
		       "%m",
		       kb_show(&shown, root), found->name);
	else if (found->mark.st_size > 0)
		kb_log(ctx, KBUNDLE_LOG_NOTICE,
		       "removed the staging directory %s/%s of a run that died",
		       kb_show(&shown, root), found->name);
}

static void sweep_one(struct kb_ctx *ctx, int root_fd, const char *root,
		      const char *name, const struct stat *now)
{
	const int mark_flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	KB_AUTO_FD int dir_fd = -1;
	KB_AUTO_FD int mark_fd = -1;
	struct found found = {.name = name};

	/* Silence where it cannot be looked at: it is another user's. */
	dir_fd = kb_openat(ctx, root_fd, name,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (dir_fd < 0 || ctx->fs->fstat(dir_fd, &found.dir) < 0)
		return;
	/* For writing, since NFS locks nothing else exclusively. */
	mark_fd = kb_openat(ctx, dir_fd, MARK_NAME, mark_flags, 0);
	if (mark_fd < 0) {
		if (errno == ENOENT && is_as_made(&found.dir))
			(void)ctx->fs->unlinkat(root_fd, name, AT_REMOVEDIR);
		return;
	}
	if (lock(ctx, mark_fd) < 0 || ctx->fs->fstat(mark_fd, &found.mark) < 0)
		return;
	found.dir_fd = dir_fd;
	found.mark_fd = mark_fd;
	if (is_abandoned(ctx, &found, now))
		remove_found(ctx, root_fd, root, &found);
}

void kb_mark_sweep(struct kb_ctx *ctx, int root_fd, const char *root,
		   const char *own, int own_mark_fd)
{
	KB_AUTO(kb_listing_release) struct kb_listing list = KB_LISTING_INIT;
	struct kbundle_error failure;
	struct stat now;

	if (ctx->fs->fstat(own_mark_fd, &now) < 0)
		return;
	if (kb_list(ctx, root_fd, &list, root, &failure) < 0) {
		kb_log(ctx, KBUNDLE_LOG_NOTICE,
		       "did not look for abandoned staging: %s",
		       failure.message);
		return;
	}
	for (size_t i = 0; i < list.n; i++)
		if (is_staging_name(list.items[i].name) &&
		    list.items[i].type == DT_DIR &&
		    strcmp(list.items[i].name, own) != 0)
			sweep_one(ctx, root_fd, root, list.items[i].name, &now);
}
