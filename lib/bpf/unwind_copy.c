/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind_copy.h. */
#include "bpf/unwind_copy.h"

#include <string.h>
#include <sys/mman.h>

struct unwind_copy *unwind_copy_keep(const void *copy, size_t size)
{
	/* With all pages: unwind_copy_walk() may read each that is marked. */
	struct unwind_copy *kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept == MAP_FAILED)
		return NULL;
	madvise(kept, sizeof *kept, MADV_DONTDUMP);
	return memcpy(kept, copy, size < sizeof *kept ? size : sizeof *kept);
}

void unwind_copy_drop(struct unwind_copy *copy)
{
	if (copy)
		munmap(copy, sizeof *copy);
}

struct unwind_memory {
	const struct unwind_copy *copy;
	bool *is_beyond; /* set when memory outside of the copy was read */
};

static bool has_page(const struct unwind_copy *copy, uint64_t offset)
{
	return offset < UNWIND_COPY_SIZE && copy->pages >> offset / UNWIND_COPY_PAGE & 1;
}

static bool unwind_read(const struct unwind_memory *memory, __u64 address, void *to, __u32 size)
{
	const struct unwind_copy *copy = memory->copy;
	uint64_t offset = address - copy->start;
	if (has_page(copy, offset) && has_page(copy, offset + size - 1)) {
		memcpy(to, copy->bytes + offset, size);
		return true;
	}
	*memory->is_beyond |= offset > UNWIND_COPY_SIZE - size;
	return false;
}

static bool unwind_other(const struct unwind_memory *memory, __u32 number, __u64 *value)
{
	*value = memory->copy->others[UNWIND_POSITIONS >> (number & 15) * 4 & 15];
	return true;
}

#include "bpf/unwind_step.h"

static const struct unwind_mapping *find_mapping(const struct unwind_mapping *mappings, uint32_t count,
						 uint64_t address)
{
	size_t found = array_lower_bound(count, i, mappings[i].end <= address);
	return found < count && address >= mappings[found].start ? &mappings[found] : NULL;
}

/* Returns the position of the rule for an address in a mapping; 0 if there is none. */
static uint32_t find_rule(const struct unwinder *unwinder, const struct unwind_mapping *mapping, uint64_t address)
{
	const struct unwinder_contents *contents = &unwinder->contents.items[mapping->table];
	uint64_t place = address - mapping->bias;
	uint64_t page = (place >> IAPROF_UNWIND_PAGE_BITS) - mapping->first_page;
	uint32_t offset = place & (IAPROF_UNWIND_PAGE_SIZE - 1);
	if (page >= mapping->page_count || !contents->pages[mapping->position + page].count)
		return 0;
	const struct unwind_page *found = &contents->pages[mapping->position + page];
	/* The last row that is not beyond the offset; the first one is at offset 0. */
	const struct iaprof_unwind_row *rows = contents->rows + found->first;
	size_t behind = array_lower_bound(found->count, i, rows[i].offset <= offset);
	return rows[behind ? behind - 1 : 0].rule;
}

static const struct iaprof_unwind_rule *rule_at(const struct unwinder *unwinder, const struct unwind_mapping *mapping,
						uint64_t address, bool is_first)
{
	uint32_t position = 0;
	if (mapping->table != UNWIND_TABLE_FRAME_POINTERS && mapping->table < unwinder->contents.count) {
		position = find_rule(unwinder, mapping, address);
		if (!position && is_first)
			position = find_rule(unwinder, mapping, address - 1);
	}
	return &unwinder->rules[position];
}

uint32_t unwind_copy_walk(const struct unwinder *unwinder, const struct unwind_copy *copy, uint64_t *addresses,
			  uint32_t max, uint32_t *depth)
{
	bool is_beyond = false;
	const struct unwind_memory memory = { .copy = copy, .is_beyond = &is_beyond };
	struct unwind_frame frame = { .registers = copy->registers, .is_exact = !copy->registers.is_behind_call };
	for (size_t i = 0; i < UNWIND_OTHERS; i++)
		frame.has_others |= copy->others[i] != 0;
	uint32_t count = 0, end = UNWIND_CONTINUES;
	const struct unwind_mapping *mappings = unwinder_mappings(unwinder, copy->process, copy->execution, &count);
	*depth = 0;
	if (!mappings)
		return UNWIND_UNKNOWN;
	while (end == UNWIND_CONTINUES) {
		if (*depth >= max)
			return UNWIND_TRUNCATED;
		uint64_t address = unwind_frame_address(&frame);
		if (address >> 63)
			return UNWIND_UNREADABLE;
		addresses[*depth] = unwind_frame_shown(&frame, *depth);
		const struct unwind_mapping *mapping = find_mapping(mappings, count, address);
		(*depth)++;
		if (!mapping)
			return UNWIND_UNKNOWN;
		end = unwind_step(&frame, rule_at(unwinder, mapping, address, *depth == 1), &memory);
	}
	return end != UNWIND_COMPLETE && is_beyond ? UNWIND_TRUNCATED : end;
}
