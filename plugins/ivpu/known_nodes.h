/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of calls, of which the Linux kernel only has hashes (ivpu_shared.h): ids of its nodes in the records, which
 * are defined here, with the request to the driver between a program's call and the function that serves it.
 */
#ifndef IAPROF_PLUGINS_IVPU_KNOWN_NODES_H
#define IAPROF_PLUGINS_IVPU_KNOWN_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include "call_records.h"
#include "function_list.h"
#include "ivpu_shared.h"

struct known_nodes {
	struct call_records *records;
	const struct function_list *list;
	int parents;                            /* the kernel's map of nodes' parents */
	void *nodes;                            /* tree of those that are known, by hash */
	uint32_t functions[IVPU_FUNCTIONS_MAX]; /* ids in records, by index; 0: not yet */
	uint32_t wait_for_ready;                /* id of the function that polls in the boot; 0: not yet */
};

/* Undone by known_nodes_free(). */
void known_nodes_init(struct known_nodes *known, struct call_records *records, const struct function_list *list,
		      int parents);
void known_nodes_free(struct known_nodes *known);

/* The id of the node with a hash, defined at that time with its parents when it is new. False: out of memory. */
bool known_nodes_id(struct known_nodes *known, uint64_t hash, uint64_t time, uint32_t *id);
/* The driver polls for the firmware's first message: looking for it is no message. */
bool known_nodes_is_in_boot(const struct known_nodes *known, uint32_t id);

#endif
