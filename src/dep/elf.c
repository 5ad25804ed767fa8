/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU binary says of itself. elf_view.c checks the structure, one file
 * for each vendor reads its facts; here they come together. Whether a binary
 * fits a device is not decided here.
 */
#include "elf.h"
#include "elf_vendor.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "../base/path.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

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
