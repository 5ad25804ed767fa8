/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structure of an ELF file, by libelf.
 *
 * The bytes may be damaged or hostile. libelf decodes headers and symbols, but
 * whether tables, sections, segments and names lie inside the bytes is checked
 * here, before any of them is used. Nothing is ever written to the bytes; time
 * and memory are linear in their number. What sections mean is left to the
 * readers of each vendor.
 */
#include "elf_view.h"

#include "../base/error.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <gelf.h>
#include <libelf.h>

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
