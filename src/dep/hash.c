/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 and random bytes, by OpenSSL 3.
 *
 * The algorithm is fetched once per context: a fetch takes a global lock of
 * OpenSSL and costs more than the hash of a small file. Nothing else of OpenSSL
 * is used here. A context belongs to one thread.
 */
#include "hash.h"

#include "../base/error.h"

#include <limits.h>

#include <openssl/evp.h>
#include <openssl/rand.h>

struct kb_hash {
	EVP_MD *md;
	EVP_MD_CTX *ctx;
};

static int fail_openssl(struct kbundle_error *err, const char *what)
{
	return kb_fail(err, KBUNDLE_E_INTERNAL, "OpenSSL cannot %s", what);
}

int kb_hash_new(struct kb_hash **ret, struct kbundle_error *err)
{
	KB_AUTO(kb_hash_free) struct kb_hash *hash = calloc(1, sizeof(*hash));

	if (!hash)
		return kb_fail_nomem(err);
	hash->ctx = EVP_MD_CTX_new();
	if (!hash->ctx)
		return kb_fail_nomem(err);
	hash->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!hash->md)
		return fail_openssl(err, "provide SHA-256");
	*ret = kb_take(hash);
	return 0;
}

void kb_hash_free(struct kb_hash *hash)
{
	if (!hash)
		return;
	EVP_MD_CTX_free(hash->ctx);
	EVP_MD_free(hash->md);
	free(hash);
}

int kb_hash_start(struct kb_hash *hash, struct kbundle_error *err)
{
	if (EVP_DigestInit_ex2(hash->ctx, hash->md, NULL) != 1)
		return fail_openssl(err, "start a SHA-256");
	return 0;
}

int kb_hash_update(struct kb_hash *hash, const void *data, size_t len,
		   struct kbundle_error *err)
{
	if (len && EVP_DigestUpdate(hash->ctx, data, len) != 1)
		return fail_openssl(err, "continue a SHA-256");
	return 0;
}

int kb_hash_finish(struct kb_hash *hash, uint8_t ret[KB_SHA256_BYTES],
		   struct kbundle_error *err)
{
	if (EVP_DigestFinal_ex(hash->ctx, ret, NULL) != 1)
		return fail_openssl(err, "finish a SHA-256");
	return 0;
}

int kb_hash_bytes(struct kb_hash *hash, const void *data, size_t len,
		  uint8_t ret[KB_SHA256_BYTES], struct kbundle_error *err)
{
	int r;

	r = kb_hash_start(hash, err);
	if (r < 0)
		return r;
	r = kb_hash_update(hash, data, len, err);
	if (r < 0)
		return r;
	return kb_hash_finish(hash, ret, err);
}

int kb_random(void *data, size_t len, struct kbundle_error *err)
{
	if (len > INT_MAX || RAND_bytes(data, (int)len) != 1)
		return fail_openssl(err, "make random bytes");
	return 0;
}
