/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kbundle: pack caches of compiled GPU kernels into one portable bundle, and
 * put them back on another machine so that the framework there hits.
 *
 * This is the only header a user of libkbundle needs. It is C99 and C++ clean.
 *
 * Orientation
 *   kbundle_pack()     cache directories (or an archive of one) -> a bundle
 *   kbundle_unpack()   a bundle -> cache directories, every entry published
 *                      whole by one rename, nothing of others touched
 *   kbundle_verify()   read a whole bundle and check everything; or compare
 *                      live cache directories with it
 *   kbundle_inspect()  what is in a cache directory, and what is wrong there
 *   kbundle_reader_*   open a bundle and look at its entries, file by file
 *
 * Errors     Every fallible function returns 0 or a negative KBUNDLE_E_* and
 *            takes a `struct kbundle_error *` (may be NULL) last. It is
 *            untouched on success and never allocates.
 * Ownership  `ret_*` outputs are owned by the caller and freed with the
 *            function named at them. `const T *` results, in `ret_*` too, are
 *            borrowed and live as long as what they were asked of, if nothing
 *            else is said. They may grow new members at their end.
 * Options    Start with `size`, set by the *_INIT macros. Zero means default.
 *            A longer struct whose unknown tail is not zero is refused. They
 *            are read during the call only.
 * Threads    No global state. Different handles may be used from different
 *            threads at once; one handle by one thread at a time. A call may
 *            start worker threads of its own and ends them before it returns.
 */
#ifndef KBUNDLE_KBUNDLE_H
#define KBUNDLE_KBUNDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(KBUNDLE_BUILDING) && defined(__GNUC__)
#define KBUNDLE_API __attribute__((visibility("default")))
#else
#define KBUNDLE_API
#endif

#if defined(__GNUC__)
#define KBUNDLE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define KBUNDLE_MUST_CHECK
#endif

/* ---- version ---------------------------------------------------------- */

#define KBUNDLE_VERSION_MAJOR 0
#define KBUNDLE_VERSION_MINOR 1
#define KBUNDLE_VERSION_PATCH 0
#define KBUNDLE_VERSION_STRING "0.1.0"

/* The newest bundle format version that this library reads and the one that
 * it writes (docs/format.md). */
#define KBUNDLE_FORMAT_VERSION 1

/* Version of the library that is linked, as KBUNDLE_VERSION_STRING. Static. */
KBUNDLE_API const char *kbundle_version(void);

/* ---- errors ----------------------------------------------------------- */

/*
 * Every error code: name, value, exit code of the program, text.
 * docs/errors.md is the same table with what to do about each.
 */
#define KBUNDLE_ERROR_CODES(X)                                                 \
	X(INVALID, -1, 2, "invalid argument or option")                        \
	X(NOMEM, -2, 1, "out of memory")                                       \
	X(IO, -3, 1, "input/output error")                                     \
	X(NOTFOUND, -4, 1, "not found")                                        \
	X(EXISTS, -5, 1, "exists already")                                     \
	X(FORMAT, -6, 3, "not a sound bundle")                                 \
	X(VERSION, -7, 3, "bundle needs a newer kbundle")                      \
	X(LIMIT, -8, 3, "limit exceeded")                                      \
	X(DIGEST, -9, 3, "digest mismatch")                                    \
	X(EMPTY, -10, 4, "nothing to do")                                      \
	X(UNSUPPORTED, -11, 1, "not supported")                                \
	X(CANCELLED, -12, 130, "cancelled")                                    \
	X(INTERNAL, -13, 1, "internal error")

enum kbundle_code {
	KBUNDLE_OK = 0,
#define KBUNDLE_X(name, value, exit_code, text) KBUNDLE_E_##name = value,
	KBUNDLE_ERROR_CODES(KBUNDLE_X)
#undef KBUNDLE_X
};

struct kbundle_error {
	int code;	    /* a negative KBUNDLE_E_* */
	int sys_errno;	    /* errno where the system said no, else 0 */
	char message[1024]; /* one sentence, complete enough to print as is */
};

/* Name ("FORMAT"), text and the program's exit code of an error code. Static
 * strings; "UNKNOWN" and exit code 1 for a value that is none. */
KBUNDLE_API const char *kbundle_code_name(int code);
KBUNDLE_API const char *kbundle_code_text(int code);
KBUNDLE_API int kbundle_code_exit(int code);

/* Frees any buffer that a kbundle function returned. NULL is fine. */
KBUNDLE_API void kbundle_free(void *buffer);

/* ---- environment of a call -------------------------------------------- */

enum kbundle_log_level {
	KBUNDLE_LOG_WARNING = 1, /* the user should see it */
	KBUNDLE_LOG_NOTICE = 2,	 /* the user may want to see it */
	KBUNDLE_LOG_DEBUG = 3	 /* shown with -v */
};

/* One finished line without a newline. Never called from two threads at once.
 */
typedef void (*kbundle_log_fn)(void *data, int level, const char *line);

struct kbundle_progress {
	/* "extract" (an archive, before a scan), "scan", "pack", "inspect",
	 * "unpack", "verify", "cat"; "wait": a signal came while input or
	 * output stood still, and nothing is counted. */
	const char *phase;
	uint64_t entries_done, entries_total;
	uint64_t bytes_done, bytes_total; /* total 0: not known */
};

/* Called on the calling thread at most ten times a second and once at the end
 * of a phase. A non-zero return cancels: the call returns
 * KBUNDLE_E_CANCELLED, and leaves what any other error would leave. */
typedef int (*kbundle_progress_fn)(void *data,
				   const struct kbundle_progress *progress);

/* Shared by every call; may be NULL. */
struct kbundle_env {
	size_t size;
	kbundle_log_fn log;
	void *log_data;
	int log_level; /* most verbose level wanted; 0: KBUNDLE_LOG_NOTICE */
	kbundle_progress_fn progress;
	void *progress_data;
	unsigned threads; /* worker threads; 0: one per CPU, at most 16 */
};
#define KBUNDLE_ENV_INIT                                                       \
	{                                                                      \
		sizeof(struct kbundle_env), 0, 0, 0, 0, 0, 0                   \
	}

/* ---- limits ----------------------------------------------------------- */

/* Upper bounds on what a bundle or an archive can make us allocate or write.
 * Zero: the default, given in docs/format.md. Checked before allocation. */
struct kbundle_limits {
	size_t size;
	uint64_t total_bytes;	 /* sum of all files, expanded */
	uint64_t file_bytes;	 /* one file, expanded */
	uint64_t entries;	 /* entries of a bundle */
	uint64_t files;		 /* files of a bundle */
	uint64_t manifest_bytes; /* the manifest */
	uint64_t ratio;		 /* decompressed by compressed bytes */
};
#define KBUNDLE_LIMITS_INIT                                                    \
	{                                                                      \
		sizeof(struct kbundle_limits), 0, 0, 0, 0, 0, 0                \
	}

/* ---- roots and selection ---------------------------------------------- */

/* A cache: given to a call, or one that it worked on (then all is set, and the
 * path is absolute). */
struct kbundle_root {
	const char *name;   /* root's name in the bundle; NULL: its format's */
	const char *format; /* "triton"; NULL: found out by looking */
	const char *path;   /* the directory, or for pack an archive of one */
};

/* Which entries. NULL or empty lists select everything. Lists combine with
 * "and", the members of one with "or". */
struct kbundle_selection {
	size_t size;
	const char *const
		*archs; /* "sm_90", "sm_90a", "cuda:sm_90", "gfx942" */
	size_t n_archs;
	const char *const *names; /* shell patterns on the kernel's name */
	size_t n_names;
	const char *const *keys; /* entry paths, exact */
	size_t n_keys;
	int slim; /* keep only what a hit needs */
};
#define KBUNDLE_SELECTION_INIT                                                 \
	{                                                                      \
		sizeof(struct kbundle_selection), 0, 0, 0, 0, 0, 0, 0          \
	}

/* ---- reports ---------------------------------------------------------- */

typedef struct kbundle_report kbundle_report;

enum kbundle_count {
	KBUNDLE_COUNT_ENTRIES =
		0,	     /* entries packed, published, verified, seen */
	KBUNDLE_COUNT_FILES, /* files in them */
	KBUNDLE_COUNT_BYTES, /* bytes in those files */
	KBUNDLE_COUNT_BUNDLE_BYTES, /* size of the bundle, 0: not known */
	KBUNDLE_COUNT_PRESENT,	    /* unpack: there already */
	KBUNDLE_COUNT_UNSELECTED,   /* not asked for */
	KBUNDLE_COUNT_LEFTOVER,	    /* never committed by the framework */
	KBUNDLE_COUNT_POLICY,	    /* left out by policy */
	KBUNDLE_COUNT_DAMAGED,	    /* committed, but broken */
	KBUNDLE_COUNT_CHANGED,	    /* changed while it was read */
	KBUNDLE_COUNT_OCCUPIED,	    /* place taken by something else */
	KBUNDLE_COUNT_DRIFTED,	    /* verify: differs from the bundle */
	KBUNDLE_COUNT_MISSING,	    /* verify: not in the directory */
	KBUNDLE_COUNT_EXTRA,	    /* verify: not in the bundle */
	KBUNDLE_COUNT_UNSUPPORTED,  /* entry requires what is unknown here */
	KBUNDLE_COUNT_PATHS_LEFT,   /* files with absolute paths still inside */
	KBUNDLE_COUNT_MAX
};

/* Something that a report says of one entry. */
struct kbundle_note {
	int count;	    /* the enum kbundle_count that it was counted in */
	const char *root;   /* name of the root */
	const char *path;   /* path of the entry below the root */
	const char *file;   /* file in it, or NULL */
	const char *reason; /* one sentence */
};

/* The counter count of enum kbundle_count; 0 where there is none. */
KBUNDLE_API uint64_t kbundle_report_count(const kbundle_report *report,
					  int count);
/* "entries", "damaged", …: the name of a counter as in JSON. NULL: none. */
KBUNDLE_API const char *kbundle_count_name(int count);
/* How many notes there are; and note number i, or NULL. */
KBUNDLE_API size_t kbundle_report_n_notes(const kbundle_report *report);
KBUNDLE_API const struct kbundle_note *
kbundle_report_note(const kbundle_report *report, size_t i);
/* "sha256:<64 hex>", or "" where there is no bundle. */
KBUNDLE_API const char *kbundle_report_id(const kbundle_report *report);
/* How many caches the call worked on; and number i of them, or NULL. */
KBUNDLE_API size_t kbundle_report_n_roots(const kbundle_report *report);
KBUNDLE_API const struct kbundle_root *
kbundle_report_root(const kbundle_report *report, size_t i);
/* The program's exit code: 0; 5 where the call was done in part; 4 where there
 * was nothing to do (docs/errors.md). */
KBUNDLE_API int kbundle_report_exit(const kbundle_report *report);
/* One JSON document, docs/schema/report.schema.json. Free with kbundle_free().
 * Codes: NOMEM. */
KBUNDLE_API int
kbundle_report_to_json(const kbundle_report *report, char **ret_json,
		       struct kbundle_error *err) KBUNDLE_MUST_CHECK;
/* Frees a report and everything that was borrowed from it. NULL is fine. */
KBUNDLE_API void kbundle_report_free(kbundle_report *report);

/* ---- pack ------------------------------------------------------------- */

struct kbundle_pack_options {
	size_t size;
	const struct kbundle_root *roots;
	size_t n_roots;
	const char *output; /* file to create or replace; NULL: output_fd */
	int output_fd;	    /* used when output is NULL */
	const char
		*spool_dir;   /* NULL: output's directory, else $TMPDIR, /tmp */
	int level;	      /* zstd level 1 to 19; 0: 2 */
	uint64_t frame_bytes; /* 64 KiB to 8 MiB; 0: 4 MiB */
	const char *token_prefix; /* NULL: "/opt/kbundle" */
	int host_code;		  /* take host extensions (.so) too */
	const struct kbundle_selection *selection; /* NULL: everything */
	const struct kbundle_limits *limits;	   /* NULL: defaults */
};
#define KBUNDLE_PACK_OPTIONS_INIT                                              \
	{                                                                      \
		sizeof(struct kbundle_pack_options), 0, 0, 0, -1, 0, 0, 0, 0,  \
			0, 0, 0                                                \
	}

/*
 * Packs caches into a bundle. The output appears complete or not at all, and
 * nothing is written to output_fd before packing succeeded. Damaged entries
 * are left out whole and named in the report (exit 5).
 * ret_report: owned, kbundle_report_free(); NULL if not wanted; set also where
 * the result is KBUNDLE_E_EMPTY, to tell why; untouched on any other error.
 * Codes: INVALID, NOMEM, IO, NOTFOUND, EXISTS, LIMIT, EMPTY, UNSUPPORTED,
 * CANCELLED, INTERNAL.
 */
KBUNDLE_API int kbundle_pack(const struct kbundle_env *env,
			     const struct kbundle_pack_options *options,
			     kbundle_report **ret_report,
			     struct kbundle_error *err) KBUNDLE_MUST_CHECK;

/* ---- unpack ----------------------------------------------------------- */

enum kbundle_sync {
	KBUNDLE_SYNC_DEFAULT = 0, /* one syncfs before anything is published */
	KBUNDLE_SYNC_FILE,	  /* fsync of each file and directory */
	KBUNDLE_SYNC_NONE
};

enum kbundle_validate {
	KBUNDLE_VALIDATE_DEFAULT = 0, /* structure */
	KBUNDLE_VALIDATE_STRUCTURE,   /* ELF, machine, architecture, kernel */
	KBUNDLE_VALIDATE_NONE
};

enum kbundle_publish {
	KBUNDLE_PUBLISH_DEFAULT = 0, /* all, once everything is staged */
	KBUNDLE_PUBLISH_ENTRY	     /* each as it is ready; needs expect */
};

struct kbundle_unpack_options {
	size_t size;
	const char *input; /* a bundle file; NULL: read input_fd to its end */
	int input_fd;
	const struct kbundle_root
		*roots;	    /* where each named root goes; one
			     * without a name takes the only one */
	size_t n_roots;	    /* 0: each goes to its format's default place; else
			     * every root has one */
	const char *as;	    /* path to write into the caches instead of the
			     * root's own (one root only); NULL: its own */
	const char *expect; /* "sha256:<hex>": the only bundle to accept */
	int sync;	    /* enum kbundle_sync */
	int validate;	    /* enum kbundle_validate */
	int publish;	    /* enum kbundle_publish */
	int host_code; /* take host extensions (.so), which run in the process
			*/
	const struct kbundle_selection *selection;
	const struct kbundle_limits *limits;
};
#define KBUNDLE_UNPACK_OPTIONS_INIT                                            \
	{                                                                      \
		sizeof(struct kbundle_unpack_options), 0, -1, 0, 0, 0, 0, 0,   \
			0, 0, 0, 0, 0                                          \
	}

/*
 * Unpacks a bundle. Everything asked for is read, verified, validated, staged
 * and flushed before the first entry is published; each is published by one
 * rename onto an absent or empty place. What others published is never
 * changed. An error before that leaves nothing published. One that comes while
 * entries are published, and any with KBUNDLE_PUBLISH_ENTRY, leaves those that
 * were published so far, each whole. The staging is removed in any case.
 * ret_report: as at kbundle_pack().
 * Codes: INVALID, NOMEM, IO, NOTFOUND, EXISTS, FORMAT, VERSION, LIMIT, DIGEST,
 * EMPTY, UNSUPPORTED, CANCELLED, INTERNAL.
 */
KBUNDLE_API int kbundle_unpack(const struct kbundle_env *env,
			       const struct kbundle_unpack_options *options,
			       kbundle_report **ret_report,
			       struct kbundle_error *err) KBUNDLE_MUST_CHECK;

/* ---- verify ----------------------------------------------------------- */

struct kbundle_verify_options {
	size_t size;
	const char *input; /* NULL: input_fd */
	int input_fd;
	const struct kbundle_root
		*roots; /* live caches to compare; may be none */
	size_t n_roots;
	const char *expect;
	int validate;
	const struct kbundle_limits *limits;
};
#define KBUNDLE_VERIFY_OPTIONS_INIT                                            \
	{                                                                      \
		sizeof(struct kbundle_verify_options), 0, -1, 0, 0, 0, 0, 0    \
	}

/*
 * Reads the whole bundle and checks everything that unpack checks; writes
 * nothing. With roots, also reads those live caches, puts tokens in the place
 * of their paths, and compares: what differs or is missing is named (exit 5).
 * ret_report: owned, kbundle_report_free(); NULL if not wanted; untouched on
 * an error.
 * Codes: INVALID, NOMEM, IO, NOTFOUND, FORMAT, VERSION, LIMIT, DIGEST,
 * UNSUPPORTED, CANCELLED, INTERNAL.
 */
KBUNDLE_API int kbundle_verify(const struct kbundle_env *env,
			       const struct kbundle_verify_options *options,
			       kbundle_report **ret_report,
			       struct kbundle_error *err) KBUNDLE_MUST_CHECK;

/* ---- looking at a bundle, entry by entry ------------------------------- */

typedef struct kbundle_reader kbundle_reader;

struct kbundle_reader_options {
	size_t size;
	const char *input; /* a bundle file; NULL: input_fd, maybe a pipe */
	int input_fd;
	const char *expect; /* "sha256:<hex>": the only bundle to accept */
	const struct kbundle_selection *selection; /* what next gives */
	const struct kbundle_limits *limits;
};
#define KBUNDLE_READER_OPTIONS_INIT                                            \
	{                                                                      \
		sizeof(struct kbundle_reader_options), 0, -1, 0, 0, 0          \
	}

/* A root of a bundle. */
struct kbundle_bundle_root {
	const char *name;
	const char *format;
	const char *token; /* stands in its files in the place of a path */
};

/* One entry, borrowed until the next step of the reader, or for the call of
 * the inspection. */
struct kbundle_entry {
	const char *root; /* name of its root */
	const char *path; /* below the root */
	const char *format;
	const char *kind;   /* "kernel", "autotune", "host-extension", … */
	const char *name;   /* kernel's file stem */
	const char *target; /* "cuda:sm_90a", or NULL */
	uint64_t bytes;	    /* sum of its files */
	size_t n_files;
	const char *facts_json; /* the facts as JSON text */
};

struct kbundle_file {
	const char *name;   /* below the entry; "": the entry is this file */
	uint64_t size;	    /* stored bytes */
	const char *sha256; /* 64 hex digits, of the stored bytes */
	size_t n_rewrites;
};

/*
 * Opens a bundle and checks its manifest (all of it: form, order, limits,
 * names). Payload is not read. ret_reader: owned, kbundle_reader_close(). An
 * input_fd stays the caller's, and open as long as the reader.
 * Codes: INVALID, NOMEM, IO, NOTFOUND, FORMAT, VERSION, LIMIT, DIGEST,
 * CANCELLED, INTERNAL.
 */
KBUNDLE_API int
kbundle_reader_open(const struct kbundle_env *env,
		    const struct kbundle_reader_options *options,
		    kbundle_reader **ret_reader,
		    struct kbundle_error *err) KBUNDLE_MUST_CHECK;
/* Frees the reader and everything that was borrowed from it. NULL is fine. */
KBUNDLE_API void kbundle_reader_close(kbundle_reader *reader);

/* "sha256:<64 hex>". */
KBUNDLE_API const char *kbundle_reader_id(const kbundle_reader *reader);
/* How many entries the bundle has, selected or not. */
KBUNDLE_API uint64_t kbundle_reader_n_entries(const kbundle_reader *reader);
/* How many roots the bundle has; and root number i, or NULL. */
KBUNDLE_API size_t kbundle_reader_n_roots(const kbundle_reader *reader);
KBUNDLE_API const struct kbundle_bundle_root *
kbundle_reader_root(const kbundle_reader *reader, size_t i);

/*
 * Steps to the next entry that the selection takes (`slim` is without meaning
 * here): 1 with *ret_entry set, 0 with NULL there at the end, or a code. After
 * the end or an error the next call starts again.
 * Codes: those of kbundle_reader_open().
 */
KBUNDLE_API int
kbundle_reader_next(kbundle_reader *reader,
		    const struct kbundle_entry **ret_entry,
		    struct kbundle_error *err) KBUNDLE_MUST_CHECK;
/* File number i of the entry that was stepped to, borrowed until the next
 * step; or NULL. */
KBUNDLE_API const struct kbundle_file *
kbundle_reader_file(const kbundle_reader *reader, size_t i);

/*
 * Writes one file of the bundle, selected or not, to a descriptor, after its
 * hash was checked. member: "<root>/<entry>/<file>" as in the tar. root_path
 * NULL: the stored bytes, token and all; else tokens are expanded to that
 * path, made absolute. Only the frames of the file's entry are read; from a
 * pipe everything, so it gives one file. A listing starts again after it.
 * Codes: INVALID, NOMEM, IO, NOTFOUND, FORMAT, LIMIT, DIGEST, CANCELLED,
 * INTERNAL.
 */
KBUNDLE_API int
kbundle_reader_cat(kbundle_reader *reader, const char *member,
		   const char *root_path, int output_fd,
		   struct kbundle_error *err) KBUNDLE_MUST_CHECK;

/* ---- looking at a cache ------------------------------------------------ */

struct kbundle_inspect_options {
	size_t size;
	const struct kbundle_root *roots;
	size_t n_roots;
	int host_code;
	const struct kbundle_limits *limits;
	/* Called for each whole entry, in bundle order; may be NULL. A non-zero
	 * return cancels. */
	int (*entry)(void *data, const struct kbundle_entry *entry);
	void *entry_data;
};
#define KBUNDLE_INSPECT_OPTIONS_INIT                                           \
	{                                                                      \
		sizeof(struct kbundle_inspect_options), 0, 0, 0, 0, 0, 0       \
	}

/*
 * Reads cache directories as pack would and says what it would take, and what
 * is left over, left out or damaged, and why. Writes nothing.
 * ret_report: owned, kbundle_report_free(); NULL if not wanted; untouched on
 * an error.
 * Codes: as kbundle_pack(), without EMPTY.
 */
KBUNDLE_API int kbundle_inspect(const struct kbundle_env *env,
				const struct kbundle_inspect_options *options,
				kbundle_report **ret_report,
				struct kbundle_error *err) KBUNDLE_MUST_CHECK;

/* The default root of a format for this user from its environment variables,
 * absolute. ret_path: kbundle_free(). Codes: INVALID (unknown format),
 * NOTFOUND (no home directory known), NOMEM. */
KBUNDLE_API int
kbundle_default_root(const char *format, char **ret_path,
		     struct kbundle_error *err) KBUNDLE_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif /* KBUNDLE_KBUNDLE_H */
