/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache may be live: files are opened and read one after another, then
 * every name is looked up again and compared (device, inode, size, mtime,
 * ctime, and the listing). A difference is a retry, never a mixed entry. Each
 * file's bytes are read once; large ones are copied to a private spool and
 * hashed on the way. What the entry is worth is for its format to say.
 */
#include "load.h"

#include "../base/error.h"
#include "../base/path.h"
#include "../dep/hash.h"
#include "../sys/io.h"
#include "../sys/stage.h"
#include "../sys/walk.h"
#include "limits.h"
#include "pathscan.h"
#include "relocate.h"
#include "select.h"
#include "tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TRIES 3
#define RETRY_MS 20
#define COPY_BYTES (256u << 10)
#define MEMORY_MAX (32u << 20)

/* A file as it was read. */
struct raw_file {
	const char *name;
	struct stat st;
	bool spooled;
	bool has_paths;	    /* of spooled files, found on the way */
	uint64_t offset;    /* in memory or in the spool */
	uint8_t sha256[32]; /* of spooled files, made on the way */
	const void *map;
};

/* One try at an entry. */
struct attempt {
	struct kb_loaded *to;
	struct kb_ctx *ctx;
	const struct kb_format *format;
	struct kb_hash *hash;
	int dir_fd;	  /* the entry, or for a file-shaped one its parent */
	const char *base; /* name of a file-shaped entry */
	struct kb_listing list;
	struct raw_file *files;
	size_t n_files;
	uint64_t spool_len;
	bool changed;
};

static int left_out(struct kb_loaded *to, int count, const char *file,
		    const char *reason)
{
	to->outcome = KB_LOAD_LEFT_OUT;
	to->count = count;
	to->file = file;
	to->reason = reason;
	return 0;
}

/* A reason with errno's text, in the arena. */
static int unreadable(struct kb_loaded *to, const char *file, int sys_errno)
{
	char text[160];
	const char *reason;

	(void)snprintf(text, sizeof(text), "cannot be read: %s",
		       strerrordesc_np(sys_errno));
	reason = kb_arena_strdup(&to->arena, text);
	return left_out(to, KBUNDLE_COUNT_DAMAGED, file,
			reason ? reason : "cannot be read");
}

static bool is_gone(int sys_errno)
{
	return sys_errno == ENOENT || sys_errno == ENOTDIR ||
	       sys_errno == ELOOP;
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

/* ---- reading ---- */

static int spool_chunk(struct attempt *in, const void *data, size_t len,
		       struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	int r;

	if (to->spool_fd < 0) {
		r = kb_spool_open(in->ctx, to->config->spool_dir, &to->spool_fd,
				  err);
		if (r < 0)
			return r;
	}
	r = kb_write(in->ctx, to->spool_fd, data, len, "spool file", err);
	if (r == 0)
		r = kb_hash_update(in->hash, data, len, err);
	in->spool_len += len;
	return r;
}

/* Copies a large file into the spool, hashing and scanning it on the way. */
static int read_to_spool(struct attempt *in, struct raw_file *file, int fd,
			 struct kbundle_error *err)
{
	KB_AUTO_FREE char *chunk = malloc(COPY_BYTES);
	struct kb_path_scan scan;
	uint64_t total = 0;
	size_t got;
	int r = chunk ? kb_hash_start(in->hash, err) : kb_fail_nomem(err);

	kb_path_scan_init(&scan);
	file->spooled = true;
	file->offset = in->spool_len;
	do {
		struct kbundle_error why = {0};

		if (r < 0)
			return r;
		if (atomic_load(&in->ctx->cancelled))
			return kb_fail(err, KBUNDLE_E_CANCELLED, "cancelled");
		if (kb_read(in->ctx, fd, chunk, COPY_BYTES, &got, file->name,
			    &why) < 0)
			return unreadable(in->to, file->name, why.sys_errno);
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

static int read_to_memory(struct attempt *in, struct raw_file *file, int fd,
			  struct kbundle_error *err)
{
	struct kb_buf *memory = &in->to->memory;
	size_t size = (size_t)file->st.st_size, got;
	struct kbundle_error why = {0};

	/* One byte more than its size tells whether it grew. */
	if (kb_buf_reserve(memory, size + 1) < 0)
		return kb_fail_nomem(err);
	file->offset = memory->len;
	if (kb_read(in->ctx, fd, memory->data + memory->len, size + 1, &got,
		    file->name, &why) < 0)
		return unreadable(in->to, file->name, why.sys_errno);
	if (got != size) {
		in->changed = true;
		return 0;
	}
	memory->len += size;
	return 0;
}

static int read_file(struct attempt *in, struct raw_file *file,
		     const char *name, struct kbundle_error *err)
{
	KB_AUTO_FD int fd = kb_openat(in->ctx, in->dir_fd, name,
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	bool must_fit = in->format->may_rewrite(file->name, KB_CODEC_JSON);
	uint64_t size;

	if (fd < 0) {
		if (!is_gone(errno))
			return unreadable(in->to, file->name, errno);
		in->changed = true;
		return 0;
	}
	if (in->ctx->fs->fstat(fd, &file->st) < 0)
		return unreadable(in->to, file->name, errno);
	if (!S_ISREG(file->st.st_mode)) {
		in->changed = true;
		return 0;
	}
	size = (uint64_t)file->st.st_size;
	if (size > KB_FILE_BYTES_MAX)
		return left_out(in->to, KBUNDLE_COUNT_DAMAGED, file->name,
				"has 8 GiB or more, which no bundle can hold");
	if (must_fit && size > KB_MEMORY_FILE_MAX)
		return left_out(in->to, KBUNDLE_COUNT_DAMAGED, file->name,
				"has more than 8 MiB, too much for a file with "
				"paths");
	if (must_fit || in->to->memory.len + size <= KB_MEMORY_FILE_MAX)
		return read_to_memory(in, file, fd, err);
	return read_to_spool(in, file, fd, err);
}

static bool is_part(const struct attempt *in, const struct kb_dirent *item)
{
	return item->type == DT_REG && !in->format->is_ignored(item->name);
}

static int list_entry(struct attempt *in, struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	size_t n = 0;
	int r;

	if (in->base)
		n = 1;
	if (!in->base) {
		struct kbundle_error why = {0};

		r = kb_list(in->ctx, in->dir_fd, &in->list, to->planned->path,
			    &why);
		if (r == KBUNDLE_E_NOMEM)
			return kb_fail_nomem(err);
		if (r < 0)
			return unreadable(to, NULL, why.sys_errno);
		for (size_t i = 0; i < in->list.n; i++)
			n += is_part(in, &in->list.items[i]);
	}
	if (n > KB_FILES_PER_ENTRY_MAX)
		return left_out(to, KBUNDLE_COUNT_DAMAGED, NULL,
				"has more than 4096 files");
	in->files = kb_arena_array(&to->arena, n ? n : 1, sizeof(*in->files));
	if (!in->files)
		return kb_fail_nomem(err);
	in->n_files = n;
	if (in->base)
		in->files[0].name = "";
	for (size_t i = 0, j = 0; !in->base && i < in->list.n; i++) {
		if (!is_part(in, &in->list.items[i]))
			continue;
		in->files[j].name =
			kb_arena_strdup(&to->arena, in->list.items[i].name);
		if (!in->files[j++].name)
			return kb_fail_nomem(err);
	}
	return 0;
}

static int read_files(struct attempt *in, struct kbundle_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->n_files && !in->changed &&
			   in->to->outcome == KB_LOADED;
	     i++)
		r = read_file(in, &in->files[i],
			      in->base ? in->base : in->files[i].name, err);
	return r;
}

/* Second look: is everything still what was read? */
static int look_again(struct attempt *in, struct kbundle_error *err)
{
	size_t seen = 0;

	if (!in->base) {
		struct kbundle_error why = {0};
		int r = kb_list(in->ctx, in->dir_fd, &in->list,
				in->to->planned->path, &why);

		if (r == KBUNDLE_E_NOMEM)
			return kb_fail_nomem(err);
		if (r < 0)
			return unreadable(in->to, NULL, why.sys_errno);
		for (size_t i = 0; i < in->list.n; i++) {
			if (!is_part(in, &in->list.items[i]))
				continue;
			if (seen == in->n_files ||
			    strcmp(in->files[seen].name,
				   in->list.items[i].name) != 0)
				in->changed = true;
			else
				seen++;
		}
		in->changed |= seen != in->n_files;
	}
	for (size_t i = 0; i < in->n_files && !in->changed; i++) {
		const char *name = in->base ? in->base : in->files[i].name;
		struct stat st;

		in->changed = in->ctx->fs->fstatat(in->dir_fd, name, &st,
						   AT_SYMLINK_NOFOLLOW) < 0 ||
			      !is_same_file(&st, &in->files[i].st);
	}
	return 0;
}

/* Opens the entry. *ret_fd -1: it is not there, or not what it was. */
static int open_entry(struct attempt *in, int *ret_fd,
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

	*ret_fd = -1;
	if (r < 0)
		return r;
	if (planned->is_file) {
		in->base = name;
		*ret_fd = kb_take_fd(&parent);
		return 0;
	}
	if (parent < 0)
		return 0;
	*ret_fd = kb_openat(in->ctx, parent, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (*ret_fd < 0 && !is_gone(errno))
		return unreadable(to, NULL, errno);
	return 0;
}

/* ---- what was read becomes an entry ---- */

/* Only whole pages can be mapped: how far into its page an offset lies. */
static size_t page_part(uint64_t offset)
{
	return (size_t)(offset & (uint64_t)(sysconf(_SC_PAGESIZE) - 1));
}

static void unmap_files(struct attempt *in)
{
	for (size_t i = 0; i < in->n_files; i++) {
		const struct raw_file *file = &in->files[i];

		if (file->map)
			(void)munmap((void *)(uintptr_t)file->map,
				     (size_t)file->st.st_size +
					     page_part(file->offset));
	}
}

/* Bytes for the format: in memory as they are, spooled ones mapped (nobody
 * else can change them: the spool has no name). */
static int make_views(struct attempt *in, struct kb_view *views,
		      struct kbundle_error *err)
{
	for (size_t i = 0; i < in->n_files; i++) {
		struct raw_file *file = &in->files[i];
		size_t size = (size_t)file->st.st_size;
		void *map;

		views[i].name = file->name;
		views[i].size = size;
		if (!file->spooled) {
			views[i].data = in->to->memory.data + file->offset;
			continue;
		}
		if (!in->format->reads(file->name) || !size)
			continue;
		map = mmap(NULL, size + page_part(file->offset), PROT_READ,
			   MAP_PRIVATE, in->to->spool_fd,
			   (off_t)(file->offset - page_part(file->offset)));
		if (map == MAP_FAILED)
			return kb_fail_errno(err, errno,
					     "cannot map the spool file");
		file->map = map;
		views[i].data = (const char *)map + page_part(file->offset);
	}
	return 0;
}

static int count_of(enum kb_verdict verdict)
{
	switch (verdict) {
	case KB_ENTRY_LEFTOVER:
		return KBUNDLE_COUNT_LEFTOVER;
	case KB_ENTRY_POLICY:
		return KBUNDLE_COUNT_POLICY;
	default:
		return KBUNDLE_COUNT_DAMAGED;
	}
}

/* Names that a bundle cannot carry: NULL, or why not. */
static const char *name_fault(const struct attempt *in, const char *path,
			      const char *name, const char **ret_file)
{
	const char *root =
		in->to->config->roots->items[in->to->planned->root].name;
	char member[KB_MEMBER_PATH_MAX + 1];

	*ret_file = NULL;
	if (kb_name_fault(name))
		return kb_name_fault(name);
	for (size_t i = 0; i < in->n_files; i++) {
		const char *fault = *in->files[i].name
					    ? kb_name_fault(in->files[i].name)
					    : NULL;

		*ret_file = in->files[i].name;
		if (fault)
			return fault;
		if (kb_member_path(member, root, path, in->files[i].name,
				   NULL) < 0)
			return "has a path that a bundle cannot hold";
	}
	return NULL;
}

/* Edits of one file become its stored bytes. */
static int store_file(struct attempt *in, size_t i,
		      const struct kb_checked *checked, const void **ret_data,
		      struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	struct kb_file *file = &to->entry.files[i];
	KB_AUTO(kb_buf_release) struct kb_buf stored;
	size_t first = 0, n = 0;
	char *copy;
	int r;

	kb_buf_init(&stored, MEMORY_MAX);
	while (first < checked->n_edits && checked->edits[first].file < i)
		first++;
	while (first + n < checked->n_edits &&
	       checked->edits[first + n].file == i)
		n++;
	if (!n)
		return 0;
	r = kb_relocate_collapse(to->memory.data + in->files[i].offset,
				 (size_t)in->files[i].st.st_size,
				 checked->edits + first, n,
				 to->config->roots->tokens, &to->arena, &stored,
				 &file->rewrites, err);
	if (r < 0)
		return r;
	copy = kb_arena_strndup(&to->arena, stored.data, stored.len);
	if (!copy)
		return kb_fail_nomem(err);
	file->n_rewrites = n;
	file->size = stored.len;
	*ret_data = copy;
	return 0;
}

static int fill_file(struct attempt *in, size_t i,
		     const struct kb_checked *checked,
		     struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	const struct raw_file *raw = &in->files[i];
	struct kb_file *file = &to->entry.files[i];
	struct kb_content *content = &to->contents[i];
	int r;

	file->name = raw->name;
	file->size = (uint64_t)raw->st.st_size;
	file->extra = "";
	if (raw->spooled) {
		content->spool_offset = raw->offset;
		content->has_paths = raw->has_paths;
		memcpy(file->sha256, raw->sha256, sizeof(file->sha256));
		return 0;
	}
	content->data = to->memory.data + raw->offset;
	r = store_file(in, i, checked, &content->data, err);
	if (r < 0)
		return r;
	content->has_paths = !file->n_rewrites &&
			     kb_has_paths(content->data, (size_t)file->size);
	return kb_hash_bytes(in->hash, content->data, (size_t)file->size,
			     file->sha256, err);
}

static int fill_entry(struct attempt *in, const struct kb_checked *checked,
		      struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	struct kb_entry *entry = &to->entry;

	entry->root = to->planned->root;
	entry->path = to->planned->path;
	entry->format = in->format->name;
	entry->kind = checked->kind;
	entry->name = checked->name;
	entry->target = checked->target;
	entry->facts = checked->facts;
	entry->extra = "";
	entry->n_files = in->n_files;
	entry->files =
		kb_arena_array(&to->arena, in->n_files, sizeof(*entry->files));
	to->contents =
		kb_arena_array(&to->arena, in->n_files, sizeof(*to->contents));
	if (!entry->files || !to->contents)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < in->n_files; i++) {
		int r = fill_file(in, i, checked, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Keeps what a hit needs and writes the group anew (docs/format.md knows no
 * slim entries: they are entries with fewer files). */
static int slim_entry(struct attempt *in, struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	struct kb_entry *entry = &to->entry;
	const char *again;
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	size_t kept = 0;
	int r;

	kb_buf_init(&bytes, MEMORY_MAX);
	if (!in->format->slim || entry->facts.whole)
		return 0;
	again = in->format->slim_file(entry);
	for (size_t i = 0; i < entry->n_files; i++) {
		struct kb_file *file = &entry->files[i];

		if (!in->format->slim_keeps(entry, file->name))
			continue;
		if (again && !strcmp(file->name, again)) {
			r = in->format->slim(
				entry, to->config->roots->tokens[entry->root],
				to->contents[i].data, (size_t)file->size,
				&to->arena, &bytes, &file->rewrites,
				&file->n_rewrites, err);
			if (r < 0)
				return r;
			to->contents[i].data = kb_arena_strndup(
				&to->arena, bytes.data, bytes.len);
			if (!to->contents[i].data)
				return kb_fail_nomem(err);
			file->size = bytes.len;
			r = kb_hash_bytes(in->hash, bytes.data, bytes.len,
					  file->sha256, err);
			if (r < 0)
				return r;
		}
		entry->files[kept] = *file;
		to->contents[kept++] = to->contents[i];
	}
	entry->n_files = kept;
	return 0;
}

static bool matches_plan(const struct kb_planned *planned,
			 const struct kb_checked *checked)
{
	return !strcmp(planned->kind, checked->kind) &&
	       !strcmp(planned->name, checked->name) &&
	       !kb_target_base_compare(planned->target, checked->target);
}

static int judge(struct attempt *in, struct kbundle_error *err)
{
	struct kb_loaded *to = in->to;
	const struct kb_planned *planned = to->planned;
	struct kb_view *views = kb_arena_array(
		&to->arena, in->n_files ? in->n_files : 1, sizeof(*views));
	struct kb_checked checked = {0};
	struct kb_check check = {
		.path = planned->path,
		.root = planned->root,
		.files = views,
		.n_files = in->n_files,
		.host_code = to->config->host_code,
		.arena = &to->arena,
	};
	const char *fault;
	int r = views ? make_views(in, views, err) : kb_fail_nomem(err);

	if (r == 0)
		r = in->format->check(&check, &checked, err);
	if (r < 0)
		return r;
	if (checked.verdict != KB_ENTRY_OK)
		return left_out(to, count_of(checked.verdict), checked.file,
				checked.reason);
	/* Its place in the bundle was fixed by what scan saw. */
	if (!matches_plan(planned, &checked)) {
		in->changed = true;
		return 0;
	}
	fault = name_fault(in, planned->path, checked.name, &to->file);
	if (fault)
		return left_out(to, KBUNDLE_COUNT_DAMAGED, to->file, fault);
	if (!kb_selection_takes(to->config->selection, checked.target,
				checked.name, planned->path))
		return left_out(to, KBUNDLE_COUNT_UNSELECTED, NULL, NULL);
	r = fill_entry(in, &checked, err);
	if (r == 0 && to->config->selection->slim)
		r = slim_entry(in, err);
	return r;
}

/* ---- tries ---- */

static void start_over(struct kb_loaded *to)
{
	kb_buf_clear(&to->memory);
	kb_arena_clear(&to->arena);
	kb_close(kb_take_fd(&to->spool_fd));
	memset(&to->entry, 0, sizeof(to->entry));
	to->contents = NULL;
	to->outcome = KB_LOADED;
	to->file = to->reason = NULL;
}

static int try_once(struct kb_loaded *to, struct kb_hash *hash,
		    bool *ret_changed, struct kbundle_error *err)
{
	KB_AUTO_FD int dir_fd = -1;
	struct attempt in = {
		.to = to,
		.ctx = to->config->ctx,
		.format = to->config->roots->items[to->planned->root].format,
		.hash = hash,
		.list = KB_LISTING_INIT,
	};
	int r = open_entry(&in, &dir_fd, err);

	if (r == 0 && dir_fd < 0 && to->outcome == KB_LOADED)
		to->outcome = KB_LOAD_ABSENT;
	in.dir_fd = dir_fd;
	if (r == 0 && to->outcome == KB_LOADED)
		r = list_entry(&in, err);
	if (r == 0 && to->outcome == KB_LOADED)
		r = read_files(&in, err);
	if (r == 0 && to->outcome == KB_LOADED && !in.changed)
		r = look_again(&in, err);
	if (r == 0 && to->outcome == KB_LOADED && !in.changed)
		r = judge(&in, err);
	unmap_files(&in);
	kb_listing_release(&in.list);
	*ret_changed = in.changed;
	return r;
}

int kb_load_run(struct kb_job *job, unsigned worker, struct kbundle_error *err)
{
	struct kb_loaded *to = (struct kb_loaded *)job;
	const struct timespec pause = {0, RETRY_MS * 1000000L};
	KB_AUTO(kb_hash_free) struct kb_hash *hash = NULL;
	struct kb_shown shown;
	bool changed = false;
	int r = kb_hash_new(&hash, err);

	(void)worker;
	for (int i = 0; r == 0 && i < TRIES; i++) {
		if (atomic_load(&to->config->ctx->cancelled))
			return kb_fail(err, KBUNDLE_E_CANCELLED, "cancelled");
		if (i)
			(void)nanosleep(&pause, NULL);
		start_over(to);
		r = try_once(to, hash, &changed, err);
		if (r == 0 && !changed)
			return 0;
	}
	if (r < 0) {
		kb_wrap(err, "entry %s", kb_show(&shown, to->planned->path));
		return r;
	}
	return left_out(to, KBUNDLE_COUNT_CHANGED, NULL,
			"changed while it was read, three times; pack again "
			"when its writer is done");
}

int kb_loaded_new(const struct kb_load_config *config,
		  const struct kb_planned *planned, struct kb_loaded **ret,
		  struct kbundle_error *err)
{
	struct kb_loaded *to = calloc(1, sizeof(*to));

	if (!to)
		return kb_fail_nomem(err);
	to->job.run = kb_load_run;
	to->config = config;
	to->planned = planned;
	to->spool_fd = -1;
	kb_buf_init(&to->memory, MEMORY_MAX);
	*ret = to;
	return 0;
}

void kb_loaded_free(struct kb_loaded *to)
{
	if (!to)
		return;
	kb_close(to->spool_fd);
	kb_buf_release(&to->memory);
	kb_arena_release(&to->arena);
	free(to);
}

void kb_loaded_drop(struct kb_job *job)
{
	kb_loaded_free((struct kb_loaded *)job);
}
