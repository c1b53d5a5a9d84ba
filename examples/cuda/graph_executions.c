/* SPDX-License-Identifier: Apache-2.0 */
/* See graph_executions.h. */
#include "graph_executions.h"

#include <string.h>

/* Limit on kernels, by stacks; executions of further ones have no launch. */
#define GRAPH_KERNELS_MAX 65536u
/* Executions with the same stacks within this time have one LAUNCH record. */
#define TOGETHER (UINT64_C(100) * 1000 * 1000)
#define CAPTURED "[captured at]"

/* Returns the id of a launch's stack, with the frames in which the stack of the capture differs from it at the leaf. */
static uint32_t intern_stack(struct graph_executions *executions, uint32_t launch, uint32_t capture)
{
	const struct iaprof_host *host = executions->session->host;
	struct kept_stack launched = kept_stacks_get(&executions->stacks, launch);
	struct kept_stack captured = kept_stacks_get(&executions->stacks, capture);
	uint64_t whole[IAPROF_STACK_DEPTH_MAX];
	size_t depth = captured.key.depth, rest;
	if (depth && !executions->marker)
		executions->marker = call_frame(host, CAPTURED);
	for (size_t i = launched.key.depth; i && depth && captured.addresses[depth - 1] == launched.addresses[i - 1];
	     i--)
		depth--;
	if (!executions->marker || !depth || depth >= IAPROF_STACK_DEPTH_MAX)
		return host->intern_stack(host, executions->pid, launched.addresses, launched.key.depth);
	memcpy(whole, captured.addresses, depth * sizeof *whole);
	whole[depth++] = executions->marker;
	rest = IAPROF_STACK_DEPTH_MAX - depth;
	rest = launched.key.depth < rest ? launched.key.depth : rest;
	if (rest)
		memcpy(whole + depth, launched.addresses, rest * sizeof *whole);
	return host->intern_stack(host, executions->pid, whole, depth + rest);
}

/* Sends a launch of a kernel as a part of a graph, for its executions that no such record stands for yet. */
static void send_launch(struct graph_executions *executions, struct graph_kernel *kernel,
			const struct graph_launch *launch, uint64_t time)
{
	struct session *session = executions->session;
	struct iaprof_record_launch record = {
		.header = session_header(session, IAPROF_RECORD_LAUNCH, sizeof record),
		.pid = executions->pid,
		.tid = launch->tid,
		.kernel = kernel->key.kernel,
		.user_stack = intern_stack(executions, launch->stack, kernel->key.capture),
		.count = kernel->count,
		.thread_name = launch->thread_name,
		/* CUPTI's number has 32 bits: kernels of one launch differ in where they were captured. */
		.correlation = launch->correlation | (uint64_t)kernel->key.capture << 32
	};
	/* Not that of the launch, before which other records of its time may have been sent. */
	record.header.time = record.first_time = time;
	kernel->count = 0;
	kernel->sent = time;
	kernel->number = record.correlation;
	session_send_launch(session, &record);
}

static struct graph_kernel *find_kernel(struct graph_executions *executions, const struct graph_kernel *wanted)
{
	uint32_t position = executions->kernels.count < GRAPH_KERNELS_MAX
				    ? keyed_array_add(&executions->kernels, wanted)
				    : keyed_array_find(&executions->kernels, &wanted->key);
	return position == POSITION_NONE ? NULL : &executions->kernels.items[position];
}

/* In place of the number of a graph, with the id of the kernel: CUPTI counts graphs from 1. */
#define COPY_GRAPHS (UINT32_C(1) << 31)
/* Above the ids of kernels, the number of digits of a copy's size. */
#define SIZE_SHIFT 24

uint64_t graph_executions_add(struct graph_executions *executions, uint32_t kernel,
			      const struct cuda_execution *execution)
{
	uint32_t graph = execution->graph ? execution->graph : COPY_GRAPHS | kernel;
	const struct graph_launch *launch = graph_launches_find(&executions->launches, graph, execution->correlation);
	/* A program may copy single numbers often, and large tensors seldom, from other lines. */
	if (launch && !execution->graph)
		launch = graph_launches_refine(&executions->launches,
					       graph | (64 - (uint32_t)__builtin_clzll(execution->bytes | 1))
							       << SIZE_SHIFT,
					       launch, execution->correlation);
	struct graph_kernel wanted = { .key = { .kernel = kernel,
						.capture = graph_nodes_stack(&executions->nodes, execution->node) } };
	/* Executions before the first launch with a stack are sent with it. */
	struct graph_kernel *before = keyed_array_get(&executions->kernels, &wanted.key);
	uint64_t count = launch && before ? before->count : 0;
	if (count)
		before->count = 0;
	wanted.key.stack = launch ? launch->stack : 0;
	struct graph_kernel *found = find_kernel(executions, &wanted);
	if (!found)
		return 0;
	found->count += count + 1;
	found->graph = graph;
	if (launch && (!found->number || execution->begin >= found->sent + TOGETHER))
		send_launch(executions, found, launch, execution->begin);
	return launch ? found->number : 0;
}

void graph_executions_end(struct graph_executions *executions)
{
	const struct iaprof_host *host = executions->session->host;
	for (size_t i = 0; i < executions->kernels.count; i++) {
		struct graph_kernel *kernel = &executions->kernels.items[i];
		const struct graph_launch *latest = graph_launches_latest(&executions->launches, kernel->graph);
		struct graph_launch launch = latest ? *latest : (struct graph_launch){ 0 };
		if (kernel->key.stack)
			launch.stack = kernel->key.stack;
		if (latest && kernel->count)
			send_launch(executions, kernel, &launch, host->clock(host));
	}
	keyed_array_free(&executions->kernels);
	kept_stacks_free(&executions->stacks);
	graph_nodes_free(&executions->nodes);
	graph_launches_free(&executions->launches);
}
