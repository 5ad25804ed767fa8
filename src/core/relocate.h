/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths and tokens (docs/format.md 4). At pack the edits that a format found in
 * source bytes become tokens; at unpack the rewrites of the manifest become the
 * paths of the roots. Every other byte stays as it is.
 */
#ifndef KB_RELOCATE_H
#define KB_RELOCATE_H

#include "../../formats/format.h"
#include "../base/buf.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

/* Source bytes with edits (of this file, ascending, disjoint) -> stored bytes
 * and rewrites (in the arena). tokens[i] is that of root i. Codes: NOMEM. */
int kb_relocate_collapse(const void *source, size_t len,
			 const struct kb_edit *edits, size_t n_edits,
			 const char *const *tokens, struct kb_arena *arena,
			 struct kb_buf *ret_bytes,
			 const struct kb_rewrite **ret_rewrites,
			 struct kbundle_error *err) KB_MUST_CHECK;

/* Root paths as their codecs write them, ready to be put in. */
struct kb_expansion {
	struct kb_buf *json; /* one per root */
	size_t n;
};
/* paths[i] is that of root i, never NULL. Codes: NOMEM. */
int kb_expansion_init(struct kb_expansion *expansion, const char *const *paths,
		      size_t n, struct kbundle_error *err) KB_MUST_CHECK;
void kb_expansion_release(struct kb_expansion *expansion);
KB_DEFINE_AUTO_STRUCT(struct kb_expansion, kb_expansion_release);

/* Size of a stored file once its rewrites are expanded. */
uint64_t kb_expanded_bytes(const struct kb_expansion *expansion,
			   const struct kb_file *file);

/* Where the expanded bytes of one file go, piece by piece. */
struct kb_expand_sink {
	int (*put)(struct kb_expand_sink *sink, const void *data, size_t len,
		   struct kbundle_error *err);
};

/* One file on its way from stored to expanded bytes. */
struct kb_expander {
	const struct kb_expansion *expansion; /* NULL: give stored bytes */
	const char *const *tokens;
	const struct kb_file *file;
	uint64_t pos; /* in stored bytes */
	size_t next;  /* rewrite */
};

void kb_expander_init(struct kb_expander *expander,
		      const struct kb_expansion *expansion,
		      const char *const *tokens, const struct kb_file *file);
/* Takes the next stored bytes. Checks that they equal the token where the
 * manifest says so (FORMAT), and gives expanded bytes to sink (NULL: none). */
int kb_expander_feed(struct kb_expander *expander, const void *data, size_t len,
		     struct kb_expand_sink *sink,
		     struct kbundle_error *err) KB_MUST_CHECK;

#endif
