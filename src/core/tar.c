/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the tar bytes that a manifest implies. Writers emit them, readers
 * compare with them; so no header that comes from outside is ever interpreted.
 * The layout is that of POSIX ustar with pax records where a path does not fit
 * or a time must be kept to the nanosecond.
 */
#include "tar.h"

#include "../base/error.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 100
#define PREFIX_OFFSET 345
#define PREFIX_BYTES 155

static const char pax_name[] = "././@PaxHeader";

static void put_octal(unsigned char *field, unsigned digits, uint64_t value)
{
	field[digits] = '\0';
	while (digits--) {
		field[digits] = (unsigned char)('0' + (value & 7));
		value >>= 3;
	}
}

static void put_checksum(unsigned char block[KB_TAR_BLOCK])
{
	unsigned sum = 0;

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < KB_TAR_BLOCK; i++)
		sum += block[i];
	put_octal(block + 148, 6, sum);
	block[155] = ' ';
}

static void put_block(unsigned char block[KB_TAR_BLOCK], const char *name,
		      size_t name_len, const char *prefix, size_t prefix_len,
		      uint64_t size, uint64_t mtime, char type)
{
	memset(block, 0, KB_TAR_BLOCK);
	memcpy(block, name, name_len);
	memcpy(block + PREFIX_OFFSET, prefix, prefix_len);
	put_octal(block + 100, 7, 0644);
	put_octal(block + 108, 7, 0);
	put_octal(block + 116, 7, 0);
	put_octal(block + 124, 11, size);
	put_octal(block + 136, 11, mtime);
	block[156] = (unsigned char)type;
	memcpy(block + 257,
	       "ustar\0"
	       "00",
	       8);
	put_checksum(block);
}

/* The length in front of a pax record counts its own digits. */
static size_t put_record(char *at, size_t room, const char *key,
			 const char *value)
{
	size_t body = strlen(key) + strlen(value) + 3; /* ' ' '=' '\n' */
	size_t len = body + 1;

	while ((size_t)snprintf(NULL, 0, "%zu", len) + body != len)
		len++;
	(void)snprintf(at, room, "%zu %s=%s\n", len, key, value);
	return len;
}

void kb_tar_header(struct kb_tar_header *ret, const char *path, uint64_t size,
		   bool has_mtime, int64_t mtime_s, uint32_t mtime_ns)
{
	size_t path_len = strlen(path);
	const char *slash = strrchr(path, '/');
	const char *name = path;
	size_t name_len = path_len, prefix_len = 0, records_len = 0;
	char *records = (char *)ret->bytes + KB_TAR_BLOCK;
	size_t room = KB_TAR_HEADER_MAX - KB_TAR_BLOCK;
	bool needs_path = false;

	if (path_len > NAME_BYTES) {
		prefix_len = slash ? (size_t)(slash - path) : 0;
		name_len = slash ? path_len - prefix_len - 1 : path_len;
		needs_path = !slash || prefix_len > PREFIX_BYTES ||
			     name_len > NAME_BYTES;
		if (needs_path) {
			prefix_len = 0;
			name_len = NAME_BYTES;
		} else {
			name = slash + 1;
		}
	}
	ret->len = 0;
	if (needs_path || has_mtime) {
		memset(ret->bytes, 0, sizeof(ret->bytes));
		if (needs_path)
			records_len += put_record(records, room, "path", path);
		if (has_mtime) {
			char text[32];

			(void)snprintf(text, sizeof(text), "%lld.%09u",
				       (long long)mtime_s, mtime_ns);
			records_len +=
				put_record(records + records_len,
					   room - records_len, "mtime", text);
		}
		memset(records + records_len, 0, room - records_len);
		put_block(ret->bytes, pax_name, sizeof(pax_name) - 1, "", 0,
			  records_len, 0, 'x');
		ret->len = KB_TAR_BLOCK + records_len +
			   kb_tar_padding(records_len);
	}
	put_block(ret->bytes + ret->len, name, name_len, path, prefix_len, size,
		  has_mtime ? (uint64_t)mtime_s : 0, '0');
	ret->len += KB_TAR_BLOCK;
}

size_t kb_tar_padding(uint64_t size)
{
	return (size_t)(-size & (KB_TAR_BLOCK - 1));
}

int kb_member_path(char ret[KB_MEMBER_PATH_MAX + 1], const char *root,
		   const char *entry, const char *file,
		   struct kbundle_error *err)
{
	int n = snprintf(ret, KB_MEMBER_PATH_MAX + 1, "%s/%s%s%s", root, entry,
			 *file ? "/" : "", file);
	struct kb_shown shown;
	const char *fault;

	if (n < 0 || n > KB_MEMBER_PATH_MAX)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "entry %s: a member path has more than %d bytes",
			       kb_show(&shown, entry), KB_MEMBER_PATH_MAX);
	fault = kb_path_fault(ret);
	if (fault)
		return kb_fail(err, KBUNDLE_E_FORMAT, "member path %s %s",
			       kb_show(&shown, ret), fault);
	return 0;
}

int kb_tar_entry_bytes(const char *root, const struct kb_entry *entry,
		       uint64_t *ret, struct kbundle_error *err)
{
	uint64_t total = 0;

	for (size_t i = 0; i < entry->n_files; i++) {
		const struct kb_file *file = &entry->files[i];
		char path[KB_MEMBER_PATH_MAX + 1];
		struct kb_tar_header header;
		int r = kb_member_path(path, root, entry->path, file->name,
				       err);

		if (r < 0)
			return r;
		kb_tar_header(&header, path, file->size, file->has_mtime,
			      file->mtime_s, file->mtime_ns);
		total += header.len + file->size + kb_tar_padding(file->size);
	}
	*ret = total;
	return 0;
}
