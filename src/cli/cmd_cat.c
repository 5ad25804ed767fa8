/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kbundle cat: files of a bundle to standard output, as they are stored, or
 * with the path of a root in the place of its token. Standard output holds
 * their bytes alone, so the document of --json goes to standard error.
 */
#include "out.h"
#include "verb.h"

#include <string.h>
#include <unistd.h>

#define AT(member) .offset = offsetof(struct kb_args, member)

static const struct kb_opt options[] = {
	{.name = "root",
	 .argument = "DIR",
	 .help = "write DIR in the place of tokens, as unpack does",
	 .type = KB_OPT_TEXT,
	 AT(root)},
	{.name = NULL},
};

/* Does `member` name this file: "<root>/<path>" or "<root>/<path>/<file>"? */
static bool is_member(const char *member, const struct kbundle_entry *entry,
		      const struct kbundle_file *file)
{
	const char *parts[] = {entry->root, entry->path, file->name};

	for (size_t i = 0; i < 3; i++) {
		size_t len = strlen(parts[i]);

		if (len == 0)
			continue;
		if (i > 0 && *member++ != '/')
			return false;
		if (strncmp(member, parts[i], len) != 0)
			return false;
		member += len;
	}
	return *member == '\0';
}

/* The members that were printed, in bundle order. */
static int describe(const struct kb_args *args, kbundle_reader *reader,
		    struct kb_document *document, struct kbundle_error *err)
{
	const struct kbundle_entry *entry;
	int r;

	kb_document_object(document, NULL);
	kb_document_string(document, "schema", "kbundle-cat-1");
	kb_document_string(document, "id", kbundle_reader_id(reader));
	kb_document_array(document, "members");
	while ((r = kbundle_reader_next(reader, &entry, err)) > 0) {
		for (size_t i = 0; i < entry->n_files; i++) {
			const struct kbundle_file *file =
				kbundle_reader_file(reader, i);

			for (size_t m = 1; m < args->n_operands; m++) {
				if (!is_member(args->operands[m], entry, file))
					continue;
				kb_document_object(document, NULL);
				kb_document_string(document, "member",
						   args->operands[m]);
				kb_document_number(document, "size",
						   (int64_t)file->size);
				kb_document_string(document, "sha256",
						   file->sha256);
				kb_document_end(document);
			}
		}
	}
	if (r < 0)
		return r;
	kb_document_end(document);
	kb_document_end(document);
	return kb_document_finish(document, err);
}

static int cat(const struct kb_args *args, struct kb_out *out,
	       struct kb_document *document, struct kbundle_error *err)
{
	KB_AUTO(kbundle_reader_close) kbundle_reader *reader = NULL;
	const struct kbundle_reader_options reading = {
		.size = sizeof(reading),
		.input = kb_args_input(args->operands[0]),
		.input_fd = STDIN_FILENO,
		.limits = &args->limits,
	};
	struct kbundle_env env = kb_out_env(out, args);
	int r = kbundle_reader_open(&env, &reading, &reader, err);

	if (r == 0 && out->document)
		r = describe(args, reader, document, err);
	for (size_t i = 1; r == 0 && i < args->n_operands; i++)
		r = kbundle_reader_cat(reader, args->operands[i], args->root,
				       STDOUT_FILENO, err);
	return r;
}

static int run(struct kb_args *args, struct kbundle_error *err)
{
	KB_AUTO(kb_document_release) struct kb_document document;
	struct kb_out out;
	int r;

	kb_document_init(&document);
	kb_out_init(&out, args, true);
	r = cat(args, &out, &document, err);
	if (r < 0)
		return kb_out_failed(&out, err);
	return kb_out_finish(&out, document.buf.data, 0);
}

const struct kb_verb kb_verb_cat = {
	.spec = {.name = "cat",
		 .summary = "Write files of a bundle to standard output.",
		 .synopsis = "BUNDLE|- ROOT/ENTRY/FILE...",
		 .operands_min = 2,
		 .operands_max = SIZE_MAX,
		 .groups = {{"Options", options},
			    {"Limits", kb_opts_limits},
			    {"Common options", kb_opts_common},
			    {NULL, NULL}}},
	.run = run,
};
