/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of one vendor's facts share with elf.c, and nobody else. */
#ifndef KB_ELF_VENDOR_H
#define KB_ELF_VENDOR_H

#include "elf.h"
#include "elf_view.h"

/* A result in the making. */
struct kb_elf_draft {
	const struct kb_elf_view *view;
	struct kb_elf elf;
	size_t cap_kernels;
	/* All names that were looked at are together shorter than the bytes.
	 * Names may share their storage, so without this a small file could ask
	 * for any amount of memory and time. */
	size_t name_budget;
};

/* Length of a symbol's name, taken off the budget. Codes: FORMAT. */
int kb_elf_name_length(struct kb_elf_draft *draft, const char *name,
		       size_t *ret, struct kbundle_error *err) KB_MUST_CHECK;
/* Codes: FORMAT (no fit name, or too much memory), NOMEM. */
int kb_elf_add_kernel(struct kb_elf_draft *draft, const char *name, size_t len,
		      uint32_t registers, uint64_t shared_bytes,
		      struct kbundle_error *err) KB_MUST_CHECK;

/* Fill in target, tool and kernels. Codes: FORMAT, NOMEM. */
int kb_elf_read_cuda(struct kb_elf_draft *draft,
		     struct kbundle_error *err) KB_MUST_CHECK;
int kb_elf_read_amd(struct kb_elf_draft *draft,
		    struct kbundle_error *err) KB_MUST_CHECK;

static inline uint32_t kb_elf_u32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
	       (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

#endif
