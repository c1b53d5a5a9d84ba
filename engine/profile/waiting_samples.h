/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples and calls that wait for the process records of their time. What samples have in common is their key, which is
 * stored once: a sample takes 40 bytes, and what its key refers to is looked up once for many samples. Owned by the
 * collector thread.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/keyed_hash.h"
#include "correlator/sampled_devices.h"
#include "profile/wait_table.h"

/* Limit on samples that wait, and on keys: beyond it, samples are attributed early. */
#define WAITING_SAMPLES_MAX 65536u

#define WAITING_KEY_WORDS 10u
/* Words that distinguish the keys of most samples: those without a wait and a span. */
#define WAITING_KEY_WORDS_FEW 5u

/* Hashed and compared as words. */
union waiting_key {
	struct {
		uint32_t pid, tid;
		uint32_t name, thread_name; /* string ids */
		uint32_t user_stack, kernel_stack;
		uint32_t value_type;     /* index */
		uint32_t flags;          /* enum iaprof_sample_flag and WAITING_FLAGS */
		uint32_t call;           /* as in struct sample_key */
		struct wait_key wait;    /* reason 0: not a wait; waker: a pid */
		struct iaprof_span span; /* zeros: none */
	};
	uint64_t words[WAITING_KEY_WORDS];
};
static_assert(sizeof(union waiting_key) == WAITING_KEY_WORDS * sizeof(uint64_t), "a key has no padding");

/* In the flags of a key. */
#define WAITING_HAS_SPAN (UINT32_C(1) << 31)
/* Idle time of a device of a kind (enum iaprof_device_kind). */
#define WAITING_IDLE_SHIFT 28
#define WAITING_IDLE_MASK (UINT32_C(7) << WAITING_IDLE_SHIFT)
static inline uint32_t waiting_idle_flag(uint32_t kind)
{
	return (kind + 1) << WAITING_IDLE_SHIFT & WAITING_IDLE_MASK;
}
/* Idle time of a device, as in struct stack_origin. */
#define WAITING_DEVICE_SHIFT 16
#define WAITING_DEVICE_MASK (UINT32_C(4095) << WAITING_DEVICE_SHIFT)
static_assert(DEVICES_MAX <= 4095, "the flags have room for each device");
#define WAITING_FLAGS (WAITING_HAS_SPAN | WAITING_IDLE_MASK | WAITING_DEVICE_MASK)

struct waiting_sample {
	union waiting_key key;
	uint64_t first_time, time, value, count;
};

/* Where samples with a key belong: see cpu_samples.c. */
struct placement {
	uint64_t begin, end; /* valid for samples of [begin, end) */
	uint32_t pass;       /* and in this pass, since no key is known before the first one */
	uint32_t names;      /* and as long as the table of threads has as many changes */
	uint32_t entry;      /* position in the table of samples; SAMPLE_NONE: out of memory */
	uint32_t wait;       /* as in struct sample_key */
};

struct placed_key {
	union waiting_key key;
	struct placement placement;
};

struct waiting_value {
	uint32_t key; /* position */
	uint64_t first_time, time, value, count;
};

/* Initialise with {0} and hash_key. */
struct waiting_samples {
	struct hash_key hash_key;
	struct hash_index index;
	ARRAY(struct placed_key) keys;
	ARRAY(struct waiting_value) values; /* in the order in which they were added */
};

void waiting_samples_free(struct waiting_samples *samples);

/* Two members of a key, which are written as one word, because reading back parts of a word as a whole is slow. */
static inline uint64_t waiting_key_pair(uint32_t first, uint32_t second)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint64_t)first << 32 | second;
#else
	return (uint64_t)second << 32 | first;
#endif
}

/* Returns whether the first WAITING_KEY_WORDS_FEW words distinguish a key from all others. */
static inline bool waiting_key_is_short(const union waiting_key *key)
{
	return !key->wait.reason && !(key->flags & WAITING_HAS_SPAN);
}

/* Returns whether there are so many that all of them must be taken before one more is added. */
static inline bool waiting_samples_are_full(const struct waiting_samples *samples)
{
	return samples->values.count >= WAITING_SAMPLES_MAX || samples->keys.count >= WAITING_SAMPLES_MAX;
}

/* Always inline: count is a constant. */
static inline __attribute__((always_inline)) uint32_t
waiting_samples_find(const struct waiting_samples *samples, const uint64_t *words, size_t count, uint64_t hash)
{
	hash_index_each (probe, &samples->index, hash) {
		const uint64_t *known = samples->keys.items[probe.position].key.words;
		uint64_t differences = 0;
#pragma GCC unroll 10
		for (size_t i = 0; i < count; i++)
			differences |= known[i] ^ words[i];
		if (!differences)
			return probe.position;
	}
	return POSITION_NONE;
}

/* Returns the position of a key, adding it if necessary; POSITION_NONE when out of memory. */
uint32_t waiting_samples_key(struct waiting_samples *samples, const union waiting_key *key);

/* Returns false when out of memory. */
static inline bool waiting_samples_add(struct waiting_samples *samples, const union waiting_key *key,
				       uint64_t first_time, uint64_t time, uint64_t value, uint64_t count)
{
	uint32_t position = POSITION_NONE;
	if (waiting_key_is_short(key))
		position = waiting_samples_find(samples, key->words, WAITING_KEY_WORDS_FEW,
						hash_words(&samples->hash_key, key->words, WAITING_KEY_WORDS_FEW));
	if (position == POSITION_NONE)
		position = waiting_samples_key(samples, key);
	if (position == POSITION_NONE || !array_reserve(&samples->values, samples->values.count + 1))
		return false;
	struct waiting_value *added = &samples->values.items[samples->values.count++];
	added->key = position;
	added->first_time = first_time;
	added->time = time;
	added->value = value;
	added->count = count;
	return true;
}

/*
 * Forgets keys without samples, if there are many. Returns how many samples (as counted by their sources) were lost
 * because memory ran out.
 */
uint64_t waiting_samples_trim(struct waiting_samples *samples);
