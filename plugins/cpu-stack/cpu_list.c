/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu_list.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu_list.h"

/* Limit on CPU numbers; NR_CPUS of Linux is at most 8192. */
#define CPU_COUNT_MAX 65536u

int cpu_list_read(const struct iaprof_host *host, struct cpu_list *list)
{
	static const char path[] = "/sys/devices/system/cpu/online"; /* "0-3,6,8-11" */
	*list = (struct cpu_list){ 0 };
	FILE *file = fopen(path, "re");
	if (!file)
		return host->fail(host, errno, "cannot open %s: %s", path, strerror(errno));

	uint32_t first = 0;
	int result = 0;
	while (result == 0 && fscanf(file, "%" SCNu32, &first) == 1) {
		uint32_t last = first;
		int separator = fgetc(file);
		if (separator == '-') {
			if (fscanf(file, "%" SCNu32, &last) != 1)
				last = 0;
			separator = fgetc(file);
		}
		if (last < first || last >= CPU_COUNT_MAX || list->count + (last - first) >= CPU_COUNT_MAX) {
			result = host->fail(host, EINVAL, "%s: not a list of CPUs", path);
			break;
		}
		if (!array_reserve(list, list->count + last - first + 1)) {
			result = host->fail(host, ENOMEM, "out of memory");
			break;
		}
		for (uint32_t cpu = first; cpu <= last; cpu++)
			list->items[list->count++] = cpu;
		if (separator != ',')
			break;
	}
	fclose(file);
	if (result == 0 && list->count == 0)
		result = host->fail(host, EINVAL, "%s: not a list of CPUs", path);
	if (result)
		cpu_list_free(list);
	return result;
}

bool cpu_list_has(const struct cpu_list *list, uint32_t cpu)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i] == cpu)
			return true;
	return false;
}

void cpu_list_free(struct cpu_list *list)
{
	free(list->items);
	*list = (struct cpu_list){ 0 };
}
