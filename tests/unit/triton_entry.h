/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the Triton format share: an entry on the disk as views. */
#ifndef KB_TEST_TRITON_ENTRY_H
#define KB_TEST_TRITON_ENTRY_H

#include "formats/triton.h"
#include "formats/triton_parts.h"
#include "src/base/error.h"
#include "tests/lib/harness.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys of the kernels below tests/fixtures/triton. */
#define KEY_3_9 "TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ"
#define KEY_AUTOTUNE "FH7LBAJMWB62GWWZKIGDLXQTIXUE6LSNFRJPD6DZAEQWJKVMCPYA"
#define KEY_2_1 "6e1380bbb79e032d5d942237fcc22405"
#define FIXTURE_ROOT KB_TEST_SOURCE_DIR "/tests/fixtures/triton"

struct loaded {
	struct kb_view *views;
	size_t n;
};

static inline int compare_views(const void *a, const void *b)
{
	const struct kb_view *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static inline void load(struct loaded *l, const char *dir)
{
	DIR *stream = opendir(dir);
	struct dirent *item;

	memset(l, 0, sizeof(*l));
	cr_assert_not_null(stream, "%s", dir);
	while ((item = readdir(stream))) {
		struct kb_view *view;
		size_t len;
		char *data;

		if (item->d_type != DT_REG ||
		    kb_format_triton.is_ignored(item->d_name))
			continue;
		data = kb_test_read(dir, item->d_name, &len);
		l->views = realloc(l->views, (l->n + 1) * sizeof(*l->views));
		view = &l->views[l->n++];
		view->name = strdup(item->d_name);
		view->size = len;
		view->data = data;
		if (!kb_format_triton.reads(item->d_name)) {
			free(data);
			view->data = NULL;
		}
	}
	closedir(stream);
	if (l->n)
		qsort(l->views, l->n, sizeof(*l->views), compare_views);
}

static inline void unload(struct loaded *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free((void *)(uintptr_t)l->views[i].name);
		free((void *)(uintptr_t)l->views[i].data);
	}
	free(l->views);
}

static inline void check_views(struct loaded *l, const char *key,
			       struct kb_arena *arena, struct kb_checked *ret)
{
	struct kb_check in = {.path = key,
			      .root = 3,
			      .files = l->views,
			      .n_files = l->n,
			      .arena = arena};
	struct kbundle_error err;

	cr_assert_eq(kb_format_triton.check(&in, ret, &err), 0);
}

/* Loads <root>/<key> and checks it; the views are left in l. */
static inline void check_key(const char *root, const char *key,
			     struct loaded *l, struct kb_arena *arena,
			     struct kb_checked *ret)
{
	char dir[KB_TEST_PATH_MAX + 256];

	snprintf(dir, sizeof(dir), "%s/%s", root, key);
	load(l, dir);
	check_views(l, key, arena, ret);
}

static inline const struct kb_view *view_of(const struct loaded *l,
					    const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->views[i].name, name) == 0)
			return &l->views[i];
	}
	return NULL;
}

/* The file with every edit replaced by text; malloc'ed. */
static inline char *apply_edits(const struct kb_view *view,
				const struct kb_edit *edits, size_t n,
				const char *text, size_t *ret_len)
{
	const char *data = view->data;
	char *out = malloc(view->size + n * strlen(text) + 1);
	size_t pos = 0, len = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(out + len, data + pos, edits[i].offset - pos);
		len += edits[i].offset - pos;
		memcpy(out + len, text, strlen(text));
		len += strlen(text);
		pos = edits[i].offset + edits[i].length;
	}
	memcpy(out + len, data + pos, view->size - pos);
	len += view->size - pos;
	out[len] = '\0';
	*ret_len = len;
	return out;
}

#endif
