/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/dep/hash.h"

#include "../../src/base/parse.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_digest(struct kb_hash *hash, const void *data, size_t len,
			  const char *want)
{
	uint8_t digest[KB_SHA256_BYTES];
	char text[2 * KB_SHA256_BYTES + 1];

	cr_assert_eq(kb_hash_bytes(hash, data, len, digest, NULL), 0);
	kb_format_hex(text, digest, sizeof(digest));
	cr_assert_str_eq(text, want);
}

/* FIPS 180-2, appendix B, and the empty message. */
Test(hash, gives_the_published_digests)
{
	KB_AUTO(kb_hash_free) struct kb_hash *hash = NULL;
	KB_AUTO_FREE char *million = malloc(1000000);

	cr_assert_eq(kb_hash_new(&hash, NULL), 0);
	cr_assert_not_null(million);
	memset(million, 'a', 1000000);
	expect_digest(hash, "", 0,
		      "e3b0c44298fc1c149afbf4c8996fb924"
		      "27ae41e4649b934ca495991b7852b855");
	expect_digest(hash, NULL, 0,
		      "e3b0c44298fc1c149afbf4c8996fb924"
		      "27ae41e4649b934ca495991b7852b855");
	expect_digest(hash, "abc", 3,
		      "ba7816bf8f01cfea414140de5dae2223"
		      "b00361a396177a9cb410ff61f20015ad");
	expect_digest(
		hash,
		"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		"248d6a61d20638b8e5c026930c3e6039"
		"a33ce45964ff2167f6ecedd419db06c1");
	expect_digest(hash, million, 1000000,
		      "cdc76e5c9914fb9281a1c7e284d73e67"
		      "f1809a48a497200e046d39ccc7112cd0");
}

Test(hash, does_not_depend_on_how_the_bytes_arrive)
{
	KB_AUTO(kb_hash_free) struct kb_hash *hash = NULL;
	uint8_t data[200], whole[KB_SHA256_BYTES], split[KB_SHA256_BYTES];

	cr_assert_eq(kb_hash_new(&hash, NULL), 0);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	cr_assert_eq(kb_hash_bytes(hash, data, sizeof(data), whole, NULL), 0);
	for (size_t at = 0; at <= sizeof(data); at++) {
		cr_assert_eq(kb_hash_start(hash, NULL), 0);
		cr_assert_eq(kb_hash_update(hash, data, at, NULL), 0);
		cr_assert_eq(kb_hash_update(hash, data + at, sizeof(data) - at,
					    NULL),
			     0);
		cr_assert_eq(kb_hash_finish(hash, split, NULL), 0);
		cr_assert_eq(memcmp(whole, split, sizeof(whole)), 0,
			     "split at %zu", at);
	}
}

Test(hash, start_forgets_what_was_not_finished)
{
	KB_AUTO(kb_hash_free) struct kb_hash *hash = NULL;
	uint8_t clean[KB_SHA256_BYTES], after[KB_SHA256_BYTES];

	cr_assert_eq(kb_hash_new(&hash, NULL), 0);
	cr_assert_eq(kb_hash_bytes(hash, "abc", 3, clean, NULL), 0);
	cr_assert_eq(kb_hash_start(hash, NULL), 0);
	cr_assert_eq(kb_hash_update(hash, "left", 4, NULL), 0);
	cr_assert_eq(kb_hash_bytes(hash, "abc", 3, after, NULL), 0);
	cr_assert_eq(memcmp(clean, after, sizeof(clean)), 0);
}

Test(hash, random_bytes_differ_and_reach_the_end)
{
	uint8_t a[64] = {0}, b[64] = {0};
	uint8_t zero[16] = {0};

	cr_assert_eq(kb_random(a, sizeof(a), NULL), 0);
	cr_assert_eq(kb_random(b, sizeof(b), NULL), 0);
	cr_assert_neq(memcmp(a, b, sizeof(a)), 0);
	cr_assert_neq(memcmp(a + 48, zero, sizeof(zero)), 0);
}

Test(hash, random_bytes_stay_inside)
{
	uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	cr_assert_eq(kb_random(data + 2, 4, NULL), 0);
	cr_assert(data[0] == 1 && data[1] == 2);
	cr_assert(data[6] == 7 && data[7] == 8);
	cr_assert_eq(kb_random(data, 0, NULL), 0);
	cr_assert_eq(data[0], 1);
}
