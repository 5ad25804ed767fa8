/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slim kernels: the group, the metadata and the binary are all that a hit needs
 * from Triton 2.3 on. Triton 3.8 and later miss where a child that the group
 * lists is not there, so the group is written anew: as json.dumps() of Python
 * would, in its own order, a pure function of its old stored bytes, and so the
 * same at pack and at unpack.
 */
#include "triton_parts.h"

#include "../src/base/error.h"
#include "../src/base/json.h"

#include <string.h>

bool kb_triton_slim_keeps(const struct kb_entry *entry, const char *file)
{
	size_t len = strlen(entry->name);

	if (entry->facts.whole || strcmp(entry->kind, "kernel") != 0)
		return true;
	return kb_triton_is_group(file) || kb_triton_binary_kind(file) ||
	       (strncmp(file, entry->name, len) == 0 &&
		strcmp(file + len, ".json") == 0);
}

const char *kb_triton_slim_file(const struct kb_entry *entry)
{
	struct kb_triton_shape shape;

	if (entry->facts.whole || strcmp(entry->kind, "kernel") != 0)
		return NULL;
	kb_triton_shape_of(&shape, entry);
	return shape.group;
}

/* Appends to a buffer and remembers the first failure. */
struct writer {
	struct kb_buf *buf;
	int result;
};

static void put(struct writer *w, const char *text)
{
	if (w->result == 0)
		w->result = kb_buf_puts(w->buf, text);
}

static void put_name(struct writer *w, const char *name)
{
	if (w->result == 0)
		w->result = kb_json_encode_python(w->buf, name, strlen(name));
}

static void put_child(struct writer *w, const struct kb_entry *entry,
		      const char *token, const struct kb_triton_child *child,
		      struct kb_rewrite *rewrite)
{
	put(w, "\"");
	put_name(w, child->name);
	put(w, "\"");
	if (!rewrite)
		return;
	put(w, ": \"");
	rewrite->offset = w->buf->len;
	rewrite->length = (uint32_t)strlen(token);
	rewrite->root = entry->root;
	rewrite->codec = KB_CODEC_JSON;
	put(w, token);
	put(w, "/");
	put(w, entry->path);
	put(w, "/");
	put_name(w, child->name);
	put(w, "\"");
}

static size_t put_group(struct writer *w, const struct kb_entry *entry,
			const char *token, const struct kb_triton_group *group,
			struct kb_rewrite *rewrites)
{
	size_t n = 0;

	put(w, group->is_map ? "{\"child_paths\": {" : "{\"child_paths\": [");
	for (size_t i = 0; i < group->n; i++) {
		const struct kb_triton_child *child = &group->children[i];

		if (!kb_triton_slim_keeps(entry, child->name))
			continue;
		if (n > 0)
			put(w, ", ");
		put_child(w, entry, token, child,
			  group->is_map ? &rewrites[n] : NULL);
		n++;
	}
	put(w, group->is_map ? "}}" : "]}");
	return group->is_map ? n : 0;
}

int kb_triton_slim(const struct kb_entry *entry, const char *token,
		   const void *stored, size_t len, struct kb_arena *arena,
		   struct kb_buf *ret_bytes,
		   const struct kb_rewrite **ret_rewrites, size_t *ret_n,
		   struct kbundle_error *err)
{
	KB_AUTO(kb_triton_group_release)
	struct kb_triton_group group = KB_TRITON_GROUP_INIT;
	struct writer w = {ret_bytes, 0};
	struct kb_rewrite *rewrites;
	int r;

	r = kb_triton_group_parse(stored, len, entry->path, &group, err);
	if (r < 0) {
		kb_wrap(err, "group file of entry %s", entry->path);
		return r;
	}
	rewrites = kb_arena_array(arena, group.n, sizeof(*rewrites));
	if (!rewrites)
		return kb_fail_nomem(err);
	kb_buf_clear(ret_bytes);
	*ret_n = put_group(&w, entry, token, &group, rewrites);
	*ret_rewrites = rewrites;
	if (w.result == KBUNDLE_E_NOMEM)
		return kb_fail_nomem(err);
	if (w.result < 0)
		return kb_fail(err, w.result,
			       "group file of entry %s: larger than %zu bytes "
			       "when it is written anew",
			       entry->path, ret_bytes->max);
	return 0;
}
