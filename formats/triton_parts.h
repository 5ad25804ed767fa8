/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the Triton format share with each other; nobody else
 * includes this.
 *
 *   triton.c           the table, the file names it asks for, the default root
 *   triton_key.c       names of entries, and the hash that they spell
 *   triton_shape.c     what an entry is, told from its file names alone
 *   triton_scan.c      a live cache: bid and scan
 *   triton_group.c     __grp__<name>.json: children and their paths
 *   triton_meta.c      <name>.json: name, hash, target, launch facts
 *   triton_binary.c    one cubin, hsaco, zebin or SPIR-V against the metadata
 *   triton_check.c     all of these against each other
 *   triton_slim.c      the group written anew
 *   triton_resident.c  an entry that is already there
 *
 * The parsers return what is wrong as an error whose message is a phrase that
 * goes after the file's name. Codes: FORMAT and LIMIT (the entry is damaged),
 * UNSUPPORTED (policy), NOTFOUND (leftover), NOMEM.
 */
#ifndef KB_TRITON_PARTS_H
#define KB_TRITON_PARTS_H

#include "format.h"

/* Metadata larger than this is none: Triton's own takes about a kilobyte. */
#define KB_TRITON_META_MAX ((size_t)16 << 20)
/* The same of a group file. One that is packed must also be found present by
 * resident, which reads no more than this. */
#define KB_TRITON_GROUP_MAX ((size_t)1 << 20)

/* ---- triton_key.c ---- */

enum kb_triton_key {
	KB_TRITON_KEY_NONE,
	KB_TRITON_KEY_MD5,    /* 2.1 to 2.3: 32 hex digits of no hash we know */
	KB_TRITON_KEY_HEX,    /* 3.0, 3.1: the hash itself */
	KB_TRITON_KEY_BASE64, /* 3.2: urlsafe, may begin with '-' */
	KB_TRITON_KEY_BASE32  /* 3.3 and later */
};

enum kb_triton_key kb_triton_key_form(const char *name);
bool kb_triton_key_is_valid(const char *path);

/* Does the key spell this hash (64 hex digits)? True for MD5. */
bool kb_triton_key_has_hash(const char *key, const char *hash);

/* ---- triton_shape.c ---- */

enum kb_triton_kind {
	KB_TRITON_LEFTOVER,
	KB_TRITON_KERNEL,
	KB_TRITON_AUTOTUNE,
	KB_TRITON_HOST_EXTENSION,
	KB_TRITON_OLD_AMD /* 2.x: the binary is a path on the old machine */
};

/* Names of an entry's files by their role; borrowed. */
struct kb_triton_shape {
	const char *group, *group_2; /* the second one: the entry is damaged */
	const char *autotune, *autotune_2;
	const char *host; /* first .so */
	const char *json; /* first .json that is none of the above */
	const char *hsaco_path;
	size_t n_others; /* files that are neither of the first four roles */
};

bool kb_triton_is_group(const char *file);
bool kb_triton_is_ignored(const char *name);

/* Adds a file name that is not ignored. */
void kb_triton_shape_add(struct kb_triton_shape *shape, const char *file);
void kb_triton_shape_of(struct kb_triton_shape *shape,
			const struct kb_entry *entry);
enum kb_triton_kind kb_triton_shape_kind(const struct kb_triton_shape *shape);
const char *kb_triton_kind_name(enum kb_triton_kind kind);
/* File whose presence makes the entry one; NULL: there is none. */
const char *kb_triton_commit_file(const struct kb_triton_shape *shape);
/* The entry's name: a part of its commit file, which is borrowed. */
const char *kb_triton_stem(const struct kb_triton_shape *shape,
			   size_t *ret_len);
/* Why an entry of this shape is left out: UNSUPPORTED or NOTFOUND; 0: it is
 * not. has_ctime: of its metadata. */
int kb_triton_shape_check(const struct kb_triton_shape *shape, bool host_code,
			  bool has_ctime,
			  struct kbundle_error *err) KB_MUST_CHECK;

/* ---- triton_scan.c ---- */

int kb_triton_bid(struct kb_ctx *ctx, int root_fd, unsigned *ret,
		  struct kbundle_error *err) KB_MUST_CHECK;
int kb_triton_scan(struct kb_ctx *ctx, int root_fd,
		   const struct kb_scan_options *options,
		   struct kb_scan_sink *sink,
		   struct kbundle_error *err) KB_MUST_CHECK;

/* ---- triton_group.c ---- */

struct kb_triton_child {
	const char *name;
	/* Of a map only: what stands before "/<key>/" in the path, decoded, and
	 * the bytes of the text that spell it. */
	const char *root;
	size_t offset, length;
};

struct kb_triton_group {
	bool is_map; /* of names to paths (3.x); else a list of names (2.x) */
	struct kb_triton_child *children; /* in their order in the text */
	size_t n, cap;
	struct kb_arena arena;
};
#define KB_TRITON_GROUP_INIT                                                   \
	{                                                                      \
		false, NULL, 0, 0, KB_ARENA_INIT                               \
	}

/* Parses a group file of the entry `key`. Every path has the shape
 * <root>/<key>/<name>; at least one child; names are plain names, but may
 * occur twice. */
int kb_triton_group_parse(const void *text, size_t len, const char *key,
			  struct kb_triton_group *group,
			  struct kbundle_error *err) KB_MUST_CHECK;
void kb_triton_group_release(struct kb_triton_group *group);
KB_DEFINE_AUTO_STRUCT(struct kb_triton_group, kb_triton_group_release);

/* ---- triton_meta.c ---- */

enum kb_triton_target_form {
	KB_TRITON_TARGET_NONE,
	KB_TRITON_TARGET_ARCH, /* 2.1, 2.2: "arch" and "device_type" */
	KB_TRITON_TARGET_LIST, /* 2.3: ["cuda", 90] */
	KB_TRITON_TARGET_MAP /* 3.0 and later: {"backend": …, "arch": …} */
};

/* Texts are NULL where they are absent or of another type. */
struct kb_triton_meta {
	const char *name, *version, *hash;
	bool has_hash;	/* a member "hash" that is not null */
	bool has_ctime; /* Triton 2.0 */
	bool has_shared;
	uint64_t shared;
	uint64_t warps, warp_size; /* 0: not told */
	enum kb_triton_target_form form;
	const char *backend;
	const char *arch;     /* a text, as for hip */
	uint64_t arch_number; /* a number, as for cuda; 0: none */
	struct kb_arena arena;
};
#define KB_TRITON_META_INIT                                                    \
	{                                                                      \
		.arena = KB_ARENA_INIT                                         \
	}

int kb_triton_meta_parse(const void *text, size_t len,
			 struct kb_triton_meta *meta,
			 struct kbundle_error *err) KB_MUST_CHECK;
/* The target as the metadata tells it, features of a hip target included. */
int kb_triton_meta_target(const struct kb_triton_meta *meta,
			  struct kb_target *ret,
			  struct kbundle_error *err) KB_MUST_CHECK;
void kb_triton_meta_release(struct kb_triton_meta *meta);
KB_DEFINE_AUTO_STRUCT(struct kb_triton_meta, kb_triton_meta_release);

/* ---- triton_binary.c ---- */

/* "cubin", "hsaco", "zebin", "spv", "so", or NULL: no binary. */
const char *kb_triton_binary_kind(const char *file);
/* Does this kind hold the code of this backend? */
bool kb_triton_binary_is_for(const char *kind, const char *backend);

/* Checks the structure of a binary by what its name says it is, and fills in
 * what it says of itself; strings go to the arena. */
int kb_triton_binary_parse(const struct kb_view *view, struct kb_arena *arena,
			   struct kb_binary_fact *ret,
			   struct kbundle_error *err) KB_MUST_CHECK;
/* Is the binary what the metadata says? Adds its suffix to the target. */
int kb_triton_binary_match(const struct kb_binary_fact *binary,
			   const char *symbol, struct kb_target *target,
			   struct kbundle_error *err) KB_MUST_CHECK;

/* ---- triton_check.c, triton_slim.c, triton_resident.c ---- */

int kb_triton_check(const struct kb_check *in, struct kb_checked *ret,
		    struct kbundle_error *err) KB_MUST_CHECK;

bool kb_triton_slim_keeps(const struct kb_entry *entry, const char *file);
const char *kb_triton_slim_file(const struct kb_entry *entry);
int kb_triton_slim(const struct kb_entry *entry, const char *token,
		   const void *stored, size_t len, struct kb_arena *arena,
		   struct kb_buf *ret_bytes,
		   const struct kb_rewrite **ret_rewrites, size_t *ret_n,
		   struct kbundle_error *err) KB_MUST_CHECK;

const char *kb_triton_commit_file_of(const struct kb_entry *entry);
int kb_triton_resident(struct kb_ctx *ctx, int root_fd, int dir_fd,
		       const struct kb_entry *entry,
		       const char *const *spellings, size_t n_spellings,
		       enum kb_resident *ret, char reason[256],
		       struct kbundle_error *err) KB_MUST_CHECK;

#endif
