/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of strings that keeps only a 128-bit fingerprint of each, so that a
 * manifest of any size costs a few dozen bytes an entry. The fingerprint is
 * keyed with random bytes of the caller: names that collide cannot be made up
 * in advance.
 */
#ifndef KB_KEYSET_H
#define KB_KEYSET_H

#include "cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_keyset {
	struct kb_keyset_slot *slots;
	size_t used, cap;
	uint64_t secret[2];
};

void kb_keyset_init(struct kb_keyset *set, const uint64_t secret[2]);
void kb_keyset_release(struct kb_keyset *set);
/* 1: added, 0: was there already, or NOMEM. */
int kb_keyset_add(struct kb_keyset *set, const void *key,
		  size_t len) KB_MUST_CHECK;
bool kb_keyset_has(const struct kb_keyset *set, const void *key, size_t len);

/* The fingerprint: SipHash-2-4-128 under the secret. */
void kb_keyset_fingerprint(const uint64_t secret[2], const void *key,
			   size_t len, uint64_t ret[2]);

KB_DEFINE_AUTO_STRUCT(struct kb_keyset, kb_keyset_release);

#endif
