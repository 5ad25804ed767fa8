/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/base/keyset.h"

#include <criterion/criterion.h>

#include <endian.h>
#include <stdio.h>
#include <string.h>

static const uint64_t secret[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

/* The vectors that the authors of SipHash publish for the 128-bit output:
 * key 00..0f, messages 00, 01, 02, … of len bytes. */
Test(keyset, fingerprint_is_siphash_2_4_128)
{
	static const struct {
		size_t len;
		const char *hex;
	} vectors[] = {
		{0, "a3817f04ba25a8e66df67214c7550293"},
		{1, "da87c1d86b99af44347659119b22fc45"},
		{7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
		{8, "3b62a9ba6258f5610f83e264f31497b4"},
		{15, "5493e99933b0a8117e08ec0f97cfc3d9"},
		{16, "6ee2a4ca67b054bbfd3315bf85230577"},
		{33, "77c6077146f01c32b6b69d5f4ea9ffcf"},
		{63, "5150d1772f50834a503e069a973fbd7c"},
	};
	unsigned char message[64];

	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (unsigned char)i;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char hex[33];
		uint64_t print[2];

		kb_keyset_fingerprint(secret, message, vectors[i].len, print);
		snprintf(hex, sizeof(hex), "%016llx%016llx",
			 (unsigned long long)htobe64(htole64(print[0])),
			 (unsigned long long)htobe64(htole64(print[1])));
		cr_assert_str_eq(hex, vectors[i].hex, "%zu bytes: %s",
				 vectors[i].len, hex);
	}
}

Test(keyset, another_secret_gives_another_fingerprint)
{
	const uint64_t other[2] = {secret[0], secret[1] ^ 1};
	uint64_t a[2], b[2];

	kb_keyset_fingerprint(secret, "abc", 3, a);
	kb_keyset_fingerprint(other, "abc", 3, b);
	cr_assert(a[0] != b[0] && a[1] != b[1]);
}

Test(keyset, knows_what_was_added_and_nothing_else)
{
	KB_AUTO(kb_keyset_release) struct kb_keyset set;
	char key[32];

	kb_keyset_init(&set, secret);
	cr_assert_not(kb_keyset_has(&set, "0", 1));
	for (int i = 0; i < 20000; i += 2) {
		int n = snprintf(key, sizeof(key), "key %d", i);

		cr_assert_not(kb_keyset_has(&set, key, (size_t)n));
		cr_assert_eq(kb_keyset_add(&set, key, (size_t)n), 1);
		cr_assert_eq(kb_keyset_add(&set, key, (size_t)n), 0);
	}
	for (int i = 0; i < 20000; i++) {
		int n = snprintf(key, sizeof(key), "key %d", i);

		cr_assert_eq(kb_keyset_has(&set, key, (size_t)n), i % 2 == 0);
	}
	cr_assert_eq(set.used, 10000);
}

Test(keyset, keys_are_bytes_with_a_length)
{
	KB_AUTO(kb_keyset_release) struct kb_keyset set;

	kb_keyset_init(&set, secret);
	cr_assert_eq(kb_keyset_add(&set, "", 0), 1);
	cr_assert_eq(kb_keyset_add(&set, "\0", 1), 1);
	cr_assert_eq(kb_keyset_add(&set, "\0\0", 2), 1);
	cr_assert_eq(kb_keyset_add(&set, "a\0b", 3), 1);
	cr_assert_eq(kb_keyset_add(&set, "a\0c", 3), 1);
	cr_assert_eq(kb_keyset_add(&set, "a\0b", 3), 0);
	cr_assert(kb_keyset_has(&set, "\0", 1));
	cr_assert_not(kb_keyset_has(&set, "\0\0\0", 3));
}

/* What the header promises: a few dozen bytes an entry. */
Test(keyset, memory_is_a_few_dozen_bytes_an_entry)
{
	KB_AUTO(kb_keyset_release) struct kb_keyset set;

	kb_keyset_init(&set, secret);
	for (uint32_t i = 0; i < 100000; i++) {
		cr_assert_eq(kb_keyset_add(&set, &i, sizeof(i)), 1);
		cr_assert_lt(set.used, set.cap);
	}
	cr_assert_leq(16 * set.cap, 48 * set.used);
}
