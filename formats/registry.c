/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of formats, the one place that knows them all. The order is that of
 * help texts, and of two equal bids the earlier wins.
 */
#include "format.h"
#include "triton.h"

#include <string.h>

const struct kb_format *const kb_formats[] = {&kb_format_triton, NULL};

const struct kb_format *kb_format_find(const char *name)
{
	for (size_t i = 0; kb_formats[i]; i++) {
		if (strcmp(kb_formats[i]->name, name) == 0)
			return kb_formats[i];
	}
	return NULL;
}

int kb_format_detect(struct kb_ctx *ctx, int root_fd,
		     const struct kb_format **ret, struct kbundle_error *err)
{
	unsigned bid, best = 0;

	*ret = NULL;
	for (size_t i = 0; kb_formats[i]; i++) {
		int r = kb_formats[i]->bid(ctx, root_fd, &bid, err);

		if (r < 0)
			return r;
		if (bid > best) {
			best = bid;
			*ret = kb_formats[i];
		}
	}
	return 0;
}
