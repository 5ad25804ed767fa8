/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads manifest lines. cJSON does the parsing and is no judge: the struct that
 * came out is written back (manifest_format.c) and must give the same bytes, so
 * duplicate members, other orders, rounded numbers and the like never pass.
 * What remains for this file is the rules on names and values of one line;
 * those over all lines are in manifest_rules.c.
 */
#include "manifest.h"

#include "../base/error.h"
#include "../base/parse.h"
#include "../base/path.h"
#include "../dep/jsondoc.h"
#include "limits.h"
#include "manifest_members.h"

#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

static int compare_canonical(const char *line, size_t len,
			     const struct kb_buf *again,
			     struct kbundle_error *err)
{
	size_t i = 0;

	/* `again` has the newline that line is given without. */
	if (again->len == len + 1 && memcmp(again->data, line, len) == 0)
		return 0;
	while (i < len && i + 1 < again->len && again->data[i] == line[i])
		i++;
	return kb_fail(err, KBUNDLE_E_FORMAT,
		       "byte %zu of the line: not in canonical form", i);
}

static int parse_line(const char *line, size_t len, struct kb_jsondoc **ret,
		      struct kbundle_error *err)
{
	if (len >= KB_LINE_MAX) /* its newline counts */
		return kb_fail(err, KBUNDLE_E_LIMIT,
			       "a manifest line has more than %u bytes",
			       KB_LINE_MAX);
	if (memchr(line, '\0', len) || !kb_utf8_is_valid(line, len))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the line is not valid UTF-8 without NUL");
	return kb_jsondoc_parse(line, len, ret, err);
}

/* ---- header ---- */

static int check_version(const struct kb_members *in)
{
	uint64_t version;
	int r = kb_members_get_uint(in, "kbundle", &version);

	if (r < 0)
		return r;
	if (version > KBUNDLE_FORMAT_VERSION)
		return kb_fail(in->err, KBUNDLE_E_VERSION,
			       "bundle format version %llu is newer than "
			       "version %d, the newest that this kbundle "
			       "reads; use a newer kbundle",
			       (unsigned long long)version,
			       KBUNDLE_FORMAT_VERSION);
	if (version < 1)
		return kb_members_fault(in, "kbundle",
					"is not a format version");
	return 0;
}

static int check_requires(const struct kb_members *in)
{
	const char *const *names;
	struct kb_shown shown;
	size_t n;
	int r = kb_members_get_requires(in, 0, &names, &n);

	if (r < 0 || !n)
		return r;
	return kb_fail(in->err, KBUNDLE_E_VERSION,
		       "the bundle requires \"%s\", which this kbundle does "
		       "not know; use a newer kbundle",
		       kb_show(&shown, names[0]));
}

static int parse_root(const struct kb_members *in, struct kb_root *ret)
{
	static const char *const known[] = {"name", "format", "token", NULL};
	int r = kb_members_check(in, known, &ret->extra);

	if (r == 0)
		r = kb_members_get_text(in, "name", &ret->name);
	if (r == 0)
		r = kb_members_get_word(in, "format", &ret->format);
	if (r == 0)
		r = kb_members_get_text(in, "token", &ret->token);
	if (r < 0)
		return r;
	if (!kb_root_name_is_valid(ret->name))
		return kb_members_fault(in, "name", "is not a valid root name");
	if (!kb_token_is_valid(ret->token))
		return kb_members_fault(in, "token", "is not a valid token");
	return 0;
}

static int parse_roots(const struct kb_members *parent, struct kb_header *ret)
{
	struct kb_members_array array;
	const struct kb_jsonnode *node;
	int r = kb_members_get_array(parent, "roots", 1, KB_ROOTS_MAX,
				     sizeof(*ret->roots), &array);

	if (r < 0)
		return r;
	ret->roots = array.items;
	ret->n_roots = array.n;
	node = array.first;
	for (size_t i = 0; i < array.n; i++, node = kb_jsonnode_next(node)) {
		struct kb_members in;

		kb_members_enter_item(&in, parent, node, "roots", i);
		r = parse_root(&in, &ret->roots[i]);
		if (r < 0)
			return r;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(ret->roots[i].name, ret->roots[j].name) ||
			    !strcmp(ret->roots[i].token, ret->roots[j].token))
				return kb_members_fault(
					parent, "roots",
					"has a name or token twice");
	}
	return 0;
}

static int parse_header(const struct kb_members *in, struct kb_header *ret)
{
	static const char *const known[] = {"kbundle", "requires", "roots",
					    "entries", "files",	   "bytes",
					    NULL};
	int r;

	/* Version and requirements first: what a newer kbundle wrote is
	 * refused by its name, not by what it looks like. */
	if (!kb_jsonnode_is_object(in->node))
		return kb_members_fault(in, "", "is not an object");
	r = check_version(in);
	if (r == 0)
		r = check_requires(in);
	if (r == 0)
		r = kb_members_check(in, known, &ret->extra);
	if (r == 0)
		r = parse_roots(in, ret);
	if (r == 0)
		r = kb_members_get_uint(in, "entries", &ret->entries);
	if (r == 0)
		r = kb_members_get_uint(in, "files", &ret->files);
	if (r == 0)
		r = kb_members_get_uint(in, "bytes", &ret->bytes);
	if (r == 0 && !ret->entries)
		r = kb_members_fault(in, "entries", "is 0");
	return r;
}

int kb_header_parse(const char *line, size_t len, struct kb_arena *arena,
		    struct kb_header *ret, struct kbundle_error *err)
{
	KB_AUTO(kb_jsondoc_free) struct kb_jsondoc *doc = NULL;
	KB_AUTO(kb_buf_release) struct kb_buf again;
	struct kb_members in;
	int r;

	kb_buf_init(&again, KB_LINE_MAX + 1);
	memset(ret, 0, sizeof(*ret));
	r = parse_line(line, len, &doc, err);
	if (r < 0)
		return r;
	kb_members_init(&in, kb_jsondoc_root(doc), arena, err);
	r = parse_header(&in, ret);
	if (r == 0)
		r = kb_header_format(ret, &again, err);
	return r < 0 ? r : compare_canonical(line, len, &again, err);
}

/* ---- files of an entry ---- */

static bool requires_codec(const struct kb_entry *entry, const char *codec)
{
	for (size_t i = 0; i < entry->n_requires; i++)
		if (!strncmp(entry->requires[i], "codec-", 6) &&
		    !strcmp(entry->requires[i] + 6, codec))
			return true;
	return false;
}

static int parse_rewrite(const struct kb_members *in,
			 const struct kb_header *header,
			 const struct kb_entry *entry, struct kb_rewrite *ret)
{
	const struct kb_jsonnode *item = kb_jsonnode_first(in->node);
	uint64_t value[3] = {0}; /* offset, length, root */
	const char *codec;

	if (!kb_jsonnode_is_array(in->node) || kb_jsonnode_count(in->node) != 4)
		return kb_members_fault(in, "", "is not an array of four");
	for (int i = 0; i < 3; i++, item = kb_jsonnode_next(item))
		if (!kb_jsonnode_uint(item, &value[i]))
			return kb_members_fault(in, "",
						"has no integer below 2^53");
	codec = kb_jsonnode_string(item);
	if (!codec || !kb_word_is_valid(codec))
		return kb_members_fault(in, "", "has no valid codec");
	if (value[2] >= header->n_roots)
		return kb_members_fault(in, "",
					"names a root that the header lacks");
	if (value[1] != strlen(header->roots[value[2]].token))
		return kb_members_fault(in, "", "is not as long as its token");
	if (strcmp(codec, KB_CODEC_JSON) != 0 && !requires_codec(entry, codec))
		return kb_members_fault(in, "",
					"has a codec that `requires` does not "
					"name");
	ret->offset = value[0];
	ret->length = (uint32_t)value[1];
	ret->root = (uint32_t)value[2];
	ret->codec = !strcmp(codec, KB_CODEC_JSON)
			     ? KB_CODEC_JSON
			     : kb_arena_strdup(in->arena, codec);
	return ret->codec ? 0 : kb_fail_nomem(in->err);
}

static int parse_rewrites(const struct kb_members *parent,
			  const struct kb_header *header,
			  const struct kb_entry *entry, struct kb_file *file)
{
	struct kb_members_array array;
	const struct kb_jsonnode *node;
	struct kb_rewrite *rewrites;
	uint64_t end = 0;
	int r;

	if (!kb_members_has(parent, "rewrites"))
		return 0;
	r = kb_members_get_array(parent, "rewrites", 1, KB_REWRITES_MAX,
				 sizeof(*rewrites), &array);
	if (r < 0)
		return r;
	file->rewrites = rewrites = array.items;
	file->n_rewrites = array.n;
	node = array.first;
	for (size_t i = 0; i < array.n; i++, node = kb_jsonnode_next(node)) {
		struct kb_members in;

		kb_members_enter_item(&in, parent, node, "rewrites", i);
		r = parse_rewrite(&in, header, entry, &rewrites[i]);
		if (r < 0)
			return r;
		if (rewrites[i].offset < end)
			return kb_members_fault(&in, "",
						"is not behind the one before");
		end = rewrites[i].offset + rewrites[i].length;
		if (end > file->size)
			return kb_members_fault(&in, "",
						"ends behind the file");
	}
	return 0;
}

static int parse_mtime(const struct kb_members *in, struct kb_file *ret)
{
	const char *text;
	int r = kb_members_get_optional_text(in, "mtime", &text);

	if (r < 0 || !text)
		return r;
	ret->has_mtime = true;
	return kb_parse_mtime(text, &ret->mtime_s, &ret->mtime_ns)
		       ? 0
		       : kb_members_fault(in, "mtime",
					  "is not <seconds>.<9 digits>");
}

static int parse_file(const struct kb_members *in,
		      const struct kb_header *header,
		      const struct kb_entry *entry, struct kb_file *ret)
{
	static const char *const known[] = {"name",	"size",	 "sha256",
					    "rewrites", "mtime", NULL};
	const char *hex;
	int r = kb_members_check(in, known, &ret->extra);

	if (r == 0)
		r = kb_members_get_text(in, "name", &ret->name);
	if (r == 0)
		r = kb_members_get_uint(in, "size", &ret->size);
	if (r == 0)
		r = kb_members_get_text(in, "sha256", &hex);
	if (r < 0)
		return r;
	if (ret->size > KB_FILE_BYTES_MAX)
		return kb_members_fault(in, "size", "is 8 GiB or more");
	if (!kb_parse_hex(hex, ret->sha256, sizeof(ret->sha256)))
		return kb_members_fault(
			in, "sha256",
			"is not 64 lower-case hexadecimal digits");
	r = parse_rewrites(in, header, entry, ret);
	return r < 0 ? r : parse_mtime(in, ret);
}

static int compare_name(const void *name, const void *file)
{
	return strcmp(name, ((const struct kb_file *)file)->name);
}

/* Is there a file where one that is named needs a directory? `files` are the
 * n that sort before it. */
static bool lies_in_file(const char *name, const struct kb_file *files,
			 size_t n)
{
	char parent[KB_MEMBER_PATH_MAX + 1];

	for (const char *slash = strchr(name, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		size_t len = (size_t)(slash - name);

		memcpy(parent, name, len);
		parent[len] = '\0';
		if (bsearch(parent, files, n, sizeof(*files), compare_name))
			return true;
	}
	return false;
}

/* Sorted by name, unique, none a prefix of another at a component border;
 * only a single file may be without a name. */
static int check_file_names(const struct kb_members *in,
			    const struct kb_entry *entry)
{
	const struct kb_file *files = entry->files;

	for (size_t i = 0; i < entry->n_files; i++) {
		const char *name = files[i].name;
		const char *why = *name ? kb_path_fault(name) : NULL;

		if (!*name && entry->n_files > 1)
			return kb_members_fault(in, "files",
						"has a file without a name");
		if (why)
			return kb_members_fault(in, "files: a name", why);
		if (i && strcmp(files[i - 1].name, name) >= 0)
			return kb_members_fault(in, "files",
						"are not in order");
		if (lies_in_file(name, files, i))
			return kb_members_fault(in, "files",
						"has a name inside another");
	}
	return 0;
}

static int parse_files(const struct kb_members *parent,
		       const struct kb_header *header, struct kb_entry *ret)
{
	struct kb_members_array array;
	const struct kb_jsonnode *node;
	int r = kb_members_get_array(parent, "files", 1, KB_FILES_PER_ENTRY_MAX,
				     sizeof(*ret->files), &array);

	if (r < 0)
		return r;
	ret->files = array.items;
	ret->n_files = array.n;
	node = array.first;
	for (size_t i = 0; i < array.n; i++, node = kb_jsonnode_next(node)) {
		struct kb_members in;

		kb_members_enter_item(&in, parent, node, "files", i);
		r = parse_file(&in, header, ret, &ret->files[i]);
		if (r < 0)
			return r;
	}
	return check_file_names(parent, ret);
}

/* ---- entry ---- */

static int parse_names(const struct kb_members *in,
		       const struct kb_header *header, struct kb_entry *ret)
{
	const char *why;
	uint64_t root;
	int r = kb_members_get_uint(in, "root", &root);

	if (r == 0 && root >= header->n_roots)
		r = kb_members_fault(in, "root",
				     "names a root that the header lacks");
	if (r == 0)
		r = kb_members_get_text(in, "path", &ret->path);
	if (r == 0)
		r = kb_members_get_word(in, "format", &ret->format);
	if (r == 0)
		r = kb_members_get_word(in, "kind", &ret->kind);
	if (r == 0)
		r = kb_members_get_text(in, "name", &ret->name);
	if (r == 0)
		r = kb_members_get_target(in, "target", &ret->target);
	if (r == 0 && kb_members_has(in, "requires"))
		r = kb_members_get_requires(in, 1, &ret->requires,
					    &ret->n_requires);
	if (r < 0)
		return r;
	ret->root = (uint32_t)root;
	why = kb_path_fault(ret->path);
	if (why)
		return kb_members_fault(in, "path", why);
	why = kb_name_fault(ret->name);
	return why ? kb_members_fault(in, "name", why) : 0;
}

static int parse_facts(const struct kb_members *parent,
		       const struct kb_jsonnode *node, struct kb_facts *ret)
{
	struct kb_members in;

	if (!node)
		return kb_members_fault(parent, "facts", "is missing");
	kb_members_enter(&in, parent, node, "facts");
	return kb_facts_parse(&in, ret);
}

/* A format that is not known here may rewrite JSON files. */
static bool may_rewrite(const struct kb_format *format, const char *file,
			const char *codec)
{
	size_t len = strlen(file);

	if (format)
		return format->may_rewrite(file, codec);
	return len > 5 && !strcmp(file + len - 5, ".json");
}

/* What the entry's format says of its path and of rewrites. */
static int check_format(const struct kb_members *in,
			const struct kb_entry *entry)
{
	const struct kb_format *format = kb_format_find(entry->format);

	if (format && !format->path_is_valid(entry->path))
		return kb_members_fault(in, "path",
					"has not the shape of its format");
	for (size_t i = 0; i < entry->n_files; i++) {
		const struct kb_file *file = &entry->files[i];

		for (size_t j = 0; j < file->n_rewrites; j++)
			if (!may_rewrite(format, file->name,
					 file->rewrites[j].codec))
				return kb_members_fault(
					in, "files: a rewrite",
					"in a file where its format has none");
	}
	return 0;
}

static int parse_entry(const struct kb_members *in,
		       const struct kb_header *header, struct kb_entry *ret)
{
	static const char *const known[] = {
		"root",	  "path",     "format", "kind",	 "name",
		"target", "requires", "files",	"facts", NULL};
	int r = kb_members_check(in, known, &ret->extra);

	if (r == 0)
		r = parse_names(in, header, ret);
	if (r == 0)
		r = parse_files(in, header, ret);
	if (r == 0)
		r = parse_facts(in, kb_jsonnode_get(in->node, "facts"),
				&ret->facts);
	return r < 0 ? r : check_format(in, ret);
}

int kb_entry_parse(const char *line, size_t len, const struct kb_header *header,
		   struct kb_arena *arena, struct kb_entry *ret,
		   struct kbundle_error *err)
{
	KB_AUTO(kb_jsondoc_free) struct kb_jsondoc *doc = NULL;
	KB_AUTO(kb_buf_release) struct kb_buf again;
	struct kb_members in;
	int r;

	kb_buf_init(&again, KB_LINE_MAX + 1);
	memset(ret, 0, sizeof(*ret));
	r = parse_line(line, len, &doc, err);
	if (r < 0)
		return r;
	kb_members_init(&in, kb_jsondoc_root(doc), arena, err);
	r = parse_entry(&in, header, ret);
	if (r == 0)
		r = kb_entry_format(ret, &again, err);
	return r < 0 ? r : compare_canonical(line, len, &again, err);
}

const char *kb_entry_unknown_requirement(const struct kb_entry *entry)
{
	/* Version 1 has no requirement that this library would know. */
	return entry->n_requires ? entry->requires[0] : NULL;
}
