/* SPDX-License-Identifier: Apache-2.0 */
/* See services.h. */
#include "services.h"

#include <string.h>

#include "base/hash.h"

void services_free(struct services *services)
{
	array_free(&services->processes);
	hash_index_free(&services->index);
}

void services_begin(struct services *services)
{
	size_t count = services->processes.count;
	hash_index_free(&services->index);
	services->processes.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct service_process process = services->processes.items[i];
		if (process.seen == services->profile)
			(void)hash_index_push(&services->index, hash_u64(process.pid), &services->processes, process);
	}
	services->profile++;
}

const char *services_find(struct services *services, uint32_t pid)
{
	struct service_process *known = NULL;
	hash_index_each (probe, &services->index, hash_u64(pid))
		if (services->processes.items[probe.position].pid == pid)
			known = &services->processes.items[probe.position];
	if (known && known->seen == services->profile)
		return known->name;
	struct service_process process = { .pid = pid, .seen = services->profile };
	process_service_read(pid, process.name);
	if (!known) {
		if (!hash_index_push(&services->index, hash_u64(pid), &services->processes, process))
			return "";
		return services->processes.items[services->processes.count - 1].name;
	}
	known->seen = services->profile;
	if (*process.name)
		strcpy(known->name, process.name);
	return known->name;
}
