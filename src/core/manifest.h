/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifest lines (docs/format.md 3): the header and one line per entry, between
 * structs and canonical JSON. Lines are handled one at a time; what a struct
 * points to lives in the arena given.
 */
#ifndef KB_MANIFEST_H
#define KB_MANIFEST_H

#include "../../formats/format.h"
#include "../base/keyset.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KB_MANIFEST_NAME "kbundle.jsonl"

struct kb_root {
	const char *name;
	const char *format;
	const char *token;
	const char *extra; /* canonical text of its x- members, or "" */
};

struct kb_header {
	struct kb_root *roots;
	size_t n_roots;
	uint64_t entries, files, bytes;
	const char *extra;
};

/* Appends the line with its newline. Codes: NOMEM, LIMIT. */
int kb_header_format(const struct kb_header *header, struct kb_buf *buf,
		     struct kbundle_error *err) KB_MUST_CHECK;
int kb_entry_format(const struct kb_entry *entry, struct kb_buf *buf,
		    struct kbundle_error *err) KB_MUST_CHECK;
/* Only the facts object, as in the entry's line. */
int kb_facts_format(const struct kb_facts *facts,
		    struct kb_buf *buf) KB_MUST_CHECK;

struct kb_members; /* manifest_members.h */
/* The facts object, for kb_entry_parse(). Codes: FORMAT, NOMEM. */
int kb_facts_parse(const struct kb_members *in,
		   struct kb_facts *ret) KB_MUST_CHECK;

/* Parses a line (without its newline). Only the canonical form is read, and
 * everything that can be checked on one line is checked. Messages begin with
 * the JSON path. Codes: FORMAT, VERSION, LIMIT, NOMEM. */
int kb_header_parse(const char *line, size_t len, struct kb_arena *arena,
		    struct kb_header *ret,
		    struct kbundle_error *err) KB_MUST_CHECK;
int kb_entry_parse(const char *line, size_t len, const struct kb_header *header,
		   struct kb_arena *arena, struct kb_entry *ret,
		   struct kbundle_error *err) KB_MUST_CHECK;

/* Which root of the header a user means with one of n_given: by name, or
 * without one the only root there is. Codes: INVALID. */
int kb_header_find_root(const struct kb_header *header,
			const struct kbundle_root *given, size_t n_given,
			size_t *ret, struct kbundle_error *err) KB_MUST_CHECK;

/* Counts and sums against the limits. Codes: LIMIT. */
int kb_header_check(const struct kb_header *header,
		    const struct kbundle_limits *limits,
		    struct kbundle_error *err) KB_MUST_CHECK;

/* Does this library know everything that the entry requires? NULL: yes, else
 * the name that it does not know. */
const char *kb_entry_unknown_requirement(const struct kb_entry *entry);

/* Bundle order. Less than, equal to or greater than 0. */
int kb_entry_compare(uint32_t a_root, const char *a_target, const char *a_name,
		     const char *a_path, uint32_t b_root, const char *b_target,
		     const char *b_name, const char *b_path);

/* ---- rules over all entries (manifest_rules.c) ---- */

struct kb_manifest_rules {
	const struct kb_header *header;
	struct kb_keyset members; /* member paths of entries */
	struct kb_keyset parents; /* proper prefixes of them */
	uint64_t entries, files, bytes;
	struct kb_entry last; /* root, target, name, path only */
	struct kb_buf last_text;
};

int kb_manifest_rules_init(struct kb_manifest_rules *rules,
			   const struct kb_header *header,
			   struct kbundle_error *err) KB_MUST_CHECK;
void kb_manifest_rules_release(struct kb_manifest_rules *rules);
KB_DEFINE_AUTO_STRUCT(struct kb_manifest_rules, kb_manifest_rules_release);
/* Order, uniqueness, prefixes, sums so far. Codes: FORMAT, NOMEM. */
int kb_manifest_rules_add(struct kb_manifest_rules *rules,
			  const struct kb_entry *entry,
			  struct kbundle_error *err) KB_MUST_CHECK;
/* Counts and sums equal the header's. */
int kb_manifest_rules_finish(const struct kb_manifest_rules *rules,
			     struct kbundle_error *err) KB_MUST_CHECK;

#endif
