/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache may be live: files are opened and read one after another, then
 * every name is looked up again and compared (device, inode, size, mtime,
 * ctime, and the listing), so that what is handed on was all there at one
 * moment. Each file's bytes are read once; large ones are copied to a private
 * spool and hashed on the way. What they mean is for others to say.
 */
#include "load_parts.h"

#include "../base/error.h"
#include "../sys/io.h"
#include "../sys/walk.h"
#include "limits.h"
#include "pathscan.h"
#include "tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_MAX (16u << 20) /* memory with files that hold paths */
#define COPY_BYTES (256u << 10)

/* The entry as a place to read from. */
struct place {
	int fd;		  /* its directory; the parent of a file-shaped one */
	const char *base; /* name of a file-shaped entry, else NULL */
	struct kb_listing list;
};

static void place_release(struct place *from)
{
	kb_close(from->fd);
	kb_listing_release(&from->list);
}
KB_DEFINE_AUTO_STRUCT(struct place, place_release);

/* A reason with errno's text, in the arena. */
static void unreadable(struct kb_loaded *to, const char *file, int sys_errno)
{
	char text[160];
	const char *reason;

	(void)snprintf(text, sizeof(text), "cannot be read: %s",
		       strerrordesc_np(sys_errno));
	reason = kb_arena_strdup(&to->arena, text);
	kb_load_leave_out(to, KBUNDLE_COUNT_DAMAGED, file,
			  reason ? reason : "cannot be read");
}

static bool is_gone(int sys_errno)
{
	return sys_errno == ENOENT || sys_errno == ENOTDIR ||
	       sys_errno == ELOOP;
}

/* ---- one file ---- */

static int spool_chunk(struct kb_attempt *in, const void *data, size_t len,
		       struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	int r = 0;

	if (to->spool_fd < 0)
		r = kb_spool_open(in->ctx, to->config->spool_dir, &to->spool_fd,
				  err);
	if (r == 0)
		r = kb_write(in->ctx, to->spool_fd, data, len, "spool file",
			     err);
	if (r == 0)
		r = kb_hash_update(in->hash, data, len, err);
	in->spool_bytes += len;
	return r;
}

/* Copies a large file into the spool, hashing and scanning it on the way. */
static int read_to_spool(struct kb_attempt *in, struct kb_raw_file *file,
			 int fd, struct kbundle_error *err)
{
	KB_AUTO_FREE char *chunk = malloc(COPY_BYTES);
	struct kb_path_scan scan;
	uint64_t total = 0;
	size_t got;
	int r = chunk ? kb_hash_start(in->hash, err) : kb_fail_nomem(err);

	kb_path_scan_init(&scan);
	file->spooled = true;
	file->offset = in->spool_bytes;
	do {
		struct kbundle_error why = {0};

		if (r < 0)
			return r;
		if (atomic_load(&in->ctx->cancelled))
			return kb_fail(err, KBUNDLE_E_CANCELLED, "cancelled");
		if (kb_read(in->ctx, fd, chunk, COPY_BYTES, &got, file->name,
			    &why) < 0) {
			unreadable(in->to, file->name, why.sys_errno);
			return 0;
		}
		kb_path_scan_feed(&scan, chunk, got);
		total += got;
		if (got)
			r = spool_chunk(in, chunk, got, err);
	} while (got);
	if (r == 0)
		r = kb_hash_finish(in->hash, file->sha256, err);
	in->changed |= total != (uint64_t)file->st.st_size;
	file->has_paths = scan.found;
	return r;
}

static int read_to_memory(struct kb_attempt *in, struct kb_raw_file *file,
			  int fd, struct kbundle_error *err)
{
	struct kb_buf *memory = &in->to->memory;
	size_t size = (size_t)file->st.st_size, got;
	struct kbundle_error why = {0};

	/* One byte more than its size tells whether it grew. */
	if (kb_buf_reserve(memory, size + 1) < 0)
		return kb_fail_nomem(err);
	file->offset = memory->len;
	if (kb_read(in->ctx, fd, memory->data + memory->len, size + 1, &got,
		    file->name, &why) < 0) {
		unreadable(in->to, file->name, why.sys_errno);
		return 0;
	}
	if (got == size)
		memory->len += size;
	else
		in->changed = true;
	return 0;
}

static int read_content(struct kb_attempt *in, struct kb_raw_file *file, int fd,
			struct kbundle_error *err)
{
	bool must_fit = in->format->may_rewrite(file->name, KB_CODEC_JSON);
	uint64_t size = (uint64_t)file->st.st_size;

	if (size > KB_FILE_BYTES_MAX) {
		kb_load_leave_out(in->to, KBUNDLE_COUNT_DAMAGED, file->name,
				  "has 8 GiB or more, which no bundle can "
				  "hold");
		return 0;
	}
	if (must_fit && in->to->memory.len + size > PATHS_MAX) {
		kb_load_leave_out(in->to, KBUNDLE_COUNT_DAMAGED, file->name,
				  "makes its files with paths larger than "
				  "16 MiB, which is no whole entry");
		return 0;
	}
	if (must_fit || in->to->memory.len + size <= KB_MEMORY_FILE_MAX)
		return read_to_memory(in, file, fd, err);
	return read_to_spool(in, file, fd, err);
}

static int read_file(struct kb_attempt *in, const struct place *from,
		     struct kb_raw_file *file, struct kbundle_error *err)
{
	KB_AUTO_FD int fd = kb_openat(in->ctx, from->fd,
				      from->base ? from->base : file->name,
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0 && is_gone(errno)) {
		in->changed = true;
	} else if (fd < 0 || in->ctx->fs->fstat(fd, &file->st) < 0) {
		unreadable(in->to, file->name, errno);
	} else if (!S_ISREG(file->st.st_mode)) {
		in->changed = true;
	} else {
		return read_content(in, file, fd, err);
	}
	return 0;
}

/* ---- the entry ---- */

static bool is_usable(const struct kb_attempt *in)
{
	return !in->changed && in->to->outcome == KB_LOADED;
}

static bool is_part(const struct kb_attempt *in, const struct kb_dirent *item)
{
	return item->type == DT_REG && !in->format->is_ignored(item->name);
}

static int list_place(struct kb_attempt *in, struct place *from,
		      struct kbundle_error *err)
{
	struct kbundle_error why = {0};
	int r = kb_list(in->ctx, from->fd, &from->list, in->to->planned->path,
			&why);

	if (r == KBUNDLE_E_NOMEM)
		return kb_fail_nomem(err);
	if (r < 0)
		unreadable(in->to, NULL, why.sys_errno);
	return 0;
}

static int name_files(struct kb_attempt *in, const struct kb_listing *list,
		      struct kbundle_error *err)
{
	struct kb_arena *arena = &in->to->arena;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += is_part(in, &list->items[i]);
	if (n > KB_FILES_PER_ENTRY_MAX) {
		kb_load_leave_out(in->to, KBUNDLE_COUNT_DAMAGED, NULL,
				  "has more than 4096 files");
		return 0;
	}
	in->files = kb_arena_array(arena, n ? n : 1, sizeof(*in->files));
	if (!in->files)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < list->n; i++) {
		struct kb_raw_file *file = &in->files[in->n_files];

		if (!is_part(in, &list->items[i]))
			continue;
		file->name = kb_arena_strdup(arena, list->items[i].name);
		if (!file->name)
			return kb_fail_nomem(err);
		in->n_files++;
	}
	return 0;
}

static int find_files(struct kb_attempt *in, struct place *from,
		      struct kbundle_error *err)
{
	int r;

	if (!from->base) {
		r = list_place(in, from, err);
		return r < 0 || !is_usable(in)
			       ? r
			       : name_files(in, &from->list, err);
	}
	in->files = kb_arena_array(&in->to->arena, 1, sizeof(*in->files));
	if (!in->files)
		return kb_fail_nomem(err);
	in->files[0].name = "";
	in->n_files = 1;
	return 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool has_same_names(const struct kb_attempt *in,
			   const struct kb_listing *list)
{
	size_t seen = 0;

	for (size_t i = 0; i < list->n; i++) {
		const char *name = list->items[i].name;

		if (!is_part(in, &list->items[i]))
			continue;
		if (seen == in->n_files ||
		    strcmp(in->files[seen].name, name) != 0)
			return false;
		seen++;
	}
	return seen == in->n_files;
}

/* Second look: is everything still what was read? */
static int look_again(struct kb_attempt *in, struct place *from,
		      struct kbundle_error *err)
{
	if (!from->base) {
		int r = list_place(in, from, err);

		if (r < 0 || !is_usable(in))
			return r;
		in->changed = !has_same_names(in, &from->list);
	}
	for (size_t i = 0; i < in->n_files && !in->changed; i++) {
		const char *name = from->base ? from->base : in->files[i].name;
		struct stat st;

		in->changed = in->ctx->fs->fstatat(from->fd, name, &st,
						   AT_SYMLINK_NOFOLLOW) < 0 ||
			      !is_same_file(&st, &in->files[i].st);
	}
	return 0;
}

/* Sets from->fd, or an outcome where it is not there, or not what it was. */
static int open_place(struct kb_attempt *in, struct place *from,
		      struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	const struct kb_planned *planned = to->planned;
	const struct kb_source_root *root =
		&to->config->roots->items[planned->root];
	KB_AUTO_FD int parent = -1;
	const char *name;
	int r = kb_open_parent(in->ctx, root->fd, planned->path, &parent, &name,
			       err);

	if (r < 0)
		return r;
	if (planned->is_file) {
		from->base = name;
		from->fd = kb_take_fd(&parent);
	} else if (parent >= 0) {
		from->fd = kb_openat(in->ctx, parent, name,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (from->fd < 0 && !is_gone(errno)) {
			unreadable(to, NULL, errno);
			return 0;
		}
	}
	if (from->fd < 0)
		to->outcome = KB_LOAD_ABSENT;
	return 0;
}

int kb_load_read(struct kb_attempt *in, struct kbundle_error *err)
{
	KB_AUTO(place_release)
	struct place from = {-1, NULL, KB_LISTING_INIT};
	int r = open_place(in, &from, err);

	if (r == 0 && is_usable(in))
		r = find_files(in, &from, err);
	for (size_t i = 0; r == 0 && i < in->n_files && is_usable(in); i++)
		r = read_file(in, &from, &in->files[i], err);
	if (r == 0 && is_usable(in))
		r = look_again(in, &from, err);
	return r;
}
