/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an entry of a cache is, and the small table that each cache layout
 * fills in. Adding a format: formats/README.md.
 *
 * An entry is the unit that is complete or useless: one Triton kernel
 * directory, one autotune file. `struct kb_entry` is what the manifest says of
 * it; all that it points to lives in an arena of whoever made it.
 */
#ifndef KB_FORMAT_H
#define KB_FORMAT_H

#include "../src/base/arena.h"
#include "../src/base/buf.h"
#include "../src/base/target.h"
#include "../src/sys/ctx.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grammar in which a path stands in a file. "json": inside a JSON string. */
#define KB_CODEC_JSON "json"

/* A token in the stored bytes of a file that stands for the path of a root. */
struct kb_rewrite {
	uint64_t offset; /* in stored bytes */
	uint32_t length; /* of the token */
	uint32_t root;	 /* index in the header's roots */
	const char *codec;
};

struct kb_file {
	const char *name; /* below the entry; "": the entry is this file */
	uint64_t size;	  /* stored bytes */
	uint8_t sha256[32];
	const struct kb_rewrite *rewrites; /* ascending, disjoint */
	size_t n_rewrites;
	bool has_mtime;
	int64_t mtime_s;
	uint32_t mtime_ns;
	const char *extra; /* canonical text of its x- members, or "" */
};

struct kb_kernel_fact {
	const char *name;
	uint64_t registers; /* 0: not known */
	uint64_t shared;    /* static shared memory, bytes */
	const char *extra;
};

struct kb_binary_fact {
	const char *file;
	const char *kind;   /* "cubin", "hsaco", "zebin", "spv", "so" */
	const char *target; /* what the binary itself says, or NULL */
	uint64_t abi;	    /* ELF ABI version; 0: none */
	const char *tool;   /* version of the assembler, or NULL */
	bool debug;	    /* has sections of debug information */
	const struct kb_kernel_fact *kernels;
	size_t n_kernels;
	const char *extra;
};

/* All optional; they follow from the stored bytes alone. */
struct kb_facts {
	const char *producer; /* "triton" */
	const char *version;  /* "3.9.0" */
	const char *symbol;   /* kernel to look up in the binary */
	uint64_t warps;	      /* 0: not known */
	uint64_t warp_size;   /* 0: not known */
	uint64_t shared;      /* dynamic shared memory, bytes */
	bool has_shared;
	bool whole; /* every file is needed for a hit: cannot be slimmed */
	const struct kb_binary_fact *binaries;
	size_t n_binaries;
	const char *extra;
};

struct kb_entry {
	uint32_t root; /* index in the header's roots */
	const char *path;
	const char *format;
	const char *kind;
	const char *name;
	const char *target; /* canonical text, or NULL */
	const char *const *requires;
	size_t n_requires;
	struct kb_file *files; /* sorted bytewise by name */
	size_t n_files;
	struct kb_facts facts;
	const char *extra;
};

static inline bool kb_entry_is_file(const struct kb_entry *entry)
{
	return entry->n_files == 1 && !*entry->files[0].name;
}

/* ---- scan ---- */

/* A candidate that scan found. Texts are borrowed for the call. */
struct kb_scanned {
	const char *path; /* below the root */
	const char *kind;
	const char *name;   /* "" if it cannot be told: check will say why */
	const char *target; /* or NULL */
	bool is_file;	    /* the entry is one file, not a directory */
};

struct kb_scan_sink {
	int (*entry)(struct kb_scan_sink *sink, const struct kb_scanned *found,
		     struct kbundle_error *err);
	/* Something that is no entry: count is KBUNDLE_COUNT_LEFTOVER, _POLICY
	 * or _DAMAGED; file may be NULL. */
	int (*note)(struct kb_scan_sink *sink, int count, const char *path,
		    const char *file, const char *reason,
		    struct kbundle_error *err);
};

struct kb_scan_options {
	bool host_code; /* yield host extensions too */
};

/* ---- check ---- */

/* A file of an entry as bytes. data NULL: the format did not ask for it
 * (reads() is false) and only the name and size are known. */
struct kb_view {
	const char *name;
	const void *data;
	uint64_t size;
};

/* A place, in the bytes of a view, that the token of a root replaces. */
struct kb_edit {
	size_t file; /* index of the view */
	uint64_t offset;
	uint64_t length;
	uint32_t root;
	const char *codec;
};

struct kb_check {
	const char *path;	     /* of the entry */
	uint32_t root;		     /* index of the root that it lies in */
	const struct kb_view *files; /* sorted by name, temporary names gone */
	size_t n_files;
	bool host_code;
	bool skip_binaries; /* do not look into binaries (--validate=none) */
	struct kb_arena *arena; /* for everything in the result */
};

enum kb_verdict {
	KB_ENTRY_OK = 0,
	KB_ENTRY_LEFTOVER,
	KB_ENTRY_POLICY,
	KB_ENTRY_DAMAGED
};

struct kb_checked {
	enum kb_verdict verdict;
	const char *file;   /* that the reason is about, or NULL */
	const char *reason; /* one phrase; NULL when OK */
	/* when OK: */
	const char *kind, *name, *target;
	struct kb_facts facts;
	const struct kb_edit
		*edits; /* ascending by file, then offset; disjoint */
	size_t n_edits;
};

enum kb_resident {
	KB_RESIDENT_PRESENT,  /* a whole entry that works at this place */
	KB_RESIDENT_UNMARKED, /* no commit file: being written, or abandoned */
	KB_RESIDENT_OCCUPIED  /* committed, but not an entry of this place */
};

struct kb_format {
	const char *name;	 /* in manifests: "triton" */
	const char *description; /* for help texts */

	/* Default root of this user, from environment variables; malloc'ed,
	 * absolute. Codes: NOTFOUND (no home directory known). */
	int (*default_root)(char **ret, struct kbundle_error *err);

	/* How sure am I that this tree is mine: 0 (not) to 100. Looks at names
	 * and little else. */
	int (*bid)(struct kb_ctx *ctx, int root_fd, unsigned *ret,
		   struct kbundle_error *err);

	/* Walks a root and yields candidates, leftovers and policy cases. */
	int (*scan)(struct kb_ctx *ctx, int root_fd,
		    const struct kb_scan_options *options,
		    struct kb_scan_sink *sink, struct kbundle_error *err);

	/* Has this entry path the shape of the format? */
	bool (*path_is_valid)(const char *path);

	/* Names inside an entry that are no part of it (temporary, locks). */
	bool (*is_ignored)(const char *name);

	/* Does check look into this file? If not it never gets its bytes. */
	bool (*reads)(const char *file);

	/* May the manifest rewrite paths in this file, in this codec? */
	bool (*may_rewrite)(const char *file, const char *codec);

	/* Is this entry whole and self-consistent? Fills in what the manifest
	 * says of it and finds the paths. Pure: works on source bytes at pack
	 * and on stored bytes (tokens as paths) at unpack alike. What is wrong
	 * with the entry is the verdict. Codes: NOMEM, INTERNAL. */
	int (*check)(const struct kb_check *in, struct kb_checked *ret,
		     struct kbundle_error *err);

	/* Slim entries (NULL: the format has none). slim_keeps: is the file
	 * kept? slim_file names the one that must be written anew, or NULL;
	 * slim makes its new stored bytes and rewrites from its old stored
	 * bytes. An entry with facts.whole is never slimmed. */
	bool (*slim_keeps)(const struct kb_entry *entry, const char *file);
	const char *(*slim_file)(const struct kb_entry *entry);
	int (*slim)(const struct kb_entry *entry, const char *token,
		    const void *stored, size_t len, struct kb_arena *arena,
		    struct kb_buf *ret_bytes,
		    const struct kb_rewrite **ret_rewrites, size_t *ret_n,
		    struct kbundle_error *err);

	/* The file whose presence says that an entry is complete, by its name
	 * in the entry. NULL: it has none, and so is no whole entry. */
	const char *(*commit_file)(const struct kb_entry *entry);

	/* Quick look at an entry that is already in a live cache. Of entry the
	 * path, kind and name are needed, and of its files only the one that
	 * commits it. dir_fd is the open entry directory (or, for an entry that
	 * is a file, the directory that holds it). spellings: the paths under
	 * which its root may be named there; root_fd is the root. reason (of
	 * 256 bytes) is set for OCCUPIED. */
	int (*resident)(struct kb_ctx *ctx, int root_fd, int dir_fd,
			const struct kb_entry *entry,
			const char *const *spellings, size_t n_spellings,
			enum kb_resident *ret, char reason[256],
			struct kbundle_error *err);
};

/* ---- registry (formats/registry.c) ---- */

/* All formats, NULL at the end. */
extern const struct kb_format *const kb_formats[];
/* NULL: unknown. */
const struct kb_format *kb_format_find(const char *name);
/* The format with the best bid above zero; *ret NULL: none. */
int kb_format_detect(struct kb_ctx *ctx, int root_fd,
		     const struct kb_format **ret,
		     struct kbundle_error *err) KB_MUST_CHECK;

#endif
