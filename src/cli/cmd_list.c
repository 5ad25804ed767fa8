/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kbundle list: the entries of a bundle, one a line. Only the manifest is
 * read. With -v each entry's files follow it.
 */
#include "listing.h"
#include "out.h"
#include "verb.h"

#include <unistd.h>

static void print_files(FILE *stream, const kbundle_reader *reader, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct kbundle_file *file =
			kbundle_reader_file(reader, i);

		fprintf(stream, "    %s  %12llu  %s\n", file->sha256,
			(unsigned long long)file->size, file->name);
	}
}

static void put_head(struct kb_document *document, const kbundle_reader *reader)
{
	kb_document_object(document, NULL);
	kb_document_string(document, "schema", "kbundle-list-1");
	kb_document_string(document, "id", kbundle_reader_id(reader));
	kb_document_array(document, "roots");
	for (size_t i = 0; i < kbundle_reader_n_roots(reader); i++) {
		const struct kbundle_bundle_root *root =
			kbundle_reader_root(reader, i);

		kb_document_object(document, NULL);
		kb_document_string(document, "name", root->name);
		kb_document_string(document, "format", root->format);
		kb_document_string(document, "token", root->token);
		kb_document_end(document);
	}
	kb_document_end(document);
	kb_document_array(document, "entries");
}

static int list(struct kb_out *out, kbundle_reader *reader,
		struct kb_document *document, struct kbundle_error *err)
{
	const struct kbundle_entry *entry;
	int r;

	put_head(document, reader);
	while ((r = kbundle_reader_next(reader, &entry, err)) > 0) {
		if (out->document) {
			kb_listing_document(document, entry, reader);
			continue;
		}
		kb_listing_print(out->results, entry);
		if (out->verbose)
			print_files(out->results, reader, entry->n_files);
		if (kb_out_is_broken(out))
			break;
	}
	if (r < 0)
		return r;
	kb_document_end(document);
	kb_document_end(document);
	return kb_document_finish(document, err);
}

static int run(struct kb_args *args, struct kbundle_error *err)
{
	KB_AUTO(kbundle_reader_close) kbundle_reader *reader = NULL;
	KB_AUTO(kb_document_release) struct kb_document document;
	struct kbundle_selection selection = kb_args_selection(args);
	const struct kbundle_reader_options reading = {
		.size = sizeof(reading),
		.input = kb_args_input(args->operands[0]),
		.input_fd = STDIN_FILENO,
		.selection = &selection,
		.limits = &args->limits,
	};
	struct kbundle_env env;
	struct kb_out out;
	int r;

	kb_document_init(&document);
	kb_out_init(&out, args, false);
	env = kb_out_env(&out, args);
	r = kbundle_reader_open(&env, &reading, &reader, err);
	if (r == 0)
		r = list(&out, reader, &document, err);
	if (r < 0)
		return kb_out_failed(&out, err);
	return kb_out_finish(&out, document.buf.data, 0);
}

const struct kb_verb kb_verb_list = {
	.spec = {.name = "list",
		 .summary = "List the entries of a bundle.",
		 .synopsis = "BUNDLE|-",
		 .operands_min = 1,
		 .operands_max = 1,
		 .groups = {{"Selection", kb_opts_selection},
			    {"Limits", kb_opts_limits},
			    {"Common options", kb_opts_common},
			    {NULL, NULL}}},
	.run = run,
};
