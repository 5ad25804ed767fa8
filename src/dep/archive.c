/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives of caches, by libarchive, as hostile input.
 *
 * libarchive only reads. It never writes to disk (its writer changes the
 * process's umask and follows rules of its own): every directory is walked from
 * the private directory, component by component, without following a link, and
 * every file is new. Only decompressors inside libarchive are enabled, none
 * that starts a program. What the tree means is left to the formats.
 */
#include "archive.h"

#include "../base/error.h"
#include "../base/path.h"
#include "../sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#define BLOCK_BYTES (64U << 10)
#define RATIO_FREE (64U << 20) /* below, the ratio is not looked at */
#define MEMBER_NAME_MAX 4095   /* archives carry the path above the cache too */
#define MEMBER_DEPTH_MAX 64

struct extraction {
	struct kb_ctx *ctx;
	const char *name; /* of the archive */
	int fd, dir_fd;
	const struct kb_archive_limits *limits;
	struct kbundle_progress progress;
	uint64_t members, left;
	uint64_t read_bytes;	   /* of the archive */
	struct kbundle_error *err; /* for read_block(), which returns none */
	int read_error;
	uint8_t input[BLOCK_BYTES];
};

static void free_reader(struct archive *reader)
{
	archive_read_free(reader);
}
KB_DEFINE_AUTO(struct archive *, free_reader);

/* ---- input ---- */

static la_ssize_t read_block(struct archive *reader, void *data,
			     const void **ret)
{
	struct extraction *x = data;
	size_t len;

	x->read_error = kb_read(x->ctx, x->fd, x->input, sizeof(x->input), &len,
				x->name, x->err);
	if (x->read_error < 0) {
		archive_set_error(reader, EIO, "cannot be read");
		return ARCHIVE_FATAL;
	}
	/* Members that are left out are skipped in libarchive: look here. */
	if (atomic_load(&x->ctx->cancelled)) {
		x->read_error =
			kb_fail(x->err, KBUNDLE_E_CANCELLED, "cancelled");
		return ARCHIVE_FATAL;
	}
	x->read_bytes += len;
	*ret = x->input;
	return (la_ssize_t)len;
}

/* A zip's directory is at its end; from a pipe a zip is read front to back. */
static la_int64_t seek_input(struct archive *reader, void *data,
			     la_int64_t offset, int whence)
{
	struct extraction *x = data;
	off_t at = x->ctx->fs->lseek(x->fd, offset, whence);

	if (at < 0) {
		archive_set_error(reader, errno, "cannot seek");
		return ARCHIVE_FATAL;
	}
	return at;
}

/* Words a failure of libarchive, unless read_block() did. */
static int fail_archive(struct extraction *x, struct archive *reader,
			const char *member, struct kbundle_error *err)
{
	const char *text = archive_error_string(reader);
	struct kb_shown archive_shown, shown;

	if (x->read_error < 0)
		return x->read_error;
	if (archive_errno(reader) == ENOMEM)
		return kb_fail_nomem(err);
	if (!text)
		text = "is damaged";
	if (!member)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s: %s (neither a sound tar nor a zip)",
			       kb_show(&archive_shown, x->name), text);
	return kb_fail(err, KBUNDLE_E_FORMAT, "%s: member \"%s\": %s",
		       kb_show(&archive_shown, x->name),
		       kb_show(&shown, member), text);
}

static int open_reader(struct extraction *x, struct archive **ret,
		       struct kbundle_error *err)
{
	KB_AUTO(free_reader) struct archive *reader = archive_read_new();

	if (!reader)
		return kb_fail_nomem(err);
	archive_read_support_filter_gzip(reader);
	archive_read_support_filter_bzip2(reader);
	archive_read_support_filter_compress(reader);
	archive_read_support_filter_lzma(reader);
	archive_read_support_filter_xz(reader);
	archive_read_support_filter_lzip(reader);
	archive_read_support_filter_lz4(reader);
	archive_read_support_filter_zstd(reader);
	archive_read_support_format_tar(reader);
	archive_read_support_format_zip(reader);
	archive_read_set_read_callback(reader, read_block);
	if (x->ctx->fs->lseek(x->fd, 0, SEEK_CUR) >= 0)
		archive_read_set_seek_callback(reader, seek_input);
	archive_read_set_callback_data(reader, x);
	if (archive_read_open1(reader) != ARCHIVE_OK)
		return fail_archive(x, reader, NULL, err);
	*ret = kb_take(reader);
	return 0;
}

/* ---- names ---- */

static int fail_member(const struct extraction *x, const char *member,
		       const char *why, struct kbundle_error *err)
{
	struct kb_shown archive_shown, shown;

	return kb_fail(err, KBUNDLE_E_FORMAT, "%s: member \"%s\" %s",
		       kb_show(&archive_shown, x->name),
		       kb_show(&shown, member), why);
}

static const char *name_fault(const char *name)
{
	size_t depth = 0, len;

	if (*name == '/')
		return "has an absolute name";
	if (strlen(name) > MEMBER_NAME_MAX)
		return "has a name that is too long";
	for (; *name; name += len + (name[len] == '/')) {
		len = strcspn(name, "/");
		if (len == 2 && memcmp(name, "..", 2) == 0)
			return "has \"..\" in its name";
		if (len > KB_NAME_MAX)
			return "has a name that is too long";
		if (len && ++depth > MEMBER_DEPTH_MAX)
			return "lies too deep";
	}
	return NULL;
}

/*
 * Cuts the next component off *rest; empty ones and "." are skipped. False at
 * the end. component has room for KB_NAME_MAX bytes and a NUL.
 */
static bool next_component(const char **rest, char *component)
{
	for (;;) {
		size_t len;

		*rest += strspn(*rest, "/");
		len = strcspn(*rest, "/");
		if (len == 0)
			return false;
		memcpy(component, *rest, len);
		component[len] = '\0';
		*rest += len;
		if (strcmp(component, ".") != 0)
			return true;
	}
}

/* ---- output ---- */

static int fail_write(const struct extraction *x, const char *member,
		      struct kbundle_error *err)
{
	struct kb_shown shown;
	int sys_errno = errno;

	if (sys_errno == EEXIST || sys_errno == ENOTDIR || sys_errno == ELOOP)
		return fail_member(x, member, "is there twice", err);
	return kb_fail_disk(err, sys_errno, "cannot write \"%s\"",
			    kb_show(&shown, member));
}

/* Makes the directory `component` below *fd, if it is new, and moves there. */
static int enter(struct extraction *x, int *fd, const char *component,
		 const char *member, struct kbundle_error *err)
{
	int next;

	if (x->ctx->fs->mkdirat(*fd, component, 0700) < 0 && errno != EEXIST)
		return fail_write(x, member, err);
	next = kb_openat(x->ctx, *fd, component,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (next < 0)
		return fail_write(x, member, err);
	kb_close(*fd);
	*fd = next;
	return 0;
}

/* A file being written. */
struct output {
	int fd;
	const char *member;
	uint64_t bytes;
};

static int write_bytes(struct extraction *x, struct output *out,
		       const void *data, size_t len, struct kbundle_error *err)
{
	struct kb_shown shown;
	int r;

	if (len > x->limits->file_bytes - out->bytes)
		return kb_fail(
			err, KBUNDLE_E_LIMIT,
			"%s is larger than %" PRIu64 " bytes (--limit-file)",
			kb_show(&shown, out->member), x->limits->file_bytes);
	if (len > x->limits->total_bytes - x->progress.bytes_done)
		return kb_fail(
			err, KBUNDLE_E_LIMIT,
			"%s holds more than %" PRIu64 " bytes (--limit-total)",
			kb_show(&shown, x->name), x->limits->total_bytes);
	out->bytes += len;
	x->progress.bytes_done += len;
	if (x->limits->ratio && x->progress.bytes_done > RATIO_FREE &&
	    x->progress.bytes_done / x->limits->ratio >= x->read_bytes)
		return kb_fail(err, KBUNDLE_E_LIMIT,
			       "%s unpacks to more than %" PRIu64
			       " times its size (--limit-ratio)",
			       kb_show(&shown, x->name), x->limits->ratio);
	r = kb_write(x->ctx, out->fd, data, len, out->member, err);
	if (r < 0)
		return r;
	return kb_progress(x->ctx, &x->progress, false, err);
}

/* Holes are written out: what a cache holds is bytes. */
static int write_zeros(struct extraction *x, struct output *out, uint64_t until,
		       struct kbundle_error *err)
{
	static const uint8_t zeros[4096];
	int r;

	while (out->bytes < until) {
		uint64_t len = until - out->bytes;

		if (len > sizeof(zeros))
			len = sizeof(zeros);
		r = write_bytes(x, out, zeros, (size_t)len, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* archive_read_data() would forget a hole at the end of a file. */
static int write_content(struct extraction *x, struct archive *reader,
			 struct archive_entry *entry, struct output *out,
			 struct kbundle_error *err)
{
	for (;;) {
		const void *data;
		la_int64_t offset;
		size_t len;
		int r = archive_read_data_block(reader, &data, &len, &offset);

		if (r == ARCHIVE_EOF)
			break;
		if (r != ARCHIVE_OK)
			return fail_archive(x, reader, out->member, err);
		if (offset < 0 || (uint64_t)offset < out->bytes)
			return fail_member(x, out->member,
					   "has parts that overlap", err);
		r = write_zeros(x, out, (uint64_t)offset, err);
		if (r < 0)
			return r;
		r = write_bytes(x, out, data, len, err);
		if (r < 0)
			return r;
	}
	if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0)
		return 0;
	return write_zeros(x, out, (uint64_t)archive_entry_size(entry), err);
}

static int write_file(struct extraction *x, struct archive *reader,
		      struct archive_entry *entry, int parent_fd,
		      const char *component, const char *member,
		      struct kbundle_error *err)
{
	struct output out = {.member = member};
	KB_AUTO_FD int fd = -1;
	int r;

	fd = kb_openat(x->ctx, parent_fd, component,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_write(x, member, err);
	out.fd = fd;
	r = write_content(x, reader, entry, &out, err);
	if (r < 0)
		return r;
	return kb_close_written(x->ctx, &fd, member, err);
}

static int extract_member(struct extraction *x, struct archive *reader,
			  struct archive_entry *entry, const char *member,
			  struct kbundle_error *err)
{
	char component[KB_NAME_MAX + 1], next[KB_NAME_MAX + 1];
	bool is_dir = archive_entry_filetype(entry) == AE_IFDIR;
	const char *rest = member;
	KB_AUTO_FD int fd = -1;
	int r;

	fd = kb_openat(x->ctx, x->dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fail_write(x, member, err);
	if (!next_component(&rest, component))
		return is_dir ? 0 : fail_member(x, member, "has no name", err);
	while (next_component(&rest, next)) {
		r = enter(x, &fd, component, member, err);
		if (r < 0)
			return r;
		memcpy(component, next, sizeof(component));
	}
	if (is_dir)
		return enter(x, &fd, component, member, err);
	return write_file(x, reader, entry, fd, component, member, err);
}

/* 1: there was one more member, 0: end. */
static int extract_next(struct extraction *x, struct archive *reader,
			struct kbundle_error *err)
{
	struct archive_entry *entry;
	struct kb_shown shown;
	const char *member, *fault;
	int r;

	r = archive_read_next_header(reader, &entry);
	if (r == ARCHIVE_EOF)
		return 0;
	/* A warning is about an attribute that is not restored here. */
	if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
		return fail_archive(x, reader, NULL, err);
	if (++x->members > x->limits->files)
		return kb_fail(err, KBUNDLE_E_LIMIT,
			       "%s has more than %" PRIu64
			       " members (--limit-files)",
			       kb_show(&shown, x->name), x->limits->files);
	member = archive_entry_pathname(entry);
	if (!member)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s: name of member number %" PRIu64
			       " cannot be read",
			       kb_show(&shown, x->name), x->members);
	fault = name_fault(member);
	if (fault)
		return fail_member(x, member, fault, err);
	if (archive_entry_hardlink(entry) ||
	    (archive_entry_filetype(entry) != AE_IFREG &&
	     archive_entry_filetype(entry) != AE_IFDIR)) {
		x->left++;
	} else {
		r = extract_member(x, reader, entry, member, err);
		if (r < 0)
			return r;
	}
	x->progress.entries_done = x->members;
	r = kb_progress(x->ctx, &x->progress, false, err);
	return r < 0 ? r : 1;
}

static int extract_all(struct extraction *x, struct kbundle_error *err)
{
	KB_AUTO(free_reader) struct archive *reader = NULL;
	int r;

	r = open_reader(x, &reader, err);
	if (r < 0)
		return r;
	do {
		r = extract_next(x, reader, err);
	} while (r > 0);
	return r;
}

int kb_archive_extract(struct kb_ctx *ctx, int fd, int dir_fd,
		       const struct kb_archive_limits *limits, const char *name,
		       uint64_t *ret_left, struct kbundle_error *err)
{
	KB_AUTO_FREE struct extraction *x = calloc(1, sizeof(*x));
	locale_t utf8, before = (locale_t)0;
	int r;

	if (!x)
		return kb_fail_nomem(err);
	x->ctx = ctx;
	x->name = name;
	x->fd = fd;
	x->dir_fd = dir_fd;
	x->limits = limits;
	x->progress.phase = "extract";
	x->err = err;

	/* libarchive turns names into the encoding of the locale. So that they
	 * stay what they are, this thread gets one that can hold them all. */
	utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (utf8)
		before = uselocale(utf8);
	r = extract_all(x, err);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	if (r < 0)
		return r;
	*ret_left = x->left;
	return 0;
}
