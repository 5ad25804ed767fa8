/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and forms of single values. That members come once, in order and
 * written in the canonical way is not looked at here: manifest_parse.c compares
 * the whole line with what it would write itself.
 */
#include "manifest_members.h"

#include "../base/error.h"
#include "../base/json.h"
#include "../base/path.h"
#include "../base/target.h"
#include "limits.h"

#include <stdio.h>
#include <string.h>

#define REQUIRES_MAX 64

bool kb_word_is_valid(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return text[0] >= 'a' && text[0] <= 'z' && n <= 32 && !text[n];
}

static bool is_text(const char *text)
{
	size_t len = strlen(text);

	return len <= KB_TEXT_MAX && kb_utf8_is_valid(text, len);
}

/* ---- where ---- */

void kb_members_init(struct kb_members *in, const struct kb_jsonnode *node,
		     struct kb_arena *arena, struct kbundle_error *err)
{
	in->node = node;
	in->arena = arena;
	in->err = err;
	in->where[0] = '\0';
}

void kb_members_enter(struct kb_members *in, const struct kb_members *parent,
		      const struct kb_jsonnode *node, const char *member)
{
	size_t len = strlen(parent->where);

	*in = *parent;
	in->node = node;
	/* The deepest path, facts.binaries[N].kernels[N], has room. */
	(void)snprintf(in->where + len, sizeof(in->where) - len, "%s%s",
		       len ? "." : "", member);
}

void kb_members_enter_item(struct kb_members *in,
			   const struct kb_members *parent,
			   const struct kb_jsonnode *node, const char *member,
			   size_t index)
{
	size_t len;

	kb_members_enter(in, parent, node, member);
	len = strlen(in->where);
	(void)snprintf(in->where + len, sizeof(in->where) - len, "[%zu]",
		       index);
}

int kb_members_fault(const struct kb_members *in, const char *member,
		     const char *what)
{
	if (!*in->where && !*member)
		member = "the line";
	return kb_fail(in->err, KBUNDLE_E_FORMAT, "%s%s%s %s", in->where,
		       *in->where && *member ? "." : "", member, what);
}

/* ---- which members ---- */

static bool is_extra_name(const char *name)
{
	size_t n;

	if (strncmp(name, "x-", 2) != 0)
		return false;
	n = strspn(name + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return n >= 1 && n <= 62 && !name[2 + n];
}

static bool is_known(const char *const *known, const char *name)
{
	while (*known && strcmp(*known, name) != 0)
		known++;
	return *known;
}

/* NULL, or what is wrong with an x- member that follows `last`. */
static const char *extra_fault(const char *name, const char *value,
			       const char *last)
{
	if (!is_extra_name(name))
		return "is an unknown member";
	if (!value)
		return "is not a string";
	if (!is_text(value))
		return "is not a valid text";
	if (strcmp(last, name) >= 0)
		return "is not in order among x- members";
	return NULL;
}

static int put_extra(const struct kb_members *in, struct kb_buf *buf,
		     const char *name, const char *value)
{
	int r = kb_buf_printf(buf, ",\"%s\":", name);

	if (r == 0)
		r = kb_json_put_string(buf, value);
	return r < 0 ? kb_fail_nomem(in->err) : 0;
}

int kb_members_check(const struct kb_members *in, const char *const *known,
		     const char **ret_extra)
{
	KB_AUTO(kb_buf_release) struct kb_buf extra;
	const struct kb_jsonnode *member;
	const char *last = "";

	kb_buf_init(&extra, KB_LINE_MAX);
	if (!kb_jsonnode_is_object(in->node))
		return kb_members_fault(in, "", "is not an object");
	for (member = kb_jsonnode_first(in->node); member;
	     member = kb_jsonnode_next(member)) {
		const char *name = kb_jsonnode_name(member);
		const char *value = kb_jsonnode_string(member);
		const char *why;
		struct kb_shown shown;
		int r;

		if (is_known(known, name))
			continue;
		why = extra_fault(name, value, last);
		if (why)
			return kb_members_fault(
				in, *name ? kb_show(&shown, name) : "\"\"",
				why);
		last = name;
		r = put_extra(in, &extra, name, value);
		if (r < 0)
			return r;
	}
	*ret_extra = extra.len ? kb_arena_strdup(in->arena, extra.data) : "";
	return *ret_extra ? 0 : kb_fail_nomem(in->err);
}

bool kb_members_has(const struct kb_members *in, const char *member)
{
	return kb_jsonnode_get(in->node, member);
}

/* ---- getters ---- */

int kb_members_get_optional_text(const struct kb_members *in,
				 const char *member, const char **ret)
{
	const struct kb_jsonnode *node = kb_jsonnode_get(in->node, member);
	const char *text;

	*ret = NULL;
	if (!node)
		return 0;
	text = kb_jsonnode_string(node);
	if (!text)
		return kb_members_fault(in, member, "is not a string");
	if (!is_text(text))
		return kb_members_fault(in, member, "is not a valid text");
	*ret = kb_arena_strdup(in->arena, text);
	return *ret ? 0 : kb_fail_nomem(in->err);
}

int kb_members_get_text(const struct kb_members *in, const char *member,
			const char **ret)
{
	int r = kb_members_get_optional_text(in, member, ret);

	if (r < 0)
		return r;
	return *ret ? 0 : kb_members_fault(in, member, "is missing");
}

int kb_members_get_word(const struct kb_members *in, const char *member,
			const char **ret)
{
	int r = kb_members_get_text(in, member, ret);

	if (r < 0)
		return r;
	return kb_word_is_valid(*ret)
		       ? 0
		       : kb_members_fault(in, member,
					  "is not a valid short name");
}

int kb_members_get_target(const struct kb_members *in, const char *member,
			  const char **ret)
{
	struct kb_target target;
	int r = kb_members_get_optional_text(in, member, ret);

	if (r < 0)
		return r;
	return !*ret || kb_target_parse(&target, *ret)
		       ? 0
		       : kb_members_fault(in, member, "is not a valid target");
}

int kb_members_get_uint(const struct kb_members *in, const char *member,
			uint64_t *ret)
{
	const struct kb_jsonnode *node = kb_jsonnode_get(in->node, member);

	if (!node)
		return kb_members_fault(in, member, "is missing");
	if (!kb_jsonnode_uint(node, ret))
		return kb_members_fault(in, member,
					"is not an integer below 2^53");
	return 0;
}

int kb_members_get_optional_uint(const struct kb_members *in,
				 const char *member, uint64_t *ret)
{
	int r;

	*ret = 0;
	if (!kb_members_has(in, member))
		return 0;
	r = kb_members_get_uint(in, member, ret);
	if (r < 0)
		return r;
	return *ret ? 0
		    : kb_members_fault(in, member, "is 0 and must be left out");
}

int kb_members_get_flag(const struct kb_members *in, const char *member,
			bool *ret)
{
	const struct kb_jsonnode *node = kb_jsonnode_get(in->node, member);

	*ret = false;
	if (!node)
		return 0;
	if (!kb_jsonnode_bool(node, ret) || !*ret)
		return kb_members_fault(in, member,
					"is not true, and else left out");
	return 0;
}

int kb_members_get_array(const struct kb_members *in, const char *member,
			 size_t min, size_t max, size_t item_bytes,
			 struct kb_members_array *ret)
{
	const struct kb_jsonnode *node = kb_jsonnode_get(in->node, member);

	*ret = (struct kb_members_array){0};
	if (!node)
		return kb_members_fault(in, member, "is missing");
	if (!kb_jsonnode_is_array(node))
		return kb_members_fault(in, member, "is not an array");
	ret->n = kb_jsonnode_count(node);
	if (ret->n < min)
		return kb_members_fault(in, member, "has too few elements");
	if (ret->n > max)
		return kb_members_fault(in, member, "has too many elements");
	if (!ret->n)
		return 0;
	ret->first = kb_jsonnode_first(node);
	ret->items = kb_arena_array(in->arena, ret->n, item_bytes);
	return ret->items ? 0 : kb_fail_nomem(in->err);
}

int kb_members_get_requires(const struct kb_members *in, size_t min,
			    const char *const **ret, size_t *ret_n)
{
	struct kb_members_array array;
	const struct kb_jsonnode *node;
	const char **names;
	int r = kb_members_get_array(in, "requires", min, REQUIRES_MAX,
				     sizeof(*names), &array);

	if (r < 0)
		return r;
	names = array.items;
	node = array.first;
	for (size_t i = 0; i < array.n; i++, node = kb_jsonnode_next(node)) {
		const char *text = kb_jsonnode_string(node);

		if (!text || !kb_word_is_valid(text))
			return kb_members_fault(in, "requires",
						"has an invalid name");
		if (i && strcmp(names[i - 1], text) >= 0)
			return kb_members_fault(in, "requires",
						"is not sorted");
		names[i] = kb_arena_strdup(in->arena, text);
		if (!names[i])
			return kb_fail_nomem(in->err);
	}
	*ret = names;
	*ret_n = array.n;
	return 0;
}
