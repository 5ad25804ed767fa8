/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile entry may have thousands of files that a format wants to look into:
 * the budget of memory, and the one spool, are the entry's and not the file's.
 */
#include "capture.h"

#include "../base/error.h"
#include "../sys/io.h"
#include "limits.h"
#include "mapping.h"
#include "roots.h"

#include <string.h>

struct kb_capture {
	bool taken, spooled;
	uint64_t offset, size; /* in memory or in the spool */
	struct kb_mapping mapping;
};

int kb_captures_init(struct kb_captures *captures, struct kb_ctx *ctx, size_t n,
		     struct kb_arena *arena, struct kbundle_error *err)
{
	memset(captures, 0, sizeof(*captures));
	captures->ctx = ctx;
	captures->spool_fd = -1;
	kb_buf_init(&captures->memory, KB_MEMORY_FILE_MAX);
	captures->items = kb_arena_array(arena, n, sizeof(*captures->items));
	if (!captures->items)
		return kb_fail_nomem(err);
	captures->n = n;
	return 0;
}

int kb_captures_begin(struct kb_captures *captures, size_t i, uint64_t size,
		      struct kbundle_error *err)
{
	struct kb_capture *item = &captures->items[i];
	struct kb_buf *memory = &captures->memory;

	item->taken = true;
	item->size = size;
	item->spooled = size > KB_MEMORY_FILE_MAX - memory->len;
	item->offset = item->spooled ? captures->spool_bytes : memory->len;
	if (!item->spooled)
		return kb_buf_reserve(memory, (size_t)size) < 0
			       ? kb_fail_nomem(err)
			       : 0;
	captures->spool_bytes += size;
	return captures->spool_fd >= 0
		       ? 0
		       : kb_spool_open(captures->ctx, kb_tmp_dir(),
				       &captures->spool_fd, err);
}

int kb_captures_append(struct kb_captures *captures, size_t i, const void *data,
		       size_t len, struct kbundle_error *err)
{
	if (captures->items[i].spooled)
		return kb_write(captures->ctx, captures->spool_fd, data, len,
				"a spool file", err);
	return kb_buf_append(&captures->memory, data, len) < 0
		       ? kb_fail_nomem(err)
		       : 0;
}

int kb_captures_get(struct kb_captures *captures, size_t i, const void **ret,
		    struct kbundle_error *err)
{
	struct kb_capture *item = &captures->items[i];

	*ret = NULL;
	if (!item->taken)
		return 0;
	if (!item->spooled) {
		*ret = captures->memory.data + item->offset;
		return 0;
	}
	kb_mapping_close(&item->mapping);
	return kb_mapping_open(&item->mapping, captures->spool_fd, item->offset,
			       (size_t)item->size, ret, err);
}

void kb_captures_release(struct kb_captures *captures)
{
	for (size_t i = 0; i < captures->n; i++)
		kb_mapping_close(&captures->items[i].mapping);
	kb_buf_release(&captures->memory);
	if (captures->ctx)
		kb_close(captures->spool_fd);
	memset(captures, 0, sizeof(*captures));
}
