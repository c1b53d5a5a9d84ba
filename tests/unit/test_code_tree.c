/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of all loads: test_code_index.c holds its answers against a plain list, here is what makes it fast. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/device/code_tree.h"
#include "../run_suite.h"

static void count_space(void *context, uint32_t space)
{
	size_t *counts = context;
	counts[space]++;
}

/* Whatever the order of the addresses; and nothing else is visited. */
TEST_LOOP(it_is_never_deep_and_gives_what_was_there, 0, 3)
{
	enum { COUNT = 10000 };
	static size_t counts[COUNT];
	struct code_tree tree = { 0 };
	ck_assert(array_reserve(&tree.nodes, COUNT));
	for (uint32_t i = 0; i < COUNT; i++) {
		uint64_t place = _i == 0 ? i : _i == 1 ? COUNT - i : (i * UINT64_C(7919)) % COUNT;
		struct code_interval one = {
			.start = 0x1000, .end = 0x1000 + place * 16 + 16, .loaded = place, .serial = i
		};
		code_tree_add(&tree, 1, &one, UINT64_MAX, i);
		code_tree_end(&tree, 1, &one, place + 10);
	}
	/* An AVL tree of n nodes has fewer than 1.45 log2(n + 2) levels. */
	ck_assert_uint_le(tree.nodes.items[tree.root - 1].height, 19);
	memset(counts, 0, sizeof counts);
	code_tree_find(&tree, 1, 0x1000 + 505 * 16, 500, 508, count_space, counts);
	code_tree_find(&tree, 2, 0x1000, 500, 508, count_space, counts);
	size_t sum = 0;
	for (size_t i = 0; i < COUNT; i++) {
		uint64_t place = tree.nodes.items[i].loaded;
		ck_assert_uint_eq(counts[i], place >= 505 && place <= 508);
		sum += counts[i];
	}
	ck_assert_uint_eq(sum, 4);
	code_tree_free(&tree);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
