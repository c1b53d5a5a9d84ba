/* SPDX-License-Identifier: Apache-2.0 */
/* See frame_record.h. */
#include "symbolizer/frame_record.h"

struct iaprof_record_frame frame_to_record(const struct iaprof_frame *frame, struct result_stream *results)
{
	return (struct iaprof_record_frame){
		.name = result_stream_text(results, frame->name),
		.module = result_stream_text(results, frame->module),
		.file = result_stream_text(results, frame->file),
		.line = frame->line,
		.kind = frame->kind,
		.flags = frame->flags,
		.offset = frame->offset,
		.address = frame->kind == IAPROF_FRAME_PROCESS ? frame->pid : frame->address,
	};
}

struct iaprof_frame frame_from_record(const struct iaprof_record_frame *record, struct intern *intern)
{
	bool is_program = record->kind == IAPROF_FRAME_PROCESS;
	return (struct iaprof_frame){
		.name = intern_text(intern, record->name),
		.module = record->module ? intern_text(intern, record->module) : NULL,
		.file = record->file ? intern_text(intern, record->file) : NULL,
		.line = record->line,
		.kind = record->kind,
		.flags = record->flags,
		.pid = is_program ? (uint32_t)record->address : 0,
		.address = is_program ? 0 : record->address,
		.offset = record->offset,
	};
}
