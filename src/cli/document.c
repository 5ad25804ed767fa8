/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON documents that the program itself makes (reports are the
 * library's). Only syntax is kept right here; what members a document has is
 * said by its verb and by docs/schema.
 *
 * Invariant: after kb_document_finish() returned 0 the text is one JSON value.
 */
#include "document.h"

#include "../base/error.h"
#include "../base/json.h"

#include <string.h>

void kb_document_init(struct kb_document *document)
{
	memset(document, 0, sizeof(*document));
	kb_buf_init(&document->buf, SIZE_MAX / 2);
}

void kb_document_release(struct kb_document *document)
{
	kb_buf_release(&document->buf);
}

static void keep(struct kb_document *document, int r)
{
	if (r < 0 && !document->failed)
		document->failed = r;
}

static void put(struct kb_document *document, const char *text)
{
	keep(document, kb_buf_puts(&document->buf, text));
}

static void put_string(struct kb_document *document, const char *text)
{
	put(document, "\"");
	keep(document,
	     kb_json_encode_python(&document->buf, text, strlen(text)));
	put(document, "\"");
}

static void begin_value(struct kb_document *document, const char *key)
{
	if (document->has_member)
		put(document, ",");
	document->has_member = true;
	if (key) {
		put_string(document, key);
		put(document, ":");
	}
}

static void open_container(struct kb_document *document, const char *key,
			   const char *opener, char closer)
{
	begin_value(document, key);
	put(document, opener);
	if (document->depth == KB_DOCUMENT_DEPTH_MAX) {
		keep(document, KBUNDLE_E_INTERNAL);
		return;
	}
	document->closers[document->depth++] = closer;
	document->has_member = false;
}

void kb_document_object(struct kb_document *document, const char *key)
{
	open_container(document, key, "{", '}');
}

void kb_document_array(struct kb_document *document, const char *key)
{
	open_container(document, key, "[", ']');
}

void kb_document_end(struct kb_document *document)
{
	if (document->depth == 0) {
		keep(document, KBUNDLE_E_INTERNAL);
		return;
	}
	keep(document,
	     kb_buf_putc(&document->buf, document->closers[--document->depth]));
	document->has_member = true;
}

void kb_document_string(struct kb_document *document, const char *key,
			const char *text)
{
	begin_value(document, key);
	if (text)
		put_string(document, text);
	else
		put(document, "null");
}

void kb_document_number(struct kb_document *document, const char *key,
			int64_t number)
{
	begin_value(document, key);
	keep(document,
	     kb_buf_printf(&document->buf, "%lld", (long long)number));
}

void kb_document_json(struct kb_document *document, const char *key,
		      const char *json)
{
	begin_value(document, key);
	put(document, json);
}

int kb_document_finish(const struct kb_document *document,
		       struct kbundle_error *err)
{
	if (document->failed == KBUNDLE_E_NOMEM)
		return kb_fail_nomem(err);
	if (document->failed || document->depth)
		return kb_fail(err, KBUNDLE_E_INTERNAL,
			       "the JSON document is not well formed");
	return 0;
}
