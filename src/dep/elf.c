/* SPDX-License-Identifier: Apache-2.0 */
#include "elf.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "../base/path.h"

#include <elf.h>
#include <gelf.h>
#include <inttypes.h>
#include <kbundle/kbundle.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ==== elf_view.h ==== */
/*
 * The structure of a 64-bit little-endian ELF file in memory, checked and
 * decoded (libelf). Once a view is open, every section but SHT_NOBITS ones and
 * every name in it lies inside the bytes.
 */

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

/* ==== elf_vendor.h ==== */
/* What the readers of one vendor's facts share with elf.c, and nobody else. */

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

/* ==== elf_view.c ==== */
/*
 * The structure of an ELF file, by libelf.
 *
 * The bytes may be damaged or hostile. libelf decodes headers and symbols, but
 * whether tables, sections, segments and names lie inside the bytes is checked
 * here, before any of them is used. Nothing is ever written to the bytes; time
 * and memory are linear in their number. What sections mean is left to the
 * readers of each vendor.
 */

static void end_elf(Elf *elf)
{
	elf_end(elf);
}
KB_DEFINE_AUTO(Elf *, end_elf);

static int fail_libelf(struct kbundle_error *err, const char *what)
{
	return kb_fail(err, KBUNDLE_E_FORMAT, "%s: %s", what, elf_errmsg(-1));
}

/* ---- ranges ---- */

static bool is_inside(const struct kb_elf_view *view, uint64_t offset,
		      uint64_t size)
{
	return offset <= view->len && size <= view->len - offset;
}

static int fail_outside(const struct kb_elf_view *view, uint64_t offset,
			uint64_t size, const char *what,
			struct kbundle_error *err)
{
	if (offset > view->len || size > UINT64_MAX - offset)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s begins at byte %" PRIu64
			       " of %zu: cut short",
			       what, offset, view->len);
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "%s ends at byte %" PRIu64 " of %zu: cut short", what,
		       offset + size, view->len);
}

static int check_table(const struct kb_elf_view *view, uint64_t offset,
		       uint64_t n, size_t item_size, const char *what,
		       struct kbundle_error *err)
{
	if (n > view->len / item_size)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s has %" PRIu64
			       " items, too many for %zu bytes: cut short",
			       what, n, view->len);
	if (!is_inside(view, offset, n * item_size))
		return fail_outside(view, offset, n * item_size, what, err);
	return 0;
}

/* ---- header ---- */

static int check_identity(const struct kb_elf_view *view,
			  struct kbundle_error *err)
{
	if (view->len < SELFMAG || memcmp(view->bytes, ELFMAG, SELFMAG) != 0)
		return kb_fail(err, KBUNDLE_E_FORMAT, "is no ELF file");
	if (view->len < sizeof(Elf64_Ehdr))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "ELF header is cut short after %zu bytes",
			       view->len);
	if (view->bytes[EI_CLASS] != ELFCLASS64 ||
	    view->bytes[EI_DATA] != ELFDATA2LSB ||
	    view->bytes[EI_VERSION] != EV_CURRENT)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "is no 64-bit little-endian ELF file");
	return 0;
}

/*
 * Both tables, before libelf counts their items: it allocates as many. Counts
 * that do not fit the header stand in the first section (ELF specification,
 * "extended numbering").
 */
static int check_tables(const struct kb_elf_view *view, const GElf_Ehdr *header,
			struct kbundle_error *err)
{
	Elf64_Shdr first = {0};
	uint64_t n_sections, n_segments;
	int r;

	if (header->e_shoff && header->e_shentsize != sizeof(Elf64_Shdr))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "section table has items of %u bytes",
			       header->e_shentsize);
	if (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "segment table has items of %u bytes",
			       header->e_phentsize);
	if (header->e_shoff) {
		r = check_table(view, header->e_shoff, 1, sizeof(first),
				"section table", err);
		if (r < 0)
			return r;
		memcpy(&first, view->bytes + header->e_shoff, sizeof(first));
	}
	n_sections = header->e_shnum ? header->e_shnum : first.sh_size;
	n_segments =
		header->e_phnum == PN_XNUM ? first.sh_info : header->e_phnum;
	r = check_table(view, header->e_shoff, n_sections, sizeof(Elf64_Shdr),
			"section table", err);
	if (r < 0)
		return r;
	return check_table(view, header->e_phoff, n_segments,
			   sizeof(Elf64_Phdr), "segment table", err);
}

static int open_elf(struct kb_elf_view *view, Elf **ret,
		    struct kbundle_error *err)
{
	KB_AUTO(end_elf) Elf *elf = NULL;
	Elf64_Ehdr header;
	int r;

	r = check_identity(view, err);
	if (r < 0)
		return r;
	memcpy(&header, view->bytes, sizeof(header));
	r = check_tables(view, &header, err);
	if (r < 0)
		return r;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return kb_fail(err, KBUNDLE_E_INTERNAL,
			       "libelf knows no current ELF version");
	/* libelf's type wants the cast; opened so, it only reads. */
	elf = elf_memory((char *)(uintptr_t)view->bytes, view->len);
	if (!elf || !gelf_getehdr(elf, &header))
		return fail_libelf(err, "ELF header");
	view->machine = header.e_machine;
	view->abi_version = header.e_ident[EI_ABIVERSION];
	view->flags = header.e_flags;
	*ret = kb_take(elf);
	return 0;
}

static int check_segments(const struct kb_elf_view *view, Elf *elf,
			  struct kbundle_error *err)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0)
		return fail_libelf(err, "segment table");
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;
		char what[32];

		if (!gelf_getphdr(elf, (int)i, &segment))
			return fail_libelf(err, "segment table");
		if (is_inside(view, segment.p_offset, segment.p_filesz))
			continue;
		snprintf(what, sizeof(what), "segment %zu", i);
		return fail_outside(view, segment.p_offset, segment.p_filesz,
				    what, err);
	}
	return 0;
}

/* ---- sections ---- */

static int load_sections(struct kb_elf_view *view, Elf *elf,
			 struct kbundle_error *err)
{
	if (elf_getshdrnum(elf, &view->n_sections) != 0)
		return fail_libelf(err, "section table");
	view->sections = calloc(view->n_sections + 1, sizeof(*view->sections));
	if (!view->sections)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < view->n_sections; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);
		GElf_Shdr header;

		if (!scn || !gelf_getshdr(scn, &header))
			return fail_libelf(err, "section table");
		view->sections[i] = (struct kb_elf_section){
			.name = "",
			.type = header.sh_type,
			.link = header.sh_link,
			.info = header.sh_info,
			.address = header.sh_addr,
			.offset = header.sh_offset,
			.size = header.sh_size,
			.entry_size = header.sh_entsize,
		};
	}
	return 0;
}

/* Is section i a table of strings inside the bytes whose last one ends? */
static bool is_string_table(const struct kb_elf_view *view, size_t i)
{
	const struct kb_elf_section *table;

	if (i >= view->n_sections)
		return false;
	table = &view->sections[i];
	return table->type == SHT_STRTAB && table->size > 0 &&
	       is_inside(view, table->offset, table->size) &&
	       view->bytes[table->offset + table->size - 1] == '\0';
}

/* The string at offset of string table i, or NULL if it is outside. */
static const char *string_at(const struct kb_elf_view *view, size_t i,
			     uint64_t offset)
{
	const struct kb_elf_section *table = &view->sections[i];

	if (offset >= table->size)
		return NULL;
	return (const char *)view->bytes + table->offset + offset;
}

static int name_sections(struct kb_elf_view *view, Elf *elf,
			 struct kbundle_error *err)
{
	size_t table;

	if (view->n_sections == 0)
		return 0;
	if (elf_getshdrstrndx(elf, &table) != 0)
		return fail_libelf(err, "section names");
	if (table == SHN_UNDEF)
		return 0;
	if (!is_string_table(view, table))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "names of sections are no table of strings "
			       "(section %zu of %zu)",
			       table, view->n_sections);
	for (size_t i = 0; i < view->n_sections; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header))
			return fail_libelf(err, "section table");
		name = string_at(view, table, header.sh_name);
		if (!name)
			return kb_fail(err, KBUNDLE_E_FORMAT,
				       "section %zu has its name outside the "
				       "table of names",
				       i);
		view->sections[i].name = name;
	}
	return 0;
}

/* "section 7 (.text.add)", for messages. */
struct label {
	char text[400];
};

static const char *label_section(struct label *label,
				 const struct kb_elf_view *view, size_t i)
{
	struct kb_shown shown;

	snprintf(label->text, sizeof(label->text), "section %zu (%s)", i,
		 kb_show(&shown, view->sections[i].name));
	return label->text;
}

static int check_sections(const struct kb_elf_view *view,
			  struct kbundle_error *err)
{
	struct label label;

	for (size_t i = 0; i < view->n_sections; i++) {
		const struct kb_elf_section *section = &view->sections[i];

		if (section->type == SHT_NULL)
			continue;
		if (section->link >= view->n_sections)
			return kb_fail(err, KBUNDLE_E_FORMAT,
				       "%s links to section %u of %zu",
				       label_section(&label, view, i),
				       section->link, view->n_sections);
		if (section->type != SHT_NOBITS &&
		    !is_inside(view, section->offset, section->size))
			return fail_outside(
				view, section->offset, section->size,
				label_section(&label, view, i), err);
	}
	return 0;
}

/* ---- symbols ---- */

static int decode_symbol(const struct kb_elf_view *view, size_t table,
			 Elf_Data *data, size_t i, struct kb_elf_symbol *ret,
			 struct kbundle_error *err)
{
	struct label label;
	GElf_Sym symbol;

	if (!gelf_getsym(data, (int)i, &symbol))
		return fail_libelf(err, label_section(&label, view, table));
	ret->name = string_at(view, view->sections[table].link, symbol.st_name);
	if (!ret->name)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s: symbol %zu has its name outside the table "
			       "of names",
			       label_section(&label, view, table), i);
	if (symbol.st_shndx < SHN_LORESERVE &&
	    symbol.st_shndx >= view->n_sections)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s: symbol %zu is in section %u of %zu",
			       label_section(&label, view, table), i,
			       symbol.st_shndx, view->n_sections);
	ret->value = symbol.st_value;
	ret->section = symbol.st_shndx;
	ret->type = GELF_ST_TYPE(symbol.st_info);
	ret->other = symbol.st_other;
	return 0;
}

static int load_symbols(const struct kb_elf_view *view, Elf *elf, size_t table,
			struct kb_elf_symbols *ret, struct kbundle_error *err)
{
	const struct kb_elf_section *section = &view->sections[table];
	size_t n = section->size / sizeof(Elf64_Sym);
	struct label label;
	Elf_Data *data;
	int r;

	/* Two would be against the specification, and a file could name one
	 * table any number of times to keep us busy. */
	if (ret->items)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s is a second table of symbols",
			       label_section(&label, view, table));
	if (section->entry_size != sizeof(Elf64_Sym) ||
	    section->size % sizeof(Elf64_Sym) != 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s is no table of whole symbols",
			       label_section(&label, view, table));
	if (!is_string_table(view, section->link))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "%s has no table of names (section %u)",
			       label_section(&label, view, table),
			       section->link);
	data = elf_getdata(elf_getscn(elf, table), NULL);
	if (!data)
		return fail_libelf(err, label_section(&label, view, table));
	ret->items = calloc(n + 1, sizeof(*ret->items));
	if (!ret->items)
		return kb_fail_nomem(err);
	ret->n = n;
	for (size_t i = 0; i < n; i++) {
		r = decode_symbol(view, table, data, i, &ret->items[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_all_symbols(struct kb_elf_view *view, Elf *elf,
			    struct kbundle_error *err)
{
	for (size_t i = 0; i < view->n_sections; i++) {
		int r = 0;

		if (view->sections[i].type == SHT_SYMTAB)
			r = load_symbols(view, elf, i, &view->symbols, err);
		else if (view->sections[i].type == SHT_DYNSYM)
			r = load_symbols(view, elf, i, &view->dynamic, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the whole ---- */

static int load_view(struct kb_elf_view *view, struct kbundle_error *err)
{
	KB_AUTO(end_elf) Elf *elf = NULL;
	int r;

	r = open_elf(view, &elf, err);
	if (r < 0)
		return r;
	r = check_segments(view, elf, err);
	if (r < 0)
		return r;
	r = load_sections(view, elf, err);
	if (r < 0)
		return r;
	r = name_sections(view, elf, err);
	if (r < 0)
		return r;
	r = check_sections(view, err);
	if (r < 0)
		return r;
	return load_all_symbols(view, elf, err);
}

int kb_elf_view_open(struct kb_elf_view *ret, const void *data, size_t len,
		     struct kbundle_error *err)
{
	struct kb_elf_view view = {.bytes = data, .len = len};
	int r;

	r = load_view(&view, err);
	if (r < 0) {
		kb_elf_view_close(&view);
		return r;
	}
	*ret = view;
	return 0;
}

void kb_elf_view_close(struct kb_elf_view *view)
{
	free(view->sections);
	free(view->symbols.items);
	free(view->dynamic.items);
	*view = (struct kb_elf_view){0};
}

/* ==== elf_cuda.c ==== */
/*
 * What a cubin says of itself: architecture, assembler, and each kernel's
 * registers and shared memory. NVIDIA documents none of this; docs/binaries.md
 * tells where each fact was seen. A fact that is not where it was seen is
 * left out, and never a reason to refuse the binary.
 */

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

		if (section->type == SHT_NOTE &&
		    strcmp(section->name, ".note.nv.tkinfo") == 0)
			read_tool_note(elf, view->bytes + section->offset,
				       section->size);
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
		else if (section->type != SHT_NOBITS &&
			 strcmp(section->name, ".nv.info") == 0)
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

/* ==== elf_amd.c ==== */
/*
 * What an AMD code object says of itself: processor, features and kernels, as
 * LLVM's "User Guide for AMDGPU Backend" describes them. Registers stand in the
 * descriptor only in units that differ by processor, and are left out.
 */

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

/* ==== elf.c ==== */
/*
 * What a GPU binary says of itself. elf_view.c checks the structure, one file
 * for each vendor reads its facts; here they come together. Whether a binary
 * fits a device is not decided here.
 */

static void release_draft(struct kb_elf_draft *draft)
{
	kb_elf_release(&draft->elf);
}
KB_DEFINE_AUTO_STRUCT(struct kb_elf_draft, release_draft);

/* ---- kernels ---- */

int kb_elf_name_length(struct kb_elf_draft *draft, const char *name,
		       size_t *ret, struct kbundle_error *err)
{
	size_t len = strnlen(name, draft->name_budget);

	if (len >= draft->name_budget)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "names of kernels are longer than the file");
	draft->name_budget -= len;
	*ret = len;
	return 0;
}

int kb_elf_add_kernel(struct kb_elf_draft *draft, const char *name, size_t len,
		      uint32_t registers, uint64_t shared_bytes,
		      struct kbundle_error *err)
{
	struct kb_elf *elf = &draft->elf;
	struct kb_elf_kernel *kernel;
	struct kb_shown shown;

	if (!kb_utf8_is_valid(name, len))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "kernel \"%s\" has a name that is not UTF-8",
			       kb_show_n(&shown, name, len));
	if (shared_bytes > UINT32_MAX)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "kernel \"%s\" asks for %" PRIu64
			       " bytes of shared memory",
			       kb_show_n(&shown, name, len), shared_bytes);
	if (kb_grow(&elf->kernels, &draft->cap_kernels, elf->n_kernels + 1,
		    sizeof(*elf->kernels)) < 0)
		return kb_fail_nomem(err);
	kernel = &elf->kernels[elf->n_kernels];
	kernel->name = strndup(name, len);
	if (!kernel->name)
		return kb_fail_nomem(err);
	kernel->registers = registers;
	kernel->shared_bytes = (uint32_t)shared_bytes;
	elf->n_kernels++;
	return 0;
}

static int compare_kernels(const void *a, const void *b)
{
	const struct kb_elf_kernel *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static int sort_kernels(struct kb_elf *elf, struct kbundle_error *err)
{
	struct kb_shown shown;

	if (elf->n_kernels == 0)
		return 0;
	qsort(elf->kernels, elf->n_kernels, sizeof(*elf->kernels),
	      compare_kernels);
	for (size_t i = 1; i < elf->n_kernels; i++)
		if (compare_kernels(&elf->kernels[i - 1], &elf->kernels[i]) ==
		    0)
			return kb_fail(err, KBUNDLE_E_FORMAT,
				       "kernel \"%s\" is there twice",
				       kb_show(&shown, elf->kernels[i].name));
	return 0;
}

/* ---- the whole ---- */

static bool has_debug_sections(const struct kb_elf_view *view)
{
	static const char *const prefixes[] = {".debug_", ".zdebug_",
					       ".nv_debug_"};

	for (size_t i = 0; i < view->n_sections; i++)
		for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]);
		     k++)
			if (strncmp(view->sections[i].name, prefixes[k],
				    strlen(prefixes[k])) == 0)
				return true;
	return false;
}

static enum kb_elf_kind kind_of(unsigned machine)
{
	switch (machine) {
	case EM_CUDA:
		return KB_ELF_CUBIN;
	case EM_AMDGPU:
		return KB_ELF_HSACO;
	case EM_INTELGT:
		return KB_ELF_INTEL;
	default:
		return KB_ELF_HOST;
	}
}

int kb_elf_parse(const void *data, size_t len, struct kb_elf *ret,
		 struct kbundle_error *err)
{
	KB_AUTO(kb_elf_view_close) struct kb_elf_view view = {0};
	KB_AUTO(release_draft)
	struct kb_elf_draft draft = {.view = &view, .name_budget = len};
	int r;

	r = kb_elf_view_open(&view, data, len, err);
	if (r < 0)
		return r;
	draft.elf.machine = view.machine;
	draft.elf.abi_version = view.abi_version;
	draft.elf.kind = kind_of(view.machine);
	draft.elf.has_debug = has_debug_sections(&view);
	if (draft.elf.kind == KB_ELF_CUBIN)
		r = kb_elf_read_cuda(&draft, err);
	else if (draft.elf.kind == KB_ELF_HSACO)
		r = kb_elf_read_amd(&draft, err);
	if (r < 0)
		return r;
	r = sort_kernels(&draft.elf, err);
	if (r < 0)
		return r;
	*ret = draft.elf;
	draft.elf = (struct kb_elf){0};
	return 0;
}

void kb_elf_release(struct kb_elf *elf)
{
	for (size_t i = 0; i < elf->n_kernels; i++)
		free(elf->kernels[i].name);
	free(elf->kernels);
	*elf = (struct kb_elf){0};
}

const char *kb_elf_kind_name(enum kb_elf_kind kind)
{
	switch (kind) {
	case KB_ELF_CUBIN:
		return "cubin";
	case KB_ELF_HSACO:
		return "hsaco";
	case KB_ELF_INTEL:
		return "zebin";
	case KB_ELF_HOST:
		return "so";
	}
	return "unknown";
}

bool kb_elf_has_kernel(const struct kb_elf *elf, const char *name)
{
	struct kb_elf_kernel wanted = {.name = (char *)(uintptr_t)name};

	return elf->n_kernels &&
	       bsearch(&wanted, elf->kernels, elf->n_kernels,
		       sizeof(*elf->kernels), compare_kernels);
}
