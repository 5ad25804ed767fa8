/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parsed JSON document with strict getters (cJSON). cJSON alone is no judge
 * of a text: it takes duplicate members and rounds numbers. Manifest lines are
 * therefore written back in canonical form and compared
 * (core/manifest_parse.c).
 */
#ifndef KB_JSONDOC_H
#define KB_JSONDOC_H

#include "../base/cleanup.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_jsondoc; /* owns a tree; a node is borrowed from it */
struct kb_jsonnode;

/* text need not end in a NUL. Nesting is bounded by cJSON's own limit
 * (1000). Codes: FORMAT with the offset, NOMEM. */
int kb_jsondoc_parse(const char *text, size_t len, struct kb_jsondoc **ret,
		     struct kbundle_error *err) KB_MUST_CHECK;
void kb_jsondoc_free(struct kb_jsondoc *doc);
KB_DEFINE_AUTO(struct kb_jsondoc *, kb_jsondoc_free);
const struct kb_jsonnode *kb_jsondoc_root(const struct kb_jsondoc *doc);

/* Of a node. A type that does not fit gives NULL, false or -1. Member names
 * compare with case. */
bool kb_jsonnode_is_object(const struct kb_jsonnode *node);
bool kb_jsonnode_is_array(const struct kb_jsonnode *node);
const struct kb_jsonnode *kb_jsonnode_get(const struct kb_jsonnode *object,
					  const char *name);
const struct kb_jsonnode *kb_jsonnode_first(const struct kb_jsonnode *node);
const struct kb_jsonnode *kb_jsonnode_next(const struct kb_jsonnode *node);
const char *kb_jsonnode_name(const struct kb_jsonnode *member);
size_t kb_jsonnode_count(const struct kb_jsonnode *node);
const char *kb_jsonnode_string(const struct kb_jsonnode *node);
/* An integer from 0 to 2^53-1. */
bool kb_jsonnode_uint(const struct kb_jsonnode *node, uint64_t *ret);
bool kb_jsonnode_bool(const struct kb_jsonnode *node, bool *ret);

#endif
