/* SPDX-License-Identifier: Apache-2.0 */
/* The code of GPU kernels by id: see kernel_code.h. */
#include "correlator/kernel_code.h"

static void release(const struct kernel_code *kernel)
{
	if (kernel->image)
		device_image_release(kernel->image);
}

void kernel_code_free(struct kernel_code_table *table)
{
	for (size_t i = 0; i < table->items.count; i++)
		release(&table->items.items[i]);
	keyed_array_free(&table->items);
	array_free(&table->free);
}

bool kernel_code_add(struct kernel_code_table *table, const struct kernel_code *kernel)
{
	if (keyed_array_get(&table->items, &kernel->key))
		return true;
	if (table->items.count - table->free.count >= KERNEL_CODE_MAX ||
	    keyed_array_take(&table->items, &table->free, kernel) == POSITION_NONE)
		return false;
	if (kernel->image)
		device_image_reference(kernel->image);
	return true;
}

static size_t count_of(const struct kernel_code_table *table)
{
	return table->items.count - table->free.count;
}

bool kernel_code_is_crowded(const struct kernel_code_table *table)
{
	return count_of(table) >= (table->crowded_at ? table->crowded_at : KERNEL_CODE_CROWDED_MIN);
}

static void forget(struct kernel_code_table *table, uint32_t position)
{
	release(&table->items.items[position]);
	keyed_array_give_back(&table->items, &table->free, position);
}

void kernel_code_forget(struct kernel_code_table *table, const struct loaded_code_table *loaded, uint64_t before,
			uint64_t now)
{
	for (uint32_t i = 0; i < table->items.count; i++) {
		struct kernel_code *kernel = &table->items.items[i];
		if (!kernel->key.id)
			continue;
		if (kernel->ended == UINT64_MAX && kernel->code_object &&
		    loaded_code_find(loaded, (uint16_t)kernel->key.source, kernel->code_object) == LOADED_CODE_NONE)
			kernel->ended = now;
		if (kernel->ended < before)
			forget(table, i);
	}
	/* A quarter more, so that the cost per kernel is bounded. */
	size_t more = count_of(table) + count_of(table) / 4;
	table->crowded_at = more < KERNEL_CODE_CROWDED_MIN ? KERNEL_CODE_CROWDED_MIN
			    : more > KERNEL_CODE_MAX       ? KERNEL_CODE_MAX
							   : more;
}

const struct kernel_code *kernel_code_find(const struct kernel_code_table *table, uint16_t source, uint32_t id)
{
	return id ? keyed_array_get(&table->items, &((struct source_id){ source, id })) : NULL;
}

void kernel_code_end_process(struct kernel_code_table *table, uint32_t pid, uint64_t time, uint64_t forget_before)
{
	for (uint32_t i = 0; i < table->items.count; i++) {
		struct kernel_code *kernel = &table->items.items[i];
		if (!kernel->key.id)
			continue;
		/* Code loaded later belongs to the next program with this pid. */
		if (kernel->pid == pid && kernel->ended == UINT64_MAX && kernel->loaded <= time)
			kernel->ended = time;
		if (kernel->ended < forget_before)
			forget(table, i);
	}
}
