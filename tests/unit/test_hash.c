/* SPDX-License-Identifier: Apache-2.0 */
/* The hash index finds what was added, through growth, and nobody can choose keys that are slow to find. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../programs/thread_names.h"
#include "base/keyed_array.h"
#include "base/string_table.h"
#include "../run_suite.h"

#define KEY_COUNT 40000u

/*
 * With 40,000 keys in 65,536 slots a random key is within some ten slots of its own, and in a run of 500 full slots
 * with a probability below 1e-15. Keys that collide are up to 40,000 slots away.
 */
#define PROBES_MAX 500u

static uint64_t rehash(const void *context, uint32_t position)
{
	return hash_u64(position % 1000); /* many items share a hash */
}

static bool has(const struct hash_index *index, uint32_t position)
{
	for (struct hash_probe probe = hash_index_probe(index, rehash(NULL, position)); hash_index_next(index, &probe);)
		if (probe.position == position)
			return true;
	return false;
}

TEST(finds_what_was_added_and_not_removed)
{
	struct hash_index index = { 0 };
	for (uint32_t i = 0; i < 5000; i++)
		ck_assert(hash_index_add(&index, rehash(NULL, i), i));
	for (uint32_t i = 0; i < 5000; i += 2)
		hash_index_remove(&index, rehash(NULL, i), i);
	ck_assert_uint_eq(index.count, 2500);
	for (uint32_t i = 0; i < 5000; i++)
		ck_assert_int_eq(has(&index, i), i % 2 == 1);
	hash_index_free(&index);
}

TEST(stays_small_when_items_come_and_go)
{
	struct hash_index index = { 0 };
	for (uint32_t i = 0; i < 100000; i++) {
		ck_assert(hash_index_add(&index, rehash(NULL, i), i));
		hash_index_remove(&index, rehash(NULL, i), i);
	}
	ck_assert_uint_eq(index.count, 0);
	ck_assert_uint_le(index.slot_count, 64);
	hash_index_free(&index);
}

struct keyed_item {
	struct {
		uint32_t owner, number;
	} key;
	uint32_t value;
};

TEST(keyed_arrays_find_what_was_added_and_not_removed)
{
	KEYED_ARRAY(struct keyed_item) array = { 0 };
	for (uint32_t i = 0; i < 3000; i++)
		ck_assert_uint_eq(keyed_array_add(&array, &((struct keyed_item){ .key = { i % 3, i }, .value = i })),
				  i);
	/* An item with a known key is not added again. */
	ck_assert_uint_eq(keyed_array_add(&array, &((struct keyed_item){ .key = { 1, 7 } })), 7);
	ck_assert_uint_eq(array.count, 3000);
	ck_assert_uint_eq(array.items[7].value, 7);
	/* The last item takes the place of one that is removed. */
	for (uint32_t i = 0; i < 3000; i += 2) {
		struct keyed_item wanted = { .key = { i % 3, i } };
		keyed_array_remove(&array, keyed_array_find(&array, &wanted.key));
	}
	ck_assert_uint_eq(array.count, 1500);
	for (uint32_t i = 0; i < 3000; i++) {
		struct keyed_item wanted = { .key = { i % 3, i } };
		const struct keyed_item *found = keyed_array_get(&array, &wanted.key);
		ck_assert_int_eq(found != NULL, i % 2 == 1);
		if (found)
			ck_assert_uint_eq(found->value, i);
	}
	keyed_array_free(&array);
}

TEST(keyed_arrays_reuse_positions)
{
	KEYED_ARRAY(struct keyed_item) array = { 0 };
	ARRAY(uint32_t) free_positions = { 0 };
	for (uint32_t i = 0; i < 1000; i++) {
		struct keyed_item item = { .key = { 0, i }, .value = i };
		uint32_t position = keyed_array_take(&array, &free_positions, &item);
		ck_assert_uint_lt(position, 10);
		ck_assert_ptr_eq(keyed_array_get(&array, &item.key), &array.items[position]);
		if (i < 9)
			continue;
		item.key.number = i - 9;
		position = keyed_array_find(&array, &item.key);
		ck_assert_uint_eq(array.items[position].value, i - 9);
		keyed_array_give_back(&array, &free_positions, position);
		ck_assert_ptr_null(keyed_array_get(&array, &item.key));
		ck_assert_uint_eq(array.items[position].value, 0);
	}
	ck_assert_uint_eq(array.count - free_positions.count, 9);
	keyed_array_free(&array);
	array_free(&free_positions);
}

/* The most slots that are looked at to find any one item. */
static size_t longest_probe(const struct hash_index *index, uint64_t (*hash)(const void *context, uint32_t position),
			    const void *context)
{
	size_t longest = 0;
	for (size_t slot = 0; slot < index->slot_count; slot++) {
		uint32_t position = index->slots[slot].position;
		if (position >= HASH_REMOVED)
			continue;
		size_t home = (size_t)hash(context, position) & (index->slot_count - 1);
		size_t probes = ((slot - home) & (index->slot_count - 1)) + 1;
		longest = probes > longest ? probes : longest;
	}
	return longest;
}

static uint64_t entry_hash(const void *context, uint32_t position)
{
	const struct string_entry *entry = &((const struct string_table *)context)->entries.items[position];
	return hash_bytes(entry->text, entry->length);
}

TEST(names_cannot_be_chosen_to_collide)
{
	static char names[KEY_COUNT][THREAD_NAME_LENGTH + 1];
	struct string_table table = { 0 };

	thread_names_make(true, KEY_COUNT, names);
	for (uint32_t i = 0; i < KEY_COUNT; i++) {
		ck_assert_uint_eq(strlen(names[i]), THREAD_NAME_LENGTH);
		ck_assert_uint_eq(unkeyed_hash(names[i], THREAD_NAME_LENGTH),
				  unkeyed_hash(names[0], THREAD_NAME_LENGTH));
		ck_assert_uint_eq(string_table_add(&table, names[i], THREAD_NAME_LENGTH, NULL), i + 1);
	}
	ck_assert_uint_eq(table.index.count, KEY_COUNT);
	ck_assert_uint_le(longest_probe(&table.index, entry_hash, &table), PROBES_MAX);
	string_table_free(&table);
}

/* Numbers whose unkeyed hashes end in the same 32 bits: what the finaliser of MurmurHash3 makes of them, undone. */
static uint64_t colliding_number(uint32_t position)
{
	uint64_t value = (uint64_t)position << 32;
	value ^= value >> 33;
	value *= UINT64_C(0x9cb4b2f8129337db); /* the inverse of the finaliser's second multiplier */
	value ^= value >> 33;
	value *= UNKEYED_INVERSE;
	return value ^ value >> 33;
}

static uint64_t number_hash(const void *context, uint32_t position)
{
	return hash_u64(colliding_number(position));
}

TEST(numbers_cannot_be_chosen_to_collide)
{
	struct hash_index index = { 0 };
	for (uint32_t i = 0; i < KEY_COUNT; i++) {
		ck_assert_uint_eq((uint32_t)unkeyed_hash_u64(colliding_number(i)), 0);
		ck_assert(hash_index_add(&index, number_hash(NULL, i), i));
	}
	ck_assert_uint_le(longest_probe(&index, number_hash, NULL), PROBES_MAX);
	hash_index_free(&index);
}

static uint64_t regular_number(uint32_t position)
{
	return position;
}

static uint64_t low_zeros_number(uint32_t position)
{
	return (uint64_t)position << 44;
}

struct word_keys {
	struct hash_key key;
	uint64_t (*number)(uint32_t position);
	bool several;
};

static uint64_t word_hash(const void *context, uint32_t position)
{
	const struct word_keys *keys = context;
	uint64_t number = keys->number(position);
	const uint64_t words[HASH_WORDS_MAX] = { 7, number, number, UINT64_MAX };
	return keys->several ? hash_words(&keys->key, words, HASH_WORDS_MAX) : hash_word(&keys->key, number);
}

TEST_LOOP(words_cannot_be_chosen_to_collide, 0, 6)
{
	uint64_t (*const numbers[])(uint32_t position) = { colliding_number, regular_number, low_zeros_number };
	struct word_keys keys = { .number = numbers[_i / 2], .several = _i % 2 };
	struct hash_index index = { 0 };
	hash_key_make(&keys.key);
	for (uint32_t i = 0; i < KEY_COUNT; i++)
		ck_assert(hash_index_add(&index, word_hash(&keys, i), i));
	ck_assert_uint_le(longest_probe(&index, word_hash, &keys), PROBES_MAX);
	hash_index_free(&index);
}

/* Runs this program again, which then prints a hash: print_hash(). */
TEST(each_process_has_its_own_key)
{
	char command[4200];
	uint64_t hash = 0;
	ck_assert_int_lt(snprintf(command, sizeof command, "'%s' print-hash", program_invocation_name), sizeof command);
	FILE *other = popen(command, "r");
	ck_assert_ptr_nonnull(other);
	ck_assert_int_eq(fscanf(other, "%" SCNx64, &hash), 1);
	ck_assert_int_eq(pclose(other), 0);
	ck_assert_uint_ne(hash, hash_bytes("key", 3));
}

static int print_hash(void)
{
	return printf("%" PRIx64 "\n", hash_bytes("key", 3)) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "print-hash") == 0)
		return print_hash();
	return run_all_tests(0, NULL, NULL);
}
