/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kbundle inspect: what a bundle holds, or what pack would take from a cache
 * directory and what it would not, and why. Writes nothing.
 */
#include "listing.h"
#include "out.h"
#include "verb.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "../base/parse.h"
#include "../base/target.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(member) .offset = offsetof(struct kb_args, member)

static const struct kb_opt options[] = {
	{.name = "format",
	 .argument = "FORMAT",
	 .help = "format of the cache (default: found out)",
	 .type = KB_OPT_TEXT,
	 AT(format)},
	{.name = "host-code",
	 .help = "take host extensions (.so) too",
	 .type = KB_OPT_FLAG,
	 AT(host_code)},
	{.name = NULL},
};

struct sum {
	uint64_t entries, files, bytes;
};

/* Sum over the entries of one target. */
struct target {
	char text[KB_TARGET_MAX]; /* "": none */
	struct sum sum;
};

struct inspection {
	struct kb_out *out;
	struct target *targets; /* sorted by text */
	size_t n_targets, cap_targets;
	struct sum sum;
	struct kb_document entries; /* with --json: their array */
	int failed;		    /* of the entry callback */
};

static void inspection_init(struct inspection *in, struct kb_out *out)
{
	memset(in, 0, sizeof(*in));
	in->out = out;
	kb_document_init(&in->entries);
	kb_document_array(&in->entries, NULL);
}

static void inspection_release(struct inspection *in)
{
	free(in->targets);
	kb_document_release(&in->entries);
}
KB_DEFINE_AUTO_STRUCT(struct inspection, inspection_release);

/* Where a target stands, or would stand. Entries come sorted by target, so
 * that is nearly always at the end. */
static size_t target_place(const struct inspection *in, const char *text,
			   bool *ret_found)
{
	size_t low = 0, high = in->n_targets;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(in->targets[middle].text, text);

		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = false;
	return low;
}

static void sum_add(struct sum *sum, const struct kbundle_entry *entry)
{
	sum->entries++;
	sum->files += entry->n_files;
	sum->bytes += entry->bytes;
}

static int inspection_add(struct inspection *in,
			  const struct kbundle_entry *entry,
			  const kbundle_reader *reader)
{
	const char *text = entry->target ? entry->target : "";
	bool found;
	size_t at = target_place(in, text, &found);

	if (!found) {
		struct target *new;
		int r = kb_grow(&in->targets, &in->cap_targets,
				in->n_targets + 1, sizeof(*in->targets));

		if (r < 0)
			return r;
		new = in->targets + at;
		memmove(new + 1, new, (in->n_targets++ - at) * sizeof(*new));
		memset(new, 0, sizeof(*new));
		snprintf(new->text, sizeof(new->text), "%s", text);
	}
	sum_add(&in->targets[at].sum, entry);
	sum_add(&in->sum, entry);
	if (in->out->document)
		kb_listing_document(&in->entries, entry, reader);
	else if (in->out->verbose)
		kb_listing_print(in->out->results, entry);
	return 0;
}

static int add_scanned(void *data, const struct kbundle_entry *entry)
{
	struct inspection *in = data;

	in->failed = inspection_add(in, entry, NULL);
	return in->failed;
}

/* ---- text ---- */

static void print_sum(FILE *stream, const char *name, const struct sum *sum)
{
	char entries[KB_COUNTED_MAX], files[KB_COUNTED_MAX], bytes[16];

	fprintf(stream, "%-16s %16s %16s %10s\n", name,
		kb_out_counted(entries, sum->entries, "entry", "entries"),
		kb_out_counted(files, sum->files, "file", "files"),
		kb_format_bytes(bytes, sum->bytes));
}

static void print_targets(const struct inspection *in)
{
	if (!in->out->results || in->out->quiet)
		return;
	for (size_t i = 0; i < in->n_targets; i++) {
		const struct target *target = &in->targets[i];

		print_sum(in->out->results,
			  *target->text ? target->text : "(no target)",
			  &target->sum);
	}
	print_sum(in->out->results, "all", &in->sum);
}

/* where: "token" of a bundle's root, "at" of a cache's. */
static void print_root(const struct kb_out *out, const char *name,
		       const char *format, const char *where, const char *path)
{
	struct kb_shown shown;

	if (!out->results || out->quiet)
		return;
	fprintf(out->results, "root %s: %s, %s %s\n", name, format, where,
		kb_show(&shown, path));
}

/* ---- JSON ---- */

static void put_root(struct kb_document *document, const char *name,
		     const char *format, const char *path_key, const char *path)
{
	kb_document_object(document, NULL);
	kb_document_string(document, "name", name);
	kb_document_string(document, "format", format);
	kb_document_string(document, path_key, path);
	kb_document_end(document);
}

static void put_sum(struct kb_document *document, const struct sum *sum)
{
	kb_document_number(document, "entries", (int64_t)sum->entries);
	kb_document_number(document, "files", (int64_t)sum->files);
	kb_document_number(document, "bytes", (int64_t)sum->bytes);
}

static int finish_document(struct inspection *in, struct kb_document *document,
			   const char *report, struct kbundle_error *err)
{
	int r;

	kb_document_end(&in->entries);
	r = kb_document_finish(&in->entries, err);
	if (r < 0)
		return r;
	kb_document_array(document, "targets");
	for (size_t i = 0; i < in->n_targets; i++) {
		const struct target *target = &in->targets[i];

		kb_document_object(document, NULL);
		kb_document_string(document, "target",
				   *target->text ? target->text : NULL);
		put_sum(document, &target->sum);
		kb_document_end(document);
	}
	kb_document_end(document);
	kb_document_object(document, "all");
	put_sum(document, &in->sum);
	kb_document_end(document);
	kb_document_json(document, "entries", in->entries.buf.data);
	kb_document_json(document, "report", report ? report : "null");
	kb_document_end(document);
	return kb_document_finish(document, err);
}

static void begin_document(struct kb_document *document, const char *kind,
			   const char *id)
{
	kb_document_init(document);
	kb_document_object(document, NULL);
	kb_document_string(document, "schema", "kbundle-inspect-1");
	kb_document_string(document, "kind", kind);
	kb_document_string(document, "id", id);
	kb_document_array(document, "roots");
}

/* ---- a bundle ---- */

static int read_bundle(struct inspection *in, const struct kb_args *args,
		       kbundle_reader **ret_reader, struct kbundle_error *err)
{
	struct kbundle_env env = kb_out_env(in->out, args);
	const struct kbundle_reader_options reading = {
		.size = sizeof(reading),
		.input = kb_args_input(args->operands[0]),
		.input_fd = STDIN_FILENO,
		.limits = &args->limits,
	};
	const struct kbundle_entry *entry;
	int r = kbundle_reader_open(&env, &reading, ret_reader, err);

	if (r < 0)
		return r;
	while ((r = kbundle_reader_next(*ret_reader, &entry, err)) > 0) {
		if (inspection_add(in, entry, *ret_reader) < 0)
			return kb_fail_nomem(err);
	}
	return r;
}

static int inspect_bundle(struct inspection *in, const struct kb_args *args,
			  struct kbundle_error *err)
{
	KB_AUTO(kbundle_reader_close) kbundle_reader *reader = NULL;
	KB_AUTO(kb_document_release) struct kb_document document;
	struct kb_out *out = in->out;
	int r;

	kb_document_init(&document);
	r = read_bundle(in, args, &reader, err);
	if (r < 0)
		return kb_out_failed(out, err);
	begin_document(&document, "bundle", kbundle_reader_id(reader));
	if (out->results && !out->quiet)
		fprintf(out->results, "%s\n", kbundle_reader_id(reader));
	for (size_t i = 0; i < kbundle_reader_n_roots(reader); i++) {
		const struct kbundle_bundle_root *root =
			kbundle_reader_root(reader, i);

		print_root(out, root->name, root->format, "token", root->token);
		put_root(&document, root->name, root->format, "token",
			 root->token);
	}
	kb_document_end(&document);
	print_targets(in);
	r = finish_document(in, &document, NULL, err);
	if (r < 0)
		return kb_out_failed(out, err);
	return kb_out_finish(out, document.buf.data, 0);
}

/* ---- a directory ---- */

static int finish_cache(struct inspection *in, const kbundle_report *report,
			struct kbundle_error *err)
{
	KB_AUTO(kb_document_release) struct kb_document document;
	struct kb_out *out = in->out;
	char *json = NULL;
	int r;

	begin_document(&document, "directory", NULL);
	for (size_t i = 0; i < kbundle_report_n_roots(report); i++) {
		const struct kbundle_root *root =
			kbundle_report_root(report, i);

		print_root(out, root->name, root->format, "at", root->path);
		put_root(&document, root->name, root->format, "path",
			 root->path);
	}
	kb_document_end(&document);
	print_targets(in);
	kb_out_besides(out, report);
	kb_out_notes(out, report, !out->quiet);
	r = kbundle_report_to_json(report, &json, err);
	if (r == 0)
		r = finish_document(in, &document, json, err);
	kbundle_free(json);
	if (r < 0)
		return kb_out_failed(out, err);
	return kb_out_finish(out, document.buf.data,
			     kbundle_report_exit(report));
}

static int inspect_cache(struct inspection *in, const struct kb_args *args,
			 struct kbundle_error *err)
{
	KB_AUTO(kbundle_report_free) kbundle_report *report = NULL;
	const struct kbundle_root root = {
		.format = args->format,
		.path = args->operands[0],
	};
	const struct kbundle_inspect_options inspect = {
		.size = sizeof(inspect),
		.roots = &root,
		.n_roots = 1,
		.host_code = args->host_code,
		.limits = &args->limits,
		.entry = add_scanned,
		.entry_data = in,
	};
	struct kbundle_env env = kb_out_env(in->out, args);
	int r = kbundle_inspect(&env, &inspect, &report, err);

	if (in->failed)
		kb_fail_nomem(err);
	if (r < 0)
		return kb_out_failed(in->out, err);
	kb_progress_erase(&in->out->progress);
	return finish_cache(in, report, err);
}

static int run(struct kb_args *args, struct kbundle_error *err)
{
	KB_AUTO(inspection_release) struct inspection in;
	struct kb_out out;
	const char *input = kb_args_input(args->operands[0]);
	struct stat st;

	kb_out_init(&out, args, false);
	inspection_init(&in, &out);
	if (input && stat(input, &st) == 0 && S_ISDIR(st.st_mode))
		return inspect_cache(&in, args, err);
	return inspect_bundle(&in, args, err);
}

const struct kb_verb kb_verb_inspect = {
	.spec = {.name = "inspect",
		 .summary = "Say what a bundle holds, or pack would take.",
		 .synopsis = "BUNDLE|DIR|-",
		 .operands_min = 1,
		 .operands_max = 1,
		 .groups = {{"Options", options},
			    {"Limits", kb_opts_limits},
			    {"Common options", kb_opts_common},
			    {NULL, NULL}}},
	.run = run,
};
