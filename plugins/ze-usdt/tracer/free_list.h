/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the registry that are never returned to malloc(): a removed one is used again for a later one. */
#ifndef ZE_TRACER_FREE_LIST_H
#define ZE_TRACER_FREE_LIST_H

#include <stdlib.h>
#include <string.h>

/* Returns a zeroed object, from a free list or newly allocated. */
#define TAKE(list)                                                                                                     \
	({                                                                                                             \
		__typeof__(list) taken_ = (list);                                                                      \
		if (taken_) {                                                                                          \
			(list) = taken_->next_free;                                                                    \
			memset(taken_, 0, sizeof *taken_);                                                             \
		} else {                                                                                               \
			taken_ = calloc(1, sizeof *taken_);                                                            \
		}                                                                                                      \
		taken_;                                                                                                \
	})
#define GIVE(list, object)                                                                                             \
	do {                                                                                                           \
		(object)->next_free = (list);                                                                          \
		(list) = (object);                                                                                     \
	} while (0)

#endif
