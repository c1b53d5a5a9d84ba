/* SPDX-License-Identifier: Apache-2.0 */
/* Loads ivpu's BPF programs for the best attach method that the Linux kernel supports, and attaches them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "bpf/stack_reader.h"
#include "function_list.h"
#include "function_links.h"
#include "ivpu_shared.h"

struct ivpu_bpf;

struct probes {
	const struct iaprof_host *host;
	const struct function_list *list;
	struct ivpu_bpf *skeleton;
	enum attach_method way;
	struct ivpu_context_offsets contexts;
	uint32_t *type_ids;          /* BTF ids of the functions, for trampolines */
	struct stack_reader *stacks; /* of Level Zero calls */
	uint32_t ring_size;          /* bytes of the ring buffer for individual calls; 0: calls are aggregated */
	bool only_entries;           /* count entries alone */
	bool attached;
	struct function_links links;
	uint64_t attach_time, detach_time;
	uint64_t unwatched; /* unwatched calls of closed links */
};

struct probes_options {
	enum attach_method way;
	struct stack_reader *stacks;
	bool only_entries;  /* no times, and no nesting */
	uint32_t ring_size; /* 0, or a power of 2 that is at least a page */
};

/* Calls that the programs missed since the start. */
struct probes_missed {
	uint64_t interrupted; /* calls made while a BPF program ran on their CPU; with trampolines, ends of calls */
	uint64_t unwatched;   /* calls whose return the kernel had no room to trace */
};

/* Loads the programs. The list is borrowed and must not change. Returns 0 or a negative errno after host->fail(). */
int probes_load(struct probes *probes, const struct iaprof_host *host, const struct function_list *list,
		const struct probes_options *options);
/* Returns 0 or a negative errno after host->fail(). */
int probes_attach(struct probes *probes);
void probes_detach(struct probes *probes);
void probes_free(struct probes *probes);

struct probes_missed probes_missed(const struct probes *probes);
