/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See fold.h. The ten counters of a row are bytes, but not at byte boundaries. Two loads of 8 bytes, for five counters
 * each, and a shift align them. Even and odd bytes are then added into 16-bit lanes. After each group of rows, lanes
 * that have reached 2^15 are carried over into 64 bits; those below hold another group of maximum counters (64 * 255).
 * Lanes with other bits of the row are added too and ignored. An entry is one cache line.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include "fold.h"

#define GROUP 64u
/* Bit 15 of the lanes of counters, which are the first three of each half. */
#define CARRY_BITS UINT64_C(0x800080008000)
#define COUNTERS_PER_LOAD 5u
/* 2 MiB of entries: a huge page. */
#define SLOTS_MIN 32768u
/* Maximum distance of an entry from its home slot: in a table that is at most a quarter full, and in a fuller one. */
#define DISTANCE_MAX 64u
#define DISTANCE_MAX_FULL 4096u
/*
 * How many rows ahead rows are prefetched, since the CPU's own prefetching stops at the end of the page: more than
 * PREFETCH_ROWS, whose addresses are read, and as many as are folded while memory answers.
 */
#define ROWS_AHEAD 64u
/* Number of entries that fit into the CPU's second-level cache and need no prefetching. */
#define PREFETCH_COUNT 8192u
#define PREFETCH_ROWS 48u    /* how many rows ahead entries are prefetched */
#define PREFETCH_ENTRIES 16u /* how many entries ahead, when entries are read sequentially */
/* Never an address, since addresses have at most 61 bits. */
#define KEY_NONE UINT64_MAX

typedef uint16_t lanes __attribute__((vector_size(16)));
typedef uint8_t bytes __attribute__((vector_size(16)));
typedef uint64_t words __attribute__((vector_size(16)));

struct fold_entry {
	uint64_t key; /* the address in units of 8 bytes; KEY_NONE: a free slot */
	bool carried; /* sums are in use */
	lanes even, odd;
} __attribute__((aligned(64)));

/* Offset of the first five counters in a row, and the mask of the address before them. */
struct row_shape {
	uint32_t first_byte; /* the counters start 5 bits above its lowest bit */
	uint64_t address_mask;
};
static const struct row_shape shape_29 = { .first_byte = 3, .address_mask = (UINT64_C(1) << 29) - 1 };
static const struct row_shape shape_61 = { .first_byte = 7, .address_mask = (UINT64_C(1) << 61) - 1 };
#define SHIFT 5

/* Returns zeroed pages, which use no memory before they are written. */
static void *pages_map(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

static void pages_unmap(void *pages, size_t size)
{
	if (pages)
		munmap(pages, size);
}

static size_t sums_size(const struct fold *fold)
{
	return fold->slot_count * sizeof(uint64_t[STALL_REASON_COUNT]);
}

static inline uint64_t *sums_at(const struct fold *fold, uint32_t slot)
{
	return &fold->sums[slot * (size_t)STALL_REASON_COUNT];
}

static void table_unmap(struct fold *fold)
{
	pages_unmap(fold->entries, fold->slot_count * sizeof *fold->entries);
	pages_unmap(fold->sums, sums_size(fold));
	pages_unmap(fold->used, fold->slot_count * sizeof *fold->used);
}

/* Allocates an empty table of slot_count slots. */
static int table_map(struct fold *fold, uint32_t slot_count)
{
	fold->slot_count = slot_count;
	fold->shift = 64 - (uint32_t)__builtin_ctz(slot_count);
	fold->crowded = false;
	fold->crowded_count = 0;
	fold->count = 0;
	fold->distances = 0;
	fold->entries = pages_map(slot_count * sizeof *fold->entries);
	fold->sums = pages_map(sums_size(fold));
	fold->used = pages_map(slot_count * sizeof *fold->used);
	if (!fold->entries || !fold->sums || !fold->used) {
		table_unmap(fold);
		return -ENOMEM;
	}
	/* With small pages, a table of some MiB costs a TLB miss per row. */
	(void)madvise(fold->entries, slot_count * sizeof *fold->entries, MADV_HUGEPAGE);
	for (uint32_t slot = 0; slot < slot_count; slot++)
		fold->entries[slot].key = KEY_NONE;
	return 0;
}

/*
 * Multiplication by a random number spreads all but a few sets of addresses evenly. When one address is very far from
 * its home slot, or many are far, another number is chosen. This costs one multiplication per row, whereas SipHash
 * would take longer than all other work on a row; addresses chosen to collide under one number do not collide under the
 * next.
 *
 * The number, as a fraction of 2^64, has a continued fraction of random ones and twos. Its multiples, which are the
 * home slots of consecutive instructions, are therefore evenly spaced. About one in five arbitrary numbers would put
 * every other instruction into the home slot of another one.
 */
static int multiplier_choose(struct fold *fold)
{
	const unsigned __int128 half = UINT64_C(1) << 63;
	uint64_t random, fraction = UINT64_C(1) << 63;

	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	for (; random; random >>= 1)
		fraction = (uint64_t)(half * half * 2 / ((1 + (random & 1)) * half + fraction / 2));
	fold->multiplier = fraction;
	return 0;
}

int fold_init(struct fold *fold, const struct row_layout *layout, uint32_t slots_max)
{
	*fold = (struct fold){ .layout = layout, .slots_max = slots_max };
	int result = multiplier_choose(fold);
	if (!result)
		result = table_map(fold, SLOTS_MIN < slots_max ? SLOTS_MIN : slots_max);
	if (result)
		*fold = (struct fold){ 0 };
	return result;
}

void fold_free(struct fold *fold)
{
	table_unmap(fold);
	*fold = (struct fold){ 0 };
}

static inline uint32_t slot_of(const struct fold *fold, uint64_t key)
{
	return (uint32_t)(key * fold->multiplier >> fold->shift);
}

/* Returns the lane of a counter. */
static inline uint64_t lane_of(const struct fold_entry *entry, uint32_t counter)
{
	static const uint8_t lane[STALL_REASON_COUNT] = { 0, 0, 1, 1, 2, 4, 4, 5, 5, 6 };

	return counter % COUNTERS_PER_LOAD % 2 ? entry->odd[lane[counter]] : entry->even[lane[counter]];
}

/* Moves the lanes to the sums of the slot. */
static __attribute__((noinline)) void carry(struct fold *fold, uint32_t slot)
{
	struct fold_entry *entry = &fold->entries[slot];
	uint64_t *sums = sums_at(fold, slot);

	for (uint32_t i = 0; i < STALL_REASON_COUNT; i++)
		sums[i] += lane_of(entry, i);
	entry->even = entry->odd = (lanes){ 0 };
	entry->carried = true;
}

static inline uint64_t load(const unsigned char *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	return value;
}

static __attribute__((noinline)) uint32_t insert(struct fold *fold, uint64_t key, uint32_t slot)
{
	fold->entries[slot].key = key;
	fold->used[fold->count++] = slot;
	uint32_t distance = (slot - slot_of(fold, key)) & (fold->slot_count - 1);
	fold->distances += distance;
	/* Random addresses have a mean distance of 0.2 in a table that is a quarter full. */
	if (fold->count <= fold->slot_count / 4)
		fold->crowded |= distance > DISTANCE_MAX || fold->distances > DISTANCE_MAX + fold->count / 2;
	else
		fold->crowded |= distance > DISTANCE_MAX_FULL;
	return slot;
}

/* Returns the slot of a key, adding an entry if necessary. The table must have a free slot. */
static uint32_t find_or_insert(struct fold *fold, uint64_t key, uint32_t slot)
{
	while (fold->entries[slot].key != key) {
		if (fold->entries[slot].key == KEY_NONE)
			return insert(fold, key, slot);
		slot = (slot + 1) & (fold->slot_count - 1);
	}
	return slot;
}

/* Counts saturated counters (255). */
static __attribute__((noinline)) uint64_t saturated_count(const struct row_layout *layout, const unsigned char *row,
							  size_t count, size_t stride, uint32_t first_byte)
{
	uint64_t saturated = 0;

	for (; count; count--, row += stride)
		for (uint32_t i = 0; i < layout->counter_count; i++)
			saturated += (load(row + first_byte + i) >> SHIFT & 0xff) == 0xff;
	return saturated;
}

/* Carries over the lanes of a group's entries where necessary. */
static __attribute__((noinline)) void carry_group(struct fold *fold, const unsigned char *row, size_t count,
						  size_t stride, uint64_t address_mask)
{
	for (; count; count--, row += stride) {
		uint64_t key = load(row) & address_mask;
		uint32_t slot = find_or_insert(fold, key, slot_of(fold, key));
		words sums = (words)(fold->entries[slot].even | fold->entries[slot].odd);
		if ((sums[0] | sums[1]) & CARRY_BITS)
			carry(fold, slot);
	}
}

/*
 * Adds at most GROUP rows, for which the table has room. prefetch: PREFETCH_ROWS more rows follow. Always inline: shape
 * and prefetch are constants in each copy.
 */
static inline __attribute__((always_inline)) void fold_group(struct fold *fold, const unsigned char *rows, size_t count,
							     size_t stride, const struct row_shape *shape,
							     bool prefetch)
{
	/* Copies, because the compiler cannot know that writing an entry does not change them. */
	struct fold_entry *entries = fold->entries;
	const struct fold hash = { .multiplier = fold->multiplier, .shift = fold->shift };
	const unsigned char *row = rows;
	bytes full = { 0 };
	lanes any = { 0 };

	for (size_t i = 0; i < count; i++, row += stride) {
		if (prefetch) {
			uint64_t next = load(row + PREFETCH_ROWS * stride) & shape->address_mask;
			__builtin_prefetch(&entries[slot_of(&hash, next)], 1);
		}
		__builtin_prefetch(row + ROWS_AHEAD * stride);
		uint64_t key = load(row) & shape->address_mask;
		struct fold_entry *entry = &entries[slot_of(&hash, key)];
		if (__builtin_expect(entry->key != key, 0))
			entry = &entries[find_or_insert(fold, key, slot_of(&hash, key))];
		words counters = { load(row + shape->first_byte), load(row + shape->first_byte + COUNTERS_PER_LOAD) };
		counters >>= SHIFT;
		entry->even += (lanes)counters & 0xff;
		entry->odd += (lanes)counters >> 8;
		any |= entry->even | entry->odd;
		full |= (bytes)((bytes)counters == 0xff);
	}
	if (__builtin_expect(((((words)any)[0] | ((words)any)[1]) & CARRY_BITS) != 0, 0))
		carry_group(fold, rows, count, stride, shape->address_mask);
	if (__builtin_expect((((words)full)[0] | ((words)full)[1]) != 0, 0))
		fold->saturated += saturated_count(fold->layout, rows, count, stride, shape->first_byte);
}

/* Rehashes the entries into a table of slot_count slots. */
static int table_rebuild(struct fold *fold, uint32_t slot_count)
{
	struct fold other = *fold;

	int result = multiplier_choose(&other);
	if (!result)
		result = table_map(&other, slot_count);
	if (result)
		return result;
	for (uint32_t i = 0; i < fold->count; i++) {
		uint32_t old = fold->used[i];
		struct fold_entry *entry = &fold->entries[old];
		uint32_t slot = find_or_insert(&other, entry->key, slot_of(&other, entry->key));
		other.entries[slot] = *entry;
		if (entry->carried)
			memcpy(sums_at(&other, slot), sums_at(fold, old), sizeof(uint64_t[STALL_REASON_COUNT]));
	}
	table_unmap(fold);
	*fold = other;
	return 0;
}

/*
 * Makes room for a group of new addresses. In a table that is at most a quarter full, nearly every entry is in its home
 * slot, which benefits branch prediction; the largest table may become three quarters full.
 */
static bool group_has_room(struct fold *fold)
{
	if (__builtin_expect(fold->crowded, 0)) {
		fold->crowded = false;
		/*
		 * The table is rebuilt again only after it has grown by a quarter, so that no set of addresses causes
		 * repeated rebuilds.
		 */
		if (fold->count >= fold->crowded_count && !table_rebuild(fold, fold->slot_count))
			fold->crowded_count = fold->count + fold->count / 4;
	}
	if (__builtin_expect(fold->count + GROUP <= fold->slot_count / 4, 1))
		return true;
	if (fold->slot_count < fold->slots_max && !table_rebuild(fold, 2 * fold->slot_count))
		return true;
	return fold->count + GROUP <= fold->slot_count / 4 * 3;
}

static inline __attribute__((always_inline)) size_t fold_all(struct fold *fold, const unsigned char *rows, size_t count,
							     size_t stride, const struct row_shape *shape)
{
	size_t taken = 0;

	while (taken < count && group_has_room(fold)) {
		const unsigned char *group = rows + taken * stride;
		size_t group_count = count - taken < GROUP ? count - taken : GROUP;
		if (group_count < GROUP)
			fold_group(fold, group, group_count, stride, shape, false);
		else if (fold->count > PREFETCH_COUNT && count - taken >= GROUP + PREFETCH_ROWS)
			fold_group(fold, group, GROUP, stride, shape, true);
		else
			fold_group(fold, group, GROUP, stride, shape, false);
		taken += group_count;
	}
	return taken;
}

size_t fold_rows(struct fold *fold, const void *rows, size_t count, size_t step)
{
	if (fold->layout->address_bits == 61)
		return fold_all(fold, rows, count, step * ROW_SIZE, &shape_61);
	return fold_all(fold, rows, count, step * ROW_SIZE, &shape_29);
}

/* Always inline: gcc 12 removes calls of a function that does nothing but prefetch. */
static inline __attribute__((always_inline)) void entry_prefetch(const struct fold *fold, uint32_t index)
{
	if (index < fold->count)
		__builtin_prefetch(&fold->entries[fold->used[index]], 1);
}

void fold_get(const struct fold *fold, uint32_t index, uint64_t *address, uint64_t sums[STALL_REASON_COUNT])
{
	uint32_t slot = fold->used[index];
	const struct fold_entry *entry = &fold->entries[slot];
	const uint64_t *carried = sums_at(fold, slot);

	entry_prefetch(fold, index + PREFETCH_ENTRIES);
	memset(sums, 0, sizeof(uint64_t[STALL_REASON_COUNT]));
	*address = entry->key << 3;
	for (uint32_t i = 0; i < fold->layout->counter_count; i++)
		sums[fold->layout->reasons[i]] = lane_of(entry, i) + (entry->carried ? carried[i] : 0);
}

void fold_clear(struct fold *fold)
{
	for (uint32_t i = 0; i < fold->count; i++) {
		uint32_t slot = fold->used[i];
		entry_prefetch(fold, i + PREFETCH_ENTRIES);
		if (fold->entries[slot].carried)
			memset(sums_at(fold, slot), 0, sizeof(uint64_t[STALL_REASON_COUNT]));
		fold->entries[slot] = (struct fold_entry){ .key = KEY_NONE };
	}
	fold->count = 0;
	fold->crowded_count = 0;
	fold->distances = 0;
}
