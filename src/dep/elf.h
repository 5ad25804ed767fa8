/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU binary says of itself (libelf). Works on bytes in memory that may
 * be damaged or hostile: never reads outside them, never trusts a count.
 * Facts about the encoding and where they were seen: docs/binaries.md.
 */
#ifndef KB_ELF_H
#define KB_ELF_H

#include "../base/cleanup.h"
#include "../base/target.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kb_elf_kind {
	KB_ELF_CUBIN, /* EM_CUDA 190 */
	KB_ELF_HSACO, /* EM_AMDGPU 224 */
	KB_ELF_INTEL, /* EM_INTELGT 205 (zebin) */
	KB_ELF_HOST   /* a shared object of this or another CPU */
};

struct kb_elf_kernel {
	char *name;
	uint32_t registers;    /* 0: not told */
	uint32_t shared_bytes; /* static shared memory */
};

struct kb_elf {
	enum kb_elf_kind kind;
	unsigned machine;	 /* e_machine */
	unsigned abi_version;	 /* e_ident[EI_ABIVERSION] */
	unsigned sm;		 /* cubin: 90; else 0 */
	char suffix;		 /* cubin: 'a', 'f' or 0: none or not known */
	struct kb_target target; /* cubin "cuda:sm_90a", hsaco "hip:gfx942…",
				  * "" where the binary does not tell */
	char tool[64];		 /* tool's version as its note says, or "" */
	bool has_debug;		 /* sections of debug information */
	struct kb_elf_kernel *kernels; /* sorted by name */
	size_t n_kernels;
};

/*
 * Parses and checks the structure: ELF64 little-endian, every section and
 * segment inside the bytes, section names and symbols inside their tables.
 * Codes: FORMAT with a sentence ("section 7 (.text.add) ends at byte 9000 of
 * 6760: cut short"), NOMEM.
 */
int kb_elf_parse(const void *data, size_t len, struct kb_elf *ret,
		 struct kbundle_error *err) KB_MUST_CHECK;
void kb_elf_release(struct kb_elf *elf);
KB_DEFINE_AUTO_STRUCT(struct kb_elf, kb_elf_release);

const char *kb_elf_kind_name(enum kb_elf_kind kind); /* "cubin", "hsaco", … */
bool kb_elf_has_kernel(const struct kb_elf *elf, const char *name);

#endif
