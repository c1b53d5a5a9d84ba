/* SPDX-License-Identifier: Apache-2.0 */
/* The launch sites, one C function each, and every way in which Level Zero appends a launch. */
#include "launches.h"

#include <string.h>

/* One function under its own name, with a frame of its own; what follows each call keeps it from becoming a jump. */
#define SITE_FUNCTION __attribute__((noipa)) static void
#define RETURN_HERE __asm__ volatile("" ::: "memory")

const struct kernel_description kernel_descriptions[KERNEL_COUNT] = {
	[KERNEL_MATMUL_TILE] = { "matmul_tile", MODULE_TRANSFORMER, "pppi", 16, 16 },
	[KERNEL_BIAS_GELU] = { "bias_gelu", MODULE_TRANSFORMER, "ppi", 32, 1 },
	[KERNEL_SOFTMAX_ROW] = { "softmax_row", MODULE_TRANSFORMER, "pi", 32, 1 },
	[KERNEL_HISTOGRAM] = { "histogram", MODULE_TRANSFORMER, "ppi", 32, 1 },
	[KERNEL_ROTATE_SPILL] = { "rotate_spill", MODULE_TRANSFORMER, "pi", 32, 1 },
	[KERNEL_TINY] = { "tiny", MODULE_TRANSFORMER, "p", 1, 1 },
	[KERNEL_SCALE] = { "_ZTS5scaleIfE", MODULE_TRANSFORMER, "pf", 32, 1 },
	[KERNEL_RESIDUAL] = { "add$residual", MODULE_TRANSFORMER, "pp", 32, 1 },
	[KERNEL_MATMUL_DPAS] = { "matmul_dpas", MODULE_SYSTOLIC, "pppi", 16, 1 },
};

#define ONE(kernel) { kernel }, 1
#define TWO(first, second) { first, second }, 2
const struct site_description site_descriptions[SITE_COUNT] = {
	[SITE_EMBEDDING_COUNT] = { "embedding_count", "layer_embedding", "zeCommandListAppendLaunchCooperativeKernel",
				   ONE(KERNEL_HISTOGRAM) },
	[SITE_EMBEDDING_SCALE] = { "embedding_scale", "layer_embedding",
				   "zeCommandListAppendLaunchMultipleKernelsIndirect", TWO(KERNEL_TINY, KERNEL_SCALE) },
	[SITE_EMBEDDING_ROTATE] = { "embedding_rotate", "layer_embedding", "zeCommandListAppendLaunchKernel",
				    ONE(KERNEL_ROTATE_SPILL) },
	[SITE_ATTENTION_SCORES] = { "attention_scores", "layer_attention", "zeCommandListAppendLaunchKernel",
				    ONE(KERNEL_MATMUL_TILE) },
	[SITE_ATTENTION_SOFTMAX] = { "attention_softmax", "layer_attention",
				     "zeCommandListAppendLaunchKernelWithParameters", ONE(KERNEL_SOFTMAX_ROW) },
	[SITE_ATTENTION_VALUES] = { "attention_values", "layer_attention",
				    "zeCommandListAppendLaunchKernelWithArguments", ONE(KERNEL_MATMUL_DPAS) },
	[SITE_FEED_FORWARD_UP] = { "feed_forward_up", "layer_feed_forward", "zeCommandListAppendLaunchKernel",
				   ONE(KERNEL_MATMUL_TILE) },
	[SITE_FEED_FORWARD_GELU] = { "feed_forward_gelu", "layer_feed_forward", "zeCommandListAppendLaunchKernel",
				     ONE(KERNEL_BIAS_GELU) },
	[SITE_FEED_FORWARD_RESIDUAL] = { "feed_forward_residual", "layer_feed_forward",
					 "zeCommandListAppendLaunchKernelIndirect", ONE(KERNEL_RESIDUAL) },
};

static const ze_group_count_t one_group = { 1, 1, 1 };
static const int int_argument = 16;
static const float float_argument = 0.5f;

void launches_prepare(struct worker *worker)
{
	*worker->indirect = (struct indirect){ { one_group, one_group }, 2 };
	for (unsigned i = 0; i < KERNEL_COUNT; i++) {
		const struct kernel_description *kernel = &kernel_descriptions[i];

		CALL(worker->calls, zeKernelSetGroupSize, kernel->name, worker->kernels[i], kernel->group_x,
		     kernel->group_y, 1);
		for (uint32_t argument = 0; kernel->arguments[argument]; argument++) {
			char kind = kernel->arguments[argument];
			size_t size = kind == 'p' ? sizeof worker->buffer : sizeof(int);
			const void *value = kind == 'p'   ? (const void *)&worker->buffer
					    : kind == 'i' ? (const void *)&int_argument
							  : (const void *)&float_argument;
			CALL(worker->calls, zeKernelSetArgumentValue, kernel->name, worker->kernels[i], argument, size,
			     value);
		}
	}
}

enum kernel_id site_kernel(const struct worker *worker, enum site_id site)
{
	return worker->site_kernel < 0 ? site_descriptions[site].kernels[0] : (enum kernel_id)worker->site_kernel;
}

static void count(struct worker *worker, enum site_id site)
{
	worker->appended[site][site_kernel(worker, site)]++;
	for (unsigned i = 1; i < site_descriptions[site].kernel_count; i++)
		worker->appended[site][site_descriptions[site].kernels[i]]++;
}

SITE_FUNCTION append_launch(struct worker *worker, enum site_id site)
{
	enum kernel_id kernel = site_kernel(worker, site);

	CALL(worker->calls, zeCommandListAppendLaunchKernel, kernel_descriptions[kernel].name, worker->list,
	     worker->kernels[kernel], &one_group, NULL, 0, NULL);
	count(worker, site);
}

SITE_FUNCTION append_with_parameters(struct worker *worker, enum site_id site)
{
	enum kernel_id kernel = site_kernel(worker, site);

	CALL(worker->calls, zeCommandListAppendLaunchKernelWithParameters, kernel_descriptions[kernel].name,
	     worker->list, worker->kernels[kernel], &one_group, NULL, NULL, 0, NULL);
	count(worker, site);
}

SITE_FUNCTION append_with_arguments(struct worker *worker, enum site_id site)
{
	enum kernel_id kernel = site_kernel(worker, site);
	const struct kernel_description *description = &kernel_descriptions[kernel];
	ze_group_size_t size = { description->group_x, description->group_y, 1 };
	int steps = int_argument;
	void *arguments[] = { &worker->buffer, &worker->buffer, &worker->buffer, &steps };

	CALL(worker->calls, zeCommandListAppendLaunchKernelWithArguments, description->name, worker->list,
	     worker->kernels[kernel], one_group, size, arguments, NULL, NULL, 0, NULL);
	count(worker, site);
}

SITE_FUNCTION append_cooperative(struct worker *worker, enum site_id site)
{
	enum kernel_id kernel = site_kernel(worker, site);

	CALL(worker->calls, zeCommandListAppendLaunchCooperativeKernel, kernel_descriptions[kernel].name, worker->list,
	     worker->kernels[kernel], &one_group, NULL, 0, NULL);
	count(worker, site);
}

SITE_FUNCTION append_indirect(struct worker *worker, enum site_id site)
{
	enum kernel_id kernel = site_kernel(worker, site);

	CALL(worker->calls, zeCommandListAppendLaunchKernelIndirect, kernel_descriptions[kernel].name, worker->list,
	     worker->kernels[kernel], worker->indirect->groups, NULL, 0, NULL);
	count(worker, site);
}

SITE_FUNCTION append_multiple_indirect(struct worker *worker, enum site_id site)
{
	const struct site_description *description = &site_descriptions[site];
	ze_kernel_handle_t kernels[] = { worker->kernels[description->kernels[0]],
					 worker->kernels[description->kernels[1]] };

	CALL(worker->calls, zeCommandListAppendLaunchMultipleKernelsIndirect, description->name, worker->list, 2,
	     kernels, &worker->indirect->kernel_count, worker->indirect->groups, NULL, 0, NULL);
	count(worker, site);
}

void job_submit(struct gpu_jobs *jobs)
{
	int result = jobs ? gpu_jobs_submit(jobs) : 0;

	if (result)
		fail("a job on the device: %s: give --jobs the node of the lab's double of xe", strerror(-result));
}

#define SITE(name, id, append)                                                                                         \
	SITE_FUNCTION name(struct worker *worker)                                                                      \
	{                                                                                                              \
		for (unsigned i = 0; i < worker->site_launches[id]; i++) {                                             \
			job_submit(worker->launch_jobs);                                                               \
			append(worker, id);                                                                            \
		}                                                                                                      \
		RETURN_HERE;                                                                                           \
	}
SITE(embedding_count, SITE_EMBEDDING_COUNT, append_cooperative)
SITE(embedding_scale, SITE_EMBEDDING_SCALE, append_multiple_indirect)
SITE(embedding_rotate, SITE_EMBEDDING_ROTATE, append_launch)
SITE(attention_scores, SITE_ATTENTION_SCORES, append_launch)
SITE(attention_softmax, SITE_ATTENTION_SOFTMAX, append_with_parameters)
SITE(attention_values, SITE_ATTENTION_VALUES, append_with_arguments)
SITE(feed_forward_up, SITE_FEED_FORWARD_UP, append_launch)
SITE(feed_forward_gelu, SITE_FEED_FORWARD_GELU, append_launch)
SITE(feed_forward_residual, SITE_FEED_FORWARD_RESIDUAL, append_indirect)

SITE_FUNCTION layer_embedding(struct worker *worker)
{
	embedding_count(worker);
	embedding_scale(worker);
	embedding_rotate(worker);
	RETURN_HERE;
}

SITE_FUNCTION layer_attention(struct worker *worker)
{
	attention_scores(worker);
	attention_softmax(worker);
	attention_values(worker);
	RETURN_HERE;
}

SITE_FUNCTION layer_feed_forward(struct worker *worker)
{
	feed_forward_up(worker);
	feed_forward_gelu(worker);
	feed_forward_residual(worker);
	RETURN_HERE;
}

__attribute__((noipa)) void forward(struct worker *worker)
{
	layer_embedding(worker);
	layer_attention(worker);
	layer_feed_forward(worker);
	RETURN_HERE;
}
