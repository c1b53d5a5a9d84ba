/* SPDX-License-Identifier: Apache-2.0 */
/* The services of processes, by pid: those of processes that have ended since they were last seen are kept. */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "process/process_cgroup.h"

struct service_process {
	uint32_t pid;
	uint32_t seen; /* number of the profile */
	char name[CONTAINER_NAME_SIZE];
};

/* Initialise with {0}. */
struct services {
	ARRAY(struct service_process) processes;
	struct hash_index index;
	uint32_t profile;
};
void services_free(struct services *services);
/* Begins a profile: processes that the previous one did not have are forgotten. */
void services_begin(struct services *services);
/* Returns the service of a process, valid until the next call; "" if it is not known or has none. */
const char *services_find(struct services *services, uint32_t pid);
