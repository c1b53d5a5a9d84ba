/* SPDX-License-Identifier: Apache-2.0 */
/* See layer_data.h. */
#include <string.h>
#include "layer_data.h"

/* Offsets after name and type. */
#define STATUS 308u /* of a layer */
#define ENGINE 308u /* of a task */
#define DURATION 320u
#define LAYER_TIMES 344u
#define TASK_CYCLES 328u

/* ZE_LAYER_STATUS_EXECUTED */
#define EXECUTED 3u

static uint32_t word_at(const unsigned char *bytes, size_t offset)
{
	uint32_t value;
	memcpy(&value, bytes + offset, sizeof value);
	return value;
}

static uint64_t long_at(const unsigned char *bytes, size_t offset)
{
	uint64_t value;
	memcpy(&value, bytes + offset, sizeof value);
	return value;
}

/* Copies a name that may lack its NUL, and may have line ends, which separate records elsewhere. */
static void name_copy(char *to, const unsigned char *from, size_t size)
{
	size_t length = strnlen((const char *)from, size - 1);
	for (size_t i = 0; i < length; i++)
		to[i] = from[i] < ' ' || from[i] == 0x7f ? '?' : (char)from[i];
	to[length] = '\0';
}

bool layer_decode(uint32_t type, const unsigned char *bytes, size_t size, struct npu_layer *layer)
{
	*layer = (struct npu_layer){ .is_task = type == LAYER_DATA_TASKS, .part = LAYER_PARTS };
	if ((type != LAYER_DATA_LAYERS && type != LAYER_DATA_TASKS) ||
	    size < (type == LAYER_DATA_TASKS ? TASK_SIZE : LAYER_SIZE))
		return false;
	name_copy(layer->name, bytes, sizeof layer->name);
	name_copy(layer->type, bytes + LAYER_NAME_SIZE, sizeof layer->type);
	layer->duration = long_at(bytes, DURATION);
	if (layer->is_task) {
		/* ze_task_execute_type: 0 none, then in the order of enum layer_part. */
		uint32_t engine = word_at(bytes, ENGINE);
		layer->was_executed = true;
		layer->part = engine >= 1 && engine <= LAYER_PARTS ? (enum layer_part)(engine - 1) : LAYER_PARTS;
		layer->active_cycles = word_at(bytes, TASK_CYCLES);
		layer->stall_cycles = word_at(bytes, TASK_CYCLES + 4);
	} else {
		layer->was_executed = word_at(bytes, STATUS) == EXECUTED;
		for (uint32_t i = 0; i < LAYER_PARTS; i++)
			layer->parts[i] = long_at(bytes, LAYER_TIMES + 8 * i);
	}
	return *layer->name;
}

uint64_t layer_stall_time(const struct npu_layer *layer)
{
	double cycles = (double)layer->active_cycles + layer->stall_cycles;
	return cycles > 0 ? (uint64_t)((double)layer->duration * layer->stall_cycles / cycles) : 0;
}

const char *layer_part_name(uint32_t part)
{
	static const char *const names[] = { "DPU", "SW", "DMA" };
	return part < LAYER_PARTS ? names[part] : "unknown engine";
}
