/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled code in an entry: what its name promises, what it says of
 * itself, and whether that is what the metadata says. ELF is read by src/dep;
 * of SPIR-V, which a driver compiles further, only the form is looked at.
 */
#include "triton_parts.h"

#include "../src/base/error.h"
#include "../src/base/path.h"
#include "../src/dep/elf.h"

#include <string.h>

#define SPIRV_HEADER_BYTES 20
#define TEXT_MAX 16384 /* bytes of a text in a manifest (docs/format.md) */

static const struct binary_kind {
	const char *suffix, *name, *backend;
	enum kb_elf_kind elf;
	bool is_elf;
} kinds[] = {
	{".cubin", "cubin", "cuda", KB_ELF_CUBIN, true},
	{".hsaco", "hsaco", "hip", KB_ELF_HSACO, true},
	{".zebin", "zebin", "xpu", KB_ELF_INTEL, true},
	{".spv", "spv", "xpu", KB_ELF_INTEL, false},
	{".so", "so", "", KB_ELF_HOST, true},
};

static const struct binary_kind *find_kind(const char *file)
{
	size_t len = strlen(file);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t suffix_len = strlen(kinds[i].suffix);

		if (len >= suffix_len &&
		    strcmp(file + len - suffix_len, kinds[i].suffix) == 0)
			return &kinds[i];
	}
	return NULL;
}

const char *kb_triton_binary_kind(const char *file)
{
	const struct binary_kind *kind = find_kind(file);

	return kind ? kind->name : NULL;
}

bool kb_triton_binary_is_for(const char *kind, const char *backend)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, kind) == 0)
			return strcmp(kinds[i].backend, backend) == 0;
	}
	return false;
}

static int check_spirv(const struct kb_view *view, struct kbundle_error *err)
{
	static const uint8_t magic[] = {0x03, 0x02, 0x23, 0x07};

	if (view->size < SPIRV_HEADER_BYTES ||
	    memcmp(view->data, magic, sizeof(magic)) != 0)
		return kb_fail(err, KBUNDLE_E_FORMAT, "is no SPIR-V module");
	if (view->size % 4 != 0)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "is cut short: SPIR-V consists of whole words");
	return 0;
}

/* Names of kernels come from the compiler; one that a manifest cannot hold is
 * no name that a framework would look up. */
static int copy_kernels(const struct kb_elf *elf, struct kb_arena *arena,
			struct kb_binary_fact *ret, struct kbundle_error *err)
{
	struct kb_kernel_fact *kernels =
		kb_arena_array(arena, elf->n_kernels, sizeof(*kernels));
	size_t n = 0;

	if (!kernels && elf->n_kernels > 0)
		return kb_fail_nomem(err);
	for (size_t i = 0; i < elf->n_kernels; i++) {
		const struct kb_elf_kernel *from = &elf->kernels[i];

		size_t len = strlen(from->name);

		if (len > TEXT_MAX || !kb_utf8_is_valid(from->name, len))
			continue;
		kernels[n].name = kb_arena_strdup(arena, from->name);
		if (!kernels[n].name)
			return kb_fail_nomem(err);
		kernels[n].registers = from->registers;
		kernels[n].shared = from->shared_bytes;
		kernels[n].extra = "";
		n++;
	}
	ret->kernels = kernels;
	ret->n_kernels = n;
	return 0;
}

static int copy_text(const char *text, struct kb_arena *arena, const char **ret,
		     struct kbundle_error *err)
{
	if (!*text || !kb_utf8_is_valid(text, strlen(text)))
		return 0;
	*ret = kb_arena_strdup(arena, text);
	return *ret ? 0 : kb_fail_nomem(err);
}

static int parse_elf(const struct kb_view *view, const struct binary_kind *kind,
		     struct kb_arena *arena, struct kb_binary_fact *ret,
		     struct kbundle_error *err)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	int r = kb_elf_parse(view->data, (size_t)view->size, &elf, err);

	if (r < 0)
		return r;
	if (elf.kind != kind->elf)
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "is a %s (ELF machine %u) and not a %s",
			       kb_elf_kind_name(elf.kind), elf.machine,
			       kb_elf_kind_name(kind->elf));
	ret->abi = elf.abi_version;
	ret->debug = elf.has_debug;
	r = copy_text(elf.target.text, arena, &ret->target, err);
	if (r == 0)
		r = copy_text(elf.tool, arena, &ret->tool, err);
	if (r == 0)
		r = copy_kernels(&elf, arena, ret, err);
	return r;
}

int kb_triton_binary_parse(const struct kb_view *view, struct kb_arena *arena,
			   struct kb_binary_fact *ret,
			   struct kbundle_error *err)
{
	const struct binary_kind *kind = find_kind(view->name);

	memset(ret, 0, sizeof(*ret));
	ret->file = kb_arena_strdup(arena, view->name);
	if (!ret->file)
		return kb_fail_nomem(err);
	ret->kind = kind->name;
	ret->extra = "";
	if (kind->is_elf)
		return parse_elf(view, kind, arena, ret, err);
	return check_spirv(view, err);
}

static bool has_kernel(const struct kb_binary_fact *binary, const char *symbol)
{
	for (size_t i = 0; i < binary->n_kernels; i++) {
		if (strcmp(binary->kernels[i].name, symbol) == 0)
			return true;
	}
	return false;
}

/* '+', '-', or 0 where a hip target leaves a feature open. */
static char feature_sign(const char *target, const char *feature)
{
	const char *at = strstr(target, feature);

	return at ? at[strlen(feature)] : '\0';
}

static bool features_differ(const char *a, const char *b)
{
	static const char *const features[] = {":sramecc", ":xnack"};

	for (size_t i = 0; i < 2; i++) {
		char of_a = feature_sign(a, features[i]);
		char of_b = feature_sign(b, features[i]);

		if (of_a && of_b && of_a != of_b)
			return true;
	}
	return false;
}

int kb_triton_binary_match(const struct kb_binary_fact *binary,
			   const char *symbol, struct kb_target *target,
			   struct kbundle_error *err)
{
	struct kb_shown shown;

	if (binary->target) {
		if (kb_target_base_compare(binary->target, target->text) != 0 ||
		    features_differ(binary->target, target->text))
			return kb_fail(err, KBUNDLE_E_FORMAT,
				       "holds code for %s, but the metadata "
				       "says %s",
				       binary->target, target->text);
		if (!kb_target_parse(target, binary->target))
			return kb_fail(err, KBUNDLE_E_INTERNAL,
				       "%s is no target", binary->target);
	}
	/* Intel's binaries do not always tell their kernels. */
	if (strncmp(target->text, "xpu:", 4) == 0 && binary->n_kernels == 0)
		return 0;
	if (!has_kernel(binary, symbol))
		return kb_fail(err, KBUNDLE_E_FORMAT,
			       "has no kernel %s, which the metadata names",
			       kb_show(&shown, symbol));
	return 0;
}
