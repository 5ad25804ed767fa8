/* SPDX-License-Identifier: Apache-2.0 */
/* How one entry is shown, by the verbs that list entries. */
#ifndef KB_LISTING_H
#define KB_LISTING_H

#include "document.h"

#include <kbundle/kbundle.h>

#include <stdio.h>

/* One line: target ("-": none), kind, size, name, root/path. */
void kb_listing_print(FILE *stream, const struct kbundle_entry *entry);

/* The entry as an object of an array. reader NULL: without its files. */
void kb_listing_document(struct kb_document *document,
			 const struct kbundle_entry *entry,
			 const kbundle_reader *reader);

#endif
