/* SPDX-License-Identifier: Apache-2.0 */
/* See keyed_hash.h. */
#include "base/keyed_hash.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>
#include <sys/auxv.h>

/* glibc itself reads these bytes before main(), so every process has them. */
static const unsigned char *secret(void)
{
	static_assert(crypto_shorthash_KEYBYTES == 16, "AT_RANDOM has 16 bytes");
	static const unsigned char *known; /* getauxval() searches; all threads find the same */
	const unsigned char *bytes = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (!bytes) {
		bytes = (const unsigned char *)(uintptr_t)getauxval(AT_RANDOM);
		__atomic_store_n(&known, bytes, __ATOMIC_RELAXED);
	}
	return bytes;
}

uint64_t hash_bytes(const void *bytes, size_t size)
{
	uint64_t hash;
	static_assert(crypto_shorthash_BYTES == sizeof hash, "a hash has 64 bits");
	crypto_shorthash((unsigned char *)&hash, bytes, size, secret());
	return hash;
}

uint64_t hash_text(const char *text)
{
	return text ? hash_bytes(text, strlen(text)) : hash_bytes("", 1); /* no text contains a NUL byte */
}

void hash_fingerprint(const void *bytes, size_t size, uint64_t fingerprint[2])
{
	crypto_shorthash_siphashx24((unsigned char *)fingerprint, bytes, size, secret());
}

void hash_key_make(struct hash_key *key)
{
	for (uint64_t i = 0; i <= HASH_WORDS_MAX; i++) {
		uint64_t halves[2];
		hash_fingerprint(&i, sizeof i, halves);
		key->numbers[i] = (unsigned __int128)halves[0] << 64 | halves[1];
	}
}
