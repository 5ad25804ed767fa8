/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The defaults of the limits. Where a limit is enforced is the business of the
 * station that would exceed it; docs/format.md lists them all.
 */
#include "limits.h"

#include "../base/error.h"
#include "../sys/ctx.h"

static void default_to(uint64_t *value, uint64_t standard)
{
	if (!*value)
		*value = standard;
}

int kb_limits_init(struct kbundle_limits *limits,
		   const struct kbundle_limits *user, struct kbundle_error *err)
{
	int r = kb_options_copy(limits, sizeof(*limits), user, "limits", err);

	if (r < 0)
		return r;
	default_to(&limits->total_bytes, UINT64_C(1) << 40);
	default_to(&limits->file_bytes, KB_FILE_BYTES_MAX);
	default_to(&limits->entries, 1000000);
	default_to(&limits->files, 16000000);
	default_to(&limits->manifest_bytes, UINT64_C(1) << 30);
	default_to(&limits->ratio, 4096);
	return 0;
}
