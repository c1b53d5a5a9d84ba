/* SPDX-License-Identifier: Apache-2.0 */
/* Calls summed by the families that their sources assign. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Functions without a family and those of further families are combined in CALL_FAMILY_OTHER. */
#define CALL_FAMILIES_MAX 16
#define CALL_FAMILY_OTHER "other"

struct call_sums {
	uint64_t count;
	uint64_t duration, self_duration; /* ns */
};

struct call_family {
	const char *name; /* that of a function, or CALL_FAMILY_OTHER */
	struct call_sums sums;
};

/* Initialise with {0}. */
struct call_families {
	struct call_family items[CALL_FAMILIES_MAX];
	size_t count;
	struct call_sums total; /* its duration is meaningless because calls nest */
};

void call_sums_add(struct call_sums *sums, const struct call_sums *more);
/* Adds the calls of a function. name: its family, which must outlive the families. */
void call_families_add(struct call_families *families, const char *name, const struct call_sums *calls);
