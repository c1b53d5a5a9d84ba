/* SPDX-License-Identifier: Apache-2.0 */
/* Calls added up by the families that their sources sort them into. */
#ifndef IAPROF_CORE_PROFILE_CALL_FAMILIES_H
#define IAPROF_CORE_PROFILE_CALL_FAMILIES_H

#include <stddef.h>

#include "profile/call_tree.h"

/* More are put together under the last one's name, CALL_FAMILY_OTHER, as are functions without a family. */
#define CALL_FAMILIES_MAX 16
#define CALL_FAMILY_OTHER "other"

struct call_family {
	const char *name; /* interned, or CALL_FAMILY_OTHER */
	struct call_sums sums;
};

struct call_families {
	struct call_family items[CALL_FAMILIES_MAX];
	size_t count;
	struct call_sums total; /* its duration is meaningless: calls nest */
};

/* The sums of all functions; contexts have none. */
struct call_families call_families_sum(const struct call_tree *tree);

#endif
