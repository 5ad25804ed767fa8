/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that hold over all lines of a manifest: order, no path twice, none
 * inside another, sums. Keeps fingerprints of paths and not the paths, so that
 * its memory stays small whatever the manifest's size.
 */
#include "manifest.h"

#include "../base/error.h"
#include "../dep/hash.h"
#include "limits.h"
#include "tar.h"

#include <inttypes.h>
#include <string.h>

int kb_entry_compare(uint32_t a_root, const char *a_target, const char *a_name,
		     const char *a_path, uint32_t b_root, const char *b_target,
		     const char *b_name, const char *b_path)
{
	int c;

	if (a_root != b_root)
		return a_root < b_root ? -1 : 1;
	c = kb_target_base_compare(a_target, b_target);
	if (c == 0)
		c = strcmp(a_name, b_name);
	return c ? c : strcmp(a_path, b_path);
}

int kb_manifest_rules_init(struct kb_manifest_rules *rules,
			   const struct kb_header *header,
			   struct kbundle_error *err)
{
	uint64_t secret[2];
	int r;

	memset(rules, 0, sizeof(*rules));
	rules->header = header;
	kb_buf_init(&rules->last_text, 4 * KB_TEXT_MAX);
	r = kb_random(secret, sizeof(secret), err);
	if (r < 0)
		return r;
	kb_keyset_init(&rules->members, secret);
	kb_keyset_init(&rules->parents, secret);
	return 0;
}

void kb_manifest_rules_release(struct kb_manifest_rules *rules)
{
	kb_keyset_release(&rules->members);
	kb_keyset_release(&rules->parents);
	kb_buf_release(&rules->last_text);
}

static int check_order(struct kb_manifest_rules *rules,
		       const struct kb_entry *entry, struct kbundle_error *err)
{
	struct kb_entry *last = &rules->last;
	struct kb_shown shown;

	if (rules->entries &&
	    kb_entry_compare(last->root, last->target, last->name, last->path,
			     entry->root, entry->target, entry->name,
			     entry->path) >= 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "entry %s is not in bundle order",
			       kb_show(&shown, entry->path));
	return 0;
}

/* Keeps what the next comparison needs: the line's own arena goes away. */
static int remember(struct kb_manifest_rules *rules,
		    const struct kb_entry *entry, struct kbundle_error *err)
{
	struct kb_buf *text = &rules->last_text;
	const char *target = entry->target ? entry->target : "";
	size_t name_at = strlen(target) + 1;
	size_t path_at = name_at + strlen(entry->name) + 1;
	int r;

	kb_buf_clear(text);
	r = kb_buf_append(text, target, name_at);
	if (r == 0)
		r = kb_buf_append(text, entry->name, path_at - name_at);
	if (r == 0)
		r = kb_buf_puts(text, entry->path);
	if (r < 0)
		return kb_fail_nomem(err);
	rules->last.root = entry->root;
	rules->last.target = text->data;
	rules->last.name = text->data + name_at;
	rules->last.path = text->data + path_at;
	return 0;
}

static int check_unique(struct kb_manifest_rules *rules, const char *path,
			struct kbundle_error *err)
{
	size_t len = strlen(path);
	struct kb_shown shown;
	int added;

	if (kb_keyset_has(&rules->parents, path, len))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "entry %s has another entry inside",
			       kb_show(&shown, path));
	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		size_t parent_len = (size_t)(slash - path);

		if (kb_keyset_has(&rules->members, path, parent_len))
			return kb_fail(err, KBUNDLE_E_FORMAT,
				       "entry %s lies inside another entry",
				       kb_show(&shown, path));
		added = kb_keyset_add(&rules->parents, path, parent_len);
		if (added < 0)
			return kb_fail_nomem(err);
	}
	added = kb_keyset_add(&rules->members, path, len);
	if (added < 0)
		return kb_fail_nomem(err);
	return added ? 0
		     : kb_fail(err, KBUNDLE_E_FORMAT, "entry %s stands twice",
			       kb_show(&shown, path));
}

int kb_manifest_rules_add(struct kb_manifest_rules *rules,
			  const struct kb_entry *entry,
			  struct kbundle_error *err)
{
	const struct kb_header *header = rules->header;
	char path[KB_MEMBER_PATH_MAX + 1];
	int r = kb_member_path(path, header->roots[entry->root].name,
			       entry->path, "", err);

	if (r == 0)
		r = check_order(rules, entry, err);
	if (r == 0)
		r = check_unique(rules, path, err);
	if (r == 0)
		r = remember(rules, entry, err);
	if (r < 0)
		return r;
	rules->entries++;
	rules->files += entry->n_files;
	for (size_t i = 0; i < entry->n_files; i++)
		rules->bytes += entry->files[i].size;
	if (rules->entries > header->entries || rules->files > header->files ||
	    rules->bytes > header->bytes)
		return kb_manifest_rules_finish(rules, err);
	return 0;
}

int kb_manifest_rules_finish(const struct kb_manifest_rules *rules,
			     struct kbundle_error *err)
{
	const struct kb_header *header = rules->header;

	if (rules->entries == header->entries &&
	    rules->files == header->files && rules->bytes == header->bytes)
		return 0;
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "the header counts %" PRIu64 " entries, %" PRIu64
		       " files, %" PRIu64 " bytes, but the lines have %" PRIu64
		       ", %" PRIu64 ", %" PRIu64 " (so far)",
		       header->entries, header->files, header->bytes,
		       rules->entries, rules->files, rules->bytes);
}

static int check_limit(const char *what, uint64_t value, uint64_t limit,
		       const char *option, struct kbundle_error *err)
{
	if (value <= limit)
		return 0;
	return kb_fail(err, KBUNDLE_E_LIMIT,
		       "%" PRIu64 " %s are more than the limit %" PRIu64
		       "; %s raises it",
		       value, what, limit, option);
}

int kb_header_check(const struct kb_header *header,
		    const struct kbundle_limits *limits,
		    struct kbundle_error *err)
{
	int r = check_limit("entries", header->entries, limits->entries,
			    "--limit-entries", err);

	if (r == 0)
		r = check_limit("files", header->files, limits->files,
				"--limit-files", err);
	if (r == 0)
		r = check_limit("bytes", header->bytes, limits->total_bytes,
				"--limit-total", err);
	return r;
}

int kb_header_find_root(const struct kb_header *header,
			const struct kbundle_root *given, size_t n_given,
			size_t *ret, struct kbundle_error *err)
{
	struct kb_shown shown;

	if (!given->path)
		return kb_fail(err, KBUNDLE_E_INVALID, "a root has no path");
	if (!given->name && (header->n_roots != 1 || n_given != 1))
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "the bundle has %zu roots; say which one %s is, "
			       "as NAME=DIR",
			       header->n_roots, kb_show(&shown, given->path));
	for (*ret = 0; *ret < header->n_roots; ++*ret)
		if (!given->name ||
		    !strcmp(given->name, header->roots[*ret].name))
			return 0;
	return kb_fail(err, KBUNDLE_E_INVALID, "the bundle has no root %s",
		       kb_show(&shown, given->name));
}
