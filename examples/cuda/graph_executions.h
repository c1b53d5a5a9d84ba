/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of kernels as parts of CUDA graphs: each belongs to a launch of its graph, and has the stack of that
 * launch and, below "[captured at]", that at which the kernel became a part of the graph. A copy is like the execution
 * of a graph of its own, with all of its kind. Owned by the loop's thread. Initialise with {0} and the first two.
 */
#pragma once

#include <stdint.h>
#include <base/keyed_array.h>

#include "graph_launches.h"
#include "graph_nodes.h"
#include "kept_stacks.h"
#include "process.h"

/* Executions of a kernel with the same stacks. */
struct graph_kernel {
	struct {
		uint32_t kernel;         /* id of its KERNEL record */
		uint32_t capture, stack; /* numbers of the stacks of its capture and of the launch; 0: not known */
	} key;
	uint32_t graph;  /* of the latest execution */
	uint64_t count;  /* that no LAUNCH record stands for yet */
	uint64_t sent;   /* time of the latest LAUNCH record */
	uint64_t number; /* of that record; 0: none yet */
};

struct graph_executions {
	struct session *session;
	uint32_t pid;
	uint64_t marker; /* element of a stack: the frame "[captured at]" */
	struct kept_stacks stacks;
	struct graph_launches launches;
	struct graph_nodes nodes;
	KEYED_ARRAY(struct graph_kernel) kernels;
};

/* Returns the number of the launch to which an execution of a kernel belongs; 0: of a graph without one. */
uint64_t graph_executions_add(struct graph_executions *executions, uint32_t kernel,
			      const struct cuda_execution *execution);
/* Sends the launches of the executions since the last one, and frees. */
void graph_executions_end(struct graph_executions *executions);
