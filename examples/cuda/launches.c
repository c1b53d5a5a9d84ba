/* SPDX-License-Identifier: Apache-2.0 */
/* See launches.h. */
#define _GNU_SOURCE
#include "launches.h"

#include <bpf/libbpf.h>
#include <bpf/slots.h>
#include <bpf/support.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "cuda.bpf.skel.h"

static int take_event(void *context, void *data, size_t size)
{
	struct launches *launches = context;
	const struct cuda_launch_event *event = data;
	if (size < sizeof *event || event->depth > CUDA_STACK_DEPTH)
		return 0;
	/* Functions that are new in this stack were sent before it. */
	python_stacks_read(&launches->python);
	struct cuda_launch_event merged = *event;
	if (launches->python.ring)
		merged.depth =
			python_stacks_merge(&launches->python, event->pid, 0, false, (const uint64_t *)event->addresses,
					    (uint32_t)event->depth, (uint64_t *)merged.addresses);
	launches->take(launches->context, &merged);
	return 0;
}

static int load(struct launches *launches, bool use_tables)
{
	const struct iaprof_host *host = launches->host;
	struct cuda_bpf *skeleton = launches->skeleton = cuda_bpf__open();
	if (!skeleton)
		return -errno;
	const struct unwinder_maps maps = UNWINDER_MAPS(skeleton);
	const struct python_maps python = PYTHON_MAPS(skeleton);
	bool use_python = use_tables && launches->python_choice != PYTHON_NATIVE;
	const struct bpf_map_size sizes[] = {
		{ skeleton->maps.processors, launches->processors, 0 },
		{ skeleton->maps.scratch, SCRATCH_SLOTS * launches->processors, 0 },
		{ skeleton->maps.unwind_states, SCRATCH_SLOTS * launches->processors, 0 },
		{ skeleton->maps.python_states, SCRATCH_SLOTS * launches->processors, 0 },
	};
	skeleton->rodata->take_python = use_python;
	if (getrandom((void *)skeleton->rodata->hash_seed, sizeof skeleton->rodata->hash_seed, 0) < 0)
		return -errno;
	int result = bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof *sizes);
	if (!result)
		result = unwinder_set_sizes(host, &maps, use_tables);
	if (!result)
		result = python_stacks_set_sizes(host, &python, SCRATCH_SLOTS * launches->processors, use_python);
	return result ? result : cuda_bpf__load(skeleton);
}

static int attach(struct launches *launches, const char *library)
{
	struct cuda_bpf *skeleton = launches->skeleton;
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = "iaprof_cuda_launched");
	skeleton->links.launched = bpf_program__attach_uprobe_opts(skeleton->progs.launched, -1, library, 0, &options);
	if (!skeleton->links.launched)
		return -errno;
	launches->ring = ring_buffer__new(bpf_map__fd(skeleton->maps.launches), take_event, launches, NULL);
	return launches->ring ? 0 : -errno;
}

int launches_open(struct launches *launches, const struct iaprof_host *host, const char *library,
		  const struct launches_callbacks *callbacks, char *reason, size_t size)
{
	const char *no_tables = NULL, *step = "count CPUs";
	int count = libbpf_num_possible_cpus();
	launches->host = host;
	launches->processors = count > 0 ? (uint32_t)count : 1;
	bool use_tables = unwinder_is_supported(BPF_PROG_TYPE_KPROBE, &no_tables);
	if (no_tables)
		host->log(host, IAPROF_LOG_INFO, "launch stacks are unwound by frame pointers alone: %s", no_tables);
	struct bpf_log log = bpf_log_begin(host);
	int result = count < 0 ? count : 0;
	if (!result && (step = "load the BPF program"))
		result = load(launches, use_tables);
	if (!result && (step = "attach to the launch hook"))
		result = attach(launches, library);
	bpf_log_end(&log);
	const struct unwinder_maps maps =
		result ? (struct unwinder_maps){ 0 } : (struct unwinder_maps)UNWINDER_MAPS(launches->skeleton);
	if (!result && use_tables && (step = "open the unwind tables"))
		result = unwinder_open(&launches->unwinder, host, &maps, callbacks->ask, callbacks->answer);
	if (!result && use_tables && launches->python_choice != PYTHON_NATIVE && (step = "open Python's functions"))
		result = python_stacks_open(&launches->python, host,
					    &(struct python_maps)PYTHON_MAPS(launches->skeleton),
					    launches->python_choice, callbacks->code);
	if (result) {
		snprintf(reason, size, "cannot %s: %s", step, strerror(-result));
		launches_close(launches);
	}
	return result;
}

void launches_ask(struct launches *launches)
{
	unwinder_ask(&launches->unwinder);
}

int launches_answer(struct launches *launches, const struct iaprof_unwind_table *table,
		    const struct iaprof_unwind_process *process)
{
	python_stacks_take(&launches->python, table, process);
	return launches->skeleton ? unwinder_take(&launches->unwinder, table, process) : 0;
}

void launches_read_code(struct launches *launches)
{
	python_stacks_read(&launches->python);
}

void launches_read(struct launches *launches)
{
	if (launches->ring)
		(void)ring_buffer__consume(launches->ring);
}

uint64_t launches_lost(const struct launches *launches, uint64_t *without_stack)
{
	uint64_t lost = 0;
	*without_stack = 0;
	for (uint32_t i = 0; launches->skeleton && i < launches->processors; i++) {
		struct cuda_processor processor;
		if (bpf_map__lookup_elem(launches->skeleton->maps.processors, &i, sizeof i, &processor,
					 sizeof processor, 0))
			continue;
		lost += processor.lost;
		*without_stack += processor.without_stack;
	}
	return lost;
}

void launches_close(struct launches *launches)
{
	ring_buffer__free(launches->ring);
	unwinder_free(&launches->unwinder);
	python_stacks_free(&launches->python);
	cuda_bpf__destroy(launches->skeleton);
	*launches = (struct launches){ 0 };
}
