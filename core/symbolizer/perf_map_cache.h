/* SPDX-License-Identifier: Apache-2.0 */
/* The perf maps of running and recently ended processes, each read by a child of the worker. */
#ifndef IAPROF_CORE_SYMBOLIZER_PERF_MAP_CACHE_H
#define IAPROF_CORE_SYMBOLIZER_PERF_MAP_CACHE_H

#include <stdint.h>
#include "broker/broker.h"
#include "process/process.h"
#include "symbolizer/budget.h"
#include "symbolizer/worker_pool.h"

struct perf_map_cache;

/* All of it outlives the cache. */
struct perf_map_cache *perf_map_cache_new(struct broker *broker, struct worker_pool *pool, struct budget *budget);
void perf_map_cache_free(struct perf_map_cache *cache);

/*
 * The function that a process made at address and where it starts, or NULL. Reads the process's map, or what was added
 * to it since, when the address is not known yet. The name is good until the next call.
 */
const char *perf_map_cache_find(struct perf_map_cache *cache, const struct process *process, uint64_t address,
				uint64_t *start);
/* A map that is kept: whose it is, and when it was used last. */
struct perf_map_use {
	uint32_t owner;
	uint64_t used;
};

/*
 * Position of the map that makes room for one of this owner, when all places are taken: the one used longest ago of
 * the owner who then has the most, the new one counted; of this owner's where several have.
 */
size_t perf_map_replaced(const struct perf_map_use *uses, size_t count, uint32_t owner);

/* Maps that were refused or could not be read. */
uint64_t perf_map_cache_failed(const struct perf_map_cache *cache);

#endif
