/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of the demonstration: answers a question with a small language model on the GPU.
 *
 *     assistant MODULE TOKENS
 *
 * Prints "kernel NAME ADDRESS WORK-ITEMS" for each kernel and "ready", and begins after a line on standard input, which
 * has two numbers: TOKENS tokens, one every so many ms, and for so many of them the GPU works.
 * It prints "begun" once it has read the question, and ends with its input. Launches and CPU work are real; nothing
 * executes on a GPU.
 */
#include "../level_zero/calls.h"
#include "system_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1024
#define LAYERS 2
#define VOCABULARY 128256
#define BEAMS 12
#define TIMEOUT UINT64_C(60000000000) /* ns */
#define BUFFER_SIZE (1u << 16)

/* A frame for each function, whatever the compiler could save. */
#define FUNCTION __attribute__((noipa)) static

enum kernel_id { RMS_NORM, ATTENTION_SCORES, SOFTMAX, FEED_FORWARD, BIAS_GELU, KERNEL_COUNT };

static const struct {
	const char *name;
	unsigned buffers; /* arguments: pointers, then the width */
	uint32_t group_x, group_y, groups;
} kernels[KERNEL_COUNT] = {
	[RMS_NORM] = { "rms_norm", 3, 64, 1, 768 },    [ATTENTION_SCORES] = { "attention_scores", 3, 64, 1, 3072 },
	[SOFTMAX] = { "softmax", 1, 64, 1, 400 },      [FEED_FORWARD] = { "feed_forward", 3, 16, 16, WIDTH / 16 },
	[BIAS_GELU] = { "bias_gelu", 2, 64, 1, 4096 },
};

struct model {
	struct level_zero calls;
	ze_context_handle_t context;
	ze_device_handle_t device;
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list; /* of one token */
	ze_kernel_handle_t kernels[KERNEL_COUNT];
	void *buffer;
	float logits[VOCABULARY];
	uint32_t state; /* of what stands in for the model's answer */
};

/* In the function whose name the launch site has. */
#define LAUNCH(model, kernel)                                                                                          \
	CALL(&(model)->calls, zeCommandListAppendLaunchKernel, kernels[kernel].name, (model)->list,                    \
	     (model)->kernels[kernel], &(ze_group_count_t){ kernels[kernel].groups, 1, 1 }, NULL, 0, NULL)

FUNCTION void normalize(struct model *model)
{
	LAUNCH(model, RMS_NORM);
}

FUNCTION void score_keys(struct model *model)
{
	LAUNCH(model, ATTENTION_SCORES);
}

FUNCTION void weigh_values(struct model *model)
{
	LAUNCH(model, SOFTMAX);
}

FUNCTION void project_up(struct model *model)
{
	LAUNCH(model, FEED_FORWARD);
}

FUNCTION void activate(struct model *model)
{
	LAUNCH(model, BIAS_GELU);
}

FUNCTION void attention_layer(struct model *model)
{
	normalize(model);
	score_keys(model);
	weigh_values(model);
}

FUNCTION void feed_forward_layer(struct model *model)
{
	normalize(model);
	project_up(model);
	activate(model);
}

/* Every token takes the same launches. */
FUNCTION void plan_token(struct model *model)
{
	for (int layer = 0; layer < LAYERS; layer++) {
		attention_layer(model);
		feed_forward_layer(model);
	}
	CALL(&model->calls, zeCommandListClose, "the list of launches", model->list);
}

FUNCTION void decode_token(struct model *model)
{
	CALL(&model->calls, zeCommandQueueExecuteCommandLists, "a token", model->queue, 1, &model->list, NULL);
	CALL(&model->calls, zeCommandQueueSynchronize, "a token", model->queue, TIMEOUT);
}

FUNCTION void read_logits(struct model *model)
{
	for (int i = 0; i < VOCABULARY; i++) {
		model->state = model->state * 1664525u + 1013904223u;
		model->logits[i] = (float)(model->state >> 16) / 8192.0f;
	}
}

FUNCTION float softmax_sum(const struct model *model, float largest)
{
	float sum = 0.0f;

	for (int i = 0; i < VOCABULARY; i++) {
		float x = 1.0f + (model->logits[i] - largest) / 64.0f;
		float x2 = x * x, x4 = x2 * x2, x8 = x4 * x4, x16 = x8 * x8;
		sum += x16 * x16 * x16 * x16; /* (1 + x / 64)^64 is about exp(x) */
	}
	return sum;
}

FUNCTION int sample_token(const struct model *model)
{
	int token = 0;

	for (int i = 1; i < VOCABULARY; i++)
		if (model->logits[i] > model->logits[token])
			token = i;
	return softmax_sum(model, model->logits[token]) > 0.0f ? token : 0;
}

FUNCTION unsigned token_hash(const char *text, size_t length)
{
	unsigned hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return hash;
}

/* Every piece of the text that could be a token is looked up. */
FUNCTION unsigned tokenize(const char *text)
{
	size_t length = strlen(text);
	unsigned tokens = 0;

	for (size_t from = 0; from < length; from++)
		for (size_t size = 1; size <= 12 && from + size <= length; size++)
			tokens += token_hash(text + from, size) % VOCABULARY < 16;
	return tokens;
}

FUNCTION unsigned detokenize(int token, char *text, size_t size)
{
	for (size_t i = 0; i + 1 < size; i++)
		text[i] = (char)('a' + (token = (token * 31 + 7) % VOCABULARY) % 26);
	text[size - 1] = '\0';
	return tokenize(text);
}

/* Beam search: the best of several continuations. */
FUNCTION void choose_token(struct model *model)
{
	char word[64];

	for (int beam = 0; beam < BEAMS; beam++) {
		read_logits(model);
		model->state += detokenize(sample_token(model), word, sizeof word);
	}
}

FUNCTION void answer_question(struct model *model, const char *question, unsigned tokens, uint64_t period,
			      uint64_t gpu_time)
{
	model->state = tokenize(question);
	plan_token(model);
	decode_token(model);
	puts("begun");
	fflush(stdout);
	uint64_t start = now();
	for (unsigned i = 0; i < tokens; i++) {
		decode_token(model);
		sleep_until(start + i * period + gpu_time);
		choose_token(model);
		sleep_until(start + (i + 1) * period);
	}
	puts("answered");
	fflush(stdout);
}

FUNCTION void *read_module(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	void *data = malloc(1u << 20);

	if (!file || !data || !(*size = fread(data, 1, 1u << 20, file)))
		fail("%s: cannot be read: build it with tests/lab/level_zero/build", path);
	fclose(file);
	return data;
}

FUNCTION void load_kernel(struct model *model, ze_module_handle_t module, enum kernel_id id)
{
	const struct level_zero *calls = &model->calls;
	const char *name = kernels[id].name;
	const int width = WIDTH;
	ze_kernel_desc_t description = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name };

	CALL(calls, zeKernelCreate, name, module, &description, &model->kernels[id]);
	CALL(calls, zeKernelSetGroupSize, name, model->kernels[id], kernels[id].group_x, kernels[id].group_y, 1);
	for (unsigned i = 0; i < kernels[id].buffers; i++)
		CALL(calls, zeKernelSetArgumentValue, name, model->kernels[id], i, sizeof model->buffer,
		     &model->buffer);
	CALL(calls, zeKernelSetArgumentValue, name, model->kernels[id], kernels[id].buffers, sizeof width, &width);
}

FUNCTION void load_model(struct model *model, const char *path)
{
	const struct level_zero *calls = &model->calls;
	ze_driver_handle_t driver;
	uint32_t count = 1;

	calls_load(&model->calls);
	CALL(calls, zeInit, "GPUs", ZE_INIT_FLAG_GPU_ONLY);
	CALL(calls, zeDriverGet, "the first driver", &count, &driver);
	CALL(calls, zeDeviceGet, "the first device", driver, &count, &model->device);
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	CALL(calls, zeContextCreate, "the context", driver, &context, &model->context);
	ze_device_mem_alloc_desc_t on_device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	CALL(calls, zeMemAllocDevice, "a buffer", model->context, &on_device, BUFFER_SIZE, 64, model->device,
	     &model->buffer);
	ze_module_desc_t description = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_NATIVE };
	void *data = read_module(path, &description.inputSize);
	description.pInputModule = data;
	ze_module_handle_t module;
	CALL(calls, zeModuleCreate, path, model->context, model->device, &description, &module, NULL);
	free(data);
	ze_result_t (*base_address)(ze_kernel_handle_t, uint64_t *);
	CALL(calls, zeDriverGetExtensionFunctionAddress, "zexKernelGetBaseAddress", driver, "zexKernelGetBaseAddress",
	     (void **)&base_address);
	for (enum kernel_id id = 0; id < KERNEL_COUNT; id++) {
		uint64_t address;
		load_kernel(model, module, id);
		call_check(base_address(model->kernels[id], &address), "zexKernelGetBaseAddress", kernels[id].name);
		printf("kernel %s %#" PRIx64 " %u\n", kernels[id].name, address,
		       kernels[id].groups * kernels[id].group_x * kernels[id].group_y);
	}
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	CALL(calls, zeCommandQueueCreate, "a queue", model->context, model->device, &queue, &model->queue);
	ze_command_list_desc_t list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	CALL(calls, zeCommandListCreate, "a command list", model->context, model->device, &list, &model->list);
}

int main(int argc, char **argv)
{
	static struct model model;
	uint64_t period, gpu_time;

	if (argc != 3) {
		fputs("usage: assistant MODULE TOKENS\n", stderr);
		return 2;
	}
	/* The chain of frame pointers ends here: the C library above has none, and main never returns to it. */
	((void **)__builtin_frame_address(0))[0] = NULL;
	load_model(&model, argv[1]);
	puts("ready");
	fflush(stdout);
	char times[64];
	if (read_input(times, sizeof times) > 0 && sscanf(times, "%" SCNu64 "%" SCNu64, &period, &gpu_time) == 2)
		answer_question(&model, "Which of my kernels is slow, and what should I try?",
				(unsigned)strtoul(argv[2], NULL, 10), period * 1000000, gpu_time * 1000000);
	while (read_input(times, sizeof times) > 0)
		;
	exit(0);
}
