/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See fold.h. The ten counters of a row are bytes at a distance of bits that is no multiple of 8. Two loads of 8 bytes,
 * one for five counters each, and a shift bring them to byte boundaries; even and odd bytes are then added into 16-bit
 * lanes, where 257 rows of the largest counters (257 * 255 = 65,535) have room before they are carried over into 64
 * bits. Lanes that hold other bits of the row are added too and never looked at. An entry is one cache line, and those
 * of a group of rows are fetched before the first one is needed.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include "fold.h"

#define ROWS_PER_CARRY 257u
#define GROUP 64u
#define COUNTERS_PER_LOAD 5u
/* 2 MiB of entries: a huge page. */
#define SLOTS_MIN 32768u
/* Of an entry from the slot that its hash gives, in a table that is at most a quarter full, and in a fuller one. */
#define DISTANCE_MAX 64u
#define DISTANCE_MAX_FULL 4096u
/* Of all entries on average, in a table that is at most a quarter full: random ones have 0.2. */
#define DISTANCE_MEAN_MAX 2u
#define PREFETCH_COUNT 8192u
/* Addresses have at most 61 bits. */
#define KEY_NONE UINT64_MAX

typedef uint16_t lanes __attribute__((vector_size(16)));
typedef uint8_t bytes __attribute__((vector_size(16)));
typedef uint64_t words __attribute__((vector_size(16)));

struct fold_entry {
	uint64_t key;     /* the address in units of 8 bytes; KEY_NONE: a free slot */
	uint32_t rows;    /* since the lanes were carried over */
	uint32_t carried; /* not 0: there is something in sums */
	lanes even, odd;
} __attribute__((aligned(64)));

/* Where in the row the first five counters are loaded from, and the address that is before them. */
struct row_shape {
	uint32_t first_byte; /* the counters begin 5 bits above its lowest bit */
	uint64_t address_mask;
};
static const struct row_shape shape_29 = { .first_byte = 3, .address_mask = (UINT64_C(1) << 29) - 1 };
static const struct row_shape shape_61 = { .first_byte = 7, .address_mask = (UINT64_C(1) << 61) - 1 };
#define SHIFT 5

/* Pages that are zero, and that take no memory before they are written. */
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

/* The table of a fold with slot_count slots, empty. */
static int table_map(struct fold *fold, uint32_t slot_count)
{
	fold->slot_count = slot_count;
	fold->shift = 64 - (uint32_t)__builtin_ctz(slot_count);
	fold->crowded = false;
	fold->count = 0;
	fold->distances = 0;
	fold->entries = pages_map(slot_count * sizeof *fold->entries);
	fold->sums = pages_map(sums_size(fold));
	fold->used = pages_map(slot_count * sizeof *fold->used);
	if (!fold->entries || !fold->sums || !fold->used) {
		table_unmap(fold);
		return -ENOMEM;
	}
	/* With small pages a table of some MiB costs a miss of the translation buffer for each row. */
	(void)madvise(fold->entries, slot_count * sizeof *fold->entries, MADV_HUGEPAGE);
	for (uint32_t slot = 0; slot < slot_count; slot++)
		fold->entries[slot].key = KEY_NONE;
	return 0;
}

/*
 * A product with a random odd number spreads any set of addresses, with few exceptions, which nobody can foresee: when
 * an address is found far from its place, or many are not at theirs, another number is taken. That is one
 * multiplication for each row, where a hash such as SipHash takes longer than all the rest of a row's work; whoever
 * chooses addresses that go badly with one number has not chosen them for the next.
 */
static int multiplier_choose(struct fold *fold)
{
	if (getrandom(&fold->multiplier, sizeof fold->multiplier, 0) != (ssize_t)sizeof fold->multiplier)
		return -EIO;
	fold->multiplier |= 1;
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

/* Moves what is in the lanes to the sums of the slot. */
static __attribute__((noinline)) void carry(struct fold *fold, uint32_t slot)
{
	struct fold_entry *entry = &fold->entries[slot];
	uint64_t *sums = sums_at(fold, slot);

	for (uint32_t i = 0; i < STALL_REASON_COUNT; i++) {
		uint32_t byte = i % COUNTERS_PER_LOAD;
		uint32_t lane = i / COUNTERS_PER_LOAD * 4 + byte / 2;
		sums[i] += byte % 2 ? entry->odd[lane] : entry->even[lane];
	}
	entry->even = entry->odd = (lanes){ 0 };
	entry->rows = 0;
	entry->carried = 1;
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
	if (fold->count <= fold->slot_count / 4)
		fold->crowded |= distance > DISTANCE_MAX ||
				 fold->distances > DISTANCE_MAX + (uint64_t)DISTANCE_MEAN_MAX * fold->count;
	else
		fold->crowded |= distance > DISTANCE_MAX_FULL;
	return slot;
}

/* The slot of a key, which gets an entry if it has none. There is a free one. */
static inline uint32_t find(struct fold *fold, uint64_t key, uint32_t slot)
{
	while (__builtin_expect(fold->entries[slot].key != key, 0)) {
		if (fold->entries[slot].key == KEY_NONE)
			return insert(fold, key, slot);
		slot = (slot + 1) & (fold->slot_count - 1);
	}
	return slot;
}

/* How many counters of rows stand at 255. */
static __attribute__((noinline)) uint64_t saturated_count(const struct row_layout *layout, const unsigned char *row,
							  size_t count, size_t stride, uint32_t first_byte)
{
	uint64_t saturated = 0;

	for (; count; count--, row += stride)
		for (uint32_t i = 0; i < layout->counter_count; i++)
			saturated += (load(row + first_byte + i) >> SHIFT & 0xff) == 0xff;
	return saturated;
}

static inline __attribute__((always_inline)) void row_add(struct fold *fold, const unsigned char *row, uint64_t key,
							  uint32_t slot, const struct row_shape *shape, bytes *full)
{
	slot = find(fold, key, slot);
	struct fold_entry *entry = &fold->entries[slot];
	words counters = { load(row + shape->first_byte), load(row + shape->first_byte + COUNTERS_PER_LOAD) };

	counters >>= SHIFT;
	entry->even += (lanes)counters & 0xff;
	entry->odd += (lanes)counters >> 8;
	*full |= (bytes)((bytes)counters == 0xff);
	if (__builtin_expect(++entry->rows == ROWS_PER_CARRY, 0))
		carry(fold, slot);
}

/*
 * At most GROUP rows, for which the table has room. Always inline: shape and prefetch are constants in each copy. To
 * fetch entries beforehand pays when they are too many for the processor's own cache.
 */
static inline __attribute__((always_inline)) void fold_group(struct fold *fold, const unsigned char *rows, size_t count,
							     size_t stride, const struct row_shape *shape,
							     bool prefetch)
{
	uint64_t keys[GROUP];
	uint32_t slots[GROUP];
	bytes full = { 0 };
	const unsigned char *row = rows;

	for (size_t i = 0; prefetch && i < count; i++, row += stride) {
		keys[i] = load(row) & shape->address_mask;
		slots[i] = slot_of(fold, keys[i]);
		__builtin_prefetch(&fold->entries[slots[i]], 1);
	}
	row = rows;
	for (size_t i = 0; i < count; i++, row += stride) {
		uint64_t key = prefetch ? keys[i] : load(row) & shape->address_mask;
		row_add(fold, row, key, prefetch ? slots[i] : slot_of(fold, key), shape, &full);
	}
	words any = (words)full;
	if (__builtin_expect((any[0] | any[1]) != 0, 0))
		fold->saturated += saturated_count(fold->layout, rows, count, stride, shape->first_byte);
}

/* The same entries in a table of slot_count slots, in other places. */
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
		uint32_t slot = find(&other, entry->key, slot_of(&other, entry->key));
		other.entries[slot] = *entry;
		if (entry->carried)
			memcpy(sums_at(&other, slot), sums_at(fold, old), sizeof(uint64_t[STALL_REASON_COUNT]));
	}
	table_unmap(fold);
	*fold = other;
	return 0;
}

/*
 * Room for a group of new addresses. A table that is at most a quarter full finds nearly every entry in the first
 * place, so that the processor guesses right; the largest one may become three quarters full.
 */
static bool group_has_room(struct fold *fold)
{
	if (__builtin_expect(fold->crowded, 0)) {
		fold->crowded = false;
		(void)table_rebuild(fold, fold->slot_count);
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
		else if (fold->count > PREFETCH_COUNT)
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

void fold_get(const struct fold *fold, uint32_t index, uint64_t *address, uint64_t sums[STALL_REASON_COUNT])
{
	uint32_t slot = fold->used[index];
	const struct fold_entry *entry = &fold->entries[slot];
	const uint64_t *carried = sums_at(fold, slot);

	memset(sums, 0, sizeof(uint64_t[STALL_REASON_COUNT]));
	*address = entry->key << 3;
	for (uint32_t i = 0; i < fold->layout->counter_count; i++) {
		uint32_t byte = i % COUNTERS_PER_LOAD;
		uint32_t lane = i / COUNTERS_PER_LOAD * 4 + byte / 2;
		uint64_t sum = byte % 2 ? entry->odd[lane] : entry->even[lane];
		sums[fold->layout->reasons[i]] = sum + (entry->carried ? carried[i] : 0);
	}
}

void fold_clear(struct fold *fold)
{
	for (uint32_t i = 0; i < fold->count; i++) {
		uint32_t slot = fold->used[i];
		if (fold->entries[slot].carried)
			memset(sums_at(fold, slot), 0, sizeof(uint64_t[STALL_REASON_COUNT]));
		fold->entries[slot] = (struct fold_entry){ .key = KEY_NONE };
	}
	fold->count = 0;
	fold->distances = 0;
}
