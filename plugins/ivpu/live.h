/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces the NPU driver's functions live: calls by process and call path, with their durations, and the NPU's counters.
 * Each function below is a callback of the plugin (iaprof/plugin.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/plugin.h>
#include "api_libraries.h"
#include "bpf/stack_reader.h"
#include "call_drain.h"
#include "device_counters.h"
#include "function_list.h"
#include "jobs.h"
#include "kernel_sums.h"
#include "layers.h"
#include "live_statistics.h"
#include "live_use.h"
#include "npu/findings.h"
#include "probes.h"
#include "records/listening_host.h"

enum live_mode { LIVE_MODE_COUNT, LIVE_MODE_EVENTS, LIVE_MODE_ENTRIES };

/* Range of the size of the ring buffer, in bytes. */
#define LIVE_RING_SIZE_MIN (64u << 10)
#define LIVE_RING_SIZE_MAX (1u << 30)

struct live_options {
	const char *functions; /* name patterns, separated by commas */
	bool hot;              /* include functions called for each page */
	bool api;              /* include Level Zero functions */
	uint64_t mode;         /* enum live_mode */
	uint64_t attach;       /* enum attach_method */
	uint64_t buffer;       /* bytes of the ring buffer for individual calls */
	uint64_t drain_period; /* ns, the longest time between reads of the BPF maps */
	struct ivpu_limits limits;
};

/* An instance of the plugin. */
struct live {
	struct stack_reader stacks; /* of Level Zero calls */
	struct live_options options;
	const struct iaprof_host *host;
	struct function_list list;
	struct {
		const struct ivpu_function *known; /* NULL: not looked up yet */
		uint64_t calls;
	} functions[FUNCTION_LIST_MAX];
	struct probes probes;
	struct api_libraries libraries;
	struct call_drain counts;
	struct entry_counts entries; /* with LIVE_MODE_ENTRIES */
	struct layers layers;
	struct live_statistics statistics;
	struct live_use use;
	struct device_counters usage;
	struct listening_host jobs_host; /* jobs are optional: their failures do not end the run */
	struct jobs jobs;
	bool has_jobs;
	uint64_t usage_time; /* time of the last reading */
	uint64_t begin;
	bool started;
};

int live_configure(const struct iaprof_host *host, void *instance);
int live_probe(const struct iaprof_host *host, void *instance);
void live_check(const struct iaprof_host *host, void *instance);
int live_prepare(const struct iaprof_host *host, void *instance);
int live_start(const struct iaprof_host *host, void *instance);
int live_run(const struct iaprof_host *host, void *instance, const volatile int *stopping);
int live_stop(const struct iaprof_host *host, void *instance);
int live_finish(const struct iaprof_host *host, void *instance);
void live_destroy(const struct iaprof_host *host, void *instance);
