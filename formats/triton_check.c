/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is an entry whole, and do its parts agree? Works on the bytes alone, so that
 * it says the same of a live cache and of a bundle, where tokens are paths like
 * any others. Everything that Triton would trip over is told by its reason: it
 * raises in its user's process on most of it, instead of compiling anew.
 *
 * Inside this file a fault is an error code and a phrase; `file` is the file
 * that it is about. kb_triton_check() alone turns them into a verdict.
 */
#include "triton_parts.h"

#include "../src/base/error.h"
#include "../src/base/json.h"
#include "../src/base/path.h"

#include <stdio.h>
#include <string.h>

struct checker {
	const struct kb_check *in;
	struct kb_checked *ret;
	struct kb_triton_shape shape;
	const char *file;
	bool *is_child; /* by index of the file: is it in the group? */
};

static const struct kb_view *find_file(const struct kb_check *in,
				       const char *name)
{
	size_t from = 0, to = in->n_files;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(in->files[middle].name, name);

		if (order == 0)
			return &in->files[middle];
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

static size_t index_of(const struct checker *c, const struct kb_view *view)
{
	return (size_t)(view - c->in->files);
}

static int keep_text(struct checker *c, const char *text, const char **ret,
		     struct kbundle_error *err)
{
	*ret = kb_arena_strdup(c->in->arena, text);
	return *ret ? 0 : kb_fail_nomem(err);
}

/* ---- kernels: the group against the files ---- */

static int check_child(struct checker *c, const struct kb_triton_child *child,
		       struct kbundle_error *err)
{
	const struct kb_view *view = find_file(c->in, child->name);
	struct kb_shown shown;

	if (!view)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "lists %s, which is missing",
			       kb_show(&shown, child->name));
	if (c->is_child[index_of(c, view)])
		return kb_fail(err, KBUNDLE_E_FORMAT, "lists %s twice",
			       kb_show(&shown, child->name));
	c->is_child[index_of(c, view)] = true;
	if (view->size > 0)
		return 0;
	c->file = view->name;
	return kb_fail(err, KBUNDLE_E_FORMAT, "has zero bytes");
}

static int note_edits(struct checker *c, const struct kb_view *view,
		      const struct kb_triton_group *group,
		      struct kbundle_error *err)
{
	struct kb_edit *edits;

	if (!group->is_map)
		return 0;
	edits = kb_arena_array(c->in->arena, group->n, sizeof(*edits));
	if (!edits)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < group->n; i++) {
		edits[i].file = index_of(c, view);
		edits[i].offset = group->children[i].offset;
		edits[i].length = group->children[i].length;
		edits[i].root = c->in->root;
		edits[i].codec = KB_CODEC_JSON;
	}
	c->ret->edits = edits;
	c->ret->n_edits = group->n;
	return 0;
}

static int check_group(struct checker *c, struct kb_triton_group *group,
		       struct kbundle_error *err)
{
	const struct kb_view *view = find_file(c->in, c->shape.group);
	struct kb_shown shown;
	int r;

	c->file = view->name;
	if (c->shape.group_2)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "stands beside a second group file, %s",
			       kb_show(&shown, c->shape.group_2));
	if (view->size > KB_TRITON_GROUP_MAX)
		return kb_fail(
			err, KBUNDLE_E_FORMAT,
			"has more than 1 MiB: no group file is so large");
	r = kb_triton_group_parse(view->data, (size_t)view->size, c->in->path,
				  group, err);
	if (r < 0)
		return r;
	c->is_child = kb_arena_array(c->in->arena, c->in->n_files,
				     sizeof(*c->is_child));
	if (!c->is_child)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < group->n; i++) {
		r = check_child(c, &group->children[i], err);
		if (r < 0)
			return r;
	}
	return note_edits(c, view, group, err);
}

/* The file <name><suffix>, which the group must list too; NULL: there is none
 * or it is not listed. */
static const struct kb_view *find_child(const struct checker *c,
					const char *suffix)
{
	char file[KB_NAME_MAX + 16];
	const struct kb_view *view;

	snprintf(file, sizeof(file), "%s%s", c->ret->name, suffix);
	view = find_file(c->in, file);
	return view && c->is_child[index_of(c, view)] ? view : NULL;
}

/* ---- kernels: the metadata ---- */

static int check_hash(const struct checker *c,
		      const struct kb_triton_meta *meta,
		      struct kbundle_error *err)
{
	struct kb_shown shown;

	if (!meta->has_hash)
		return 0;
	if (meta->hash && kb_triton_key_has_hash(c->in->path, meta->hash))
		return 0;
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "has a hash that is not the key's: %s",
		       kb_show(&shown, meta->hash ? meta->hash : "no text"));
}

static int note_facts(struct checker *c, const struct kb_triton_meta *meta,
		      bool is_map, struct kbundle_error *err)
{
	struct kb_facts *facts = &c->ret->facts;
	int r = keep_text(c, meta->name, &facts->symbol, err);

	if (r == 0 && meta->version)
		r = keep_text(c, meta->version, &facts->version, err);
	facts->warps = meta->warps;
	facts->warp_size = meta->warp_size;
	facts->shared = meta->shared;
	facts->has_shared = true;
	/* These look up every stage and compile those that they miss. */
	facts->whole = !is_map && meta->form == KB_TRITON_TARGET_ARCH;
	return r;
}

static int check_meta(struct checker *c, const struct kb_triton_group *group,
		      struct kb_triton_meta *meta, struct kb_target *target,
		      struct kbundle_error *err)
{
	const struct kb_view *view = find_child(c, ".json");
	struct kb_shown shown;
	int r;

	if (!view)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "does not list the metadata, %s.json",
			       kb_show(&shown, c->ret->name));
	c->file = view->name;
	r = kb_triton_meta_parse(view->data, (size_t)view->size, meta, err);
	if (r < 0)
		return r;
	if (!meta->name || !*meta->name)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "names no kernel to look up");
	r = kb_triton_meta_target(meta, target, err);
	if (r < 0)
		return r;
	if (!meta->has_shared)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "does not say how much shared memory it takes");
	r = check_hash(c, meta, err);
	if (r < 0)
		return r;
	if (!group->is_map && meta->form == KB_TRITON_TARGET_MAP) {
		c->file = c->shape.group;
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "lists names where Triton 3 reads paths");
	}
	return note_facts(c, meta, group->is_map, err);
}

/* ---- kernels: the binaries ---- */

static bool is_own_binary(const struct checker *c, const char *file,
			  const char *backend)
{
	const char *kind = kb_triton_binary_kind(file);
	size_t len = strlen(c->ret->name);

	return strncmp(file, c->ret->name, len) == 0 && file[len] == '.' &&
	       strcmp(file + len + 1, kind) == 0 &&
	       kb_triton_binary_is_for(kind, backend);
}

static int check_binary(struct checker *c, const struct kb_view *view,
			bool is_own, struct kb_target *target,
			struct kb_binary_fact *ret, struct kbundle_error *err)
{
	int r;

	c->file = view->name;
	r = kb_triton_binary_parse(view, c->in->arena, ret, err);
	if (r < 0 || !is_own)
		return r;
	return kb_triton_binary_match(ret, c->ret->facts.symbol, target, err);
}

static int check_binaries(struct checker *c, const char *backend,
			  struct kb_target *target, struct kbundle_error *err)
{
	struct kb_facts *facts = &c->ret->facts;
	struct kb_binary_fact *binaries =
		kb_arena_array(c->in->arena, c->in->n_files, sizeof(*binaries));
	struct kb_shown shown;
	bool has_own = false;
	int r;

	if (!binaries)
		return kb_fail_nomem(err);
	facts->binaries = binaries;
	for (size_t i = 0; i < c->in->n_files; i++) {
		const struct kb_view *view = &c->in->files[i];
		bool is_own;

		if (!c->is_child[i] || !kb_triton_binary_kind(view->name))
			continue;
		is_own = is_own_binary(c, view->name, backend);
		has_own |= is_own;
		if (c->in->skip_binaries)
			continue;
		r = check_binary(c, view, is_own, target,
				 &binaries[facts->n_binaries++], err);
		if (r < 0)
			return r;
	}
	if (has_own)
		return 0;
	c->file = c->shape.group;
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "lists no binary of %s for backend %s",
		       kb_show(&shown, c->ret->name), backend);
}

static int check_kernel(struct checker *c, struct kbundle_error *err)
{
	KB_AUTO(kb_triton_group_release)
	struct kb_triton_group group = KB_TRITON_GROUP_INIT;
	KB_AUTO(kb_triton_meta_release)
	struct kb_triton_meta meta = KB_TRITON_META_INIT;
	struct kb_target target;
	int r;

	r = check_group(c, &group, err);
	if (r < 0)
		return r;
	r = check_meta(c, &group, &meta, &target, err);
	if (r < 0)
		return r;
	r = check_binaries(c, meta.backend, &target, err);
	if (r < 0)
		return r;
	return keep_text(c, target.text, &c->ret->target, err);
}

/* ---- the other kinds ---- */

static int check_timings(struct kb_json *json, struct kbundle_error *err)
{
	struct kb_json_token token;
	bool is_timings, has_timings = false;
	int r = kb_json_next(json, &token, err);

	if (r == 0 && token.type != KB_JSON_OBJECT)
		return kb_fail(err, KBUNDLE_E_FORMAT, "is no JSON object");
	while (r == 0) {
		r = kb_json_next(json, &token, err);
		if (r < 0 || token.type == KB_JSON_END)
			break;
		if (token.type == KB_JSON_OBJECT_END)
			continue;
		is_timings = kb_json_equals(json, &token, "configs_timings");
		r = kb_json_next(json, &token, err);
		if (r < 0)
			break;
		if (is_timings)
			has_timings = token.type == KB_JSON_ARRAY;
		r = kb_json_skip(json, &token, err);
	}
	if (r < 0) {
		kb_wrap(err, "cannot be parsed");
		return r;
	}
	if (!has_timings)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "has no list configs_timings");
	return 0;
}

static int check_autotune(struct checker *c, struct kbundle_error *err)
{
	const struct kb_view *view = find_file(c->in, c->shape.autotune);
	struct kb_json json;
	struct kb_shown shown;

	c->file = view->name;
	if (c->shape.autotune_2)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "stands beside a second tuning result, %s",
			       kb_show(&shown, c->shape.autotune_2));
	if (view->size == 0)
		return kb_fail(err, KBUNDLE_E_FORMAT, "has zero bytes");
	kb_json_init(&json, view->data, (size_t)view->size);
	return check_timings(&json, err);
}

static int check_host_extension(struct checker *c, struct kbundle_error *err)
{
	struct kb_facts *facts = &c->ret->facts;
	struct kb_binary_fact *binaries =
		kb_arena_array(c->in->arena, c->in->n_files, sizeof(*binaries));
	int r;

	if (!binaries)
		return kb_fail_nomem(err);
	facts->binaries = binaries;
	for (size_t i = 0; i < c->in->n_files; i++) {
		const struct kb_view *view = &c->in->files[i];

		c->file = view->name;
		if (view->size == 0)
			return kb_fail(err, KBUNDLE_E_FORMAT, "has zero bytes");
		if (c->in->skip_binaries)
			continue;
		r = kb_triton_binary_parse(view, c->in->arena,
					   &binaries[facts->n_binaries++], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- all kinds ---- */

static int has_ctime(const struct checker *c, bool *ret,
		     struct kbundle_error *err)
{
	KB_AUTO(kb_triton_meta_release)
	struct kb_triton_meta meta = KB_TRITON_META_INIT;
	const struct kb_view *view;
	int r;

	if (!c->shape.json)
		return 0;
	view = find_file(c->in, c->shape.json);
	r = kb_triton_meta_parse(view->data, (size_t)view->size, &meta, NULL);
	*ret = meta.has_ctime;
	return r == KBUNDLE_E_NOMEM ? kb_fail_nomem(err) : 0;
}

static int note_name(struct checker *c, struct kbundle_error *err)
{
	size_t len;
	const char *stem = kb_triton_stem(&c->shape, &len), *fault;

	c->file = kb_triton_commit_file(&c->shape);
	c->ret->name = kb_arena_strndup(c->in->arena, stem, len);
	if (!c->ret->name)
		return kb_fail_nomem(err);
	fault = kb_name_fault(c->ret->name);
	if (fault)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the name that it stands for %s", fault);
	return 0;
}

static int check_entry(struct checker *c, struct kbundle_error *err)
{
	enum kb_triton_kind kind;
	bool is_2_0 = false;
	int r;

	for (size_t i = 0; i < c->in->n_files; i++)
		kb_triton_shape_add(&c->shape, c->in->files[i].name);
	kind = kb_triton_shape_kind(&c->shape);
	if (kind == KB_TRITON_LEFTOVER) {
		r = has_ctime(c, &is_2_0, err);
		if (r < 0)
			return r;
	}
	r = kb_triton_shape_check(&c->shape, c->in->host_code, is_2_0, err);
	if (r < 0)
		return r;
	r = note_name(c, err);
	if (r < 0)
		return r;
	c->ret->kind = kb_triton_kind_name(kind);
	c->ret->facts.producer = "triton";
	if (kind == KB_TRITON_KERNEL)
		return check_kernel(c, err);
	if (kind == KB_TRITON_AUTOTUNE)
		return check_autotune(c, err);
	return check_host_extension(c, err);
}

static enum kb_verdict verdict_of(int code)
{
	if (code == KBUNDLE_E_NOTFOUND)
		return KB_ENTRY_LEFTOVER;
	if (code == KBUNDLE_E_UNSUPPORTED)
		return KB_ENTRY_POLICY;
	return KB_ENTRY_DAMAGED;
}

int kb_triton_check(const struct kb_check *in, struct kb_checked *ret,
		    struct kbundle_error *err)
{
	struct checker c = {.in = in, .ret = ret};
	struct kbundle_error why;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->facts.extra = "";
	r = check_entry(&c, &why);
	if (r == 0)
		return 0;
	if (r == KBUNDLE_E_NOMEM || r == KBUNDLE_E_INTERNAL) {
		if (err)
			*err = why;
		return r;
	}
	memset(ret, 0, sizeof(*ret));
	ret->verdict = verdict_of(r);
	if (c.file) {
		ret->file = kb_arena_strdup(in->arena, c.file);
		if (!ret->file)
			return kb_fail_nomem(err);
	}
	ret->reason = kb_arena_strdup(in->arena, why.message);
	return ret->reason ? 0 : kb_fail_nomem(err);
}
