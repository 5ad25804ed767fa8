/* SPDX-License-Identifier: Apache-2.0 */
/* Only whole pages can be mapped: the mapping begins at the page that holds the
 * first byte. */
#include "mapping.h"

#include "../base/error.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int kb_mapping_open(struct kb_mapping *mapping, int fd, uint64_t offset,
		    size_t len, const void **ret_data,
		    struct kbundle_error *err)
{
	size_t in_page =
		(size_t)(offset & (uint64_t)(sysconf(_SC_PAGESIZE) - 1));
	void *base = mmap(NULL, in_page + len, PROT_READ, MAP_PRIVATE, fd,
			  (off_t)(offset - in_page));

	if (base == MAP_FAILED)
		return kb_fail_errno(err, errno, "cannot map a spool file");
	mapping->base = base;
	mapping->bytes = in_page + len;
	*ret_data = (const char *)base + in_page;
	return 0;
}

void kb_mapping_close(struct kb_mapping *mapping)
{
	if (mapping->base)
		(void)munmap(mapping->base, mapping->bytes);
	mapping->base = NULL;
}
