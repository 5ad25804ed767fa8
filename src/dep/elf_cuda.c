/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cubin says of itself: architecture, assembler, and each kernel's
 * registers and shared memory. NVIDIA documents none of this; docs/binaries.md
 * tells where each fact was seen. A fact that is not where it was seen is
 * left out, and never a reason to refuse the binary.
 */
#include "elf_vendor.h"

#include "../base/error.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define CUDA_ABI_OLD 7
#define CUDA_ABI_NEW 8
#define CUDA_OLD_FLAG_ACCELERATED 0x800U
#define CUDA_SYMBOL_ENTRY 0x10 /* st_other of a kernel */
#define CUDA_ATTRIBUTE_REGISTERS 0x2f
#define CUDA_ATTRIBUTE_SIZED 4 /* u16 length and so many bytes follow */
#define CUDA_RESERVED_SHARED_FROM_SM 90
#define CUDA_RESERVED_SHARED_BYTES 1024
#define NOTE_HEADER_BYTES 12
#define NOTE_TOOL 2000
#define TOOL_TEXTS_AT 24 /* behind six u32 */

/* Looked up for every kernel, so gathered first. */
struct resources {
	uint32_t *registers;	/* by index of the symbol */
	uint64_t *shared_bytes; /* by index of the section of the code */
};

static void release_resources(struct resources *resources)
{
	free(resources->registers);
	free(resources->shared_bytes);
}
KB_DEFINE_AUTO_STRUCT(struct resources, release_resources);

static const char *skip_prefix(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/* ---- target and tool ---- */

static unsigned read_sm(const struct kb_elf_view *view)
{
	switch (view->abi_version) {
	case CUDA_ABI_OLD:
		return view->flags & 0xff;
	case CUDA_ABI_NEW:
		return view->flags >> 8 & 0xff;
	default:
		return 0;
	}
}

/* Text number i of the note, or NULL if it is not there: a u32 that differs by
 * release, five u32 offsets, texts. */
static const char *note_text(const uint8_t *note, size_t len, size_t i)
{
	size_t texts_len;
	uint32_t offset;

	if (len < TOOL_TEXTS_AT)
		return NULL;
	texts_len = len - TOOL_TEXTS_AT;
	offset = kb_elf_u32(note + 4 + 4 * i);
	if (offset >= texts_len ||
	    !memchr(note + TOOL_TEXTS_AT + offset, '\0', texts_len - offset))
		return NULL;
	return (const char *)note + TOOL_TEXTS_AT + offset;
}

/* "Cuda compilation tools, release 13.0, V13.0.88" -> "13.0.88" */
static void read_version(struct kb_elf *elf, const char *text)
{
	const char *version = strstr(text, ", V");
	size_t len;

	if (!version)
		return;
	version += strlen(", V");
	len = strspn(version, "0123456789.");
	if (version[len] == '\0' && len < sizeof(elf->tool))
		memcpy(elf->tool, version, len + 1);
}

/* "-v  -arch sm_90a -m 64" -> 'a', if it speaks of this very SM. */
static char read_suffix(const struct kb_elf *elf, const char *options)
{
	char wanted[16];

	snprintf(wanted, sizeof(wanted), "sm_%u", elf->sm);
	while ((options = strstr(options, "-arch"))) {
		const char *end;

		options += strlen("-arch");
		options += strspn(options, " =");
		end = skip_prefix(options, wanted);
		if (end && (*end == 'a' || *end == 'f') &&
		    (end[1] == ' ' || end[1] == '\0'))
			return *end;
	}
	return '\0';
}

static void read_tool_note(struct kb_elf *elf, const uint8_t *note, size_t len)
{
	static const char owner[] = "NVIDIA Corp";
	size_t desc_at =
		NOTE_HEADER_BYTES + sizeof(owner); /* a multiple of 4 */
	const char *version, *options;
	uint32_t desc_len;

	if (len < desc_at || kb_elf_u32(note) != sizeof(owner) ||
	    kb_elf_u32(note + 8) != NOTE_TOOL ||
	    memcmp(note + NOTE_HEADER_BYTES, owner, sizeof(owner)) != 0)
		return;
	desc_len = kb_elf_u32(note + 4);
	if (desc_len > len - desc_at)
		return;
	version = note_text(note + desc_at, desc_len, 2);
	options = note_text(note + desc_at, desc_len, 4);
	if (version)
		read_version(elf, version);
	if (options)
		elf->suffix = read_suffix(elf, options);
}

static void read_cuda_target(struct kb_elf *elf, const struct kb_elf_view *view)
{
	elf->sm = read_sm(view);
	if (!elf->sm)
		return;
	for (size_t i = 0; i < view->n_sections; i++) {
		const struct kb_elf_section *section = &view->sections[i];

		if (section->type != SHT_NOTE ||
		    strcmp(section->name, ".note.nv.tkinfo") != 0)
			continue;
		/* There is one. Of more, all might name the same bytes. */
		read_tool_note(elf, view->bytes + section->offset,
			       section->size);
		break;
	}
	if (!elf->suffix && elf->abi_version == CUDA_ABI_OLD &&
	    view->flags & CUDA_OLD_FLAG_ACCELERATED)
		elf->suffix = 'a';
	kb_target_cuda(&elf->target, elf->sm, elf->suffix);
}

/* ---- kernels ---- */

/* A section of attributes: u8 form, u8 number, u16 value or length, and as many
 * bytes in one form. What does not fit ends the walk. */
static void read_registers(uint32_t *registers, size_t n_symbols,
			   const uint8_t *at, size_t left)
{
	while (left >= 4) {
		size_t more = at[0] == CUDA_ATTRIBUTE_SIZED
				      ? (size_t)(at[2] | at[3] << 8)
				      : 0;

		if (more > left - 4)
			return;
		if (at[1] == CUDA_ATTRIBUTE_REGISTERS && more == 8 &&
		    kb_elf_u32(at + 4) < n_symbols)
			registers[kb_elf_u32(at + 4)] = kb_elf_u32(at + 8);
		at += 4 + more;
		left -= 4 + more;
	}
}

static int gather_resources(const struct kb_elf_view *view,
			    struct resources *ret, struct kbundle_error *err)
{
	bool seen_info = false; /* of several, all might name the same bytes */

	ret->registers = calloc(view->symbols.n + 1, sizeof(*ret->registers));
	ret->shared_bytes =
		calloc(view->n_sections + 1, sizeof(*ret->shared_bytes));
	if (!ret->registers || !ret->shared_bytes)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < view->n_sections; i++) {
		const struct kb_elf_section *section = &view->sections[i];

		if (section->type == SHT_NOBITS &&
		    section->info < view->n_sections &&
		    skip_prefix(section->name, ".nv.shared."))
			ret->shared_bytes[section->info] = section->size;
		else if (!seen_info && section->type != SHT_NOBITS &&
			 (seen_info = !strcmp(section->name, ".nv.info")))
			read_registers(ret->registers, view->symbols.n,
				       view->bytes + section->offset,
				       section->size);
	}
	return 0;
}

/* Without what the assembler sets aside in every kernel of newer devices. */
static uint64_t own_shared_bytes(const struct kb_elf *elf, uint64_t bytes)
{
	if (elf->sm >= CUDA_RESERVED_SHARED_FROM_SM &&
	    bytes >= CUDA_RESERVED_SHARED_BYTES)
		return bytes - CUDA_RESERVED_SHARED_BYTES;
	return bytes;
}

/* A kernel is an entry function NAME whose code is the section .text.NAME. */
static int read_cuda_symbol(struct kb_elf_draft *draft,
			    const struct resources *resources, size_t i,
			    struct kbundle_error *err)
{
	const struct kb_elf_symbol *symbol = &draft->view->symbols.items[i];
	const struct kb_elf_section *section;
	const char *code_of;
	uint32_t registers;
	size_t len;
	int r;

	if (symbol->type != STT_FUNC || !(symbol->other & CUDA_SYMBOL_ENTRY) ||
	    symbol->section >= SHN_LORESERVE)
		return 0;
	section = &draft->view->sections[symbol->section];
	code_of = skip_prefix(section->name, ".text.");
	if (!code_of)
		return 0;
	r = kb_elf_name_length(draft, symbol->name, &len, err);
	if (r < 0)
		return r;
	if (len == 0 || strcmp(code_of, symbol->name) != 0)
		return 0;
	registers = resources->registers[i];
	if (!registers)
		registers = section->info >> 24;
	return kb_elf_add_kernel(
		draft, symbol->name, len, registers,
		own_shared_bytes(&draft->elf,
				 resources->shared_bytes[symbol->section]),
		err);
}

int kb_elf_read_cuda(struct kb_elf_draft *draft, struct kbundle_error *err)
{
	KB_AUTO(release_resources) struct resources resources = {0};
	int r;

	read_cuda_target(&draft->elf, draft->view);
	r = gather_resources(draft->view, &resources, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < draft->view->symbols.n; i++) {
		r = read_cuda_symbol(draft, &resources, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}
