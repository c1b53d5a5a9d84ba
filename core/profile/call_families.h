/* SPDX-License-Identifier: Apache-2.0 */
/* Calls summed by the families that their sources assign. */
#pragma once

#include <stddef.h>

#include "profile/call_tree.h"

/* Functions without a family and those of further families are combined in CALL_FAMILY_OTHER. */
#define CALL_FAMILIES_MAX 16
#define CALL_FAMILY_OTHER "other"

struct call_family {
	const char *name; /* interned, or CALL_FAMILY_OTHER */
	struct call_sums sums;
};

struct call_families {
	struct call_family items[CALL_FAMILIES_MAX];
	size_t count;
	struct call_sums total; /* its duration is meaningless because calls nest */
};

/* Returns the sums over all functions; contexts are not counted. */
struct call_families call_families_sum(const struct call_tree *tree);
