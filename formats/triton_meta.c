/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of a kernel, <name>.json. Triton adds members with every
 * release, so the set is open: what we know is taken, the rest must only be
 * JSON as Python reads it. As there, the last of two equal members counts.
 * Whether what was found is enough and fits the binary is for check to see.
 */
#include "triton_parts.h"

#include "../src/base/error.h"
#include "../src/base/json.h"
#include "../src/base/path.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 4096 /* bytes of any text that we take */

struct parser {
	struct kb_json json;
	struct kb_triton_meta *meta;
	/* What counts only where the target does not say it. */
	const char *device_type, *arch;
	uint64_t arch_number, warp_size;
};

/* Every taker is called with a value's first token and consumes the value. */
typedef int take_fn(struct parser *p, const struct kb_json_token *value,
		    struct kbundle_error *err);

struct member {
	const char *name;
	take_fn *take;
};

static int next(struct parser *p, struct kb_json_token *ret,
		struct kbundle_error *err)
{
	int r = kb_json_next(&p->json, ret, err);

	if (r < 0)
		kb_wrap(err, "cannot be parsed");
	return r;
}

static int skip(struct parser *p, const struct kb_json_token *value,
		struct kbundle_error *err)
{
	int r = kb_json_skip(&p->json, value, err);

	if (r < 0)
		kb_wrap(err, "cannot be parsed");
	return r;
}

/* NULL for what is no text that a manifest could hold. */
static int take_text(struct parser *p, const struct kb_json_token *value,
		     const char **ret, struct kbundle_error *err)
{
	KB_AUTO(kb_buf_release) struct kb_buf text;
	int r;

	*ret = NULL;
	kb_buf_init(&text, TEXT_MAX);
	if (value->type != KB_JSON_STRING)
		return skip(p, value, err);
	r = kb_json_decode(&p->json, value, &text, NULL, NULL);
	if (r == KBUNDLE_E_NOMEM)
		return kb_fail_nomem(err);
	if (r < 0 || !kb_utf8_is_valid(text.data, text.len))
		return 0;
	*ret = kb_arena_strndup(&p->meta->arena, text.data, text.len);
	return *ret ? 0 : kb_fail_nomem(err);
}

/* False for what is no integer from 0 on. */
static int take_number(struct parser *p, const struct kb_json_token *value,
		       uint64_t *ret, bool *ret_is, struct kbundle_error *err)
{
	int64_t number;

	*ret_is = value->type == KB_JSON_NUMBER &&
		  kb_json_integer(&p->json, value, &number) && number >= 0;
	*ret = *ret_is ? (uint64_t)number : 0;
	return skip(p, value, err);
}

static int take_members(struct parser *p, const struct member *members,
			struct kbundle_error *err)
{
	struct kb_json_token name, value;
	const struct member *member;
	int r;

	for (;;) {
		r = next(p, &name, err);
		if (r < 0 || name.type == KB_JSON_OBJECT_END)
			return r;
		for (member = members; member->name; member++) {
			if (kb_json_equals(&p->json, &name, member->name))
				break;
		}
		r = next(p, &value, err);
		if (r < 0)
			return r;
		r = member->take(p, &value, err);
		if (r < 0)
			return r;
	}
}

static int take_arch_of(struct parser *p, const struct kb_json_token *value,
			const char **ret_text, uint64_t *ret_number,
			struct kbundle_error *err)
{
	bool is_number;

	*ret_text = NULL;
	*ret_number = 0;
	if (value->type == KB_JSON_STRING)
		return take_text(p, value, ret_text, err);
	return take_number(p, value, ret_number, &is_number, err);
}

static int take_target_backend(struct parser *p,
			       const struct kb_json_token *value,
			       struct kbundle_error *err)
{
	return take_text(p, value, &p->meta->backend, err);
}

static int take_target_arch(struct parser *p, const struct kb_json_token *value,
			    struct kbundle_error *err)
{
	return take_arch_of(p, value, &p->meta->arch, &p->meta->arch_number,
			    err);
}

static int take_target_warp_size(struct parser *p,
				 const struct kb_json_token *value,
				 struct kbundle_error *err)
{
	bool is_number;

	return take_number(p, value, &p->meta->warp_size, &is_number, err);
}

static int take_target_list(struct parser *p, struct kbundle_error *err)
{
	static take_fn *const items[] = {take_target_backend, take_target_arch};
	struct kb_json_token value;
	int r;

	for (size_t i = 0;; i++) {
		r = next(p, &value, err);
		if (r < 0 || value.type == KB_JSON_ARRAY_END)
			return r;
		r = i < 2 ? items[i](p, &value, err) : skip(p, &value, err);
		if (r < 0)
			return r;
	}
}

static int take_target(struct parser *p, const struct kb_json_token *value,
		       struct kbundle_error *err)
{
	static const struct member members[] = {
		{"arch", take_target_arch},
		{"backend", take_target_backend},
		{"warp_size", take_target_warp_size},
		{NULL, skip},
	};
	struct kb_triton_meta *meta = p->meta;

	meta->backend = meta->arch = NULL;
	meta->arch_number = 0;
	if (value->type == KB_JSON_OBJECT) {
		meta->form = KB_TRITON_TARGET_MAP;
		return take_members(p, members, err);
	}
	if (value->type == KB_JSON_ARRAY) {
		meta->form = KB_TRITON_TARGET_LIST;
		return take_target_list(p, err);
	}
	meta->form = KB_TRITON_TARGET_NONE;
	return skip(p, value, err);
}

static int take_arch(struct parser *p, const struct kb_json_token *value,
		     struct kbundle_error *err)
{
	return take_arch_of(p, value, &p->arch, &p->arch_number, err);
}

static int take_ctime(struct parser *p, const struct kb_json_token *value,
		      struct kbundle_error *err)
{
	p->meta->has_ctime = value->type == KB_JSON_OBJECT;
	return skip(p, value, err);
}

static int take_device_type(struct parser *p, const struct kb_json_token *value,
			    struct kbundle_error *err)
{
	return take_text(p, value, &p->device_type, err);
}

static int take_hash(struct parser *p, const struct kb_json_token *value,
		     struct kbundle_error *err)
{
	p->meta->has_hash = value->type != KB_JSON_NULL;
	return take_text(p, value, &p->meta->hash, err);
}

static int take_name(struct parser *p, const struct kb_json_token *value,
		     struct kbundle_error *err)
{
	return take_text(p, value, &p->meta->name, err);
}

static int take_num_warps(struct parser *p, const struct kb_json_token *value,
			  struct kbundle_error *err)
{
	bool is_number;

	return take_number(p, value, &p->meta->warps, &is_number, err);
}

static int take_shared(struct parser *p, const struct kb_json_token *value,
		       struct kbundle_error *err)
{
	return take_number(p, value, &p->meta->shared, &p->meta->has_shared,
			   err);
}

static int take_version(struct parser *p, const struct kb_json_token *value,
			struct kbundle_error *err)
{
	return take_text(p, value, &p->meta->version, err);
}

static int take_warp_size(struct parser *p, const struct kb_json_token *value,
			  struct kbundle_error *err)
{
	bool is_number;

	return take_number(p, value, &p->warp_size, &is_number, err);
}

int kb_triton_meta_parse(const void *text, size_t len,
			 struct kb_triton_meta *meta, struct kbundle_error *err)
{
	static const struct member members[] = {
		{"arch", take_arch},
		{"ctime", take_ctime},
		{"device_type", take_device_type},
		{"hash", take_hash},
		{"name", take_name},
		{"num_warps", take_num_warps},
		{"shared", take_shared},
		{"target", take_target},
		{"triton_version", take_version},
		{"warp_size", take_warp_size},
		{NULL, skip},
	};
	struct parser p = {.meta = meta};
	struct kb_json_token token;
	int r;

	if (len == 0)
		return kb_fail(err, KBUNDLE_E_FORMAT, "has zero bytes");
	if (len > KB_TRITON_META_MAX)
		return kb_fail(err, KBUNDLE_E_LIMIT,
			       "has %zu bytes, too many for metadata", len);
	kb_json_init(&p.json, text, len);
	r = next(&p, &token, err);
	if (r < 0)
		return r;
	if (token.type != KB_JSON_OBJECT)
		return kb_fail(err, KBUNDLE_E_FORMAT, "is no JSON object");
	r = take_members(&p, members, err);
	if (r < 0)
		return r;
	r = next(&p, &token, err);
	if (r < 0)
		return r;
	if (meta->form == KB_TRITON_TARGET_NONE && p.device_type) {
		meta->form = KB_TRITON_TARGET_ARCH;
		meta->backend = p.device_type;
		meta->arch = p.arch;
		meta->arch_number = p.arch_number;
	}
	if (meta->warp_size == 0)
		meta->warp_size = p.warp_size;
	return 0;
}

void kb_triton_meta_release(struct kb_triton_meta *meta)
{
	kb_arena_release(&meta->arena);
}

static int cuda_target(const struct kb_triton_meta *meta, struct kb_target *ret,
		       struct kbundle_error *err)
{
	if (meta->arch_number < 10 || meta->arch_number > 999)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "names no architecture for backend cuda");
	kb_target_cuda(ret, (unsigned)meta->arch_number, 0);
	return 0;
}

/* "gfx90a" or, in any order of its features, "gfx90a:xnack-:sramecc+". */
static int hip_target(const struct kb_triton_meta *meta, struct kb_target *ret,
		      struct kbundle_error *err)
{
	static const char *const features[] = {":sramecc", ":xnack"};
	const char *arch = meta->arch ? meta->arch : "";
	int base_len = (int)strcspn(arch, ":");
	char text[KB_TARGET_MAX], suffix[2][16] = {"", ""};
	size_t known = (size_t)base_len;
	struct kb_shown shown;
	int n;

	for (size_t i = 0; i < 2; i++) {
		const char *at = strstr(arch, features[i]);
		size_t len = strlen(features[i]) + 1;

		if (!at || strlen(at) < len)
			continue;
		snprintf(suffix[i], sizeof(suffix[i]), "%.*s", (int)len, at);
		known += len;
	}
	n = snprintf(text, sizeof(text), "hip:%.*s%s%s", base_len, arch,
		     suffix[0], suffix[1]);
	if (known != strlen(arch) || n >= (int)sizeof(text) ||
	    !kb_target_parse(ret, text))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "names no architecture for backend hip: '%s'",
			       kb_show(&shown, arch));
	return 0;
}

static int xpu_target(const struct kb_triton_meta *meta, struct kb_target *ret,
		      struct kbundle_error *err)
{
	char text[KB_TARGET_MAX];
	int n = snprintf(text, sizeof(text), "xpu:%s",
			 meta->arch ? meta->arch : "unknown");

	/* Intel's backend mostly gives a map of device properties instead. */
	if (n < (int)sizeof(text) && kb_target_parse(ret, text))
		return 0;
	if (kb_target_parse(ret, "xpu:unknown"))
		return 0;
	return kb_fail(err, KBUNDLE_E_INTERNAL, "xpu:unknown is no target");
}

int kb_triton_meta_target(const struct kb_triton_meta *meta,
			  struct kb_target *ret, struct kbundle_error *err)
{
	struct kb_shown shown;

	if (meta->form == KB_TRITON_TARGET_NONE || !meta->backend)
		return kb_fail(err, KBUNDLE_E_FORMAT, "names no target");
	if (strcmp(meta->backend, "cuda") == 0)
		return cuda_target(meta, ret, err);
	if (strcmp(meta->backend, "hip") == 0) {
		if (meta->form == KB_TRITON_TARGET_MAP)
			return hip_target(meta, ret, err);
		return kb_fail(err, KBUNDLE_E_UNSUPPORTED,
			       "written by Triton 2.x for AMD, which keeps the "
			       "binary at a path of the old machine");
	}
	if (strcmp(meta->backend, "xpu") == 0)
		return xpu_target(meta, ret, err);
	return kb_fail(err, KBUNDLE_E_UNSUPPORTED, "backend %s: not supported",
		       kb_show(&shown, meta->backend));
}
