/* SPDX-License-Identifier: Apache-2.0 */
/* The hash index: finds what was added, not what was removed, through growth. */
#include <check.h>
#include <stdlib.h>

#include "base/hash.h"

static uint64_t rehash(const void *context, uint32_t position)
{
	(void)context;
	return hash_u64(position % 1000); /* many items share a hash */
}

static bool has(const struct hash_index *index, uint32_t position)
{
	for (struct hash_probe probe = hash_index_probe(index, rehash(NULL, position)); hash_index_next(index, &probe);)
		if (probe.position == position)
			return true;
	return false;
}

START_TEST(finds_what_was_added_and_not_removed)
{
	struct hash_index index = { 0 };
	for (uint32_t i = 0; i < 5000; i++)
		ck_assert(hash_index_add(&index, rehash(NULL, i), i, rehash, NULL));
	for (uint32_t i = 0; i < 5000; i += 2)
		hash_index_remove(&index, rehash(NULL, i), i);
	ck_assert_uint_eq(index.count, 2500);
	for (uint32_t i = 0; i < 5000; i++)
		ck_assert_int_eq(has(&index, i), i % 2 == 1);
	hash_index_free(&index);
}
END_TEST

START_TEST(stays_small_when_items_come_and_go)
{
	struct hash_index index = { 0 };
	for (uint32_t i = 0; i < 100000; i++) {
		ck_assert(hash_index_add(&index, rehash(NULL, i), i, rehash, NULL));
		hash_index_remove(&index, rehash(NULL, i), i);
	}
	ck_assert_uint_eq(index.count, 0);
	ck_assert_uint_le(index.slot_count, 64);
	hash_index_free(&index);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hash");
	TCase *tests = tcase_create("index");
	tcase_add_test(tests, finds_what_was_added_and_not_removed);
	tcase_add_test(tests, stays_small_when_items_come_and_go);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
