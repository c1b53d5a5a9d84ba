/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_index.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <iaprof/record.h>
#include "bpf/stack_index.h"
#include "process/rights.h"

#define STACK_DEPTH_DEFAULT 127u /* PERF_MAX_STACK_DEPTH, include/uapi/linux/perf_event.h */
/* Python with PyTorch nests calls 100 to 200 deep; each function has two or three frames of the interpreter. */
#define STACK_DEPTH_ENOUGH 512u

uint32_t stack_depth_read(void)
{
	long depth = rights_setting("kernel/perf_event_max_stack");

	if (depth <= 0)
		return STACK_DEPTH_DEFAULT;
	return depth < (long)IAPROF_STACK_DEPTH_MAX ? (uint32_t)depth : IAPROF_STACK_DEPTH_MAX;
}

_Static_assert(STACK_DEPTH_MAX == IAPROF_STACK_DEPTH_MAX, "the core keeps stacks of this depth");

void bpf_check_stack_depth(const struct iaprof_host *host, bool use_tables)
{
	uint32_t depth = use_tables ? STACK_DEPTH_MAX : stack_depth_read();
	if (depth >= STACK_DEPTH_ENOUGH)
		host->check_item(host, IAPROF_CHECK_GOOD, "stack depth", "%" PRIu32 " addresses", depth);
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "stack depth",
				 "%" PRIu32 " addresses, deeper stacks are truncated (sysctl "
				 "kernel.perf_event_max_stack=1024, set while no profiler runs)",
				 depth);
}

static int entry_compare(const void *left, const void *right)
{
	const struct stack_index_entry *a = left, *b = right;
	return (a->key > b->key) - (a->key < b->key);
}

bool stack_index_build(struct stack_index *index, const struct map_table *table)
{
	if (!index->room)
		index->room = malloc(STACK_ROOM);
	if (!index->room || !array_reserve(&index->entries, table->count))
		return false;
	index->entries.count = table->count;
	for (uint32_t i = 0; i < table->count; i++) {
		memcpy(&index->entries.items[i].key, table->keys + i * table->key_size,
		       sizeof index->entries.items[i].key);
		index->entries.items[i].piece = (const void *)(table->values + i * table->value_size);
	}
	if (table->count)
		qsort(index->entries.items, table->count, sizeof *index->entries.items, entry_compare);
	return true;
}

static const struct stack_piece *find_piece(const struct stack_index *index, uint64_t key)
{
	struct stack_index_entry wanted = { .key = key };
	const struct stack_index_entry *found = NULL;

	if (index->entries.count)
		found = bsearch(&wanted, index->entries.items, index->entries.count, sizeof *index->entries.items,
				entry_compare);
	return found ? found->piece : NULL;
}

/* Copies piece n of a stack whose depth is set. */
static void copy_piece(struct stack_addresses *stack, uint64_t n, const struct stack_piece *piece)
{
	uint64_t begin = n * STACK_PIECE_DEPTH, left = stack->depth - begin;

	memcpy(stack->addresses + begin, piece->addresses,
	       (left < STACK_PIECE_DEPTH ? left : STACK_PIECE_DEPTH) * sizeof *stack->addresses);
}

const struct stack_addresses *stack_index_find(struct stack_index *index, uint64_t hash)
{
	const struct stack_piece *piece = hash ? find_piece(index, hash) : NULL;
	struct stack_addresses *stack = index->room;

	if (!piece || piece->depth > STACK_DEPTH_MAX)
		return NULL;
	if (piece->depth <= STACK_PIECE_DEPTH)
		return (const struct stack_addresses *)piece;
	stack->depth = piece->depth;
	for (uint64_t n = 0; n * STACK_PIECE_DEPTH < stack->depth; n++) {
		piece = find_piece(index, hash + n);
		if (!piece)
			return NULL;
		copy_piece(stack, n, piece);
	}
	return stack;
}

uint32_t stack_index_intern(struct stack_index *index, const struct iaprof_host *host, uint32_t process, uint64_t hash)
{
	const struct stack_addresses *stack = stack_index_find(index, hash);
	return stack ? host->intern_stack(host, process, (const uint64_t *)stack->addresses, stack->depth) : 0;
}

void stack_index_free(struct stack_index *index)
{
	array_free(&index->entries);
	free(index->room);
	index->room = NULL;
}

bool stack_read(int map, uint64_t hash, struct stack_addresses *stack)
{
	struct stack_piece piece;

	stack->depth = 1;
	for (uint64_t n = 0; n * STACK_PIECE_DEPTH < stack->depth; n++) {
		uint64_t key = hash + n;
		if (bpf_map_lookup_elem(map, &key, &piece))
			return false;
		if (n == 0)
			stack->depth = piece.depth;
		if (!stack->depth || stack->depth > STACK_DEPTH_MAX)
			return false;
		copy_piece(stack, n, &piece);
	}
	return true;
}
