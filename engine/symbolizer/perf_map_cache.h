/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps of running and recently ended processes, each read by a child of the worker. */
#pragma once

#include <stdint.h>
#include "broker/broker.h"
#include "process/process.h"
#include "symbolizer/budget.h"
#include "symbolizer/worker_pool.h"

struct perf_map_cache;

/* All arguments must outlive the cache. */
struct perf_map_cache *perf_map_cache_new(struct broker *broker, struct worker_pool *pool, struct budget *budget);
void perf_map_cache_free(struct perf_map_cache *cache);

/*
 * Returns the generated function at address and its start, or NULL. Reads the map, or what was appended to it, if the
 * address is not known yet. The name is valid until the next call.
 */
const char *perf_map_cache_find(struct perf_map_cache *cache, const struct process *process, uint64_t address,
				uint64_t *start);
/*
 * Keeps the map of a running process in a container open, because its /tmp can be gone when the process has ended. Call
 * it again for each sample of generated code.
 */
void perf_map_cache_keep(struct perf_map_cache *cache, const struct process *process);
/* A stored map: its owner and when it was last used. */
struct perf_map_use {
	uint32_t owner;
	uint64_t used;
};

/*
 * Returns the position of the map to replace by one of this owner when all slots are used: the least recently used one
 * of the owner with the most maps, counting the new one; on a tie, one of this owner.
 */
size_t perf_map_replaced(const struct perf_map_use *uses, size_t count, uint32_t owner);

/* Returns the number of maps that were rejected or unreadable. */
uint64_t perf_map_cache_failed(const struct perf_map_cache *cache);
