/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structure of a 64-bit little-endian ELF file in memory, checked and
 * decoded (libelf). Once a view is open, every section but SHT_NOBITS ones and
 * every name in it lies inside the bytes.
 */
#ifndef KB_ELF_VIEW_H
#define KB_ELF_VIEW_H

#include "../base/cleanup.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

struct kb_elf_section {
	const char *name; /* "" where there is none */
	uint32_t type;	  /* SHT_* of elf.h */
	uint32_t link, info;
	uint64_t address, offset, size, entry_size;
};

struct kb_elf_symbol {
	const char *name;
	uint64_t value;
	uint16_t section; /* a valid index, or one of the reserved SHN_* */
	uint8_t type;	  /* STT_* */
	uint8_t other;	  /* st_other */
};

struct kb_elf_symbols {
	struct kb_elf_symbol *items;
	size_t n;
};

struct kb_elf_view {
	const uint8_t *bytes; /* borrowed, as are all names */
	size_t len;
	unsigned machine, abi_version;
	uint32_t flags;
	struct kb_elf_section *sections;
	size_t n_sections;
	struct kb_elf_symbols symbols; /* SHT_SYMTAB; empty if there is none */
	struct kb_elf_symbols dynamic; /* SHT_DYNSYM */
};

/* Codes: FORMAT with a sentence, NOMEM. */
int kb_elf_view_open(struct kb_elf_view *ret, const void *data, size_t len,
		     struct kbundle_error *err) KB_MUST_CHECK;
void kb_elf_view_close(struct kb_elf_view *view);
KB_DEFINE_AUTO_STRUCT(struct kb_elf_view, kb_elf_view_close);

#endif
