/* SPDX-License-Identifier: Apache-2.0 */
/* A range of an unlinked spool file as memory. Nobody else can open the file,
 * so nobody changes or cuts it under the mapping. */
#ifndef KB_MAPPING_H
#define KB_MAPPING_H

#include "../base/cleanup.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

struct kb_mapping {
	void *base; /* NULL: nothing is mapped */
	size_t bytes;
};

/* Maps len bytes (not 0) at any offset of fd; *ret_data is where they are.
 * Codes: IO, NOMEM. */
int kb_mapping_open(struct kb_mapping *mapping, int fd, uint64_t offset,
		    size_t len, const void **ret_data,
		    struct kbundle_error *err) KB_MUST_CHECK;
void kb_mapping_close(struct kb_mapping *mapping);

#endif
