/* SPDX-License-Identifier: Apache-2.0 */
/* ivpu's BPF programs in the Linux kernel: loads them for the best way to attach them that there is, and does so. */
#ifndef IAPROF_PLUGINS_IVPU_PROBES_H
#define IAPROF_PLUGINS_IVPU_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "function_list.h"
#include "links.h"

struct ivpu_bpf;

struct probes {
	const struct iaprof_host *host;
	const struct function_list *list;
	struct ivpu_bpf *skeleton;
	enum links_way way;
	uint32_t *type_ids; /* of the functions, for trampolines */
	bool take_stacks;   /* of programs that call Level Zero */
	uint32_t ring_size; /* bytes of the ring buffer that calls go into one by one; 0: they are added up */
	bool attached;
	struct links links;
	uint64_t attach_time, detach_time;
	uint64_t unwatched; /* of links that are closed */
};

struct probes_options {
	enum links_way way;
	bool take_stacks;
	uint32_t ring_size; /* 0, or a power of 2 and not less than a page */
};

/* What was not told to the programs, from the beginning on. */
struct probes_missed {
	uint64_t interrupted; /* calls that came while a BPF program ran on their CPU; by trampolines ends of calls */
	uint64_t unwatched;   /* calls whose return the kernel had no room to watch */
};

/* Loads the programs. The list stays the caller's, and as it is. Returns 0 or a negative errno after host->fail(). */
int probes_load(struct probes *probes, const struct iaprof_host *host, const struct function_list *list,
		const struct probes_options *options);
/* Returns 0 or a negative errno after host->fail(). */
int probes_attach(struct probes *probes);
void probes_detach(struct probes *probes);
void probes_free(struct probes *probes);

struct probes_missed probes_missed(const struct probes *probes);

#endif
