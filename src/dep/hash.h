/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and random bytes (OpenSSL 3). One kb_hash is used by one thread. */
#ifndef KB_HASH_H
#define KB_HASH_H

#include "../base/cleanup.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

#define KB_SHA256_BYTES 32

struct kb_hash; /* a reusable context */

int kb_hash_new(struct kb_hash **ret, struct kbundle_error *err) KB_MUST_CHECK;
void kb_hash_free(struct kb_hash *hash);
KB_DEFINE_AUTO(struct kb_hash *, kb_hash_free);

/* start, update…, finish; start again at will. Codes: INTERNAL. */
int kb_hash_start(struct kb_hash *hash,
		  struct kbundle_error *err) KB_MUST_CHECK;
int kb_hash_update(struct kb_hash *hash, const void *data, size_t len,
		   struct kbundle_error *err) KB_MUST_CHECK;
int kb_hash_finish(struct kb_hash *hash, uint8_t ret[KB_SHA256_BYTES],
		   struct kbundle_error *err) KB_MUST_CHECK;
/* All three. */
int kb_hash_bytes(struct kb_hash *hash, const void *data, size_t len,
		  uint8_t ret[KB_SHA256_BYTES],
		  struct kbundle_error *err) KB_MUST_CHECK;

int kb_random(void *data, size_t len, struct kbundle_error *err) KB_MUST_CHECK;

#endif
