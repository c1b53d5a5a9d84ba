/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction bases by process: see instruction_bases.h. */
#include "correlator/instruction_bases.h"

#include "symbolizer/device/device_address.h"

#define REGION_SIZE ((uint64_t)1 << 32)

void instruction_bases_free(struct instruction_bases *bases)
{
	array_free(&bases->items);
	array_free(&bases->free);
	hash_index_free(&bases->by_pid);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct instruction_bases *)context)->items.items[position].pid);
}

static struct process_bases *find(const struct instruction_bases *bases, uint32_t pid)
{
	for (struct hash_probe probe = hash_index_probe(&bases->by_pid, hash_u64(pid));
	     hash_index_next(&bases->by_pid, &probe);)
		if (bases->items.items[probe.position].pid == pid)
			return &bases->items.items[probe.position];
	return NULL;
}

const struct process_bases *instruction_bases_find(const struct instruction_bases *bases, uint32_t pid)
{
	return find(bases, pid);
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
	const struct process_bases *process = find(bases, pid);
	return process && has(process, base);
}

/* One more process has a base. False when there is no room. */
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
	uint32_t position = array_take(&bases->items, &bases->free);
	if (position == POSITION_NONE)
		return NULL;
	bases->items.items[position] = (struct process_bases){ .pid = pid, .ended = UINT64_MAX };
	if (hash_index_add(&bases->by_pid, hash_u64(pid), position, rehash, bases))
		return &bases->items.items[position];
	array_give_back(&bases->free, position);
	return NULL;
}

void instruction_bases_add(struct instruction_bases *bases, uint32_t pid, uint64_t base, uint64_t address,
			   uint64_t time, uint64_t ended)
{
	struct process_bases *process = find(bases, pid);
	uint64_t plain = device_address_plain(address);
	base = base ? device_address_plain(base) : 0;
	/* A program says these: its own code has to be within reach. */
	if (!base || plain < base || plain - base >= REGION_SIZE)
		base = plain & ~(REGION_SIZE - 1);
	if (!process)
		process = add_process(bases, pid);
	if (!process) {
		bases->refused++;
		return;
	}
	if (time > process->announced)
		process->announced = time;
	/* A new program may have an old one's pid. */
	bases->ended -= process->ended != UINT64_MAX;
	process->ended = ended;
	bases->ended += ended != UINT64_MAX;
	if (has(process, base))
		return;
	if (process->count < INSTRUCTION_BASES_OF_PROCESS_MAX && add_distinct(bases, base))
		process->bases[process->count++] = base;
	else
		bases->refused++;
}

void instruction_bases_end_process(struct instruction_bases *bases, uint32_t pid, uint64_t time)
{
	struct process_bases *process = find(bases, pid);
	/* What was announced later is the next program's. */
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
		hash_index_remove(&bases->by_pid, hash_u64(process->pid), i);
		*process = (struct process_bases){ .ended = UINT64_MAX };
		array_give_back(&bases->free, i);
		bases->ended--;
	}
}
