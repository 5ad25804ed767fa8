/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that the program says: results on standard output, the rest on
 * standard error, or one JSON document, and what exit code follows.
 *
 * Where standard output holds data (a bundle, a file's bytes), text results
 * and the document go to standard error; a document there has it for itself.
 */
#ifndef KB_OUT_H
#define KB_OUT_H

#include "args.h"
#include "document.h"
#include "progress.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stdio.h>

struct kb_out {
	FILE *results;	/* text; NULL: there is a document instead */
	FILE *document; /* NULL: no --json */
	FILE *messages; /* NULL: the document has standard error */
	bool quiet, verbose;
	int accept;	 /* of enum kb_accept */
	int write_errno; /* of the first write that failed */
	struct kb_progress progress;
};

/* stdout_is_data: nothing of ours may go to standard output. */
void kb_out_init(struct kb_out *out, const struct kb_args *args,
		 bool stdout_is_data);
/* The environment of a call: log and progress come to out. */
struct kbundle_env kb_out_env(struct kb_out *out, const struct kb_args *args);

/* "<count> <word>", the word in the plural but for one. Returns text. */
#define KB_COUNTED_MAX 48
const char *kb_out_counted(char text[KB_COUNTED_MAX], uint64_t count,
			   const char *one, const char *many);

/* The notes of a report, each where it belongs; leftovers too where the verb
 * or -v asks for them. */
void kb_out_notes(struct kb_out *out, const kbundle_report *report,
		  bool leftovers);
/* "3 left over, 1 damaged": what the report counts besides entries. */
void kb_out_besides(struct kb_out *out, const kbundle_report *report);

/* Could something not be written? Then a long list may as well end. */
bool kb_out_is_broken(struct kb_out *out);

/* The way out of a verb. Each returns the exit code. */
int kb_out_failed(struct kb_out *out, const struct kbundle_error *err);
/* A call that makes a report: r is what it returned, done ("packed") what was
 * done. report may be NULL where r is an error. */
int kb_out_reported(struct kb_out *out, const char *done, int r,
		    const kbundle_report *report,
		    const struct kbundle_error *err);
/* Prints the document (if there is one) and ends with code. */
int kb_out_finish(struct kb_out *out, const char *document, int code);

KB_DEFINE_AUTO(kbundle_report *, kbundle_report_free);
KB_DEFINE_AUTO(kbundle_reader *, kbundle_reader_close);

#endif
