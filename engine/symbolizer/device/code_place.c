/* SPDX-License-Identifier: Apache-2.0 */
/* See code_place.h. */
#include "symbolizer/device/code_place.h"

size_t code_place_frames(const struct code_place *place, uint64_t address, struct code_frame *frames)
{
	const struct code_frame common = { .offset = place->location.offset, .address = address };
	size_t count = 0;
	if (place->functions[0].file) {
		frames[count] = common;
		frames[count].name = place->functions[0].file;
		frames[count++].kind = IAPROF_FRAME_DEVICE_SOURCE;
	}
	for (size_t i = 0; i < place->function_count; i++) {
		const struct debug_frame *function = &place->functions[i];
		frames[count] = common;
		frames[count].name = function->name ? function->name : "[unknown]";
		frames[count].file = function->file;
		frames[count].line = function->line;
		frames[count].kind = IAPROF_FRAME_DEVICE_FUNCTION;
		frames[count++].flags = (i ? IAPROF_FRAME_INLINED : 0) | (function->name ? 0 : IAPROF_FRAME_UNKNOWN);
	}
	if (place->instruction.mnemonic) {
		frames[count] = common;
		frames[count].name = place->instruction.mnemonic;
		frames[count++].kind = IAPROF_FRAME_DEVICE_INSTRUCTION;
	}
	return count;
}
