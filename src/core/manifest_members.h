/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the members of one JSON object of a manifest line, by the rules that
 * hold for every value there. A fault is reported with its JSON path, once; the
 * error struct was given at kb_members_init(), so the outputs come last.
 */
#ifndef KB_MANIFEST_MEMBERS_H
#define KB_MANIFEST_MEMBERS_H

#include "../base/arena.h"
#include "../dep/jsondoc.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_members {
	const struct kb_jsonnode *node;
	struct kb_arena *arena; /* texts and arrays that are read */
	struct kbundle_error *err;
	char where[96]; /* JSON path of node, "" for the line itself */
};

/* Of the line's own object. All three are borrowed; err may be NULL. */
void kb_members_init(struct kb_members *in, const struct kb_jsonnode *node,
		     struct kb_arena *arena, struct kbundle_error *err);
/* Of a value inside the parent's: its member, or item `index` of an array. */
void kb_members_enter(struct kb_members *in, const struct kb_members *parent,
		      const struct kb_jsonnode *node, const char *member);
void kb_members_enter_item(struct kb_members *in,
			   const struct kb_members *parent,
			   const struct kb_jsonnode *node, const char *member,
			   size_t index);

/* Fails with "<JSON path> <what>"; member "": the value as a whole. Returns
 * FORMAT. */
int kb_members_fault(const struct kb_members *in, const char *member,
		     const char *what);

/* It is an object of known members and x- members only. `known` ends in NULL.
 * *ret_extra: the x- members as canonical text, "" where there are none.
 * Codes: FORMAT, NOMEM. */
int kb_members_check(const struct kb_members *in, const char *const *known,
		     const char **ret_extra) KB_MUST_CHECK;

bool kb_members_has(const struct kb_members *in, const char *member);

/* Getters. Codes: FORMAT, NOMEM. An optional one that is absent gives NULL, 0
 * or false, and must be left out rather than say so: no 0, no false. */
int kb_members_get_text(const struct kb_members *in, const char *member,
			const char **ret) KB_MUST_CHECK;
int kb_members_get_optional_text(const struct kb_members *in,
				 const char *member,
				 const char **ret) KB_MUST_CHECK;
/* A text by kb_word_is_valid(). */
int kb_members_get_word(const struct kb_members *in, const char *member,
			const char **ret) KB_MUST_CHECK;
/* An optional text that kb_target_parse() takes. */
int kb_members_get_target(const struct kb_members *in, const char *member,
			  const char **ret) KB_MUST_CHECK;
int kb_members_get_uint(const struct kb_members *in, const char *member,
			uint64_t *ret) KB_MUST_CHECK;
int kb_members_get_optional_uint(const struct kb_members *in,
				 const char *member,
				 uint64_t *ret) KB_MUST_CHECK;
int kb_members_get_flag(const struct kb_members *in, const char *member,
			bool *ret) KB_MUST_CHECK;
/* `requires`: sorted, unique words, at least min of them. */
int kb_members_get_requires(const struct kb_members *in, size_t min,
			    const char *const **ret,
			    size_t *ret_n) KB_MUST_CHECK;

/* An array to be walked with kb_jsonnode_next(), and zeroed room for what is
 * made of its items, in the arena. */
struct kb_members_array {
	const struct kb_jsonnode *first; /* NULL: it is empty */
	void *items;
	size_t n;
};
int kb_members_get_array(const struct kb_members *in, const char *member,
			 size_t min, size_t max, size_t item_bytes,
			 struct kb_members_array *ret) KB_MUST_CHECK;

/* [a-z][a-z0-9-]{0,31}: formats, kinds, codecs, requirements. */
bool kb_word_is_valid(const char *text);

#endif
