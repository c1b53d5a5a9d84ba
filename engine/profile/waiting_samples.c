/* SPDX-License-Identifier: Apache-2.0 */
/* See waiting_samples.h. */
#include "profile/waiting_samples.h"

#include "base/saturating.h"

/* Number of keys above which it is worth forgetting those without samples. */
#define KEYS_MANY 16384

static void keys_free(struct waiting_samples *samples)
{
	array_free(&samples->keys);
	hash_index_free(&samples->index);
}

void waiting_samples_free(struct waiting_samples *samples)
{
	keys_free(samples);
	array_free(&samples->values);
}

uint32_t waiting_samples_key(struct waiting_samples *samples, const union waiting_key *key)
{
	size_t count = waiting_key_is_short(key) ? WAITING_KEY_WORDS_FEW : WAITING_KEY_WORDS;
	uint64_t hash = hash_words(&samples->hash_key, key->words, count);
	uint32_t position = waiting_samples_find(samples, key->words, count, hash);
	if (position != POSITION_NONE)
		return position;
	return hash_index_push(&samples->index, hash, &samples->keys, ((struct placed_key){ .key = *key }))
		       ? (uint32_t)samples->keys.count - 1
		       : POSITION_NONE;
}

uint64_t waiting_samples_trim(struct waiting_samples *samples)
{
	if (samples->keys.count < KEYS_MANY)
		return 0;
	struct waiting_samples old = *samples;
	uint64_t lost = 0;
	size_t kept = 0;
	samples->keys = (__typeof__(samples->keys)){ 0 };
	samples->index = (struct hash_index){ 0 };
	for (size_t i = 0; i < old.values.count; i++) {
		struct waiting_value value = old.values.items[i];
		value.key = waiting_samples_key(samples, &old.keys.items[value.key].key);
		if (value.key != POSITION_NONE)
			samples->values.items[kept++] = value;
		else
			saturating_increase(&lost, value.count);
	}
	samples->values.count = kept;
	keys_free(&old);
	return lost;
}
