/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by family: see call_families.h. */
#include "profile/call_families.h"

#include <string.h>

#include "profile/value_table.h"

static void add(struct call_sums *sums, const struct call_sums *more)
{
	sums->count = saturating_add(sums->count, more->count);
	sums->duration = saturating_add(sums->duration, more->duration);
	sums->self_duration = saturating_add(sums->self_duration, more->self_duration);
}

static struct call_family *family_of(struct call_families *families, const char *name)
{
	if (!*name)
		name = CALL_FAMILY_OTHER;
	for (size_t i = 0; i < families->count; i++)
		if (!strcmp(families->items[i].name, name))
			return &families->items[i];
	if (families->count == CALL_FAMILIES_MAX - 1)
		name = CALL_FAMILY_OTHER;
	if (families->count == CALL_FAMILIES_MAX)
		return &families->items[CALL_FAMILIES_MAX - 1];
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
		add(&family_of(&families, function->family)->sums, &function->sums);
		add(&families.total, &function->sums);
	}
	return families;
}
