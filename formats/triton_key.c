/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of Triton's entries. Over the years the same SHA-256 was spelled in
 * three ways, and an MD5 in a fourth; all of them lie side by side in a root
 * that several versions used. A key is never decoded: the hash is encoded and
 * compared, so that the name on the disk stays the only spelling there is.
 */
#include "triton_parts.h"

#include "../src/base/parse.h"

#include <string.h>

#define HEX "0123456789abcdef"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define BASE32 UPPER "234567"
#define BASE64 UPPER "abcdefghijklmnopqrstuvwxyz0123456789-_"

#define HASH_BYTES 32

enum kb_triton_key kb_triton_key_form(const char *name)
{
	static const struct {
		size_t len;
		const char *alphabet;
		enum kb_triton_key form;
	} forms[] = {
		{32, HEX, KB_TRITON_KEY_MD5},
		{64, HEX, KB_TRITON_KEY_HEX},
		{43, BASE64, KB_TRITON_KEY_BASE64},
		{52, BASE32, KB_TRITON_KEY_BASE32},
	};
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (len == forms[i].len &&
		    strspn(name, forms[i].alphabet) == len)
			return forms[i].form;
	}
	return KB_TRITON_KEY_NONE;
}

bool kb_triton_key_is_valid(const char *path)
{
	return kb_triton_key_form(path) != KB_TRITON_KEY_NONE;
}

/* Base 2^bits without padding. text holds 8 * n / bits + 2 bytes. */
static void encode(char *text, const uint8_t *bytes, size_t n,
		   const char *alphabet, unsigned bits)
{
	unsigned mask = (1u << bits) - 1, held = 0;
	uint32_t window = 0;

	for (size_t i = 0; i < n; i++) {
		window = window << 8 | bytes[i];
		for (held += 8; held >= bits; held -= bits)
			*text++ = alphabet[window >> (held - bits) & mask];
	}
	if (held > 0)
		*text++ = alphabet[window << (bits - held) & mask];
	*text = '\0';
}

bool kb_triton_key_has_hash(const char *key, const char *hash)
{
	uint8_t bytes[HASH_BYTES];
	char text[2 * HASH_BYTES + 1];
	enum kb_triton_key form = kb_triton_key_form(key);

	if (form == KB_TRITON_KEY_MD5)
		return true;
	if (!kb_parse_hex(hash, bytes, sizeof(bytes)))
		return false;
	if (form == KB_TRITON_KEY_HEX)
		return strcmp(key, hash) == 0;
	if (form == KB_TRITON_KEY_BASE64)
		encode(text, bytes, sizeof(bytes), BASE64, 6);
	else
		encode(text, bytes, sizeof(bytes), BASE32, 5);
	return strcmp(key, text) == 0;
}
