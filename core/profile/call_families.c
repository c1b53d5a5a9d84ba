/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by family: see call_families.h. */
#include "profile/call_families.h"

#include <string.h>

static struct call_family *family_of(struct call_families *families, const char *name)
{
	if (!*name)
		name = CALL_FAMILY_OTHER;
	for (size_t i = 0; i < families->count; i++)
		if (!strcmp(families->items[i].name, name))
			return &families->items[i];
	/* The last position is reserved for CALL_FAMILY_OTHER, unless a source uses that name itself. */
	if (families->count >= CALL_FAMILIES_MAX - 1 && strcmp(name, CALL_FAMILY_OTHER))
		return family_of(families, CALL_FAMILY_OTHER);
	families->items[families->count] = (struct call_family){ .name = name };
	return &families->items[families->count++];
}

struct call_families call_families_sum(const struct call_tree *tree)
{
	struct call_families families = { 0 };
	for (size_t i = 0; i < tree->functions.count; i++) {
		const struct call_function *function = &tree->functions.items[i];
		if (!function->sums.count)
			continue;
		call_sums_add(&family_of(&families, function->family)->sums, &function->sums);
		call_sums_add(&families.total, &function->sums);
	}
	return families;
}
