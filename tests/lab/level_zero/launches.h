/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that the program launches and the functions that launch them. Each site is a C function of its own name
 * under a layer's function, so that the CPU stack of a launch tells the site:
 *
 *     worker_run > forward > layer_NAME > SITE > append_VARIANT > zeCommandListAppend...
 */
#pragma once

#include "calls.h"
#include "gpu_jobs.h"
#include "spans.h"

#include <stdint.h>
#include <sys/types.h>

enum module_id { MODULE_TRANSFORMER, MODULE_SYSTOLIC, MODULE_COUNT };

enum kernel_id {
	KERNEL_MATMUL_TILE,
	KERNEL_BIAS_GELU,
	KERNEL_SOFTMAX_ROW,
	KERNEL_HISTOGRAM,
	KERNEL_ROTATE_SPILL,
	KERNEL_TINY,
	KERNEL_SCALE,
	KERNEL_RESIDUAL,
	KERNEL_MATMUL_DPAS,
	KERNEL_COUNT
};

struct kernel_description {
	const char *name;
	enum module_id module;
	const char *arguments; /* one letter each: p a buffer, i an int, f a float */
	uint32_t group_x, group_y;
};
extern const struct kernel_description kernel_descriptions[KERNEL_COUNT];

enum site_id {
	SITE_EMBEDDING_COUNT,
	SITE_EMBEDDING_SCALE,
	SITE_EMBEDDING_ROTATE,
	SITE_ATTENTION_SCORES,
	SITE_ATTENTION_SOFTMAX,
	SITE_ATTENTION_VALUES,
	SITE_FEED_FORWARD_UP,
	SITE_FEED_FORWARD_GELU,
	SITE_FEED_FORWARD_RESIDUAL,
	SITE_COUNT
};

struct site_description {
	const char *name;  /* of the C function */
	const char *layer; /* of the function that calls it */
	const char *call;  /* the Level Zero function that it ends in */
	enum kernel_id kernels[2];
	unsigned kernel_count;
};
extern const struct site_description site_descriptions[SITE_COUNT];

/* Enough for what the kernels read and write with the arguments that they get here. */
#define BUFFER_SIZE (1u << 16)

/* What indirect launches read: from memory, the number of kernels and their group counts. */
struct indirect {
	ze_group_count_t groups[2];
	uint32_t kernel_count;
};

/* One thread's view: what it launches into, with kernel handles of its own, for those must not be shared. */
struct worker {
	const struct level_zero *calls;
	const unsigned *site_launches; /* launches a turn, by site */
	int site_kernel;               /* what every site launches; -1: its own */
	unsigned number;               /* from 1 */
	pid_t thread;
	char name[16];
	void *buffer;                 /* shared memory, BUFFER_SIZE bytes */
	struct indirect *indirect;    /* shared memory */
	struct gpu_jobs *launch_jobs; /* where each launch is a job; NULL: nowhere */
	uint64_t job_count;
	ze_command_list_handle_t list;
	ze_kernel_handle_t kernels[KERNEL_COUNT];
	uint64_t appended[SITE_COUNT][KERNEL_COUNT];
	uint64_t executed[SITE_COUNT][KERNEL_COUNT];
	uint64_t span_turns[SPANS_MAX + 1]; /* turns under each span; 0: none */
};

/* The kernel that a site launches as its first. */
enum kernel_id site_kernel(const struct worker *worker, enum site_id site);

/* Sets up what launches need: the kernels' arguments and the group counts that indirect launches read. */
void launches_prepare(struct worker *worker);

/* The job that the next launch, or execution of a list, is on the double of a device; NULL: none. */
void job_submit(struct gpu_jobs *jobs);

/* One turn: every site, as often as it is asked for. */
void forward(struct worker *worker);
