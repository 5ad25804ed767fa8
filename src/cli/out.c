/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text, documents and exit codes of all verbs. What a report counts and names
 * is the library's; in which words, on which stream and with which exit code
 * is decided here.
 *
 * Invariant: with --json exactly one document is printed, whatever happens.
 */
#include "out.h"

#include "cancel.h"
#include "../base/error.h"
#include "../base/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* How the summary words a counter, and where its notes go. */
enum where {
	ALWAYS,	 /* standard error, whatever the options */
	SUMMARY, /* with the counts */
	VERBOSE	 /* with the counts, if asked for */
};

static const struct {
	int count;
	enum where where;
	const char *words;
} classes[] = {
	{KBUNDLE_COUNT_PRESENT, VERBOSE, "there already"},
	{KBUNDLE_COUNT_UNSELECTED, VERBOSE, "not selected"},
	{KBUNDLE_COUNT_LEFTOVER, VERBOSE, "left over"},
	{KBUNDLE_COUNT_POLICY, SUMMARY, "left out by policy"},
	{KBUNDLE_COUNT_DAMAGED, ALWAYS, "damaged"},
	{KBUNDLE_COUNT_CHANGED, ALWAYS, "changed while read"},
	{KBUNDLE_COUNT_OCCUPIED, ALWAYS, "place occupied"},
	{KBUNDLE_COUNT_DRIFTED, ALWAYS, "drifted"},
	{KBUNDLE_COUNT_MISSING, ALWAYS, "missing"},
	{KBUNDLE_COUNT_EXTRA, VERBOSE, "not in the bundle"},
	{KBUNDLE_COUNT_UNSUPPORTED, ALWAYS, "not supported"},
	{KBUNDLE_COUNT_PATHS_LEFT, VERBOSE,
	 "files still name paths of this machine (harmless for hits)"},
};
#define N_CLASSES (sizeof(classes) / sizeof(classes[0]))

static void say(struct kb_out *out, const char *fmt, ...) KB_PRINTF(2, 3);

/* One line of standard error. */
static void say(struct kb_out *out, const char *fmt, ...)
{
	va_list ap;

	if (!out->messages)
		return;
	kb_progress_erase(&out->progress);
	fputs("kbundle: ", out->messages);
	va_start(ap, fmt);
	vfprintf(out->messages, fmt, ap);
	va_end(ap);
	fputc('\n', out->messages);
}

static void log_line(void *data, int level, const char *line)
{
	struct kb_out *out = data;

	if (level == KBUNDLE_LOG_WARNING)
		say(out, "warning: %s", line);
	else
		say(out, "%s", line);
}

void kb_out_init(struct kb_out *out, const struct kb_args *args,
		 bool stdout_is_data)
{
	FILE *stream = stdout_is_data ? stderr : stdout;

	memset(out, 0, sizeof(*out));
	out->results = args->json ? NULL : stream;
	out->document = args->json ? stream : NULL;
	out->messages = out->document == stderr ? NULL : stderr;
	out->quiet = args->quiet;
	out->verbose = args->verbose;
	out->accept = args->accept;
	kb_progress_init(&out->progress, out->messages && !args->quiet);
}

struct kbundle_env kb_out_env(struct kb_out *out, const struct kb_args *args)
{
	return (struct kbundle_env){
		.size = sizeof(struct kbundle_env),
		.log = log_line,
		.log_data = out,
		.log_level = out->quiet	    ? KBUNDLE_LOG_WARNING
			     : out->verbose ? KBUNDLE_LOG_DEBUG
					    : KBUNDLE_LOG_NOTICE,
		.progress = kb_progress_update,
		.progress_data = &out->progress,
		.threads = (unsigned)args->threads,
	};
}

const char *kb_out_counted(char text[KB_COUNTED_MAX], uint64_t count,
			   const char *one, const char *many)
{
	snprintf(text, KB_COUNTED_MAX, "%llu %s", (unsigned long long)count,
		 count == 1 ? one : many);
	return text;
}

static enum where note_goes(const struct kbundle_note *note)
{
	for (size_t i = 0; i < N_CLASSES; i++) {
		if (classes[i].count == note->count)
			return classes[i].where;
	}
	return ALWAYS;
}

/* "damaged: triton/KEY/file: reason" */
static void format_note(char *text, size_t size,
			const struct kbundle_note *note)
{
	struct kb_shown path, file;
	const char *name = kbundle_count_name(note->count);
	bool has_file = note->file && *note->file;

	snprintf(text, size, "%s: %s/%s%s%s: %s", name ? name : "note",
		 note->root, kb_show(&path, note->path), has_file ? "/" : "",
		 has_file ? kb_show(&file, note->file) : "", note->reason);
}

void kb_out_notes(struct kb_out *out, const kbundle_report *report,
		  bool leftovers)
{
	size_t n = kbundle_report_n_notes(report);

	for (size_t i = 0; i < n; i++) {
		const struct kbundle_note *note =
			kbundle_report_note(report, i);
		enum where where = note_goes(note);
		char text[2048];

		format_note(text, sizeof(text), note);
		if (where == ALWAYS)
			say(out, "%s", text);
		else if (out->results &&
			 (where == SUMMARY ? !out->quiet : leftovers))
			fprintf(out->results, "%s\n", text);
	}
}

void kb_out_besides(struct kb_out *out, const kbundle_report *report)
{
	const char *separator = "";

	if (!out->results || out->quiet)
		return;
	for (size_t i = 0; i < N_CLASSES; i++) {
		uint64_t count = kbundle_report_count(report, classes[i].count);

		if (!count)
			continue;
		fprintf(out->results, "%s%llu %s", separator,
			(unsigned long long)count, classes[i].words);
		separator = ", ";
	}
	if (*separator)
		fputc('\n', out->results);
}

static void print_summary(struct kb_out *out, const char *done,
			  const kbundle_report *report)
{
	uint64_t bundle =
		kbundle_report_count(report, KBUNDLE_COUNT_BUNDLE_BYTES);
	char entries[KB_COUNTED_MAX], files[KB_COUNTED_MAX];
	char bytes[16], size[16];

	if (!out->results || out->quiet)
		return;
	kb_out_counted(entries,
		       kbundle_report_count(report, KBUNDLE_COUNT_ENTRIES),
		       "entry", "entries");
	kb_out_counted(files, kbundle_report_count(report, KBUNDLE_COUNT_FILES),
		       "file", "files");
	kb_format_bytes(bytes,
			kbundle_report_count(report, KBUNDLE_COUNT_BYTES));
	fprintf(out->results, "%s %s, %s, %s", done, entries, files, bytes);
	if (bundle)
		fprintf(out->results, "; the bundle has %s",
			kb_format_bytes(size, bundle));
	fputc('\n', out->results);
	if (*kbundle_report_id(report))
		fprintf(out->results, "%s\n", kbundle_report_id(report));
	kb_out_besides(out, report);
}

static int exit_of(const struct kb_out *out, int code)
{
	if (code == 5 && (out->accept & KB_ACCEPT_PARTIAL))
		return 0;
	if (code == 4 && (out->accept & KB_ACCEPT_NONE))
		return 0;
	return code;
}

static int exit_of_error(const struct kb_out *out, int error)
{
	int number = kb_cancel_signal();

	if (error == KBUNDLE_E_CANCELLED && number)
		return 128 + number;
	return exit_of(out, kbundle_code_exit(error));
}

bool kb_out_is_broken(struct kb_out *out)
{
	FILE *stream = out->results ? out->results : out->document;

	if (!ferror(stream))
		return false;
	if (!out->write_errno)
		out->write_errno = errno;
	return true;
}

/* What was buffered must have arrived; 1 outranks only 0, 4 and 5. */
static int close_results(struct kb_out *out, int code)
{
	FILE *stream = out->results ? out->results : out->document;

	(void)fflush(stream);
	if (!kb_out_is_broken(out))
		return code;
	say(out, "%s: %s",
	    stream == stdout ? "standard output" : "standard error",
	    strerror(out->write_errno));
	return code == 0 || code == 4 || code == 5 ? 1 : code;
}

int kb_out_finish(struct kb_out *out, const char *document, int code)
{
	kb_progress_erase(&out->progress);
	if (out->document)
		fprintf(out->document, "%s\n", document);
	return close_results(out, exit_of(out, code));
}

/* The smallest error document, for when memory is out as well. */
#define NO_MEMORY                                                              \
	"{\"schema\":\"kbundle-error-1\",\"error\":{\"code\":\"NOMEM\","       \
	"\"exit\":1,\"errno\":0,\"message\":\"out of memory\"}}"

int kb_out_failed(struct kb_out *out, const struct kbundle_error *err)
{
	KB_AUTO(kb_document_release) struct kb_document document;
	int code = exit_of_error(out, err->code);

	say(out, "%s", err->message);
	kb_document_init(&document);
	kb_document_object(&document, NULL);
	kb_document_string(&document, "schema", "kbundle-error-1");
	kb_document_object(&document, "error");
	kb_document_string(&document, "code", kbundle_code_name(err->code));
	kb_document_number(&document, "exit", code);
	kb_document_number(&document, "errno", err->sys_errno);
	kb_document_string(&document, "message", err->message);
	kb_document_end(&document);
	kb_document_end(&document);
	if (kb_document_finish(&document, NULL) < 0)
		return kb_out_finish(out, NO_MEMORY, code);
	return kb_out_finish(out, document.buf.data, code);
}

int kb_out_reported(struct kb_out *out, const char *done, int r,
		    const kbundle_report *report,
		    const struct kbundle_error *err)
{
	struct kbundle_error json_err = {0};
	char *json = NULL;
	int code;

	if (r < 0 && (r != KBUNDLE_E_EMPTY || !report))
		return kb_out_failed(out, err);
	kb_out_notes(out, report, out->verbose);
	if (r < 0) {
		say(out, "%s", err->message);
		kb_out_besides(out, report);
	} else {
		print_summary(out, done, report);
	}
	if (out->document &&
	    kbundle_report_to_json(report, &json, &json_err) < 0)
		return kb_out_failed(out, &json_err);
	code = kb_out_finish(out, json,
			     r < 0 ? exit_of_error(out, r)
				   : kbundle_report_exit(report));
	kbundle_free(json);
	return code;
}
