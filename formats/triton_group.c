/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The group file of a kernel, __grp__<name>.json, whose presence commits it:
 *
 *	{"child_paths": {"k.cubin": "/home/u/cache/<key>/k.cubin", …}}	3.x
 *	{"child_paths": ["k.cubin", …]}					2.x
 *
 * A path's meaning follows from its shape <root>/<key>/<name>, whatever root it
 * names and however that is spelled; so a cache that was copied here from
 * another machine is understood too. Whether the children are there is for
 * check to see. Nothing is kept of the text but the ranges that spell roots.
 */
#include "triton_parts.h"

#include "../src/base/error.h"
#include "../src/base/json.h"

#include <string.h>

struct parser {
	struct kb_json json;
	const char *key;
	struct kb_triton_group *group;
	struct kb_buf text; /* the string decoded last */
	size_t *offsets;    /* of its bytes in the JSON text */
	size_t offsets_cap;
};

static void parser_release(struct parser *p)
{
	kb_buf_release(&p->text);
	free(p->offsets);
}
KB_DEFINE_AUTO_STRUCT(struct parser, parser_release);

static int next(struct parser *p, struct kb_json_token *ret,
		struct kbundle_error *err)
{
	int r = kb_json_next(&p->json, ret, err);

	if (r < 0)
		kb_wrap(err, "cannot be parsed");
	return r;
}

static int decode(struct parser *p, const struct kb_json_token *token,
		  struct kbundle_error *err)
{
	int r = kb_grow(&p->offsets, &p->offsets_cap, token->len,
			sizeof(*p->offsets));

	if (r < 0)
		return kb_fail_nomem(err);
	kb_buf_clear(&p->text);
	return kb_json_decode(&p->json, token, &p->text, p->offsets, err);
}

static int add_child(struct parser *p, struct kb_triton_child **ret,
		     struct kbundle_error *err)
{
	struct kb_triton_group *group = p->group;
	struct kb_triton_child *child;
	struct kb_shown shown;
	const char *name = p->text.data;

	if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "lists '%s', which is no plain file name",
			       kb_show(&shown, name));
	if (kb_grow(&group->children, &group->cap, group->n + 1,
		    sizeof(*group->children)) < 0)
		return kb_fail_nomem(err);
	child = &group->children[group->n];
	memset(child, 0, sizeof(*child));
	child->name = kb_arena_strndup(&group->arena, name, p->text.len);
	if (!child->name)
		return kb_fail_nomem(err);
	group->n++;
	*ret = child;
	return 0;
}

/* Finds the slash before the key in <root>/<key>/<name>. More slashes than one
 * before the key belong to the root. */
static bool find_key(const char *path, size_t len, const char *key,
		     const char *name, size_t *ret_slash)
{
	size_t name_len = strlen(name), key_len = strlen(key);

	if (len <= name_len || memcmp(path + len - name_len, name, name_len))
		return false;
	len -= name_len;
	if (path[len - 1] != '/')
		return false;
	while (len > 0 && path[len - 1] == '/')
		len--;
	if (len <= key_len || memcmp(path + len - key_len, key, key_len))
		return false;
	len -= key_len;
	if (path[len - 1] != '/')
		return false;
	*ret_slash = len - 1;
	return true;
}

/* All children of a group name the same root, so one copy serves them. */
static const char *share_root(struct kb_triton_group *group, const char *root,
			      size_t len)
{
	if (group->n > 1) {
		const char *last = group->children[group->n - 2].root;

		if (strlen(last) == len && memcmp(last, root, len) == 0)
			return last;
	}
	return kb_arena_strndup(&group->arena, root, len);
}

static int take_path(struct parser *p, const struct kb_json_token *value,
		     struct kb_triton_child *child, struct kbundle_error *err)
{
	struct kb_shown name, path;
	size_t slash;
	int r;

	if (value->type != KB_JSON_STRING)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "gives %s something else than a path",
			       kb_show(&name, child->name));
	r = decode(p, value, err);
	if (r < 0) {
		kb_wrap(err, "path of %s", kb_show(&name, child->name));
		return r;
	}
	if (!find_key(p->text.data, p->text.len, p->key, child->name, &slash))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "lists %s outside the entry, at %s",
			       kb_show(&name, child->name),
			       kb_show(&path, p->text.data));
	child->offset = p->offsets[0];
	child->length = p->offsets[slash] - p->offsets[0];
	child->root = share_root(p->group, p->text.data, slash);
	return child->root ? 0 : kb_fail_nomem(err);
}

static int take_child(struct parser *p, const struct kb_json_token *token,
		      struct kbundle_error *err)
{
	struct kb_triton_child *child = NULL;
	struct kb_json_token value;
	int r;

	if (token->type != KB_JSON_KEY && token->type != KB_JSON_STRING)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "lists something else than a file name");
	r = decode(p, token, err);
	if (r < 0) {
		kb_wrap(err, "name of a child");
		return r;
	}
	r = add_child(p, &child, err);
	if (r < 0 || token->type == KB_JSON_STRING)
		return r;
	r = next(p, &value, err);
	if (r < 0)
		return r;
	return take_path(p, &value, child, err);
}

static int take_children(struct parser *p, const struct kb_json_token *value,
			 struct kbundle_error *err)
{
	struct kb_json_token token;
	int r;

	if (value->type == KB_JSON_NULL)
		return kb_fail(err, KBUNDLE_E_FORMAT, "child_paths is null");
	if (value->type != KB_JSON_OBJECT && value->type != KB_JSON_ARRAY)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "child_paths is neither a map nor a list");
	p->group->is_map = value->type == KB_JSON_OBJECT;
	for (;;) {
		r = next(p, &token, err);
		if (r < 0)
			return r;
		if (token.type == KB_JSON_OBJECT_END ||
		    token.type == KB_JSON_ARRAY_END)
			break;
		r = take_child(p, &token, err);
		if (r < 0)
			return r;
	}
	if (p->group->n == 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "child_paths is empty: it lists no file");
	return 0;
}

static int take_members(struct parser *p, struct kbundle_error *err)
{
	struct kb_json_token member, value;
	bool is_children;
	int r;

	for (;;) {
		r = next(p, &member, err);
		if (r < 0 || member.type == KB_JSON_OBJECT_END)
			return r;
		is_children = kb_json_equals(&p->json, &member, "child_paths");
		r = next(p, &value, err);
		if (r < 0)
			return r;
		if (!is_children)
			r = kb_json_skip(&p->json, &value, err);
		else if (p->group->n > 0)
			r = kb_fail(err, KBUNDLE_E_FORMAT,
				    "has child_paths twice");
		else
			r = take_children(p, &value, err);
		if (r < 0)
			return r;
	}
}

int kb_triton_group_parse(const void *text, size_t len, const char *key,
			  struct kb_triton_group *group,
			  struct kbundle_error *err)
{
	KB_AUTO(parser_release)
	struct parser p = {.key = key, .group = group};
	struct kb_json_token token;
	int r;

	kb_buf_init(&p.text, len);
	kb_json_init(&p.json, text, len);
	if (len == 0)
		return kb_fail(err, KBUNDLE_E_FORMAT, "has zero bytes");
	r = next(&p, &token, err);
	if (r < 0)
		return r;
	if (token.type != KB_JSON_OBJECT)
		return kb_fail(err, KBUNDLE_E_FORMAT, "is no JSON object");
	r = take_members(&p, err);
	if (r < 0)
		return r;
	r = next(&p, &token, err);
	if (r < 0)
		return r;
	if (group->n == 0)
		return kb_fail(err, KBUNDLE_E_FORMAT, "has no child_paths");
	return 0;
}

void kb_triton_group_release(struct kb_triton_group *group)
{
	free(group->children);
	kb_arena_release(&group->arena);
}
