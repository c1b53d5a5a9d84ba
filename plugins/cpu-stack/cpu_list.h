/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs that are online. */
#ifndef IAPROF_CPU_STACK_CPU_LIST_H
#define IAPROF_CPU_STACK_CPU_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

struct cpu_list {
	uint32_t *cpus; /* in order */
	size_t count;   /* at least 1 after cpu_list_read() */
};

/* Returns 0, with the list to be freed by the caller, or a negative errno after host->fail() and an empty list. */
int cpu_list_read(const struct iaprof_host *host, struct cpu_list *list);
bool cpu_list_has(const struct cpu_list *list, uint32_t cpu);
void cpu_list_free(struct cpu_list *list);

#endif
