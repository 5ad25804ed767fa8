/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kbundle list: the entries of a bundle, one a line. Only the manifest is
 * read. With -v each entry's files follow it.
 */
#include "listing.h"
#include "out.h"
#include "verb.h"

#include "../base/error.h"
#include "../base/target.h"

#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

/* What has no target, an autotune result, belongs to every architecture. */
static bool matches_arch(const struct kb_strings *archs,
			 const struct kbundle_entry *entry)
{
	if (!archs->n || !entry->target)
		return true;
	for (size_t i = 0; i < archs->n; i++) {
		if (kb_target_is_selected(entry->target, archs->items[i]))
			return true;
	}
	return false;
}

static bool matches_name(const struct kb_strings *names,
			 const struct kbundle_entry *entry)
{
	for (size_t i = 0; i < names->n; i++) {
		if (fnmatch(names->items[i], entry->name, 0) == 0)
			return true;
	}
	return names->n == 0;
}

static bool matches_key(const struct kb_strings *keys,
			const struct kbundle_entry *entry)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (!strcmp(keys->items[i], entry->path))
			return true;
	}
	return keys->n == 0;
}

static int check_archs(const struct kb_strings *archs,
		       struct kbundle_error *err)
{
	struct kb_shown shown;

	for (size_t i = 0; i < archs->n; i++) {
		if (!kb_target_selector_is_valid(archs->items[i]))
			return kb_fail(err, KBUNDLE_E_INVALID,
				       "--arch: '%s' is no architecture",
				       kb_show(&shown, archs->items[i]));
	}
	return 0;
}

static void print_files(FILE *stream, const kbundle_reader *reader, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct kbundle_file file;

		if (kbundle_reader_file(reader, i, &file) < 0)
			return;
		fprintf(stream, "    %s  %12llu  %s\n", file.sha256,
			(unsigned long long)file.size, file.name);
	}
}

static void put_head(struct kb_document *document, const kbundle_reader *reader)
{
	kb_document_object(document, NULL);
	kb_document_string(document, "schema", "kbundle-list-1");
	kb_document_string(document, "id", kbundle_reader_id(reader));
	kb_document_array(document, "roots");
	for (size_t i = 0; i < kbundle_reader_roots(reader); i++) {
		struct kbundle_root root;

		if (kbundle_reader_root(reader, i, &root) < 0)
			break;
		kb_document_object(document, NULL);
		kb_document_string(document, "name", root.name);
		kb_document_string(document, "format", root.format);
		kb_document_string(document, "token", root.path);
		kb_document_end(document);
	}
	kb_document_end(document);
	kb_document_array(document, "entries");
}

static int list(const struct kb_args *args, struct kb_out *out,
		kbundle_reader *reader, struct kb_document *document,
		struct kbundle_error *err)
{
	struct kbundle_entry entry;
	int r;

	put_head(document, reader);
	while ((r = kbundle_reader_next(reader, &entry, err)) > 0) {
		if (!matches_arch(&args->archs, &entry) ||
		    !matches_name(&args->names, &entry) ||
		    !matches_key(&args->keys, &entry))
			continue;
		if (out->document) {
			kb_listing_document(document, &entry, reader);
			continue;
		}
		kb_listing_print(out->results, &entry);
		if (out->verbose)
			print_files(out->results, reader, entry.n_files);
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
	struct kbundle_env env;
	struct kb_out out;
	int r;

	kb_document_init(&document);
	r = check_archs(&args->archs, err);
	if (r < 0)
		return r;
	kb_out_init(&out, args, false);
	env = kb_out_env(&out, args);
	r = kbundle_reader_open(&env, kb_args_input(args->operands[0]),
				STDIN_FILENO, &args->limits, &reader, err);
	if (r == 0)
		r = list(args, &out, reader, &document, err);
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
