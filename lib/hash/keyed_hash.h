/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keyed hashes for tables: keys come from other users, files, captures and devices, none of whom may choose keys that
 * collide. The secret is AT_RANDOM, 16 random bytes that the Linux kernel makes for each process when it executes the
 * program: nothing has to be initialised, no state is kept, and the core and its plugins have the same one. Hashes
 * differ from run to run: they are no part of an output, and decide no order in it.
 */
#ifndef IAPROF_LIB_HASH_KEYED_HASH_H
#define IAPROF_LIB_HASH_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-2-4 of libsodium: for all tables that are not measurably slower by it. */
uint64_t hash_bytes(const void *bytes, size_t size);
uint64_t hash_text(const char *text); /* NULL is a text of its own */

static inline uint64_t hash_u64(uint64_t value)
{
	return hash_bytes(&value, sizeof value);
}

static inline uint64_t hash_pair(uint64_t first, uint64_t second)
{
	const uint64_t words[] = { first, second };
	return hash_bytes(words, sizeof words);
}

/* 128 bits, by which contents are taken to be the same without a comparison of their bytes. */
void hash_fingerprint(const void *bytes, size_t size, uint64_t fingerprint[2]);

#define HASH_WORDS_MAX 4u

/*
 * For tables that are asked for every sample or frame, where SipHash takes longer than all else: multilinear hashing of
 * up to four words. The words are multiplied by secret numbers of 128 bits, and the upper halves of the sums are the
 * hash, which makes it strongly universal (Lemire and Kaser, "Strongly universal string hashing is fast", 2014):
 * whatever the keys are, two of them share a slot as seldom as random ones do. It is good for that alone: whoever saw
 * hashes could compute the numbers. The steps of hash_scatter() can be undone, so they leave this as it is; without
 * them the keys 1, 2, 3 ... would lie in rows for some numbers.
 */
struct hash_key {
	unsigned __int128 numbers[HASH_WORDS_MAX + 1];
};

/* The same for all tables of a process. */
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

static inline uint64_t hash_words(const struct hash_key *key, const uint64_t words[HASH_WORDS_MAX])
{
	unsigned __int128 sum = key->numbers[0];
	for (size_t i = 0; i < HASH_WORDS_MAX; i++)
		sum += key->numbers[i + 1] * words[i];
	return hash_scatter((uint64_t)(sum >> 64));
}

/* Of a number and a list of numbers: the words themselves, or, when they are many, their SipHash. */
static inline uint64_t hash_list(const struct hash_key *key, uint32_t number, const uint32_t *list, size_t count)
{
	uint64_t words[HASH_WORDS_MAX] = { (uint64_t)number << 32 | (uint32_t)count };
	if (count == 1)
		return hash_word(key, (uint64_t)number << 32 | list[0]);
	if (count > 2 * (HASH_WORDS_MAX - 1))
		words[1] = hash_bytes(list, count * sizeof *list);
	else
		for (size_t i = 0; i < count; i++)
			words[1 + i / 2] |= (uint64_t)list[i] << i % 2 * 32;
	return hash_words(key, words);
}

#endif
