/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin of a request's samples: the machine and, for processes, the container, the pod and the service. Processes
 * of one container and service share a resource.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/string_table.h"
#include "broker/broker.h"
#include "otlp/resource.h"
#include "process/process_cgroup.h"
#include "process/user_accounts.h"
#include "text/text.h"

/*
 * Limits on different resources: of all users, of one untrusted user, and of all untrusted users, who choose the names
 * of their services.
 */
#define RESOURCES_MAX 1024u
#define RESOURCES_USER_MAX 128u
#define RESOURCES_OTHERS_MAX 512u

/* A process that was looked up. */
struct resource_process {
	uint32_t pid;
	uint32_t resource; /* index of resources.items */
	uint64_t seen;     /* number of the profile that had it last */
	/* A process without a service is read again, at increasing intervals: it may publish one later. */
	uint64_t next_lookup, pause; /* in profiles */
	bool has_service;
	bool is_stale; /* it has executed another program since */
};

/* Initialise with resources_init(). Not locked. */
struct resources {
	struct resource machine;
	ARRAY(struct resource) items; /* beside the machine; item 0: outside of containers, without a service name */
	ARRAY(uint32_t) owners;       /* of items: the user who is charged; 0: nobody */
	struct user_accounts users;   /* amount: items; refused: lookups */
	struct string_table keys;     /* the text of a resource's attributes; id - 1 is its index */
	ARRAY(struct resource_process) processes;
	struct hash_index process_index;
	uint64_t profile;
	struct broker *broker; /* reads processes; NULL: recorded */
	bool recorded;         /* processes are those of another time or machine: they are not looked up */
};

/* attributes: "key=value,key=value", percent-encoded as OTEL_RESOURCE_ATTRIBUTES is, of iaprof itself; NULL: none. */
bool resources_init(struct resources *resources, const char *attributes, bool recorded);
void resources_free(struct resources *resources);
/*
 * Begins a profile: processes that the one before did not have are forgotten, since their ids may be used again, and
 * once there are many resources, those that no process has. Indices of resources change.
 */
void resources_begin(struct resources *resources);
/*
 * Looks up the processes of samples, launches and calls when these arrive, since a process may have ended when the
 * profile is made, and those that execute another program again.
 */
void resources_take(struct resources *resources, const struct iaprof_record *record);
/*
 * Returns the index of the resource of a process; 0 if it is unknown. One that is beyond the limit of its user has that
 * of its container alone.
 */
uint32_t resources_of_process(struct resources *resources, uint32_t pid);
