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
#include "../base/json.h"
#include "../base/parse.h"
#include "../base/path.h"
#include "../dep/jsondoc.h"
#include "limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What one object's parsing needs; `where` is its JSON path for messages. */
struct reader {
	struct kb_arena *arena;
	struct kbundle_error *err;
	char where[96];
};

static int fault(const struct reader *in, const char *member, const char *what)
{
	return kb_fail(in->err, KBUNDLE_E_FORMAT, "%s%s%s %s", in->where,
		       *in->where && *member ? "." : "", member, what);
}

static void enter(struct reader *in, const struct reader *parent,
		  const char *fmt, size_t index)
{
	size_t len = strlen(parent->where);

	*in = *parent;
	/* The deepest path, facts.binaries[N].kernels[N], has room. */
	if (len)
		in->where[len++] = '.';
	(void)snprintf(in->where + len, sizeof(in->where) - len, fmt, index);
}

/* [a-z][a-z0-9-]{0,31}: formats, kinds, codecs, requirements */
static bool is_word(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return text[0] >= 'a' && text[0] <= 'z' && n <= 32 && !text[n];
}

static bool is_text(const char *text)
{
	size_t len = strlen(text);

	return len <= KB_TEXT_MAX && kb_utf8_is_valid(text, len);
}

/* ---- members ---- */

static bool is_extra_name(const char *name)
{
	size_t n;

	if (strncmp(name, "x-", 2) != 0)
		return false;
	n = strspn(name + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return n >= 1 && n <= 62 && !name[2 + n];
}

static int put_extra(const struct reader *in, struct kb_buf *buf,
		     const char *name, const char *value)
{
	int r = kb_buf_printf(buf, ",\"%s\":", name);

	if (r == 0)
		r = kb_json_put_string(buf, value);
	return r < 0 ? kb_fail_nomem(in->err) : 0;
}

/* Checks that an object has known members and x- members only, and collects
 * the latter as canonical text. `known` is a NULL-terminated list. */
static int check_members(const struct reader *in,
			 const struct kb_jsonnode *object,
			 const char *const *known, const char **ret_extra)
{
	KB_AUTO(kb_buf_release) struct kb_buf extra;
	const struct kb_jsonnode *member;
	const char *last = "";

	kb_buf_init(&extra, KB_LINE_MAX);
	if (!kb_jsonnode_is_object(object))
		return fault(in, "", "is not an object");
	for (member = kb_jsonnode_first(object); member;
	     member = kb_jsonnode_next(member)) {
		const char *name = kb_jsonnode_name(member);
		const char *value = kb_jsonnode_string(member);
		struct kb_shown shown;
		size_t i = 0;
		int r;

		while (known[i] && strcmp(known[i], name) != 0)
			i++;
		if (known[i])
			continue;
		kb_show(&shown, name);
		if (!is_extra_name(name))
			return fault(in, shown.text, "is an unknown member");
		if (!value)
			return fault(in, shown.text, "is not a string");
		if (!is_text(value))
			return fault(in, shown.text, "is not a valid text");
		if (strcmp(last, name) >= 0)
			return fault(in, shown.text,
				     "is not in order among x- members");
		last = name;
		r = put_extra(in, &extra, name, value);
		if (r < 0)
			return r;
	}
	*ret_extra = extra.len ? kb_arena_strdup(in->arena, extra.data) : "";
	return *ret_extra ? 0 : kb_fail_nomem(in->err);
}

/* A text; *ret NULL where it is absent and may be. */
static int get_text(const struct reader *in, const struct kb_jsonnode *object,
		    const char *member, bool required, const char **ret)
{
	const struct kb_jsonnode *node = kb_jsonnode_get(object, member);
	const char *text;

	*ret = NULL;
	if (!node)
		return required ? fault(in, member, "is missing") : 0;
	text = kb_jsonnode_string(node);
	if (!text)
		return fault(in, member, "is not a string");
	if (!is_text(text))
		return fault(in, member, "is not a valid text");
	*ret = kb_arena_strdup(in->arena, text);
	return *ret ? 0 : kb_fail_nomem(in->err);
}

static int get_word(const struct reader *in, const struct kb_jsonnode *object,
		    const char *member, const char **ret)
{
	int r = get_text(in, object, member, true, ret);

	if (r < 0)
		return r;
	return is_word(*ret) ? 0
			     : fault(in, member, "is not a valid short name");
}

static int get_uint(const struct reader *in, const struct kb_jsonnode *object,
		    const char *member, uint64_t *ret)
{
	const struct kb_jsonnode *node = kb_jsonnode_get(object, member);

	if (!node)
		return fault(in, member, "is missing");
	if (!kb_jsonnode_uint(node, ret))
		return fault(in, member, "is not an integer below 2^53");
	return 0;
}

/* At least 1 where it is there; 0: absent. */
static int get_optional_uint(const struct reader *in,
			     const struct kb_jsonnode *object,
			     const char *member, uint64_t *ret)
{
	*ret = 0;
	if (!kb_jsonnode_get(object, member))
		return 0;
	if (get_uint(in, object, member, ret) < 0)
		return KBUNDLE_E_FORMAT;
	return *ret ? 0 : fault(in, member, "is 0 and must be left out");
}

/* `true` or absent. */
static int get_flag(const struct reader *in, const struct kb_jsonnode *object,
		    const char *member, bool *ret)
{
	const struct kb_jsonnode *node = kb_jsonnode_get(object, member);

	*ret = false;
	if (!node)
		return 0;
	if (!kb_jsonnode_bool(node, ret) || !*ret)
		return fault(in, member, "is not true, and else left out");
	return 0;
}

/* An array and room for its items in the arena. */
static int get_array(const struct reader *in, const struct kb_jsonnode *object,
		     const char *member, size_t min, size_t max,
		     size_t item_bytes, const struct kb_jsonnode **ret_node,
		     void **ret_items, size_t *ret_n)
{
	const struct kb_jsonnode *node = kb_jsonnode_get(object, member);

	*ret_node = node;
	*ret_items = NULL;
	*ret_n = 0;
	if (!node)
		return fault(in, member, "is missing");
	if (!kb_jsonnode_is_array(node))
		return fault(in, member, "is not an array");
	*ret_n = kb_jsonnode_count(node);
	if (*ret_n < min)
		return fault(in, member, "has too few elements");
	if (*ret_n > max)
		return fault(in, member, "has too many elements");
	if (!*ret_n)
		return 0;
	*ret_items = kb_arena_array(in->arena, *ret_n, item_bytes);
	return *ret_items ? 0 : kb_fail_nomem(in->err);
}

/* Names of requirements: sorted, unique. */
static int get_requires(const struct reader *in,
			const struct kb_jsonnode *object, size_t min,
			const char *const **ret, size_t *ret_n)
{
	const struct kb_jsonnode *node;
	void *items;
	const char **names;
	int r = get_array(in, object, "requires", min, 64, sizeof(*names),
			  &node, &items, ret_n);

	if (r < 0)
		return r;
	names = items;
	node = kb_jsonnode_first(node);
	for (size_t i = 0; i < *ret_n; i++, node = kb_jsonnode_next(node)) {
		const char *text = kb_jsonnode_string(node);

		if (!text || !is_word(text))
			return fault(in, "requires", "has an invalid name");
		if (i && strcmp(names[i - 1], text) >= 0)
			return fault(in, "requires", "is not sorted");
		names[i] = kb_arena_strdup(in->arena, text);
		if (!names[i])
			return kb_fail_nomem(in->err);
	}
	*ret = names;
	return 0;
}

/* ---- the canonical form ---- */

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
	if (len > KB_LINE_MAX)
		return kb_fail(err, KBUNDLE_E_LIMIT,
			       "a manifest line has more than %u bytes",
			       KB_LINE_MAX);
	if (memchr(line, '\0', len) || !kb_utf8_is_valid(line, len))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "the line is not valid UTF-8 without NUL");
	return kb_jsondoc_parse(line, len, ret, err);
}

/* ---- header ---- */

static int check_version(const struct reader *in,
			 const struct kb_jsonnode *object)
{
	uint64_t version;
	int r = get_uint(in, object, "kbundle", &version);

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
		return fault(in, "kbundle", "is not a format version");
	return 0;
}

static int check_requires(const struct reader *in,
			  const struct kb_jsonnode *object)
{
	const char *const *names;
	struct kb_shown shown;
	size_t n;
	int r = get_requires(in, object, 0, &names, &n);

	if (r < 0 || !n)
		return r;
	return kb_fail(in->err, KBUNDLE_E_VERSION,
		       "the bundle requires \"%s\", which this kbundle does "
		       "not know; use a newer kbundle",
		       kb_show(&shown, names[0]));
}

static int parse_root(const struct reader *parent, size_t index,
		      const struct kb_jsonnode *node, struct kb_root *ret)
{
	static const char *const known[] = {"name", "format", "token", NULL};
	struct reader in;
	int r;

	enter(&in, parent, "roots[%zu]", index);
	r = check_members(&in, node, known, &ret->extra);
	if (r == 0)
		r = get_text(&in, node, "name", true, &ret->name);
	if (r == 0)
		r = get_word(&in, node, "format", &ret->format);
	if (r == 0)
		r = get_text(&in, node, "token", true, &ret->token);
	if (r < 0)
		return r;
	if (!kb_root_name_is_valid(ret->name))
		return fault(&in, "name", "is not a valid root name");
	if (!kb_token_is_valid(ret->token))
		return fault(&in, "token", "is not a valid token");
	return 0;
}

static int parse_roots(const struct reader *in,
		       const struct kb_jsonnode *object, struct kb_header *ret)
{
	const struct kb_jsonnode *node;
	void *items;
	int r = get_array(in, object, "roots", 1, KB_ROOTS_MAX,
			  sizeof(*ret->roots), &node, &items, &ret->n_roots);

	if (r < 0)
		return r;
	ret->roots = items;
	node = kb_jsonnode_first(node);
	for (size_t i = 0; i < ret->n_roots;
	     i++, node = kb_jsonnode_next(node)) {
		r = parse_root(in, i, node, &ret->roots[i]);
		if (r < 0)
			return r;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(ret->roots[i].name, ret->roots[j].name) ||
			    !strcmp(ret->roots[i].token, ret->roots[j].token))
				return fault(in, "roots",
					     "has a name or token twice");
	}
	return 0;
}

static int parse_header(struct reader *in, const struct kb_jsonnode *object,
			struct kb_header *ret)
{
	static const char *const known[] = {"kbundle", "requires", "roots",
					    "entries", "files",	   "bytes",
					    NULL};
	int r;

	/* Version and requirements first: what a newer kbundle wrote is
	 * refused by its name, not by what it looks like. */
	if (!kb_jsonnode_is_object(object))
		return kb_fail(in->err, KBUNDLE_E_FORMAT, "is not an object");
	r = check_version(in, object);
	if (r == 0)
		r = check_requires(in, object);
	if (r == 0)
		r = check_members(in, object, known, &ret->extra);
	if (r == 0)
		r = parse_roots(in, object, ret);
	if (r == 0)
		r = get_uint(in, object, "entries", &ret->entries);
	if (r == 0)
		r = get_uint(in, object, "files", &ret->files);
	if (r == 0)
		r = get_uint(in, object, "bytes", &ret->bytes);
	if (r == 0 && !ret->entries)
		r = fault(in, "entries", "is 0");
	return r;
}

int kb_header_parse(const char *line, size_t len, struct kb_arena *arena,
		    struct kb_header *ret, struct kbundle_error *err)
{
	KB_AUTO(kb_jsondoc_free) struct kb_jsondoc *doc = NULL;
	KB_AUTO(kb_buf_release) struct kb_buf again;
	struct reader in = {arena, err, ""};
	int r;

	kb_buf_init(&again, KB_LINE_MAX + 1);
	memset(ret, 0, sizeof(*ret));
	r = parse_line(line, len, &doc, err);
	if (r == 0)
		r = parse_header(&in, kb_jsondoc_root(doc), ret);
	if (r == 0)
		r = kb_header_format(ret, &again, err);
	return r < 0 ? r : compare_canonical(line, len, &again, err);
}

/* ---- entry ---- */

static bool requires_codec(const struct kb_entry *entry, const char *codec)
{
	for (size_t i = 0; i < entry->n_requires; i++)
		if (!strncmp(entry->requires[i], "codec-", 6) &&
		    !strcmp(entry->requires[i] + 6, codec))
			return true;
	return false;
}

static int parse_rewrite(const struct reader *in,
			 const struct kb_jsonnode *node,
			 const struct kb_header *header,
			 const struct kb_entry *entry, struct kb_rewrite *ret)
{
	const struct kb_jsonnode *item = kb_jsonnode_first(node);
	uint64_t value[3] = {0};
	const char *codec;

	if (!kb_jsonnode_is_array(node) || kb_jsonnode_count(node) != 4)
		return fault(in, "", "is not an array of four");
	for (int i = 0; i < 3; i++, item = kb_jsonnode_next(item))
		if (!kb_jsonnode_uint(item, &value[i]))
			return fault(in, "", "has no integer below 2^53");
	codec = kb_jsonnode_string(item);
	if (!codec || !is_word(codec))
		return fault(in, "", "has no valid codec");
	if (value[2] >= header->n_roots)
		return fault(in, "", "names a root that the header lacks");
	if (value[1] != strlen(header->roots[value[2]].token))
		return fault(in, "", "is not as long as its token");
	if (strcmp(codec, KB_CODEC_JSON) != 0 && !requires_codec(entry, codec))
		return fault(in, "",
			     "has a codec that `requires` does not name");
	ret->offset = value[0];
	ret->length = (uint32_t)value[1];
	ret->root = (uint32_t)value[2];
	ret->codec = !strcmp(codec, KB_CODEC_JSON)
			     ? KB_CODEC_JSON
			     : kb_arena_strdup(in->arena, codec);
	return ret->codec ? 0 : kb_fail_nomem(in->err);
}

static int parse_rewrites(const struct reader *parent,
			  const struct kb_jsonnode *object,
			  const struct kb_header *header,
			  const struct kb_entry *entry, struct kb_file *file)
{
	const struct kb_jsonnode *node;
	struct kb_rewrite *rewrites;
	void *items;
	uint64_t end = 0;
	int r;

	if (!kb_jsonnode_get(object, "rewrites"))
		return 0;
	r = get_array(parent, object, "rewrites", 1, KB_REWRITES_MAX,
		      sizeof(*rewrites), &node, &items, &file->n_rewrites);
	if (r < 0)
		return r;
	file->rewrites = rewrites = items;
	node = kb_jsonnode_first(node);
	for (size_t i = 0; i < file->n_rewrites;
	     i++, node = kb_jsonnode_next(node)) {
		struct reader in;

		enter(&in, parent, "rewrites[%zu]", i);
		r = parse_rewrite(&in, node, header, entry, &rewrites[i]);
		if (r < 0)
			return r;
		if (rewrites[i].offset < end)
			return fault(&in, "", "is not behind the one before");
		end = rewrites[i].offset + rewrites[i].length;
		if (end > file->size)
			return fault(&in, "", "ends behind the file");
	}
	return 0;
}

static int parse_mtime(const struct reader *in,
		       const struct kb_jsonnode *object, struct kb_file *ret)
{
	const char *text;
	int r = get_text(in, object, "mtime", false, &text);

	if (r < 0 || !text)
		return r;
	ret->has_mtime = true;
	return kb_parse_mtime(text, &ret->mtime_s, &ret->mtime_ns)
		       ? 0
		       : fault(in, "mtime", "is not <seconds>.<9 digits>");
}

static int parse_file(const struct reader *parent, size_t index,
		      const struct kb_jsonnode *node,
		      const struct kb_header *header,
		      const struct kb_entry *entry, struct kb_file *ret)
{
	static const char *const known[] = {"name",	"size",	 "sha256",
					    "rewrites", "mtime", NULL};
	struct reader in;
	const char *hex;
	int r;

	enter(&in, parent, "files[%zu]", index);
	r = check_members(&in, node, known, &ret->extra);
	if (r == 0)
		r = get_text(&in, node, "name", true, &ret->name);
	if (r == 0)
		r = get_uint(&in, node, "size", &ret->size);
	if (r == 0)
		r = get_text(&in, node, "sha256", true, &hex);
	if (r < 0)
		return r;
	if (ret->size > KB_FILE_BYTES_MAX)
		return fault(&in, "size", "is 8 GiB or more");
	if (!kb_parse_hex(hex, ret->sha256, sizeof(ret->sha256)))
		return fault(&in, "sha256",
			     "is not 64 lower-case hexadecimal digits");
	r = parse_rewrites(&in, node, header, entry, ret);
	return r < 0 ? r : parse_mtime(&in, node, ret);
}

/* Sorted by name, unique, none a prefix of another at a component border;
 * only a single file may be without a name. */
static int check_file_names(const struct reader *in,
			    const struct kb_entry *entry)
{
	for (size_t i = 0; i < entry->n_files; i++) {
		const char *name = entry->files[i].name;
		const char *why = *name ? kb_path_fault(name) : NULL;

		if (!*name && entry->n_files > 1)
			return fault(in, "files", "has a file without a name");
		if (why)
			return fault(in, "files: a name", why);
		if (i && strcmp(entry->files[i - 1].name, name) >= 0)
			return fault(in, "files", "are not in order");
		for (size_t j = i; j-- > 0;) {
			const char *before = entry->files[j].name;
			size_t len = strlen(before);

			/* A name that extends another sorts behind it, and
			 * only others that extend it stand between. */
			if (strncmp(before, name, len) != 0)
				break;
			if (name[len] == '/')
				return fault(in, "files",
					     "has a name inside another");
		}
	}
	return 0;
}

static int parse_files(const struct reader *in,
		       const struct kb_jsonnode *object,
		       const struct kb_header *header, struct kb_entry *ret)
{
	const struct kb_jsonnode *node;
	void *items;
	int r = get_array(in, object, "files", 1, KB_FILES_PER_ENTRY_MAX,
			  sizeof(*ret->files), &node, &items, &ret->n_files);

	if (r < 0)
		return r;
	ret->files = items;
	node = kb_jsonnode_first(node);
	for (size_t i = 0; i < ret->n_files;
	     i++, node = kb_jsonnode_next(node)) {
		r = parse_file(in, i, node, header, ret, &ret->files[i]);
		if (r < 0)
			return r;
	}
	return check_file_names(in, ret);
}

static int parse_kernel(const struct reader *parent, size_t index,
			const struct kb_jsonnode *node,
			struct kb_kernel_fact *ret)
{
	static const char *const known[] = {"name", "registers", "shared",
					    NULL};
	struct reader in;
	int r;

	enter(&in, parent, "kernels[%zu]", index);
	r = check_members(&in, node, known, &ret->extra);
	if (r == 0)
		r = get_text(&in, node, "name", true, &ret->name);
	if (r == 0)
		r = get_optional_uint(&in, node, "registers", &ret->registers);
	return r < 0 ? r : get_optional_uint(&in, node, "shared", &ret->shared);
}

static int parse_kernels(const struct reader *in,
			 const struct kb_jsonnode *object,
			 struct kb_binary_fact *ret)
{
	const struct kb_jsonnode *node;
	struct kb_kernel_fact *kernels;
	void *items;
	int r = get_array(in, object, "kernels", 0, KB_REWRITES_MAX,
			  sizeof(*kernels), &node, &items, &ret->n_kernels);

	if (r < 0)
		return r;
	ret->kernels = kernels = items;
	node = kb_jsonnode_first(node);
	for (size_t i = 0; r == 0 && i < ret->n_kernels;
	     i++, node = kb_jsonnode_next(node))
		r = parse_kernel(in, i, node, &kernels[i]);
	return r;
}

static int check_target(const struct reader *in, const char *text)
{
	struct kb_target target;

	if (text && !kb_target_parse(&target, text))
		return fault(in, "target", "is not a valid target");
	return 0;
}

static int parse_binary(const struct reader *parent, size_t index,
			const struct kb_jsonnode *node,
			struct kb_binary_fact *ret)
{
	static const char *const known[] = {"file", "kind",  "target",	"abi",
					    "tool", "debug", "kernels", NULL};
	struct reader in;
	int r;

	enter(&in, parent, "binaries[%zu]", index);
	r = check_members(&in, node, known, &ret->extra);
	if (r == 0)
		r = get_text(&in, node, "file", true, &ret->file);
	if (r == 0)
		r = get_word(&in, node, "kind", &ret->kind);
	if (r == 0)
		r = get_text(&in, node, "target", false, &ret->target);
	if (r == 0)
		r = check_target(&in, ret->target);
	if (r == 0)
		r = get_optional_uint(&in, node, "abi", &ret->abi);
	if (r == 0)
		r = get_text(&in, node, "tool", false, &ret->tool);
	if (r == 0)
		r = get_flag(&in, node, "debug", &ret->debug);
	return r < 0 ? r : parse_kernels(&in, node, ret);
}

static int parse_binaries(const struct reader *in,
			  const struct kb_jsonnode *object,
			  struct kb_facts *ret)
{
	const struct kb_jsonnode *node;
	struct kb_binary_fact *binaries;
	void *items;
	int r;

	if (!kb_jsonnode_get(object, "binaries"))
		return 0;
	r = get_array(in, object, "binaries", 1, KB_FILES_PER_ENTRY_MAX,
		      sizeof(*binaries), &node, &items, &ret->n_binaries);
	if (r < 0)
		return r;
	ret->binaries = binaries = items;
	node = kb_jsonnode_first(node);
	for (size_t i = 0; r == 0 && i < ret->n_binaries;
	     i++, node = kb_jsonnode_next(node))
		r = parse_binary(in, i, node, &binaries[i]);
	return r;
}

static int parse_facts(const struct reader *parent,
		       const struct kb_jsonnode *object, struct kb_facts *ret)
{
	static const char *const known[] = {"producer", "version",   "symbol",
					    "warps",	"warp_size", "shared",
					    "whole",	"binaries",  NULL};
	struct reader in;
	int r;

	enter(&in, parent, "facts", 0);
	if (!object)
		return fault(&in, "", "is missing");
	r = check_members(&in, object, known, &ret->extra);
	if (r == 0)
		r = get_text(&in, object, "producer", false, &ret->producer);
	if (r == 0)
		r = get_text(&in, object, "version", false, &ret->version);
	if (r == 0)
		r = get_text(&in, object, "symbol", false, &ret->symbol);
	if (r == 0)
		r = get_optional_uint(&in, object, "warps", &ret->warps);
	if (r == 0)
		r = get_optional_uint(&in, object, "warp_size",
				      &ret->warp_size);
	if (r == 0 && kb_jsonnode_get(object, "shared")) {
		ret->has_shared = true;
		r = get_uint(&in, object, "shared", &ret->shared);
	}
	if (r == 0)
		r = get_flag(&in, object, "whole", &ret->whole);
	return r < 0 ? r : parse_binaries(&in, object, ret);
}

static int parse_names(const struct reader *in,
		       const struct kb_jsonnode *object,
		       const struct kb_header *header, struct kb_entry *ret)
{
	const char *why;
	uint64_t root;
	int r = get_uint(in, object, "root", &root);

	if (r == 0 && root >= header->n_roots)
		r = fault(in, "root", "names a root that the header lacks");
	if (r == 0)
		r = get_text(in, object, "path", true, &ret->path);
	if (r == 0)
		r = get_word(in, object, "format", &ret->format);
	if (r == 0)
		r = get_word(in, object, "kind", &ret->kind);
	if (r == 0)
		r = get_text(in, object, "name", true, &ret->name);
	if (r == 0)
		r = get_text(in, object, "target", false, &ret->target);
	if (r == 0)
		r = check_target(in, ret->target);
	if (r == 0 && kb_jsonnode_get(object, "requires"))
		r = get_requires(in, object, 1, &ret->requires,
				 &ret->n_requires);
	if (r < 0)
		return r;
	ret->root = (uint32_t)root;
	why = kb_path_fault(ret->path);
	if (why)
		return fault(in, "path", why);
	why = kb_name_fault(ret->name);
	return why ? fault(in, "name", why) : 0;
}

/* What the entry's format says of its path and of rewrites. */
static int check_format(const struct reader *in, const struct kb_entry *entry)
{
	const struct kb_format *format = kb_format_find(entry->format);

	if (format && !format->path_is_valid(entry->path))
		return fault(in, "path", "has not the shape of its format");
	for (size_t i = 0; i < entry->n_files; i++) {
		const struct kb_file *file = &entry->files[i];
		size_t len = strlen(file->name);

		for (size_t j = 0; j < file->n_rewrites; j++) {
			const char *codec = file->rewrites[j].codec;
			bool may =
				format ? format->may_rewrite(file->name, codec)
				       : len > 5 &&
						 !strcmp(file->name + len - 5,
							 ".json");

			if (!may)
				return fault(in, "files: a rewrite",
					     "in a file where its format has "
					     "none");
		}
	}
	return 0;
}

static int parse_entry(struct reader *in, const struct kb_jsonnode *object,
		       const struct kb_header *header, struct kb_entry *ret)
{
	static const char *const known[] = {
		"root",	  "path",     "format", "kind",	 "name",
		"target", "requires", "files",	"facts", NULL};
	int r = check_members(in, object, known, &ret->extra);

	if (r == 0)
		r = parse_names(in, object, header, ret);
	if (r == 0)
		r = parse_files(in, object, header, ret);
	if (r == 0)
		r = parse_facts(in, kb_jsonnode_get(object, "facts"),
				&ret->facts);
	return r < 0 ? r : check_format(in, ret);
}

int kb_entry_parse(const char *line, size_t len, const struct kb_header *header,
		   struct kb_arena *arena, struct kb_entry *ret,
		   struct kbundle_error *err)
{
	KB_AUTO(kb_jsondoc_free) struct kb_jsondoc *doc = NULL;
	KB_AUTO(kb_buf_release) struct kb_buf again;
	struct reader in = {arena, err, ""};
	int r;

	kb_buf_init(&again, KB_LINE_MAX + 1);
	memset(ret, 0, sizeof(*ret));
	r = parse_line(line, len, &doc, err);
	if (r == 0)
		r = parse_entry(&in, kb_jsondoc_root(doc), header, ret);
	if (r == 0)
		r = kb_entry_format(ret, &again, err);
	return r < 0 ? r : compare_canonical(line, len, &again, err);
}

const char *kb_entry_unknown_requirement(const struct kb_entry *entry)
{
	/* Version 1 has no requirement that this library would know. */
	return entry->n_requires ? entry->requires[0] : NULL;
}
