/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash set of 128-bit fingerprints (SipHash-2-4 with the 128-bit output of
 * its authors), open addressing, linear probing. Two keys with one fingerprint
 * would be taken for one; among a million honest keys that has a chance of
 * 2^-88, and without the secret nobody can search for it.
 *
 * Invariant: cap is 0 or a power of two, at most three quarters of the slots
 * are used, and an unused slot is all zero, which no fingerprint is.
 */
#include "keyset.h"

#include <kbundle/kbundle.h>

#include <endian.h>
#include <string.h>

#define FIRST_CAP ((size_t)64)

struct kb_keyset_slot {
	uint64_t print[2];
};

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static void sip_absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

void kb_keyset_fingerprint(const uint64_t secret[2], const void *key,
			   size_t len, uint64_t ret[2])
{
	uint64_t v[4] = {
		secret[0] ^ 0x736f6d6570736575, secret[1] ^ 0x646f72616e646f6d,
		secret[0] ^ 0x6c7967656e657261, secret[1] ^ 0x7465646279746573};
	const unsigned char *bytes = key;
	uint64_t word;

	v[1] ^= 0xee;
	for (size_t pos = 0; len - pos >= 8; pos += 8) {
		memcpy(&word, bytes + pos, 8);
		sip_absorb(v, le64toh(word));
	}
	word = (uint64_t)len << 56;
	for (size_t i = 0; i < len % 8; i++)
		word |= (uint64_t)bytes[len - len % 8 + i] << 8 * i;
	sip_absorb(v, word);

	v[2] ^= 0xee;
	sip_rounds(v, 4);
	ret[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
	v[1] ^= 0xdd;
	sip_rounds(v, 4);
	ret[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
}

void kb_keyset_init(struct kb_keyset *set, const uint64_t secret[2])
{
	*set = (struct kb_keyset){.secret = {secret[0], secret[1]}};
}

void kb_keyset_release(struct kb_keyset *set)
{
	free(set->slots);
	set->slots = NULL;
	set->used = set->cap = 0;
}

static bool is_unused(const struct kb_keyset_slot *slot)
{
	return slot->print[0] == 0 && slot->print[1] == 0;
}

static struct kb_keyset_slot make_slot(const struct kb_keyset *set,
				       const void *key, size_t len)
{
	struct kb_keyset_slot slot;

	kb_keyset_fingerprint(set->secret, key, len, slot.print);
	if (is_unused(&slot))
		slot.print[1] = 1;
	return slot;
}

/* Where wanted stands in slots, or the unused slot where it belongs. */
static struct kb_keyset_slot *find_slot(struct kb_keyset_slot *slots,
					size_t cap,
					const struct kb_keyset_slot *wanted)
{
	size_t i = (size_t)wanted->print[0] & (cap - 1);

	while (!is_unused(&slots[i]) &&
	       (slots[i].print[0] != wanted->print[0] ||
		slots[i].print[1] != wanted->print[1]))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static int grow(struct kb_keyset *set)
{
	size_t cap = set->cap > 0 ? 2 * set->cap : FIRST_CAP;
	struct kb_keyset_slot *slots;

	if (cap < set->cap)
		return KBUNDLE_E_NOMEM;
	slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return KBUNDLE_E_NOMEM;
	for (size_t i = 0; i < set->cap; i++)
		if (!is_unused(&set->slots[i]))
			*find_slot(slots, cap, &set->slots[i]) = set->slots[i];
	free(set->slots);
	set->slots = slots;
	set->cap = cap;
	return 0;
}

int kb_keyset_add(struct kb_keyset *set, const void *key, size_t len)
{
	struct kb_keyset_slot wanted = make_slot(set, key, len), *slot;
	int r;

	if (set->used >= set->cap / 4 * 3) {
		r = grow(set);
		if (r < 0)
			return r;
	}
	slot = find_slot(set->slots, set->cap, &wanted);
	if (!is_unused(slot))
		return 0;
	*slot = wanted;
	set->used++;
	return 1;
}

bool kb_keyset_has(const struct kb_keyset *set, const void *key, size_t len)
{
	struct kb_keyset_slot wanted = make_slot(set, key, len);

	return set->cap > 0 &&
	       !is_unused(find_slot(set->slots, set->cap, &wanted));
}
