/* SPDX-License-Identifier: Apache-2.0 */
/* See launches.h. */
#define _GNU_SOURCE
#include "launches.h"

#include <bpf/libbpf.h>
#include <bpf/support.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cuda.bpf.skel.h"

static int take_event(void *context, void *data, size_t size)
{
	struct launches *launches = context;
	const struct cuda_launch_event *event = data;
	if (size < sizeof *event || event->depth > CUDA_STACK_DEPTH)
		return 0;
	/* Functions that are new in this stack were sent before it. */
	python_stacks_read(&launches->stacks.python);
	struct cuda_launch_event merged = *event;
	uint32_t flags = STACK_ENDS_EARLY; /* it may, before the tables of the program are there */
	if (launches->stacks.python.ring)
		merged.depth = python_stacks_merge(&launches->stacks.python, event->pid, 0, &flags,
						   (const uint64_t *)event->addresses, (uint32_t)event->depth,
						   (uint64_t *)merged.addresses);
	launches->take(launches->context, &merged);
	return 0;
}

static int load(struct launches *launches, const struct iaprof_host *host)
{
	struct stack_reader *stacks = &launches->stacks;
	struct cuda_bpf *skeleton = launches->skeleton = cuda_bpf__open();
	if (!skeleton)
		return -errno;
	const struct bpf_map_size size = { skeleton->maps.processors, bpf_processor_count(), 0 };
	int result = bpf_map_sizes_set(host, &size, 1);
	if (!result)
		result = stack_reader_configure(stacks, host, STACK_READER_OBJECT(skeleton));
	if (result)
		return result;
	bpf_program__set_autoload(skeleton->progs.launched, !stacks->use_tables);
	bpf_program__set_autoload(skeleton->progs.launched_by_tables, stacks->use_tables);
	result = cuda_bpf__load(skeleton);
	if (!result || !stack_reader_reduce(stacks, result))
		return result;
	cuda_bpf__destroy(skeleton);
	return load(launches, host);
}

/* Returns NULL with errno set on failure. */
static struct bpf_link *attach_to(struct launches *launches, const char *library)
{
	struct cuda_bpf *skeleton = launches->skeleton;
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = "iaprof_cuda_launched");
	struct bpf_program *program =
		launches->stacks.use_tables ? skeleton->progs.launched_by_tables : skeleton->progs.launched;
	return bpf_program__attach_uprobe_opts(program, -1, library, 0, &options);
}

int launches_attach_copy(struct launches *launches, const struct iaprof_mapped_file *file)
{
	char path[96];
	if (!launches->ring || launches->copy_count == CUDA_COPIES_MAX)
		return launches->ring ? -E2BIG : 0;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, file->pid, file->start,
		 file->start + file->length);
	struct bpf_log log = bpf_log_begin(launches->host);
	struct bpf_link *link = attach_to(launches, path);
	int error = link ? 0 : -errno;
	bpf_log_end(&log);
	if (error)
		return error;
	launches->copies[launches->copy_count++] = link;
	return 0;
}

static int attach(struct launches *launches, const char *library)
{
	struct cuda_bpf *skeleton = launches->skeleton;
	skeleton->links.launched = attach_to(launches, library);
	if (!skeleton->links.launched)
		return -errno;
	launches->ring = ring_buffer__new(bpf_map__fd(skeleton->maps.launches), take_event, launches, NULL);
	return launches->ring ? 0 : -errno;
}

int launches_open(struct launches *launches, const struct iaprof_host *host, const char *library, char *reason,
		  size_t size)
{
	const char *step = "load the BPF program";
	launches->host = host;
	int result = stack_reader_probe(&launches->stacks, host, BPF_PROG_TYPE_KPROBE);
	struct bpf_log log = bpf_log_begin(host);
	if (!result)
		result = load(launches, host);
	if (!result && (step = "attach to the launch hook"))
		result = attach(launches, library);
	bpf_log_end(&log);
	if (!result && (step = "read the counters of the BPF program"))
		result = cpu_table_map(&launches->processors, host, launches->skeleton->maps.processors);
	if (!result && (step = "unwind stacks"))
		result = stack_reader_open(&launches->stacks, STACK_READER_OBJECT(launches->skeleton));
	if (result)
		snprintf(reason, size, "cannot %s: %s", step, strerror(-result));
	return result;
}

void launches_read(struct launches *launches)
{
	if (launches->ring)
		(void)ring_buffer__consume(launches->ring);
}

struct cuda_processor launches_sum(const struct launches *launches)
{
	struct cuda_processor sum = { 0 };
	if (launches->processors.words)
		cpu_table_sum(&launches->processors, &sum);
	return sum;
}

void launches_close(struct launches *launches)
{
	for (size_t i = 0; i < launches->copy_count; i++)
		bpf_link__destroy(launches->copies[i]);
	ring_buffer__free(launches->ring);
	stack_reader_free(&launches->stacks);
	cpu_table_unmap(&launches->processors);
	cuda_bpf__destroy(launches->skeleton);
	*launches = (struct launches){ 0 };
}
