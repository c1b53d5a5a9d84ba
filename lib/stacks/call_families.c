/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by family: see call_families.h. */
#include "stacks/call_families.h"

#include <string.h>

#include "base/saturating.h"

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

void call_sums_add(struct call_sums *sums, const struct call_sums *more)
{
	sums->count = saturating_add(sums->count, more->count);
	sums->duration = saturating_add(sums->duration, more->duration);
	sums->self_duration = saturating_add(sums->self_duration, more->self_duration);
}

void call_families_add(struct call_families *families, const char *name, const struct call_sums *calls)
{
	if (!calls->count)
		return;
	call_sums_add(&family_of(families, name)->sums, calls);
	call_sums_add(&families->total, calls);
}
