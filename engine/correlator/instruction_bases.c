/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction bases by process: see instruction_bases.h. */
#include "correlator/instruction_bases.h"

#include "symbolizer/device/device_address.h"

void instruction_bases_free(struct instruction_bases *bases)
{
	keyed_array_free(&bases->items);
	array_free(&bases->free);
}

const struct process_bases *instruction_bases_find(const struct instruction_bases *bases, uint32_t pid)
{
	return keyed_array_get(&bases->items, &pid);
}

static bool has(const struct process_bases *process, uint64_t base)
{
	for (uint32_t i = 0; i < process->count; i++)
		if (process->bases[i] == base)
			return true;
	return false;
}

bool instruction_bases_has(const struct instruction_bases *bases, uint32_t pid, uint64_t base)
{
	const struct process_bases *process = instruction_bases_find(bases, pid);
	return process && has(process, base);
}

/* Counts one more process with a base. Returns false if there are too many distinct bases. */
static bool add_distinct(struct instruction_bases *bases, uint64_t base)
{
	for (size_t i = 0; i < bases->distinct_count; i++)
		if (bases->distinct[i].base == base) {
			bases->distinct[i].processes++;
			return true;
		}
	if (bases->distinct_count == INSTRUCTION_BASES_MAX)
		return false;
	bases->distinct[bases->distinct_count++] = (struct distinct_base){ .base = base, .processes = 1 };
	return true;
}

static void remove_distinct(struct instruction_bases *bases, uint64_t base)
{
	for (size_t i = 0; i < bases->distinct_count; i++)
		if (bases->distinct[i].base == base && !--bases->distinct[i].processes) {
			bases->distinct[i] = bases->distinct[--bases->distinct_count];
			return;
		}
}

static struct process_bases *add_process(struct instruction_bases *bases, uint32_t pid)
{
	uint32_t position = keyed_array_take(&bases->items, &bases->free,
					     &((struct process_bases){ .key = pid, .ended = UINT64_MAX }));
	return position == POSITION_NONE ? NULL : &bases->items.items[position];
}

static void note_incomplete(struct instruction_bases *bases, struct process_bases *process)
{
	bases->incomplete += !process->is_incomplete;
	process->is_incomplete = true;
}

void instruction_bases_add(struct instruction_bases *bases, uint32_t pid, struct instruction_base reported,
			   uint64_t address, uint64_t time, uint64_t ended)
{
	struct process_bases *process = keyed_array_get(&bases->items, &pid);
	uint64_t plain = device_address_plain(address);
	uint64_t base = reported.address ? device_address_plain(reported.address) : 0;
	uint64_t window = reported.window ? reported.window : INSTRUCTION_WINDOW_DEFAULT;
	if (!process)
		process = add_process(bases, pid);
	if (!process) {
		bases->refused++;
		return;
	}
	if (time > process->announced)
		process->announced = time;
	/* The pid may be reused by a new program. */
	bases->ended -= process->ended != UINT64_MAX;
	process->ended = ended;
	bases->ended += ended != UINT64_MAX;
	/* Programs are not trusted: the base must be one that can reach the program's code. */
	if (!base || plain < base || plain - base >= window) {
		note_incomplete(bases, process);
		return;
	}
	if (has(process, base))
		return;
	if (process->count < INSTRUCTION_BASES_OF_PROCESS_MAX && add_distinct(bases, base))
		process->bases[process->count++] = base;
	else
		bases->refused++;
}

void instruction_bases_end_process(struct instruction_bases *bases, uint32_t pid, uint64_t time)
{
	struct process_bases *process = keyed_array_get(&bases->items, &pid);
	/* Code announced later belongs to the next program with this pid. */
	if (!process || process->ended != UINT64_MAX || process->announced > time)
		return;
	process->ended = time;
	bases->ended++;
}

void instruction_bases_forget(struct instruction_bases *bases, uint64_t before)
{
	for (uint32_t i = 0; bases->ended && i < bases->items.count; i++) {
		struct process_bases *process = &bases->items.items[i];
		if (!process->announced || process->ended >= before)
			continue;
		for (uint32_t k = 0; k < process->count; k++)
			remove_distinct(bases, process->bases[k]);
		bases->incomplete -= process->is_incomplete;
		keyed_array_give_back(&bases->items, &bases->free, i);
		bases->ended--;
	}
}
