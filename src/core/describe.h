/* SPDX-License-Identifier: Apache-2.0 */
/* An entry in the words of the public header. */
#ifndef KB_DESCRIBE_H
#define KB_DESCRIBE_H

#include "manifest.h"

#include <kbundle/kbundle.h>

/* Describes an entry of the root with this name. ret borrows from all three;
 * facts is overwritten. Codes: NOMEM. */
int kb_entry_describe(const struct kb_entry *entry, const char *root,
		      struct kb_buf *facts, struct kbundle_entry *ret,
		      struct kbundle_error *err) KB_MUST_CHECK;

#endif
