/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports and their JSON form (docs/schema/report.schema.json). A note is kept
 * for everything that was not simply done, leftovers included; what was done is
 * only counted, so a report stays small.
 */
#include "report.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "../base/json.h"
#include "../base/parse.h"
#include "../base/path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const count_names[KBUNDLE_COUNT_MAX] = {
	[KBUNDLE_COUNT_ENTRIES] = "entries",
	[KBUNDLE_COUNT_FILES] = "files",
	[KBUNDLE_COUNT_BYTES] = "bytes",
	[KBUNDLE_COUNT_BUNDLE_BYTES] = "bundle_bytes",
	[KBUNDLE_COUNT_PRESENT] = "present",
	[KBUNDLE_COUNT_UNSELECTED] = "unselected",
	[KBUNDLE_COUNT_LEFTOVER] = "leftover",
	[KBUNDLE_COUNT_POLICY] = "policy",
	[KBUNDLE_COUNT_DAMAGED] = "damaged",
	[KBUNDLE_COUNT_CHANGED] = "changed",
	[KBUNDLE_COUNT_OCCUPIED] = "occupied",
	[KBUNDLE_COUNT_DRIFTED] = "drifted",
	[KBUNDLE_COUNT_MISSING] = "missing",
	[KBUNDLE_COUNT_EXTRA] = "extra",
	[KBUNDLE_COUNT_UNSUPPORTED] = "unsupported",
	[KBUNDLE_COUNT_PATHS_LEFT] = "paths_left",
};

/* Counters whose being above zero makes a call "done in part". */
static const int partial_counts[] = {
	KBUNDLE_COUNT_DAMAGED, KBUNDLE_COUNT_CHANGED, KBUNDLE_COUNT_OCCUPIED,
	KBUNDLE_COUNT_DRIFTED, KBUNDLE_COUNT_MISSING, KBUNDLE_COUNT_UNSUPPORTED,
};

int kb_report_new(const char *verb, struct kbundle_report **ret,
		  struct kbundle_error *err)
{
	struct kbundle_report *report = calloc(1, sizeof(*report));

	if (!report)
		return kb_fail_nomem(err);
	report->verb = verb;
	*ret = report;
	return 0;
}

void kbundle_report_free(struct kbundle_report *report)
{
	if (!report)
		return;
	free(report->notes);
	free(report->roots);
	kb_arena_release(&report->arena);
	free(report);
}

int kb_report_note(struct kbundle_report *report, int count, const char *root,
		   const char *path, const char *file, const char *reason,
		   struct kbundle_error *err)
{
	struct kbundle_note *note;

	if (kb_grow(&report->notes, &report->cap_notes, report->n_notes + 1,
		    sizeof(*report->notes)) < 0)
		return kb_fail_nomem(err);
	note = &report->notes[report->n_notes];
	note->count = count;
	note->root = kb_arena_strdup(&report->arena, root);
	note->path = kb_arena_strdup(&report->arena, path);
	note->file = file ? kb_arena_strdup(&report->arena, file) : NULL;
	note->reason = kb_arena_strdup(&report->arena, reason);
	if (!note->root || !note->path || !note->reason ||
	    (file && !note->file))
		return kb_fail_nomem(err);
	report->n_notes++;
	report->counts[count]++;
	return 0;
}

int kb_report_root(struct kbundle_report *report, const char *name,
		   const char *format, const char *path,
		   struct kbundle_error *err)
{
	struct kbundle_root *root;

	if (kb_grow(&report->roots, &report->cap_roots, report->n_roots + 1,
		    sizeof(*report->roots)) < 0)
		return kb_fail_nomem(err);
	root = &report->roots[report->n_roots];
	root->name = kb_arena_strdup(&report->arena, name);
	root->format = kb_arena_strdup(&report->arena, format);
	root->path = kb_arena_strdup(&report->arena, path);
	if (!root->name || !root->format || !root->path)
		return kb_fail_nomem(err);
	report->n_roots++;
	return 0;
}

void kb_report_set_id(struct kbundle_report *report, const uint8_t id[32])
{
	memcpy(report->id, "sha256:", 7);
	kb_format_hex(report->id + 7, id, 32);
}

uint64_t kbundle_report_count(const struct kbundle_report *report, int count)
{
	return report && count >= 0 && count < KBUNDLE_COUNT_MAX
		       ? report->counts[count]
		       : 0;
}

const char *kbundle_count_name(int count)
{
	return count >= 0 && count < KBUNDLE_COUNT_MAX ? count_names[count]
						       : NULL;
}

size_t kbundle_report_n_notes(const struct kbundle_report *report)
{
	return report ? report->n_notes : 0;
}

const struct kbundle_note *
kbundle_report_note(const struct kbundle_report *report, size_t i)
{
	return report && i < report->n_notes ? &report->notes[i] : NULL;
}

const char *kbundle_report_id(const struct kbundle_report *report)
{
	return report ? report->id : "";
}

size_t kbundle_report_n_roots(const struct kbundle_report *report)
{
	return report ? report->n_roots : 0;
}

const struct kbundle_root *
kbundle_report_root(const struct kbundle_report *report, size_t i)
{
	return report && i < report->n_roots ? &report->roots[i] : NULL;
}

int kbundle_report_exit(const struct kbundle_report *report)
{
	if (!report)
		return 0;
	if (report->empty)
		return kbundle_code_exit(KBUNDLE_E_EMPTY);
	for (size_t i = 0; i < sizeof(partial_counts) / sizeof(int); i++)
		if (report->counts[partial_counts[i]])
			return 5;
	return 0;
}

/* ---- JSON ---- */

/* Names on a disk need not be UTF-8; a JSON document must be. */
static int put_string(struct kb_buf *buf, const char *text)
{
	struct kb_shown shown;

	return kb_json_put_string(buf, kb_utf8_is_valid(text, strlen(text))
					       ? text
					       : kb_show(&shown, text));
}

static int put_member(struct kb_buf *buf, const char *member, const char *text)
{
	int r = kb_buf_puts(buf, member);

	if (r < 0)
		return r;
	return text ? put_string(buf, text) : kb_buf_puts(buf, "null");
}

static int put_roots(const struct kbundle_report *report, struct kb_buf *buf)
{
	int r = kb_buf_puts(buf, ",\"roots\":[");

	for (size_t i = 0; r == 0 && i < report->n_roots; i++) {
		const struct kbundle_root *root = &report->roots[i];

		r = put_member(buf,
			       i ? ",{\"name\":" : "{\"name\":", root->name);
		if (r == 0)
			r = put_member(buf, ",\"format\":", root->format);
		if (r == 0)
			r = put_member(buf, ",\"path\":", root->path);
		if (r == 0)
			r = kb_buf_putc(buf, '}');
	}
	return r < 0 ? r : kb_buf_putc(buf, ']');
}

static int put_counts(const struct kbundle_report *report, struct kb_buf *buf)
{
	int r = 0;

	for (int i = 0; r == 0 && i < KBUNDLE_COUNT_MAX; i++)
		r = kb_buf_printf(buf, "%s\"%s\":%" PRIu64,
				  i ? "," : ",\"counts\":{", count_names[i],
				  report->counts[i]);
	return r < 0 ? r : kb_buf_putc(buf, '}');
}

static int put_notes(const struct kbundle_report *report, struct kb_buf *buf)
{
	int r = kb_buf_puts(buf, ",\"notes\":[");

	for (size_t i = 0; r == 0 && i < report->n_notes; i++) {
		const struct kbundle_note *note = &report->notes[i];

		r = put_member(buf, i ? ",{\"class\":" : "{\"class\":",
			       count_names[note->count]);
		if (r == 0)
			r = put_member(buf, ",\"root\":", note->root);
		if (r == 0)
			r = put_member(buf, ",\"path\":", note->path);
		if (r == 0)
			r = put_member(buf, ",\"file\":", note->file);
		if (r == 0)
			r = put_member(buf, ",\"reason\":", note->reason);
		if (r == 0)
			r = kb_buf_putc(buf, '}');
	}
	return r < 0 ? r : kb_buf_putc(buf, ']');
}

static const char *status(const struct kbundle_report *report)
{
	if (report->empty)
		return "empty";
	return kbundle_report_exit(report) ? "partial" : "ok";
}

int kbundle_report_to_json(const struct kbundle_report *report, char **ret_json,
			   struct kbundle_error *err)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;
	int r;

	kb_buf_init(&buf, SIZE_MAX / 2);
	if (!report)
		return kb_fail(err, KBUNDLE_E_INVALID, "no report");
	r = put_member(&buf, "{\"schema\":", "kbundle-report-1");
	if (r == 0)
		r = put_member(&buf, ",\"verb\":", report->verb);
	if (r == 0)
		r = put_member(&buf, ",\"status\":", status(report));
	if (r == 0)
		r = put_member(&buf,
			       ",\"id\":", *report->id ? report->id : NULL);
	if (r == 0)
		r = put_roots(report, &buf);
	if (r == 0)
		r = put_counts(report, &buf);
	if (r == 0)
		r = put_notes(report, &buf);
	if (r == 0)
		r = kb_buf_putc(&buf, '}');
	if (r < 0)
		return kb_fail_nomem(err);
	*ret_json = kb_buf_take(&buf);
	return *ret_json ? 0 : kb_fail_nomem(err);
}
