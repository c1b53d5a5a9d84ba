/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes what a program gets from pfnProfilingQueryGetData of Level Zero's NPU extension ZE_extension_profiling_data:
 * an array of layers or of tasks of one inference. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "layer_shared.h"

enum layer_part { LAYER_PART_DPU, LAYER_PART_SW, LAYER_PART_DMA, LAYER_PARTS };

/* A layer or a task. Times are in ns. */
struct npu_layer {
	char name[LAYER_NAME_SIZE];
	char type[LAYER_TYPE_SIZE];
	bool is_task;
	bool was_executed; /* not left out, and not part of another layer */
	uint64_t duration;
	uint64_t parts[LAYER_PARTS];          /* of a layer: time of engines, which overlap */
	enum layer_part part;                 /* of a task: its engine; LAYER_PARTS if not known */
	uint32_t active_cycles, stall_cycles; /* of a task */
};

/* type: enum layer_data. Returns false if the bytes are not such an item. */
bool layer_decode(uint32_t type, const unsigned char *bytes, size_t size, struct npu_layer *layer);

/* Returns the share of a task's duration in which it was stalled. */
uint64_t layer_stall_time(const struct npu_layer *layer);

/* Returns "DPU", for example. */
const char *layer_part_name(uint32_t part);
