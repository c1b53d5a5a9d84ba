/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sections of units of debug information that were not relocated: see code_image.h. A unit describes one
 * section, so it begins at 0 like the offsets in it. It belongs to the section that has one of its functions as a
 * symbol: with the same displayed name (compilers demangle some in debug information), at the same offset, and as long
 * as the function or up to the end of the unit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/device/code_image.h"

struct placing {
	const struct code_image *image;
	struct display_names *names;
	const struct code_function **by_name; /* sorted by displayed name */
};

static int compare(const void *left, const void *right)
{
	const struct code_function *const *a = left, *const *b = right;
	return strcmp((*a)->shown, (*b)->shown);
}

/* Returns the function with a name, or NULL if there is none or several. */
static const struct code_function *only_function(const struct placing *placing, const char *name)
{
	size_t count = placing->image->functions.count;
	const struct code_function named = { .shown = display_names_get(placing->names, name) }, *key = &named;
	if (!named.shown)
		return NULL;
	const struct code_function **found = bsearch(&key, placing->by_name, count, sizeof key, compare);
	if (!found)
		return NULL;
	size_t position = (size_t)(found - placing->by_name);
	bool is_only = (!position || compare(&found[-1], &key) != 0) &&
		       (position + 1 == count || compare(&found[1], &key) != 0);
	return is_only ? *found : NULL;
}

static bool fits(const struct code_image *image, const struct code_function *symbol,
		 const struct debug_function *function, uint64_t size)
{
	const struct code_section *section = &image->sections.items[symbol->section];
	return symbol->address - section->address == function->start && function->end <= size &&
	       size <= section->size &&
	       (symbol->size == function->end - function->start || symbol->size == size - function->start);
}

static uint64_t place(void *context, const struct debug_function *functions, size_t count, uint64_t size)
{
	const struct placing *placing = context;
	uint32_t section = CODE_NONE;
	for (size_t i = 0; i < count; i++) {
		const struct code_function *symbol = only_function(placing, functions[i].name);
		if (!symbol || !fits(placing->image, symbol, &functions[i], size) || symbol->section == section)
			continue;
		if (section != CODE_NONE)
			return 0;
		section = symbol->section;
	}
	return section == CODE_NONE ? 0 : placing->image->sections.items[section].address;
}

int code_image_place_units(struct code_image *image, struct debug_info *info, struct display_names *names)
{
	size_t count = image->functions.count;
	CLEANUP_FREE const struct code_function **by_name = malloc((count + 1) * sizeof *by_name);
	struct placing placing = { image, names, by_name };
	if (!by_name)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		by_name[i] = &image->functions.items[i];
	qsort(by_name, count, sizeof *by_name, compare);
	image->damage.units += debug_info_place(info, place, &placing);
	return 0;
}
