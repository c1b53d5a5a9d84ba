/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from Level Zero's handles to what is known about them. Not for use by several threads at once. */
#ifndef ZE_TRACER_HANDLE_MAP_H
#define ZE_TRACER_HANDLE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed, it is empty. */
struct handle_map {
	struct handle_map_slot {
		uintptr_t handle; /* 0: nothing is here */
		void *value;
	} * slots;
	size_t count;
	unsigned bits; /* there are 1 << bits slots, once there are any */
};

void *handle_map_get(const struct handle_map *map, uintptr_t handle);

/* The handle is not in the map and not 0. False when there is no memory. */
bool handle_map_add(struct handle_map *map, uintptr_t handle, void *value);

/* What was there, or NULL. */
void *handle_map_remove(struct handle_map *map, uintptr_t handle);

#endif
