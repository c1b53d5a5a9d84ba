/* SPDX-License-Identifier: Apache-2.0 */
/* See code_table.h. */
#include "symbolizer/device/code_table.h"

#include <string.h>

void code_table_free(struct code_table *table)
{
	range_table_free(&table->ranges);
	hash_index_free(&table->by_name);
}

const struct code_function *code_table_function(const struct code_table *table, const char *name)
{
	hash_index_each (probe, &table->by_name, hash_text(name))
		if (strcmp(table->functions[probe.position].name, name) == 0)
			return &table->functions[probe.position];
	return NULL;
}

bool code_table_index(struct code_table *table)
{
	for (size_t i = 0; i < table->function_count; i++) {
		const struct code_function *function = &table->functions[i];
		if (!range_table_add(&table->ranges, function->address, function->address + function->size,
				     (uint32_t)i))
			return false;
		if (!code_table_function(table, function->name) &&
		    !hash_index_add(&table->by_name, hash_text(function->name), (uint32_t)i))
			return false;
	}
	range_table_sort(&table->ranges);
	range_table_link(&table->ranges);
	return true;
}

bool code_table_find(const struct code_table *table, uint64_t address, struct code_location *location)
{
	const struct range *range = range_table_find(&table->ranges, address);
	if (!range)
		return false;
	location->function = &table->functions[range->value];
	uint32_t kernel = table->sections[location->function->section].kernel;
	location->kernel = kernel != CODE_NONE             ? &table->functions[kernel]
			   : location->function->is_kernel ? location->function
							   : NULL;
	location->offset = address - (location->kernel ? location->kernel->address : location->function->address);
	return true;
}

/*
 * Waits may refer to any instruction of a kernel, so a kernel is decoded as a whole; code after its end is decoded
 * separately.
 */
const struct code_function *code_location_whole(const struct code_location *location, uint64_t address)
{
	const struct code_function *kernel = location->kernel;
	return kernel && address >= kernel->address && address - kernel->address < kernel->size ? kernel
												: location->function;
}

bool code_function_attribute(const struct code_function *function, const char *name, int64_t *value)
{
	for (size_t i = 0; i < function->attribute_count; i++)
		if (strcmp(function->attributes[i].name, name) == 0) {
			*value = function->attributes[i].value;
			return true;
		}
	return false;
}
