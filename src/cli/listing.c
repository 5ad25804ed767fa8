/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry as a line of text and as JSON; `list` and `inspect` so agree. Names
 * may come from a directory of any content, so text shows them escaped.
 */
#include "listing.h"

#include "../base/error.h"
#include "../base/parse.h"

void kb_listing_print(FILE *stream, const struct kbundle_entry *entry)
{
	struct kb_shown path, name;
	char bytes[16];

	fprintf(stream, "%-12s %-14s %9s  %-24s %s/%s\n",
		entry->target ? entry->target : "-", entry->kind,
		kb_format_bytes(bytes, entry->bytes),
		kb_show(&name, entry->name), entry->root,
		kb_show(&path, entry->path));
}

static void put_files(struct kb_document *document,
		      const kbundle_reader *reader, size_t n)
{
	kb_document_array(document, "files");
	for (size_t i = 0; i < n; i++) {
		const struct kbundle_file *file =
			kbundle_reader_file(reader, i);

		kb_document_object(document, NULL);
		kb_document_string(document, "name", file->name);
		kb_document_number(document, "size", (int64_t)file->size);
		kb_document_string(document, "sha256", file->sha256);
		kb_document_number(document, "rewrites",
				   (int64_t)file->n_rewrites);
		kb_document_end(document);
	}
	kb_document_end(document);
}

void kb_listing_document(struct kb_document *document,
			 const struct kbundle_entry *entry,
			 const kbundle_reader *reader)
{
	kb_document_object(document, NULL);
	kb_document_string(document, "root", entry->root);
	kb_document_string(document, "path", entry->path);
	kb_document_string(document, "format", entry->format);
	kb_document_string(document, "kind", entry->kind);
	kb_document_string(document, "name", entry->name);
	kb_document_string(document, "target", entry->target);
	kb_document_number(document, "bytes", (int64_t)entry->bytes);
	kb_document_number(document, "n_files", (int64_t)entry->n_files);
	if (reader)
		put_files(document, reader, entry->n_files);
	kb_document_json(document, "facts", entry->facts_json);
	kb_document_end(document);
}
