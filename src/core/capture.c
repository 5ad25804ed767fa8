/* SPDX-License-Identifier: Apache-2.0 */
/* A spooled capture has no name, so nobody changes it under the mapping. */
#include "capture.h"

#include "../base/error.h"
#include "../sys/io.h"
#include "limits.h"
#include "roots.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

void kb_capture_init(struct kb_capture *capture)
{
	memset(capture, 0, sizeof(*capture));
	capture->spool_fd = -1;
}

int kb_capture_begin(struct kb_capture *capture, struct kb_ctx *ctx,
		     uint64_t size, struct kbundle_error *err)
{
	capture->ctx = ctx;
	capture->size = size;
	kb_buf_init(&capture->memory, KB_MEMORY_FILE_MAX);
	if (size > KB_MEMORY_FILE_MAX)
		return kb_spool_open(ctx, kb_tmp_dir(), &capture->spool_fd,
				     err);
	return kb_buf_reserve(&capture->memory, (size_t)size) < 0
		       ? kb_fail_nomem(err)
		       : 0;
}

int kb_capture_append(struct kb_capture *capture, const void *data, size_t len,
		      struct kbundle_error *err)
{
	if (capture->spool_fd >= 0)
		return kb_write(capture->ctx, capture->spool_fd, data, len,
				"spool file", err);
	return kb_buf_append(&capture->memory, data, len) < 0
		       ? kb_fail_nomem(err)
		       : 0;
}

int kb_capture_map(struct kb_capture *capture, const void **ret,
		   struct kbundle_error *err)
{
	*ret = capture->ctx ? capture->memory.data : NULL;
	if (capture->spool_fd < 0)
		return 0;
	if (!capture->map) {
		capture->map = mmap(NULL, (size_t)capture->size, PROT_READ,
				    MAP_PRIVATE, capture->spool_fd, 0);
		if (capture->map == MAP_FAILED) {
			capture->map = NULL;
			return kb_fail_errno(err, errno,
					     "cannot map the spool file");
		}
	}
	*ret = capture->map;
	return 0;
}

void kb_capture_release(struct kb_capture *capture)
{
	if (capture->map)
		(void)munmap(capture->map, (size_t)capture->size);
	kb_buf_release(&capture->memory);
	kb_close(capture->spool_fd);
	kb_capture_init(capture);
}
