/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by process: see kernels.h. */
#include "correlator/kernels.h"

#include "correlator/launch_history.h"
#include "symbolizer/device/device_address.h"

/* Limit on kernel ids, and therefore on kernels. Sources of launches remember fewer. */
#define IDS_MAX 262144
/* Number of ids from which the process with the most of them loses its unused ones. */
#define IDS_CROWDED (IDS_MAX / 2)
/* Limit on kernels at one address that are compared: code is rarely replaced more often while samples wait. */
#define OVERLAPPING_MAX 64

static void kernel_release(struct kernel *kernel)
{
	array_free(&kernel->launches);
	array_free(&kernel->shares);
}

static void evidence_release(struct kernels *kernels, struct kernel_owner *owner)
{
	kernels->evidence -= owner->evidence.count;
	keyed_array_free(&owner->evidence);
}

void kernels_free(struct kernels *kernels)
{
	for (size_t i = 0; i < kernels->items.count; i++)
		kernel_release(&kernels->items.items[i]);
	keyed_array_free(&kernels->items);
	array_free(&kernels->free);
	keyed_array_free(&kernels->ids);
	array_free(&kernels->free_ids);
	for (size_t i = 0; i < kernels->owners.count; i++) {
		range_table_free(&kernels->owners.items[i].ranges);
		evidence_release(kernels, &kernels->owners.items[i]);
	}
	keyed_array_free(&kernels->owners);
}

static struct kernel_id *find_id(const struct kernels *kernels, uint16_t source, uint32_t id)
{
	return keyed_array_get(&kernels->ids, &((struct source_id){ source, id }));
}

struct kernel_owner *kernels_owner(const struct kernels *kernels, uint32_t pid)
{
	return keyed_array_get(&kernels->owners, &pid);
}

uint32_t kernels_by_id(const struct kernels *kernels, uint16_t source, uint32_t id)
{
	const struct kernel_id *found = find_id(kernels, source, id);
	return found ? found->kernel : KERNEL_NONE;
}

uint32_t kernels_at(const struct kernels *kernels, uint32_t pid, uint64_t address, uint32_t name)
{
	struct kernel_key key = { .pid = pid, .name = name, .address = address };
	uint32_t position = keyed_array_find(&kernels->items, &key);
	key.name = 0;
	return position == KERNEL_NONE ? keyed_array_find(&kernels->items, &key) : position;
}

static void sort_ranges(const struct kernels *kernels, struct kernel_owner *owner)
{
	range_table_free(&owner->ranges);
	owner->is_sorted = true;
	for (uint32_t i = owner->first; i != KERNEL_NONE && owner->is_sorted; i = kernels->items.items[i].next) {
		const struct kernel *kernel = &kernels->items.items[i];
		if (kernel->size && kernel->size <= UINT64_MAX - kernel->key.address)
			owner->is_sorted = range_table_add(&owner->ranges, kernel->key.address,
							   kernel->key.address + kernel->size, i);
	}
	range_table_sort(&owner->ranges);
	range_table_link(&owner->ranges);
}

uint32_t kernels_around(struct kernels *kernels, uint32_t pid, uint64_t address, uint64_t time)
{
	struct kernel_owner *owner = kernels_owner(kernels, pid);
	uint32_t best = KERNEL_NONE;
	if (owner && !owner->is_sorted)
		sort_ranges(kernels, owner);
	const struct range *range = owner ? range_table_find(&owner->ranges, address) : NULL;
	for (int i = 0; range && i < OVERLAPPING_MAX; i++) {
		const struct kernel *kernel = &kernels->items.items[range->value];
		if (address < range->end && kernel->announced <= time &&
		    (best == KERNEL_NONE || kernel->announced > kernels->items.items[best].announced))
			best = range->value;
		range = range->enclosing == RANGE_NONE ? NULL : &owner->ranges.items[range->enclosing];
	}
	return best;
}

uint32_t kernels_of_process(const struct kernels *kernels, uint32_t pid)
{
	const struct kernel_owner *owner = kernels_owner(kernels, pid);
	return owner ? owner->first : KERNEL_NONE;
}

bool kernels_are_seen_launched(const struct kernels *kernels, uint32_t pid)
{
	const struct kernel_owner *owner = kernels_owner(kernels, pid);
	return owner && owner->launched;
}

/* No plain address has the highest bit: key_address(). */
#define NO_ADDRESS (UINT64_C(1) << 63)

static bool has_address(const struct kernel_key *key)
{
	return key->address && !(key->address & NO_ADDRESS);
}

/* Returns the position of a kernel, adding it if it is new; KERNEL_NONE: out of memory. */
static uint32_t kernel_for(struct kernels *kernels, const struct kernel *wanted)
{
	uint32_t position = keyed_array_find(&kernels->items, &wanted->key);
	if (position != KERNEL_NONE)
		return position;
	uint32_t owner = keyed_array_add(
		&kernels->owners,
		&((struct kernel_owner){
			.key = wanted->key.pid, .ended = UINT64_MAX, .first = KERNEL_NONE, .unplaced = KERNEL_NONE }));
	position = owner == POSITION_NONE ? KERNEL_NONE : keyed_array_take(&kernels->items, &kernels->free, wanted);
	if (position == KERNEL_NONE)
		return KERNEL_NONE;
	struct kernel_owner *added = &kernels->owners.items[owner];
	uint32_t *first = has_address(&wanted->key) ? &added->first : &added->unplaced;
	kernels->items.items[position].next = *first;
	*first = position;
	return position;
}

static bool add_id(struct kernels *kernels, const struct kernel_id *id)
{
	return kernels->ids.count - kernels->free_ids.count < IDS_MAX &&
	       keyed_array_take(&kernels->ids, &kernels->free_ids, id) != POSITION_NONE;
}

/*
 * Returns the address in the key of a kernel. One without an address is identified by its code object, because modules
 * contain kernels of the same name.
 */
static uint64_t key_address(const struct iaprof_record_kernel *record)
{
	if (record->address || record->size || !record->code_object)
		return device_address_plain(record->address);
	return NO_ADDRESS | (uint64_t)record->header.source << 32 | record->code_object;
}

void kernels_add(struct kernels *kernels, const struct iaprof_record_kernel *record, uint64_t ended)
{
	struct kernel wanted = { .key = { .pid = record->pid, .name = record->name, .address = key_address(record) },
				 .next = KERNEL_NONE,
				 .ended = UINT64_MAX };
	if (!record->id || find_id(kernels, record->header.source, record->id))
		return;
	uint32_t position = kernel_for(kernels, &wanted);
	struct kernel_id id = { .key = { record->header.source, record->id },
				.kernel = position,
				.used = record->header.time };
	if (position == KERNEL_NONE || !add_id(kernels, &id)) {
		kernels->refused++;
		return; /* without an id the kernel is removed by the next kernels_forget() */
	}
	struct kernel *kernel = &kernels->items.items[position];
	struct kernel_owner *owner = kernels_owner(kernels, record->pid);
	kernel->ids++;
	owner->ids++;
	if (record->header.time > kernel->announced)
		kernel->announced = record->header.time;
	if (record->size != kernel->size || !kernel->size)
		owner->is_sorted = false;
	kernel->size = record->size;
	/* A new program may reuse the pid and have its code at the same address. */
	if (record->header.time > owner->ended)
		evidence_release(kernels, owner);
	owner->ended = UINT64_MAX;
	kernels->ended -= kernel->ended != UINT64_MAX;
	kernel->ended = ended;
	kernels->ended += ended != UINT64_MAX;
}

bool kernels_add_launches(struct kernels *kernels, uint16_t source, uint32_t id, const struct kernel_launches *launches)
{
	struct kernel_id *found = find_id(kernels, source, id);
	if (!found)
		return false;
	struct kernel *kernel = &kernels->items.items[found->kernel];
	if (launches->last_time > found->used)
		found->used = launches->last_time;
	kernels_owner(kernels, kernel->key.pid)->launched = true;
	return launch_history_add(kernel, launches, &kernels->merged);
}

/* Returns whether the shares are those of an interval. */
static bool has_shares(const struct kernel *kernel, uint64_t begin, uint64_t end, struct code_life life)
{
	if (!kernel->shares_end || kernel->shares_life.loaded != life.loaded ||
	    kernel->shares_life.unloaded != life.unloaded)
		return false;
	return (kernel->shares_begin == begin && kernel->shares_end == end) ||
	       (kernel->shares_after && begin > kernel->shares_after && end < kernel->shares_before);
}

size_t kernels_shares(struct kernels *kernels, uint32_t position, uint64_t begin, uint64_t end, struct code_life life,
		      const struct kernel_share **shares, bool *in_time)
{
	struct kernel *kernel = &kernels->items.items[position];
	if (!has_shares(kernel, begin, end, life))
		launch_history_share(kernel, begin, end, life);
	*shares = kernel->shares.items;
	*in_time = kernel->shares_in_time;
	return kernel->shares.count;
}

const struct iaprof_span *kernels_shares_span(const struct kernels *kernels, uint32_t position)
{
	const struct iaprof_span *span = &kernels->items.items[position].shares_span;
	return iaprof_span_is_valid(span) ? span : NULL;
}

bool kernels_each_stack(struct kernels *kernels, bool (*visit)(void *context, uint32_t *stack), void *context)
{
	for (size_t i = 0; i < kernels->items.count; i++) {
		struct kernel *kernel = &kernels->items.items[i];
		kernel->shares_end = 0;
		for (size_t k = 0; k < kernel->launches.count; k++)
			if (!visit(context, &kernel->launches.items[k].launch_stack))
				return false;
	}
	return true;
}

static void end_kernels(struct kernels *kernels, uint32_t first, uint64_t time)
{
	for (uint32_t i = first; i != KERNEL_NONE; i = kernels->items.items[i].next) {
		struct kernel *kernel = &kernels->items.items[i];
		/* Code announced later belongs to the next program with this pid. */
		if (kernel->ended != UINT64_MAX || kernel->announced > time)
			continue;
		kernel->ended = time;
		kernels->ended++;
	}
}

void kernels_end_process(struct kernels *kernels, uint32_t pid, uint64_t time)
{
	struct kernel_owner *owner = kernels_owner(kernels, pid);
	if (!owner)
		return;
	owner->ended = time;
	end_kernels(kernels, owner->first, time);
	end_kernels(kernels, owner->unplaced, time);
}

static struct kernel_owner *largest_owner(const struct kernels *kernels)
{
	struct kernel_owner *largest = NULL;
	for (size_t i = 0; i < kernels->owners.count; i++)
		if (!largest || kernels->owners.items[i].ids > largest->ids)
			largest = &kernels->owners.items[i];
	return largest;
}

/* Removes ids of ended programs, and the unused ids of the process that crowds the table. */
static void forget_ids(struct kernels *kernels, uint64_t before)
{
	bool is_crowded = kernels->ids.count - kernels->free_ids.count > IDS_CROWDED;
	const struct kernel_owner *crowding = is_crowded ? largest_owner(kernels) : NULL;
	for (uint32_t i = 0; i < kernels->ids.count; i++) {
		struct kernel_id *id = &kernels->ids.items[i];
		if (!id->key.id || id->used >= before)
			continue;
		struct kernel *kernel = &kernels->items.items[id->kernel];
		if (kernel->ended >= before && !(crowding && kernel->key.pid == crowding->key))
			continue;
		kernels_owner(kernels, kernel->key.pid)->ids--;
		kernel->ids--;
		keyed_array_give_back(&kernels->ids, &kernels->free_ids, i);
	}
}

/* Removes kernels of a process that no longer have an id. */
static void forget_kernels(struct kernels *kernels, struct kernel_owner *owner, uint32_t *link, uint64_t before)
{
	while (*link != KERNEL_NONE) {
		uint32_t position = *link;
		struct kernel *kernel = &kernels->items.items[position];
		if (kernel->ids || kernel->newest >= before) {
			link = &kernel->next;
			continue;
		}
		*link = kernel->next;
		owner->is_sorted = false;
		kernels->ended -= kernel->ended != UINT64_MAX;
		kernel_release(kernel);
		keyed_array_give_back(&kernels->items, &kernels->free, position);
	}
}

void kernels_forget(struct kernels *kernels, uint64_t before)
{
	if (!kernels->ended && kernels->ids.count - kernels->free_ids.count <= IDS_CROWDED)
		return;
	forget_ids(kernels, before);
	/* Backwards, because the last owner takes the location of one that is removed. */
	for (uint32_t i = (uint32_t)kernels->owners.count; i-- > 0;) {
		struct kernel_owner *owner = &kernels->owners.items[i];
		forget_kernels(kernels, owner, &owner->first, before);
		forget_kernels(kernels, owner, &owner->unplaced, before);
		if (owner->first != KERNEL_NONE || owner->unplaced != KERNEL_NONE)
			continue;
		range_table_free(&owner->ranges);
		evidence_release(kernels, owner);
		keyed_array_remove(&kernels->owners, i);
	}
}
