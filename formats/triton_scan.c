/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a Triton root: one level of keys, one level of files. The cache may be
 * in use, so names may come and go at any time; what is gone when it is looked
 * at was no entry. The one file that is read here is the metadata, for the
 * target that an entry is sorted by; whatever is wrong with it is left for
 * check to say.
 */
#include "triton_parts.h"

#include "../src/base/error.h"
#include "../src/sys/io.h"
#include "../src/sys/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define BID_KEYS_MAX 64
#define BID_GROUP 100 /* a group file under a key: nothing else has that */
#define BID_KEYS 10   /* other formats too name directories by a hash */

struct scanner {
	struct kb_ctx *ctx;
	int root_fd;
	const struct kb_scan_options *options;
	struct kb_scan_sink *sink;
	struct kb_listing files; /* of the entry at hand */
	struct kb_buf text;
};

static void scanner_release(struct scanner *s)
{
	kb_listing_release(&s->files);
	kb_buf_release(&s->text);
}
KB_DEFINE_AUTO_STRUCT(struct scanner, scanner_release);

static int leftover(struct scanner *s, const char *path, const char *file,
		    const char *reason, struct kbundle_error *err)
{
	return s->sink->note(s->sink, KBUNDLE_COUNT_LEFTOVER, path, file,
			     reason, err);
}

/* What became of an attempt to list a key's directory. */
enum listed {
	LISTED_GONE, /* by now it is gone, or something else */
	LISTED,
	LISTED_DENIED /* it may not be read */
};

/* Opens and lists a key's directory: an enum listed, or a code. */
static int list_key(struct kb_ctx *ctx, int root_fd, const char *key,
		    int *ret_fd, struct kb_listing *ret,
		    struct kbundle_error *err)
{
	KB_AUTO_FD int fd = kb_openat(ctx, root_fd, key,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	struct kbundle_error why;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return LISTED_GONE;
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return LISTED_DENIED;
	if (fd < 0)
		return kb_fail_errno(err, errno,
				     "cannot open the directory of entry %s",
				     key);
	r = kb_list(ctx, fd, ret, key, &why);
	if (r == KBUNDLE_E_NOTFOUND)
		return LISTED_GONE;
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	*ret_fd = kb_take_fd(&fd);
	return LISTED;
}

static bool is_part(const struct kb_dirent *file)
{
	return file->type == DT_REG && !kb_triton_is_ignored(file->name);
}

static void shape_of_listing(struct kb_triton_shape *shape,
			     const struct kb_listing *files)
{
	memset(shape, 0, sizeof(*shape));
	for (size_t i = 0; i < files->n; i++) {
		if (is_part(&files->items[i]))
			kb_triton_shape_add(shape, files->items[i].name);
	}
}

/* Reads and parses metadata; what cannot be read is as if it said nothing. */
static int read_meta(struct scanner *s, int fd, const char *file,
		     struct kb_triton_meta *meta, struct kbundle_error *err)
{
	int r;

	kb_buf_clear(&s->text);
	r = kb_read_file(s->ctx, fd, file, &s->text, NULL);
	if (r == 0)
		r = kb_triton_meta_parse(s->text.data, s->text.len, meta, NULL);
	return r == KBUNDLE_E_NOMEM ? kb_fail_nomem(err) : 0;
}

static int find_target(struct scanner *s, int fd, const char *stem,
		       struct kb_target *ret, struct kbundle_error *err)
{
	KB_AUTO(kb_triton_meta_release)
	struct kb_triton_meta meta = KB_TRITON_META_INIT;
	char file[NAME_MAX + 16];
	int r;

	snprintf(file, sizeof(file), "%s.json", stem);
	r = read_meta(s, fd, file, &meta, err);
	if (r < 0)
		return r;
	if (kb_triton_meta_target(&meta, ret, NULL) < 0)
		memset(ret, 0, sizeof(*ret));
	/* Its features are those of the binary, which is not read here. */
	ret->text[ret->base_len] = '\0';
	return 0;
}

static int yield(struct scanner *s, int fd, const char *key,
		 const struct kb_triton_shape *shape, struct kbundle_error *err)
{
	enum kb_triton_kind kind = kb_triton_shape_kind(shape);
	struct kb_target target = {.text = ""};
	struct kb_scanned found = {.path = key};
	char name[NAME_MAX + 1];
	size_t len;
	const char *stem = kb_triton_stem(shape, &len);
	int r;

	snprintf(name, sizeof(name), "%.*s", (int)len, stem);
	if (kind == KB_TRITON_KERNEL) {
		r = find_target(s, fd, name, &target, err);
		if (r < 0)
			return r;
	}
	found.kind = kb_triton_kind_name(kind);
	found.name = name;
	found.target = *target.text ? target.text : NULL;
	return s->sink->entry(s->sink, &found, err);
}

/* What lies in the directory of an entry and is no part of it. */
static int note_others(struct scanner *s, const char *key,
		       struct kbundle_error *err)
{
	for (size_t i = 0; i < s->files.n; i++) {
		const struct kb_dirent *file = &s->files.items[i];
		const char *reason = "not a regular file";
		int r;

		if (is_part(file))
			continue;
		if (kb_triton_is_ignored(file->name))
			reason = "temporary or lock: no part of the entry";
		else if (file->type == DT_LNK)
			reason = "a symbolic link";
		else if (file->type == DT_DIR)
			reason = "a directory in an entry";
		r = leftover(s, key, file->name, reason, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An entry that is none, or is left out by policy. */
static int note_shape(struct scanner *s, int fd, const char *key,
		      const struct kb_triton_shape *shape,
		      struct kbundle_error *err)
{
	KB_AUTO(kb_triton_meta_release)
	struct kb_triton_meta meta = KB_TRITON_META_INIT;
	struct kbundle_error why;
	int r;

	if (kb_triton_shape_kind(shape) == KB_TRITON_LEFTOVER && shape->json) {
		r = read_meta(s, fd, shape->json, &meta, err);
		if (r < 0)
			return r;
	}
	r = kb_triton_shape_check(shape, s->options->host_code, meta.has_ctime,
				  &why);
	if (r == KBUNDLE_E_UNSUPPORTED)
		return s->sink->note(s->sink, KBUNDLE_COUNT_POLICY, key, NULL,
				     why.message, err);
	if (shape->n_others == 0 && s->files.n > 0)
		return leftover(s, key, NULL,
				"nothing but temporary names: its writer did "
				"not finish",
				err);
	return leftover(s, key, NULL, why.message, err);
}

static int scan_key(struct scanner *s, const char *key,
		    struct kbundle_error *err)
{
	KB_AUTO_FD int fd = -1;
	struct kb_triton_shape shape;
	int r;

	r = list_key(s->ctx, s->root_fd, key, &fd, &s->files, err);
	if (r < 0)
		return r;
	if (r == LISTED_GONE)
		return leftover(s, key, NULL, "vanished while it was looked at",
				err);
	/* One that others made unreadable must not cost the rest. */
	if (r == LISTED_DENIED)
		return s->sink->note(s->sink, KBUNDLE_COUNT_DAMAGED, key, NULL,
				     "cannot be read: permission denied", err);
	shape_of_listing(&shape, &s->files);
	if (kb_triton_shape_check(&shape, s->options->host_code, false, NULL))
		return note_shape(s, fd, key, &shape, err);
	r = yield(s, fd, key, &shape, err);
	if (r < 0)
		return r;
	return note_others(s, key, err);
}

static int scan_name(struct scanner *s, const struct kb_dirent *item,
		     struct kbundle_error *err)
{
	const char *reason = "not the name of a Triton entry";

	if (kb_triton_key_is_valid(item->name)) {
		if (item->type == DT_DIR)
			return scan_key(s, item->name, err);
		reason = item->type == DT_LNK ? "a symbolic link"
					      : "not a directory";
	} else if (kb_triton_is_ignored(item->name)) {
		reason = "temporary or lock: left by a writer";
	}
	return leftover(s, item->name, NULL, reason, err);
}

int kb_triton_scan(struct kb_ctx *ctx, int root_fd,
		   const struct kb_scan_options *options,
		   struct kb_scan_sink *sink, struct kbundle_error *err)
{
	KB_AUTO(kb_listing_release)
	struct kb_listing root = KB_LISTING_INIT;
	KB_AUTO(scanner_release)
	struct scanner s = {.ctx = ctx,
			    .root_fd = root_fd,
			    .options = options,
			    .sink = sink,
			    .files = KB_LISTING_INIT};
	int r;

	kb_buf_init(&s.text, KB_TRITON_META_MAX);
	r = kb_list(ctx, root_fd, &root, "the cache directory", err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < root.n; i++) {
		r = scan_name(&s, &root.items[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int bid_on_key(struct kb_ctx *ctx, int root_fd, const char *key,
		      struct kb_listing *files, unsigned *ret,
		      struct kbundle_error *err)
{
	KB_AUTO_FD int fd = -1;
	struct kb_triton_shape shape;
	int r = list_key(ctx, root_fd, key, &fd, files, err);

	if (r != LISTED)
		return r < 0 ? r : 0;
	shape_of_listing(&shape, files);
	if (shape.group || shape.autotune)
		*ret = BID_GROUP;
	else if (*ret < BID_KEYS && files->n > 0)
		*ret = BID_KEYS;
	return 0;
}

int kb_triton_bid(struct kb_ctx *ctx, int root_fd, unsigned *ret,
		  struct kbundle_error *err)
{
	KB_AUTO(kb_listing_release)
	struct kb_listing root = KB_LISTING_INIT;
	KB_AUTO(kb_listing_release)
	struct kb_listing files = KB_LISTING_INIT;
	size_t keys = 0;
	int r;

	*ret = 0;
	r = kb_list(ctx, root_fd, &root, "the cache directory", err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < root.n && keys < BID_KEYS_MAX; i++) {
		if (root.items[i].type != DT_DIR ||
		    !kb_triton_key_is_valid(root.items[i].name))
			continue;
		keys++;
		r = bid_on_key(ctx, root_fd, root.items[i].name, &files, ret,
			       err);
		if (r < 0 || *ret == BID_GROUP)
			return r;
	}
	return 0;
}
