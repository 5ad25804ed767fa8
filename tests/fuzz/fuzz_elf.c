/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a GPU binary: refused with a sentence, or consistent facts. An
 * ELF header for each known machine is put in front of the input as well, since
 * few random bytes are one.
 */
#include "../../src/dep/elf.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void parse(const uint8_t *data, size_t len)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	struct kbundle_error err = {0};
	struct kb_target target;
	int r = kb_elf_parse(data, len, &elf, &err);

	if (r < 0) {
		require(r == err.code && r == KBUNDLE_E_FORMAT);
		require(err.message[0] != '\0');
		return;
	}
	require(!elf.target.text[0] ||
		kb_target_parse(&target, elf.target.text));
	require(memchr(elf.tool, '\0', sizeof(elf.tool)) != NULL);
	for (size_t i = 0; i < elf.n_kernels; i++) {
		require(kb_elf_has_kernel(&elf, elf.kernels[i].name));
		require(i == 0 || strcmp(elf.kernels[i - 1].name,
					 elf.kernels[i].name) < 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33};
	static const uint8_t machines[] = {190, 224, 205, 62};
	uint8_t *copy;

	parse(data, len);
	if (len < 64)
		return 0;
	copy = malloc(len);
	if (!copy)
		return 0;
	memcpy(copy, data, len);
	memcpy(copy, ident, sizeof(ident));
	copy[18] = machines[data[18] % sizeof(machines)];
	copy[19] = 0;
	parse(copy, len);
	free(copy);
	return 0;
}
