/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an AMD code object says of itself: processor, features and kernels, as
 * LLVM's "User Guide for AMDGPU Backend" describes them. Registers stand in the
 * descriptor only in units that differ by processor, and are left out.
 */
#include "elf_vendor.h"

#include "../base/error.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define AMD_ABI_V4 2 /* code object versions 4, 5 and 6 have ABI 2, 3 and 4 */
#define AMD_ABI_V6 4
#define DESCRIPTOR_BYTES 64
#define DESCRIPTOR_ENDING ".kd"

/* EF_AMDGPU_MACH of LLVM's ELF.h. Generic processors ("gfx9-4-generic") are no
 * target of a device and stay unnamed. */
static const char *processor(uint32_t flags)
{
	static const char *const names[] = {
		[0x20] = "gfx600",  [0x21] = "gfx601",	[0x22] = "gfx700",
		[0x23] = "gfx701",  [0x24] = "gfx702",	[0x25] = "gfx703",
		[0x26] = "gfx704",  [0x28] = "gfx801",	[0x29] = "gfx802",
		[0x2a] = "gfx803",  [0x2b] = "gfx810",	[0x2c] = "gfx900",
		[0x2d] = "gfx902",  [0x2e] = "gfx904",	[0x2f] = "gfx906",
		[0x30] = "gfx908",  [0x31] = "gfx909",	[0x32] = "gfx90c",
		[0x33] = "gfx1010", [0x34] = "gfx1011", [0x35] = "gfx1012",
		[0x36] = "gfx1030", [0x37] = "gfx1031", [0x38] = "gfx1032",
		[0x39] = "gfx1033", [0x3a] = "gfx602",	[0x3b] = "gfx705",
		[0x3c] = "gfx805",  [0x3d] = "gfx1035", [0x3e] = "gfx1034",
		[0x3f] = "gfx90a",  [0x40] = "gfx940",	[0x41] = "gfx1100",
		[0x42] = "gfx1013", [0x43] = "gfx1150", [0x44] = "gfx1103",
		[0x45] = "gfx1036", [0x46] = "gfx1101", [0x47] = "gfx1102",
		[0x48] = "gfx1200", [0x49] = "gfx1250", [0x4a] = "gfx1151",
		[0x4b] = "gfx941",  [0x4c] = "gfx942",	[0x4e] = "gfx1201",
		[0x4f] = "gfx950",  [0x55] = "gfx1152", [0x58] = "gfx1153",
	};
	size_t number = flags & 0xff;

	if (number >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[number];
}

/* A feature's two bits: not supported, any, off, on. */
static const char *feature(uint32_t bits, const char *off, const char *on)
{
	return bits == 3 ? on : bits == 2 ? off : "";
}

static void read_amd_target(struct kb_elf *elf, uint32_t flags)
{
	const char *name = processor(flags);
	const char *sramecc = "", *xnack = "";
	char text[KB_TARGET_MAX];

	if (!name)
		return;
	if (elf->abi_version >= AMD_ABI_V4 && elf->abi_version <= AMD_ABI_V6) {
		xnack = feature(flags >> 8 & 3, ":xnack-", ":xnack+");
		sramecc = feature(flags >> 10 & 3, ":sramecc-", ":sramecc+");
	}
	snprintf(text, sizeof(text), "hip:%s%s%s", name, sramecc, xnack);
	if (!kb_target_parse(&elf->target, text))
		elf->target = (struct kb_target){0};
}

/* A kernel NAME has an object NAME.kd, its descriptor, which begins with the
 * bytes of LDS that it has for itself. */
static int read_amd_symbol(struct kb_elf_draft *draft,
			   const struct kb_elf_symbol *symbol,
			   struct kbundle_error *err)
{
	const struct kb_elf_section *section;
	struct kb_shown shown;
	uint64_t offset;
	size_t len;
	int r;

	if (symbol->type != STT_OBJECT || symbol->section == SHN_UNDEF ||
	    symbol->section >= SHN_LORESERVE)
		return 0;
	r = kb_elf_name_length(draft, symbol->name, &len, err);
	if (r < 0)
		return r;
	if (len <= strlen(DESCRIPTOR_ENDING))
		return 0;
	len -= strlen(DESCRIPTOR_ENDING);
	if (strcmp(symbol->name + len, DESCRIPTOR_ENDING) != 0)
		return 0;
	section = &draft->view->sections[symbol->section];
	offset = symbol->value - section->address;
	if (section->type == SHT_NOBITS || symbol->value < section->address ||
	    offset > section->size || section->size - offset < DESCRIPTOR_BYTES)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "descriptor of kernel \"%s\" lies outside its "
			       "section",
			       kb_show_n(&shown, symbol->name, len));
	return kb_elf_add_kernel(
		draft, symbol->name, len, 0,
		kb_elf_u32(draft->view->bytes + section->offset + offset), err);
}

int kb_elf_read_amd(struct kb_elf_draft *draft, struct kbundle_error *err)
{
	read_amd_target(&draft->elf, draft->view->flags);
	for (size_t i = 0; i < draft->view->dynamic.n; i++) {
		int r = read_amd_symbol(draft, &draft->view->dynamic.items[i],
					err);

		if (r < 0)
			return r;
	}
	return 0;
}
