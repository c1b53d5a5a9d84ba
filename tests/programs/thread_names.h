/* SPDX-License-Identifier: Apache-2.0 */
/* Names of 15 bytes, as long as prctl(PR_SET_NAME) takes: ordinary ones, and ones that an unkeyed hash cannot part. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define THREAD_NAME_LENGTH 15
/* Different numbers below this have different names. */
#define THREAD_NAME_NUMBERS 10000000u

#define UNKEYED_MULTIPLIER UINT64_C(0xff51afd7ed558ccd)
#define UNKEYED_INVERSE UINT64_C(0x4f74430c22a54005) /* their product is 1 modulo 2^64 */

/* The finaliser of MurmurHash3 (64 bit). */
static inline uint64_t unkeyed_hash_u64(uint64_t value)
{
	value = (value ^ value >> 33) * UNKEYED_MULTIPLIER;
	value = (value ^ value >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return value ^ value >> 33;
}

/* A hash of eight bytes a step whose steps can all be undone: that of iaprof's tables before their hashes had a key. */
static inline uint64_t unkeyed_hash(const void *bytes, size_t size)
{
	const unsigned char *next = (const unsigned char *)bytes;
	uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15), tail = 0;
	for (; size >= 8; size -= 8, next += 8) {
		uint64_t word;
		memcpy(&word, next, 8);
		hash = (hash ^ word) * UNKEYED_MULTIPLIER;
		hash ^= hash >> 32;
	}
	memcpy(&tail, next, size);
	return unkeyed_hash_u64(hash ^ tail);
}

static inline void ordinary_name(uint32_t number, char name[THREAD_NAME_LENGTH + 1])
{
	snprintf(name, THREAD_NAME_LENGTH + 1, "worker-%08u", number % THREAD_NAME_NUMBERS);
}

/* All of these names have one unkeyed hash. False for a number that has no such name: it would hold a NUL. */
static inline bool colliding_name(uint32_t number, char name[THREAD_NAME_LENGTH + 1])
{
	char digits[8];
	uint64_t tail = 0, word;
	snprintf(digits, sizeof digits, "%07u", number % THREAD_NAME_NUMBERS);
	memcpy(&tail, digits, 7);
	/* The last eight bytes are the digits; the first ones are what brings the hash back to the same value. */
	word = UINT64_C(0x0123456789abcdef) ^ tail;
	word = (word ^ word >> 32) * UNKEYED_INVERSE ^ THREAD_NAME_LENGTH * UINT64_C(0x9e3779b97f4a7c15);
	memcpy(name, &word, 8);
	memcpy(name + 8, digits, 8);
	return strlen(name) == THREAD_NAME_LENGTH;
}

/* Writes count different names, one after the other. */
static inline void thread_names_make(bool colliding, uint32_t count, char (*names)[THREAD_NAME_LENGTH + 1])
{
	for (uint32_t made = 0, number = 0; made < count && number < THREAD_NAME_NUMBERS; number++)
		if (!colliding) {
			ordinary_name(number, names[made++]);
		} else if (colliding_name(number, names[made])) {
			made++;
		}
}
