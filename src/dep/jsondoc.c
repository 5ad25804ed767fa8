/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parsed JSON document, by cJSON.
 *
 * cJSON is lax: duplicate members, rounded numbers, control bytes as white
 * space, strings cut at \u0000. The caller writes what it read back in
 * canonical form and compares; nothing here pretends to judge. Its error
 * pointer is global and never looked at.
 */
#include "jsondoc.h"

#include "../base/error.h"

#include <errno.h>
#include <string.h>

#include <cjson/cJSON.h>

#define INTEGER_MAX 9007199254740991.0 /* 2^53 - 1 */

struct kb_jsondoc {
	cJSON *root;
};

/* A node is cJSON's own; the struct tag only keeps the type out of the header.
 */
static const struct kb_jsonnode *to_node(const cJSON *item)
{
	return (const struct kb_jsonnode *)item;
}

static const cJSON *to_item(const struct kb_jsonnode *node)
{
	return (const cJSON *)node;
}

static int fail_at(struct kbundle_error *err, size_t offset)
{
	return kb_fail(err, KBUNDLE_E_FORMAT, "is no JSON: fault near byte %zu",
		       offset);
}

int kb_jsondoc_parse(const char *text, size_t len, struct kb_jsondoc **ret,
		     struct kbundle_error *err)
{
	KB_AUTO(kb_jsondoc_free) struct kb_jsondoc *doc = NULL;
	KB_AUTO_FREE char *copy = NULL;
	const char *end = NULL;
	const char *nul = len ? memchr(text, '\0', len) : NULL;

	if (nul)
		return fail_at(err, (size_t)(nul - text));
	doc = calloc(1, sizeof(*doc));
	/* cJSON before 1.7.18 looks one byte behind a text that ends in a comma
	 * (CVE-2023-53154), so it gets one with a NUL there. */
	copy = malloc(len + 1);
	if (!doc || !copy)
		return kb_fail_nomem(err);
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';

	/* cJSON tells out of memory from a fault in the text in no other way.
	 */
	errno = 0;
	doc->root = cJSON_ParseWithLengthOpts(copy, len + 1, &end, 1);
	if (!doc->root && errno == ENOMEM)
		return kb_fail_nomem(err);
	if (!doc->root)
		return fail_at(err, end ? (size_t)(end - copy) : 0);
	*ret = kb_take(doc);
	return 0;
}

void kb_jsondoc_free(struct kb_jsondoc *doc)
{
	if (!doc)
		return;
	cJSON_Delete(doc->root);
	free(doc);
}

const struct kb_jsonnode *kb_jsondoc_root(const struct kb_jsondoc *doc)
{
	return to_node(doc->root);
}

bool kb_jsonnode_is_object(const struct kb_jsonnode *node)
{
	return cJSON_IsObject(to_item(node));
}

bool kb_jsonnode_is_array(const struct kb_jsonnode *node)
{
	return cJSON_IsArray(to_item(node));
}

const struct kb_jsonnode *kb_jsonnode_get(const struct kb_jsonnode *object,
					  const char *name)
{
	if (!kb_jsonnode_is_object(object))
		return NULL;
	return to_node(cJSON_GetObjectItemCaseSensitive(to_item(object), name));
}

const struct kb_jsonnode *kb_jsonnode_first(const struct kb_jsonnode *node)
{
	if (!kb_jsonnode_is_object(node) && !kb_jsonnode_is_array(node))
		return NULL;
	return to_node(to_item(node)->child);
}

const struct kb_jsonnode *kb_jsonnode_next(const struct kb_jsonnode *node)
{
	return node ? to_node(to_item(node)->next) : NULL;
}

const char *kb_jsonnode_name(const struct kb_jsonnode *member)
{
	return member ? to_item(member)->string : NULL;
}

size_t kb_jsonnode_count(const struct kb_jsonnode *node)
{
	const struct kb_jsonnode *child = kb_jsonnode_first(node);
	size_t n = 0;

	for (; child; child = kb_jsonnode_next(child))
		n++;
	return n;
}

const char *kb_jsonnode_string(const struct kb_jsonnode *node)
{
	return cJSON_GetStringValue(to_item(node));
}

bool kb_jsonnode_uint(const struct kb_jsonnode *node, uint64_t *ret)
{
	double value;

	if (!cJSON_IsNumber(to_item(node)))
		return false;
	value = to_item(node)->valuedouble;
	if (!(value >= 0 && value <= INTEGER_MAX))
		return false;
	if ((double)(uint64_t)value != value)
		return false;
	*ret = (uint64_t)value;
	return true;
}

bool kb_jsonnode_bool(const struct kb_jsonnode *node, bool *ret)
{
	if (!cJSON_IsBool(to_item(node)))
		return false;
	*ret = cJSON_IsTrue(to_item(node));
	return true;
}
