/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public view of an entry, one for those of a bundle (reader.c) and those
 * of a cache (pack.c). Which entries are shown is the callers' matter.
 */
#include "describe.h"

#include "../base/error.h"

int kb_entry_describe(const struct kb_entry *entry, const char *root,
		      struct kb_buf *facts, struct kbundle_entry *ret,
		      struct kbundle_error *err)
{
	kb_buf_clear(facts);
	if (kb_facts_format(&entry->facts, facts) < 0)
		return kb_fail_nomem(err);
	*ret = (struct kbundle_entry){
		.root = root,
		.path = entry->path,
		.format = entry->format,
		.kind = entry->kind,
		.name = entry->name,
		.target = entry->target,
		.n_files = entry->n_files,
		.facts_json = facts->data,
	};
	for (size_t i = 0; i < entry->n_files; i++)
		ret->bytes += entry->files[i].size;
	return 0;
}
