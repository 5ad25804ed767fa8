/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the JSON document of a verb, member by member. A failure (no memory)
 * is kept and told once, by kb_document_finish(), so that the calls in between
 * need no checks. Text is written as ASCII, as Python's json.dumps() does, so
 * that a name of any bytes gives valid JSON.
 */
#ifndef KB_DOCUMENT_H
#define KB_DOCUMENT_H

#include "../base/buf.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stdint.h>

#define KB_DOCUMENT_DEPTH_MAX 8

struct kb_document {
	struct kb_buf buf;
	int failed; /* the first error code */
	unsigned depth;
	char closers[KB_DOCUMENT_DEPTH_MAX];
	bool has_member; /* in the innermost container */
};

void kb_document_init(struct kb_document *document);
void kb_document_release(struct kb_document *document);
KB_DEFINE_AUTO_STRUCT(struct kb_document, kb_document_release);

/* key NULL: an element of an array, or the document itself. */
void kb_document_object(struct kb_document *document, const char *key);
void kb_document_array(struct kb_document *document, const char *key);
void kb_document_end(struct kb_document *document);
/* text NULL: null. */
void kb_document_string(struct kb_document *document, const char *key,
			const char *text);
void kb_document_number(struct kb_document *document, const char *key,
			int64_t number);
/* json is JSON text of one value. */
void kb_document_json(struct kb_document *document, const char *key,
		      const char *json);

/* All containers were ended. The text stays in document->buf. */
int kb_document_finish(const struct kb_document *document,
		       struct kbundle_error *err) KB_MUST_CHECK;

#endif
