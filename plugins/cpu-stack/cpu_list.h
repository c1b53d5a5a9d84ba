/* SPDX-License-Identifier: Apache-2.0 */
/* The list of online CPUs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

#include "base/array.h"

/* CPU numbers in ascending order; at least one after cpu_list_read(). */
struct cpu_list {
	uint32_t *items;
	size_t count, capacity;
};

/* Returns 0 and a list that the caller frees, or a negative errno after host->fail() and an empty list. */
int cpu_list_read(const struct iaprof_host *host, struct cpu_list *list);
bool cpu_list_has(const struct cpu_list *list, uint32_t cpu);
void cpu_list_free(struct cpu_list *list);
