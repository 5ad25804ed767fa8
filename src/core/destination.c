/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches the directories that a user named with the roots of a bundle; a root
 * that is not named goes to the default root of its format.
 */
#include "destination.h"

#include "../base/error.h"
#include "../base/path.h"
#include "../sys/io.h"
#include "limits.h"
#include "roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void kb_destinations_release(struct kb_destinations *destinations)
{
	for (size_t i = 0; i < destinations->n; i++) {
		struct kb_destination *item = &destinations->items[i];

		kb_stage_close(item->stage);
		kb_close(item->live.fd);
		free(item->path);
		free(item->written);
		free(item->spellings[2]);
	}
	free(destinations->items);
	memset(destinations, 0, sizeof(*destinations));
}

/* paths[i]: what the user named for root i of the header, or NULL. */
static int match_given(const struct kb_header *header,
		       const struct kbundle_root *roots, size_t n,
		       const char *as, const char *paths[KB_ROOTS_MAX],
		       struct kbundle_error *err)
{
	if (as && header->n_roots != 1)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "the bundle has %zu roots; another path can be "
			       "written (--as) only where there is one",
			       header->n_roots);
	for (size_t i = 0; i < n; i++) {
		size_t at;
		int r = kb_header_find_root(header, &roots[i], n, &at, err);

		if (r < 0)
			return r;
		if (paths[at])
			return kb_fail(err, KBUNDLE_E_INVALID,
				       "root %s is given twice",
				       header->roots[at].name);
		paths[at] = roots[i].path;
	}
	return 0;
}

static int default_path(const struct kb_root *root, char **ret,
			struct kbundle_error *err)
{
	const struct kb_format *format = kb_format_find(root->format);

	if (!format)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "root %s is of format %s, which this kbundle "
			       "does not know; name a directory for it",
			       root->name, root->format);
	return format->default_root(ret, err);
}

static int open_live(struct kb_destination *item, struct kb_ctx *ctx,
		     struct kbundle_error *err)
{
	struct kb_shown shown;

	item->live.fd =
		kb_openat(ctx, AT_FDCWD, item->path, O_RDONLY | O_DIRECTORY, 0);
	if (item->live.fd < 0 && errno != ENOENT)
		return kb_fail_errno(err, errno, "cannot open %s",
				     kb_show(&shown, item->path));
	item->spellings[0] = item->path;
	item->spellings[1] = item->written;
	item->spellings[2] = realpath(item->path, NULL);
	item->live.spellings = (const char *const *)item->spellings;
	item->live.n_spellings = item->spellings[2] ? 3 : 2;
	return 0;
}

static int open_one(struct kb_destination *item, struct kb_ctx *ctx,
		    const struct kb_root *root, const char *given,
		    const char *as, struct kbundle_error *err)
{
	int r = given ? kb_absolute(given, &item->path, err)
		      : default_path(root, &item->path, err);

	if (r == 0)
		r = kb_absolute(as ? as : item->path, &item->written, err);
	return r < 0 ? r : open_live(item, ctx, err);
}

int kb_destinations_open(struct kb_destinations *destinations,
			 struct kb_ctx *ctx, const struct kb_header *header,
			 const struct kbundle_root *roots, size_t n_roots,
			 const char *as, struct kbundle_error *err)
{
	const char *paths[KB_ROOTS_MAX] = {NULL};
	int r = match_given(header, roots, n_roots, as, paths, err);

	if (r < 0)
		return r;
	destinations->items =
		calloc(header->n_roots, sizeof(*destinations->items));
	if (!destinations->items)
		return kb_fail_nomem(err);
	destinations->n = header->n_roots;
	for (size_t i = 0; i < header->n_roots; i++) {
		destinations->items[i].live.fd = -1;
		/* A root that was forgotten must not go to a home directory. */
		if (n_roots && !paths[i])
			return kb_fail(err, KBUNDLE_E_INVALID,
				       "root %s has no directory; name one as "
				       "%s=DIR, or name none at all",
				       header->roots[i].name,
				       header->roots[i].name);
	}
	for (size_t i = 0; i < header->n_roots; i++) {
		struct kb_destination *item = &destinations->items[i];

		r = open_one(item, ctx, &header->roots[i], paths[i], as, err);
		if (r < 0)
			return r;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(destinations->items[j].path, item->path))
				return kb_fail(
					err, KBUNDLE_E_INVALID,
					"roots %s and %s would both go "
					"to %s; name a directory for one",
					header->roots[j].name,
					header->roots[i].name, item->path);
	}
	return 0;
}
