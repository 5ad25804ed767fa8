/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes manifest lines in the one canonical form: members in the order of
 * docs/format.md, no white space, what is absent left out. Readers use it too,
 * to see whether what they parsed was canonical.
 */
#include "manifest.h"

#include "../base/error.h"
#include "../base/json.h"
#include "../base/parse.h"

#include <inttypes.h>
#include <stdio.h>

static int put_text(struct kb_buf *buf, const char *member, const char *text)
{
	int r = kb_buf_puts(buf, member);

	return r < 0 ? r : kb_json_put_string(buf, text);
}

static int put_optional_text(struct kb_buf *buf, const char *member,
			     const char *text)
{
	return text ? put_text(buf, member, text) : 0;
}

static int put_number(struct kb_buf *buf, const char *member, uint64_t value)
{
	return kb_buf_printf(buf, "%s%" PRIu64, member, value);
}

static int put_optional_number(struct kb_buf *buf, const char *member,
			       uint64_t value)
{
	return value ? put_number(buf, member, value) : 0;
}

/* x- members as they were read; writers have none. */
static int put_end(struct kb_buf *buf, const char *extra, const char *end)
{
	return kb_buf_printf(buf, "%s%s", extra ? extra : "", end);
}

/* Optional members come first in some objects: the comma that put_* wrote in
 * front of the first one goes again. */
static void drop_first_comma(struct kb_buf *buf, size_t start)
{
	if (buf->len > start && buf->data[start] == ',') {
		for (size_t i = start; i + 1 < buf->len; i++)
			buf->data[i] = buf->data[i + 1];
		buf->data[--buf->len] = '\0';
	}
}

static int put_roots(const struct kb_header *header, struct kb_buf *buf)
{
	int r = kb_buf_puts(buf, ",\"roots\":[");

	for (size_t i = 0; r == 0 && i < header->n_roots; i++) {
		const struct kb_root *root = &header->roots[i];

		r = put_text(buf, i ? ",{\"name\":" : "{\"name\":", root->name);
		if (r == 0)
			r = put_text(buf, ",\"format\":", root->format);
		if (r == 0)
			r = put_text(buf, ",\"token\":", root->token);
		if (r == 0)
			r = put_end(buf, root->extra, "}");
	}
	return r < 0 ? r : kb_buf_putc(buf, ']');
}

int kb_header_format(const struct kb_header *header, struct kb_buf *buf,
		     struct kbundle_error *err)
{
	int r = kb_buf_printf(buf, "{\"kbundle\":%d,\"requires\":[]",
			      KBUNDLE_FORMAT_VERSION);

	if (r == 0)
		r = put_roots(header, buf);
	if (r == 0)
		r = put_number(buf, ",\"entries\":", header->entries);
	if (r == 0)
		r = put_number(buf, ",\"files\":", header->files);
	if (r == 0)
		r = put_number(buf, ",\"bytes\":", header->bytes);
	if (r == 0)
		r = put_end(buf, header->extra, "}\n");
	return r < 0 ? kb_fail(err, r, "manifest header: %s",
			       kbundle_code_text(r))
		     : 0;
}

static int put_rewrites(const struct kb_file *file, struct kb_buf *buf)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < file->n_rewrites; i++) {
		const struct kb_rewrite *rewrite = &file->rewrites[i];

		r = kb_buf_printf(buf,
				  "%s[%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",",
				  i ? "," : ",\"rewrites\":[", rewrite->offset,
				  rewrite->length, rewrite->root);
		if (r == 0)
			r = kb_json_put_string(buf, rewrite->codec);
		if (r == 0)
			r = kb_buf_putc(buf, ']');
	}
	return r < 0 || !file->n_rewrites ? r : kb_buf_putc(buf, ']');
}

static int put_file(const struct kb_file *file, struct kb_buf *buf)
{
	char hex[2 * sizeof(file->sha256) + 1];
	int r = put_text(buf, "{\"name\":", file->name);

	kb_format_hex(hex, file->sha256, sizeof(file->sha256));
	if (r == 0)
		r = put_number(buf, ",\"size\":", file->size);
	if (r == 0)
		r = put_text(buf, ",\"sha256\":", hex);
	if (r == 0)
		r = put_rewrites(file, buf);
	if (r == 0 && file->has_mtime)
		r = kb_buf_printf(buf,
				  ",\"mtime\":\"%" PRId64 ".%09" PRIu32 "\"",
				  file->mtime_s, file->mtime_ns);
	return r < 0 ? r : put_end(buf, file->extra, "}");
}

static int put_kernel(const struct kb_kernel_fact *kernel, struct kb_buf *buf)
{
	int r = put_text(buf, "{\"name\":", kernel->name);

	if (r == 0)
		r = put_optional_number(buf,
					",\"registers\":", kernel->registers);
	if (r == 0)
		r = put_optional_number(buf, ",\"shared\":", kernel->shared);
	return r < 0 ? r : put_end(buf, kernel->extra, "}");
}

static int put_binary(const struct kb_binary_fact *binary, struct kb_buf *buf)
{
	int r = put_text(buf, "{\"file\":", binary->file);

	if (r == 0)
		r = put_text(buf, ",\"kind\":", binary->kind);
	if (r == 0)
		r = put_optional_text(buf, ",\"target\":", binary->target);
	if (r == 0)
		r = put_optional_number(buf, ",\"abi\":", binary->abi);
	if (r == 0)
		r = put_optional_text(buf, ",\"tool\":", binary->tool);
	if (r == 0 && binary->debug)
		r = kb_buf_puts(buf, ",\"debug\":true");
	if (r == 0)
		r = kb_buf_puts(buf, ",\"kernels\":[");
	for (size_t i = 0; r == 0 && i < binary->n_kernels; i++) {
		if (i)
			r = kb_buf_putc(buf, ',');
		if (r == 0)
			r = put_kernel(&binary->kernels[i], buf);
	}
	if (r == 0)
		r = kb_buf_putc(buf, ']');
	return r < 0 ? r : put_end(buf, binary->extra, "}");
}

static int put_binaries(const struct kb_facts *facts, struct kb_buf *buf)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < facts->n_binaries; i++) {
		r = kb_buf_puts(buf, i ? "," : ",\"binaries\":[");
		if (r == 0)
			r = put_binary(&facts->binaries[i], buf);
	}
	return r < 0 || !facts->n_binaries ? r : kb_buf_putc(buf, ']');
}

int kb_facts_format(const struct kb_facts *facts, struct kb_buf *buf)
{
	int r = kb_buf_putc(buf, '{');
	size_t start = buf->len;

	if (r == 0)
		r = put_optional_text(buf, ",\"producer\":", facts->producer);
	if (r == 0)
		r = put_optional_text(buf, ",\"version\":", facts->version);
	if (r == 0)
		r = put_optional_text(buf, ",\"symbol\":", facts->symbol);
	if (r == 0)
		r = put_optional_number(buf, ",\"warps\":", facts->warps);
	if (r == 0)
		r = put_optional_number(buf,
					",\"warp_size\":", facts->warp_size);
	if (r == 0 && facts->has_shared)
		r = put_number(buf, ",\"shared\":", facts->shared);
	if (r == 0 && facts->whole)
		r = kb_buf_puts(buf, ",\"whole\":true");
	if (r == 0)
		r = put_binaries(facts, buf);
	if (r == 0)
		r = put_end(buf, facts->extra, "");
	if (r < 0)
		return r;
	drop_first_comma(buf, start);
	return kb_buf_putc(buf, '}');
}

static int put_requires(const struct kb_entry *entry, struct kb_buf *buf)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < entry->n_requires; i++)
		r = put_text(buf, i ? "," : ",\"requires\":[",
			     entry->requires[i]);
	return r < 0 || !entry->n_requires ? r : kb_buf_putc(buf, ']');
}

static int put_entry(const struct kb_entry *entry, struct kb_buf *buf)
{
	int r = put_number(buf, "{\"root\":", entry->root);

	if (r == 0)
		r = put_text(buf, ",\"path\":", entry->path);
	if (r == 0)
		r = put_text(buf, ",\"format\":", entry->format);
	if (r == 0)
		r = put_text(buf, ",\"kind\":", entry->kind);
	if (r == 0)
		r = put_text(buf, ",\"name\":", entry->name);
	if (r == 0)
		r = put_optional_text(buf, ",\"target\":", entry->target);
	if (r == 0)
		r = put_requires(entry, buf);
	if (r == 0)
		r = kb_buf_puts(buf, ",\"files\":[");
	for (size_t i = 0; r == 0 && i < entry->n_files; i++) {
		if (i)
			r = kb_buf_putc(buf, ',');
		if (r == 0)
			r = put_file(&entry->files[i], buf);
	}
	if (r == 0)
		r = kb_buf_puts(buf, "],\"facts\":");
	if (r == 0)
		r = kb_facts_format(&entry->facts, buf);
	return r < 0 ? r : put_end(buf, entry->extra, "}\n");
}

int kb_entry_format(const struct kb_entry *entry, struct kb_buf *buf,
		    struct kbundle_error *err)
{
	int r = put_entry(entry, buf);
	struct kb_shown shown;

	if (r < 0)
		return kb_fail(err, r, "manifest line of entry %s: %s",
			       kb_show(&shown, entry->path),
			       kbundle_code_text(r));
	return 0;
}
