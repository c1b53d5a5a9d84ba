/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a layer or task of an NPU: the first one is its type. Names end, and a part is not more than the whole.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "layer_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct npu_layer layer;

	if (!size || !layer_decode(bytes[0], bytes + 1, size - 1, &layer))
		return 0;
	if (size - 1 < TASK_SIZE || !*layer.name || strnlen(layer.name, sizeof layer.name) == sizeof layer.name ||
	    strnlen(layer.type, sizeof layer.type) == sizeof layer.type || layer.part > LAYER_PARTS)
		abort();
	/* A duration of more than 2^53 ns is not exact. */
	if (layer.duration < UINT64_C(1) << 53 && layer_stall_time(&layer) > layer.duration)
		abort();
	return 0;
}
