/* SPDX-License-Identifier: Apache-2.0 */
/* A file that appears under its name complete or not at all. */
#ifndef KB_OUTPUT_H
#define KB_OUTPUT_H

#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

struct kb_output {
	struct kb_ctx *ctx;
	int fd;
	char *path;	 /* NULL: a descriptor of the caller's */
	char *temporary; /* name beside path, until commit */
};

void kb_output_init(struct kb_output *output, struct kb_ctx *ctx);
/* path NULL: writes to fd as it is. Codes: IO, NOTFOUND, EXISTS, NOMEM. */
int kb_output_open(struct kb_output *output, const char *path, int fd,
		   struct kbundle_error *err) KB_MUST_CHECK;
/* Flushes and renames; replaces what was there. Codes: IO. */
int kb_output_commit(struct kb_output *output,
		     struct kbundle_error *err) KB_MUST_CHECK;
void kb_output_release(struct kb_output *output); /* the rollback */
KB_DEFINE_AUTO_STRUCT(struct kb_output, kb_output_release);

/* Directory part of a path, malloc'ed ("." if it has none). */
char *kb_directory_of(const char *path) KB_MUST_CHECK;

#endif
