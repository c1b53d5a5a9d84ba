/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keyed hashes for tables: keys come from other users, files, captures and devices, none of which may choose keys that
 * collide. The secret is AT_RANDOM, 16 random bytes that the Linux kernel generates for each process at execve(2):
 * nothing is initialised, no state is kept, and the core and its plugins use the same secret. Hashes differ between
 * runs: they must not appear in output or decide an order in it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* SipHash-2-4 of libsodium: for all tables for which it is fast enough. */
uint64_t hash_bytes(const void *bytes, size_t size);
uint64_t hash_text(const char *text); /* NULL is different from all texts */

static inline uint64_t hash_u64(uint64_t value)
{
	return hash_bytes(&value, sizeof value);
}

static inline uint64_t hash_pair(uint64_t first, uint64_t second)
{
	const uint64_t words[] = { first, second };
	return hash_bytes(words, sizeof words);
}

/* 128 bits: contents with equal hashes are considered equal without comparing their bytes. */
void hash_fingerprint(const void *bytes, size_t size, uint64_t fingerprint[2]);

#define HASH_WORDS_MAX 10u

/*
 * For tables that are searched for every sample or frame, where SipHash would dominate the cost: multilinear hashing of
 * up to ten words. The words are multiplied by secret 128-bit numbers, and the upper half of the sum is the hash,
 * which is strongly universal (Lemire and Kaser, "Strongly universal string hashing is fast", 2014): any two keys
 * collide as rarely as random ones do. It is suitable only for hash tables: the secret numbers can be computed from
 * hashes. The steps of hash_scatter() are invertible, so they preserve this property; without them, the keys 1, 2, 3
 * ... would form runs for some numbers.
 */
struct hash_key {
	unsigned __int128 numbers[HASH_WORDS_MAX + 1];
};

/* The same key for all tables of a process. */
void hash_key_make(struct hash_key *key);

static inline uint64_t hash_scatter(uint64_t hash)
{
	hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static inline uint64_t hash_word(const struct hash_key *key, uint64_t word)
{
	return hash_scatter((uint64_t)((key->numbers[0] + key->numbers[1] * word) >> 64));
}

/* Zeros at the end do not change the hash. Always inline: count is a constant for most callers. */
static inline __attribute__((always_inline)) uint64_t hash_words(const struct hash_key *key, const uint64_t *words,
								 size_t count)
{
	unsigned __int128 sum = key->numbers[0];
#pragma GCC unroll 10
	for (size_t i = 0; i < count; i++)
		sum += key->numbers[1 + i] * words[i];
	return hash_scatter((uint64_t)(sum >> 64));
}
