/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that iaprof shares with the process of an isolated sink: the records of a call of records(), and a flag. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of records in a call; the largest record fits. */
#define SINK_MEMORY_SIZE ((size_t)1 << 20)

struct sink_memory {
	atomic_uint run_is_ending;
	_Alignas(64) char records[SINK_MEMORY_SIZE];
};

/* The message of a call with records. */
struct sink_batch {
	uint64_t size;
	uint64_t count;
};

/* Data that a sink requested in configure(). */
struct sink_requests {
	uint32_t requests; /* enum iaprof_request */
	uint32_t pad;
	uint64_t time_resolution, default_interval; /* ns, 0: not requested */
};
