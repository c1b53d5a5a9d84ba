/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of processes: see kernels.h. */
#include "correlator/kernels.h"

#include "correlator/launches.h"
#include "symbolizer/device/device_address.h"

/* Ids of kernels, and so kernels; the source of launches remembers 65,536 (ze-usdt). */
#define IDS_MAX 262144
/* From this many on the process with the most of them gives up old ones. */
#define IDS_CROWDED (IDS_MAX / 2)

static void kernel_release(struct kernel *kernel)
{
	array_free(&kernel->launches);
	array_free(&kernel->shares);
	*kernel = (struct kernel){ 0 };
}

void kernels_free(struct kernels *kernels)
{
	for (size_t i = 0; i < kernels->items.count; i++)
		kernel_release(&kernels->items.items[i]);
	array_free(&kernels->items);
	array_free(&kernels->free);
	array_free(&kernels->ids);
	array_free(&kernels->free_ids);
	array_free(&kernels->owners);
	array_free(&kernels->free_owners);
	hash_index_free(&kernels->by_id);
	hash_index_free(&kernels->by_place);
	hash_index_free(&kernels->by_owner);
}

static uint64_t id_hash(uint16_t source, uint32_t id)
{
	return hash_u64((uint64_t)source << 32 | id);
}

static uint64_t place_hash(uint32_t pid, uint64_t address, uint32_t name)
{
	return hash_pair((uint64_t)pid << 32 | name, address);
}

static uint64_t id_rehash(const void *context, uint32_t position)
{
	const struct kernel_id *id = &((const struct kernels *)context)->ids.items[position];
	return id_hash(id->source, id->id);
}

static uint64_t place_rehash(const void *context, uint32_t position)
{
	const struct kernel *kernel = &((const struct kernels *)context)->items.items[position];
	return place_hash(kernel->pid, kernel->address, kernel->name);
}

static uint64_t owner_rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct kernels *)context)->owners.items[position].pid);
}

static struct kernel_id *find_id(const struct kernels *kernels, uint16_t source, uint32_t id)
{
	for (struct hash_probe probe = hash_index_probe(&kernels->by_id, id_hash(source, id));
	     hash_index_next(&kernels->by_id, &probe);) {
		struct kernel_id *found = &kernels->ids.items[probe.position];
		if (found->source == source && found->id == id)
			return found;
	}
	return NULL;
}

static uint32_t find_place(const struct kernels *kernels, uint32_t pid, uint64_t address, uint32_t name)
{
	for (struct hash_probe probe = hash_index_probe(&kernels->by_place, place_hash(pid, address, name));
	     hash_index_next(&kernels->by_place, &probe);) {
		const struct kernel *kernel = &kernels->items.items[probe.position];
		if (kernel->pid == pid && kernel->address == address && kernel->name == name)
			return probe.position;
	}
	return KERNEL_NONE;
}

uint32_t kernels_at(const struct kernels *kernels, uint32_t pid, uint64_t address, uint32_t name)
{
	uint32_t position = find_place(kernels, pid, address, name);
	return position == KERNEL_NONE ? find_place(kernels, pid, address, 0) : position;
}

static struct kernel_owner *find_owner(const struct kernels *kernels, uint32_t pid)
{
	for (struct hash_probe probe = hash_index_probe(&kernels->by_owner, hash_u64(pid));
	     hash_index_next(&kernels->by_owner, &probe);)
		if (kernels->owners.items[probe.position].pid == pid)
			return &kernels->owners.items[probe.position];
	return NULL;
}

uint32_t kernels_of_process(const struct kernels *kernels, uint32_t pid)
{
	const struct kernel_owner *owner = find_owner(kernels, pid);
	return owner ? owner->first : KERNEL_NONE;
}

bool kernels_are_seen_launched(const struct kernels *kernels, uint32_t pid)
{
	const struct kernel_owner *owner = find_owner(kernels, pid);
	return owner && owner->launched;
}

/* A process's entry, which is made if there is none. */
static struct kernel_owner *owner_for(struct kernels *kernels, uint32_t pid)
{
	struct kernel_owner *owner = find_owner(kernels, pid);
	if (owner)
		return owner;
	uint32_t position = array_take(&kernels->owners, &kernels->free_owners);
	if (position == POSITION_NONE)
		return NULL;
	kernels->owners.items[position] = (struct kernel_owner){ .pid = pid, .first = KERNEL_NONE };
	if (hash_index_add(&kernels->by_owner, hash_u64(pid), position, owner_rehash, kernels))
		return &kernels->owners.items[position];
	array_give_back(&kernels->free_owners, position);
	return NULL;
}

/* A process without kernels is none of ours. */
static void drop_owner(struct kernels *kernels, uint32_t position)
{
	hash_index_remove(&kernels->by_owner, hash_u64(kernels->owners.items[position].pid), position);
	array_give_back(&kernels->free_owners, position);
}

/* The kernel at a place, which is made if there is none. */
static uint32_t kernel_for(struct kernels *kernels, const struct kernel *wanted)
{
	uint32_t position = find_place(kernels, wanted->pid, wanted->address, wanted->name);
	struct kernel_owner *owner = position == KERNEL_NONE ? owner_for(kernels, wanted->pid) : NULL;
	if (!owner)
		return position;
	position = array_take(&kernels->items, &kernels->free);
	if (position == POSITION_NONE)
		return KERNEL_NONE;
	kernels->items.items[position] = *wanted;
	if (!hash_index_add(&kernels->by_place, place_hash(wanted->pid, wanted->address, wanted->name), position,
			    place_rehash, kernels)) {
		kernels->items.items[position] = (struct kernel){ 0 };
		array_give_back(&kernels->free, position);
		return KERNEL_NONE;
	}
	kernels->items.items[position].next = owner->first;
	owner->first = position;
	return position;
}

static bool add_id(struct kernels *kernels, const struct kernel_id *id)
{
	if (kernels->ids.count - kernels->free_ids.count >= IDS_MAX)
		return false;
	uint32_t position = array_take(&kernels->ids, &kernels->free_ids);
	if (position == POSITION_NONE)
		return false;
	kernels->ids.items[position] = *id;
	if (hash_index_add(&kernels->by_id, id_hash(id->source, id->id), position, id_rehash, kernels))
		return true;
	kernels->ids.items[position] = (struct kernel_id){ 0 };
	array_give_back(&kernels->free_ids, position);
	return false;
}

void kernels_add(struct kernels *kernels, const struct iaprof_record_kernel *record, uint64_t ended)
{
	struct kernel wanted = { .pid = record->pid,
				 .name = record->name,
				 .address = device_address_plain(record->address),
				 .next = KERNEL_NONE,
				 .ended = UINT64_MAX };
	if (!record->id || find_id(kernels, record->header.source, record->id))
		return;
	uint32_t position = kernel_for(kernels, &wanted);
	struct kernel_id id = {
		.source = record->header.source, .id = record->id, .kernel = position, .used = record->header.time
	};
	if (position == KERNEL_NONE || !add_id(kernels, &id)) {
		kernels->refused++;
		return; /* without an id the kernel goes when something is forgotten */
	}
	struct kernel *kernel = &kernels->items.items[position];
	kernel->ids++;
	find_owner(kernels, record->pid)->ids++;
	if (record->header.time > kernel->announced)
		kernel->announced = record->header.time;
	/* A new program may have the old one's pid, and its code at the same place. */
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
	find_owner(kernels, kernel->pid)->launched = true;
	return launches_add(kernel, launches, &kernels->merged);
}

size_t kernels_shares(struct kernels *kernels, uint32_t position, uint64_t begin, uint64_t end,
		      const struct kernel_share **shares, bool *in_time)
{
	struct kernel *kernel = &kernels->items.items[position];
	if (!kernel->shares_end || kernel->shares_begin != begin || kernel->shares_end != end)
		launches_share(kernel, begin, end);
	*shares = kernel->shares.items;
	*in_time = kernel->shares_in_time;
	return kernel->shares.count;
}

void kernels_end_process(struct kernels *kernels, uint32_t pid, uint64_t time)
{
	for (uint32_t i = kernels_of_process(kernels, pid); i != KERNEL_NONE; i = kernels->items.items[i].next) {
		struct kernel *kernel = &kernels->items.items[i];
		/* What was announced later is the next program's. */
		if (kernel->ended != UINT64_MAX || kernel->announced > time)
			continue;
		kernel->ended = time;
		kernels->ended++;
	}
}

static struct kernel_owner *largest_owner(const struct kernels *kernels)
{
	struct kernel_owner *largest = NULL;
	for (size_t i = 0; i < kernels->owners.count; i++)
		if (!largest || kernels->owners.items[i].ids > largest->ids)
			largest = &kernels->owners.items[i];
	return largest;
}

/* Drops ids of kernels that have ended, and of the crowding process those that were not used. */
static void forget_ids(struct kernels *kernels, uint64_t before)
{
	bool is_crowded = kernels->ids.count - kernels->free_ids.count > IDS_CROWDED;
	const struct kernel_owner *crowding = is_crowded ? largest_owner(kernels) : NULL;
	for (uint32_t i = 0; i < kernels->ids.count; i++) {
		struct kernel_id *id = &kernels->ids.items[i];
		if (!id->id || id->used >= before)
			continue;
		struct kernel *kernel = &kernels->items.items[id->kernel];
		if (kernel->ended >= before && !(crowding && kernel->pid == crowding->pid))
			continue;
		hash_index_remove(&kernels->by_id, id_hash(id->source, id->id), i);
		find_owner(kernels, kernel->pid)->ids--;
		kernel->ids--;
		*id = (struct kernel_id){ 0 };
		array_give_back(&kernels->free_ids, i);
	}
}

/* Drops the kernels of a process that have no id any more. */
static void forget_kernels(struct kernels *kernels, struct kernel_owner *owner, uint64_t before)
{
	uint32_t *link = &owner->first;
	while (*link != KERNEL_NONE) {
		uint32_t position = *link;
		struct kernel *kernel = &kernels->items.items[position];
		if (kernel->ids || kernel->newest >= before) {
			link = &kernel->next;
			continue;
		}
		*link = kernel->next;
		kernels->ended -= kernel->ended != UINT64_MAX;
		hash_index_remove(&kernels->by_place, place_hash(kernel->pid, kernel->address, kernel->name), position);
		kernel_release(kernel);
		array_give_back(&kernels->free, position);
	}
}

void kernels_forget(struct kernels *kernels, uint64_t before)
{
	if (!kernels->ended && kernels->ids.count - kernels->free_ids.count <= IDS_CROWDED)
		return;
	forget_ids(kernels, before);
	for (uint32_t i = 0; i < kernels->owners.count; i++) {
		struct kernel_owner *owner = &kernels->owners.items[i];
		if (owner->first == KERNEL_NONE)
			continue;
		forget_kernels(kernels, owner, before);
		if (owner->first == KERNEL_NONE)
			drop_owner(kernels, i);
	}
}
