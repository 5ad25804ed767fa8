/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the facts of an entry: what its producer and its binaries say. Here
 * they are checked for form alone; whether they agree with the entry's files is
 * for its format to say, which makes them anew from those.
 */
#include "limits.h"
#include "manifest.h"
#include "manifest_members.h"

#define KERNELS_MAX 65536 /* of one binary */

static int parse_kernel(const struct kb_members *in, struct kb_kernel_fact *ret)
{
	static const char *const known[] = {"name", "registers", "shared",
					    NULL};
	int r = kb_members_check(in, known, &ret->extra);

	if (r == 0)
		r = kb_members_get_text(in, "name", &ret->name);
	if (r == 0)
		r = kb_members_get_optional_uint(in, "registers",
						 &ret->registers);
	if (r == 0)
		r = kb_members_get_optional_uint(in, "shared", &ret->shared);
	return r;
}

static int parse_kernels(const struct kb_members *parent,
			 struct kb_binary_fact *ret)
{
	struct kb_members_array array;
	const struct kb_jsonnode *node;
	struct kb_kernel_fact *kernels;
	int r = kb_members_get_array(parent, "kernels", 0, KERNELS_MAX,
				     sizeof(*kernels), &array);

	if (r < 0)
		return r;
	ret->kernels = kernels = array.items;
	ret->n_kernels = array.n;
	node = array.first;
	for (size_t i = 0; r == 0 && i < array.n;
	     i++, node = kb_jsonnode_next(node)) {
		struct kb_members in;

		kb_members_enter_item(&in, parent, node, "kernels", i);
		r = parse_kernel(&in, &kernels[i]);
	}
	return r;
}

static int parse_binary(const struct kb_members *in, struct kb_binary_fact *ret)
{
	static const char *const known[] = {"file", "kind",  "target",	"abi",
					    "tool", "debug", "kernels", NULL};
	int r = kb_members_check(in, known, &ret->extra);

	if (r == 0)
		r = kb_members_get_text(in, "file", &ret->file);
	if (r == 0)
		r = kb_members_get_word(in, "kind", &ret->kind);
	if (r == 0)
		r = kb_members_get_target(in, "target", &ret->target);
	if (r == 0)
		r = kb_members_get_optional_uint(in, "abi", &ret->abi);
	if (r == 0)
		r = kb_members_get_optional_text(in, "tool", &ret->tool);
	if (r == 0)
		r = kb_members_get_flag(in, "debug", &ret->debug);
	return r < 0 ? r : parse_kernels(in, ret);
}

static int parse_binaries(const struct kb_members *parent, struct kb_facts *ret)
{
	struct kb_members_array array;
	const struct kb_jsonnode *node;
	struct kb_binary_fact *binaries;
	int r;

	if (!kb_members_has(parent, "binaries"))
		return 0;
	r = kb_members_get_array(parent, "binaries", 1, KB_FILES_PER_ENTRY_MAX,
				 sizeof(*binaries), &array);
	if (r < 0)
		return r;
	ret->binaries = binaries = array.items;
	ret->n_binaries = array.n;
	node = array.first;
	for (size_t i = 0; r == 0 && i < array.n;
	     i++, node = kb_jsonnode_next(node)) {
		struct kb_members in;

		kb_members_enter_item(&in, parent, node, "binaries", i);
		r = parse_binary(&in, &binaries[i]);
	}
	return r;
}

int kb_facts_parse(const struct kb_members *in, struct kb_facts *ret)
{
	static const char *const known[] = {"producer", "version",   "symbol",
					    "warps",	"warp_size", "shared",
					    "whole",	"binaries",  NULL};
	int r = kb_members_check(in, known, &ret->extra);

	if (r == 0)
		r = kb_members_get_optional_text(in, "producer",
						 &ret->producer);
	if (r == 0)
		r = kb_members_get_optional_text(in, "version", &ret->version);
	if (r == 0)
		r = kb_members_get_optional_text(in, "symbol", &ret->symbol);
	if (r == 0)
		r = kb_members_get_optional_uint(in, "warps", &ret->warps);
	if (r == 0)
		r = kb_members_get_optional_uint(in, "warp_size",
						 &ret->warp_size);
	if (r == 0 && kb_members_has(in, "shared")) {
		ret->has_shared = true; /* 0 is an answer here */
		r = kb_members_get_uint(in, "shared", &ret->shared);
	}
	if (r == 0)
		r = kb_members_get_flag(in, "whole", &ret->whole);
	return r < 0 ? r : parse_binaries(in, ret);
}
