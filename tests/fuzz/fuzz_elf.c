/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes into the ELF reader. An ELF header for each known machine is put in
 * front of the input, since few random bytes are one.
 */
#include "../../src/dep/elf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void parse(const uint8_t *data, size_t len)
{
	struct kbundle_error err;
	struct kb_elf elf = {0};

	if (kb_elf_parse(data, len, &elf, &err) == 0) {
		for (size_t i = 0; i < elf.n_kernels; i++) {
			if (!kb_elf_has_kernel(&elf, elf.kernels[i].name))
				abort();
		}
	}
	kb_elf_release(&elf);
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
