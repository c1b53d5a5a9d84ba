/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of CPython's structures: see python_runtime.h. Those before 3.13 are offsetof() of the headers of 3.8.18,
 * 3.9.18, 3.10.13, 3.11.7 and 3.12.1 on x86-64; they do not change within a minor version.
 */
#include <string.h>

#include "symbolizer/python/python_runtime.h"

#define COMMON                                                                                                         \
	.interpreter_next = 0, .thread_next = 8, .thread_interpreter = 16, .object_type = 8, .bytes_length = 16,       \
	.bytes_data = 32, .text_length = 16, .text_state = 32, .text_kind_shift = 2,                                   \
	.frame_bytecode = IAPROF_PYTHON_NONE, .code_copies = IAPROF_PYTHON_NONE

#define NO_CALLS .thread_call = IAPROF_PYTHON_NONE, .call_next = IAPROF_PYTHON_NONE

/* Up to 3.10 a frame is an object. */
#define BEFORE_3_11                                                                                                    \
	COMMON, .interpreters = 32, .interpreter_threads = 8, .thread_id = 176, .thread_frame = 24,                    \
		.cframe_frame = IAPROF_PYTHON_NONE, .frame_size = 112, .frame_code = 32, .frame_previous = 24,         \
		.code_size = 128, .code_line = 40, .code_file = 104, .code_name = 112, .code_lines = 120,              \
		.code_bytecode = IAPROF_PYTHON_NONE, .text_ascii = 48, .text_compact = 72,                             \
		.entry = IAPROF_PYTHON_ENTRY_EACH

#define FROM_3_11                                                                                                      \
	COMMON, .interpreters = 40, .thread_frame = 56, .frame_size = 72, .frame_position = 56, .code_size = 144,      \
		.code_file = 112, .code_name = 128, .code_lines = 136, .position = IAPROF_PYTHON_POSITION_POINTER,     \
		.lines = IAPROF_PYTHON_LINES_LOCATIONS

static const struct {
	uint32_t version;
	struct iaprof_python_layout layout;
} versions[] = {
	{ 0x0308,
	  { BEFORE_3_11, NO_CALLS, .frame_position = 104, .position = IAPROF_PYTHON_POSITION_BYTES,
	    .lines = IAPROF_PYTHON_LINES_NOTAB } },
	{ 0x0309,
	  { BEFORE_3_11, NO_CALLS, .frame_position = 104, .position = IAPROF_PYTHON_POSITION_BYTES,
	    .lines = IAPROF_PYTHON_LINES_NOTAB } },
	{ 0x030a,
	  { BEFORE_3_11, .thread_call = 48, .call_next = 8, .frame_position = 96,
	    .position = IAPROF_PYTHON_POSITION_UNITS, .lines = IAPROF_PYTHON_LINES_TABLE } },
	{ 0x030b,
	  { FROM_3_11, .interpreter_threads = 16, .thread_id = 152, .cframe_frame = 8, .thread_call = 56,
	    .call_next = 16, .frame_code = 32, .frame_previous = 48, .frame_entry = 68,
	    .entry = IAPROF_PYTHON_ENTRY_FLAG, .code_line = 72, .code_bytecode = 184, .text_ascii = 48,
	    .text_compact = 72 } },
	{ 0x030c,
	  { FROM_3_11, NO_CALLS, .interpreter_threads = 72, .thread_id = 136, .cframe_frame = 0, .frame_code = 0,
	    .frame_previous = 8, .frame_entry = 70, .entry = IAPROF_PYTHON_ENTRY_OWNER, .entry_owner = 3,
	    .code_line = 68, .code_bytecode = 192, .text_ascii = 40, .text_compact = 56 } },
};

bool python_layout_of_version(struct iaprof_python *python)
{
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		if (versions[i].version == python->version) {
			python->layout = versions[i].layout;
			return true;
		}
	return false;
}

/*
 * _Py_DebugOffsets, Include/internal/pycore_debug_offsets.h: 64-bit numbers, of which the first is a cookie, the second
 * PY_VERSION_HEX and the third whether the build is free-threaded. Versions add members, so that the positions of its
 * parts differ.
 */
enum { COOKIE = 0, VERSION = 1, FREE_THREADED = 2, INTERPRETERS = 5, INTERPRETER_NEXT = 8, INTERPRETER_THREADS = 9 };

struct parts {
	uint32_t version;
	uint8_t thread, thread_id; /* thread_id: within the part */
	uint8_t frame, tlbc_index; /* 0: it has none */
	uint8_t code, copies;      /* 0: it has none */
	uint8_t object, bytes, unicode;
	uint8_t count; /* numbers in total */
};

static const struct parts parts_of_versions[] = {
	{ 0x030d, .thread = 19, .thread_id = 5, .frame = 28, .code = 34, .object = 44, .bytes = 64, .unicode = 67,
	  .count = 71 },
	{ 0x030e, .thread = 22, .thread_id = 5, .frame = 31, .tlbc_index = 7, .code = 39, .copies = 10, .object = 50,
	  .bytes = 74, .unicode = 77, .count = 81 },
	{ 0x030f, .thread = 22, .thread_id = 8, .frame = 39, .tlbc_index = 7, .code = 47, .copies = 10, .object = 58,
	  .bytes = 86, .unicode = 89, .count = 93 },
};
#define NUMBERS_MAX 96

/* Limit on what is copied of a frame and of a code object (lib/bpf/python.h). */
#define FRAME_MAX 120
#define CODE_MAX 240

/* Offsets that the layout of the version implies: with another layout, other members are in their places. */
static bool is_consistent(const struct parts *parts, const uint64_t *numbers)
{
	const uint64_t *thread = numbers + parts->thread, *frame = numbers + parts->frame;
	const uint64_t *code = numbers + parts->code, *object = numbers + parts->object;
	const uint64_t *bytes = numbers + parts->bytes, *unicode = numbers + parts->unicode;
	uint64_t header = object[0];
	bool has_objects = (header == 16 && object[1] == 8) || (header == 32 && object[1] == 24);
	return has_objects && thread[1] == 0 && thread[2] == 8 && thread[3] == 16 &&
	       thread[parts->thread_id + 1] == thread[parts->thread_id] + 8 && frame[1] == 8 && frame[2] == 0 &&
	       code[2] == code[1] + 8 && code[3] == code[2] + 8 && code[4] == code[3] + 8 && bytes[1] == header &&
	       bytes[2] == header + 16 && unicode[2] == header && unicode[1] == header + 16 &&
	       unicode[3] == header + 24;
}

/* Returns whether the members that are read lie within what is copied. */
static bool fits(const struct parts *parts, const uint64_t *numbers)
{
	const uint64_t *frame = numbers + parts->frame, *code = numbers + parts->code;
	return numbers[INTERPRETERS] < UINT16_MAX && numbers[INTERPRETER_NEXT] < UINT16_MAX &&
	       numbers[INTERPRETER_THREADS] < UINT16_MAX && numbers[parts->thread + 4] < UINT16_MAX &&
	       numbers[parts->thread + parts->thread_id] < UINT16_MAX && frame[3] <= FRAME_MAX - 8 &&
	       frame[5] < FRAME_MAX && code[4] <= CODE_MAX - 8 && code[5] <= CODE_MAX - 4 &&
	       numbers[parts->code + 9] < UINT16_MAX;
}

static uint16_t align(uint64_t offset)
{
	return (uint16_t)((offset + 7) & ~UINT64_C(7));
}

static void set_layout(struct iaprof_python_layout *layout, const struct parts *parts, const uint64_t *numbers)
{
	const uint64_t *thread = numbers + parts->thread, *frame = numbers + parts->frame;
	const uint64_t *code = numbers + parts->code, *object = numbers + parts->object;
	const uint64_t *bytes = numbers + parts->bytes, *unicode = numbers + parts->unicode;
	bool is_free_threaded = numbers[FREE_THREADED];
	uint64_t last = code[4] > code[5] ? code[4] : code[5];
	*layout = (struct iaprof_python_layout){
		.interpreters = (uint16_t)numbers[INTERPRETERS],
		.interpreter_next = (uint16_t)numbers[INTERPRETER_NEXT],
		.interpreter_threads = (uint16_t)numbers[INTERPRETER_THREADS],
		.thread_next = (uint16_t)thread[2],
		.thread_interpreter = (uint16_t)thread[3],
		.thread_id = (uint16_t)thread[parts->thread_id],
		.thread_frame = (uint16_t)thread[4],
		.cframe_frame = IAPROF_PYTHON_NONE,
		.frame_size = align(frame[5] + 1),
		.frame_code = (uint16_t)frame[2],
		.frame_previous = (uint16_t)frame[1],
		.frame_position = (uint16_t)frame[3],
		.frame_entry = (uint16_t)frame[5],
		.frame_bytecode = IAPROF_PYTHON_NONE,
		.entry_owner = 3,
		.code_size = align(last + 8),
		.code_line = (uint16_t)code[5],
		.code_file = (uint16_t)code[1],
		.code_name = (uint16_t)code[3],
		.code_lines = (uint16_t)code[4],
		.code_bytecode = (uint16_t)code[9],
		.code_copies = IAPROF_PYTHON_NONE,
		.thread_call = IAPROF_PYTHON_NONE,
		.call_next = IAPROF_PYTHON_NONE,
		.object_type = (uint16_t)object[1],
		.text_length = (uint16_t)unicode[2],
		.text_state = (uint16_t)unicode[1],
		.text_ascii = (uint16_t)unicode[3],
		.text_compact = (uint16_t)(unicode[3] + 16),
		.bytes_length = (uint16_t)bytes[1],
		.bytes_data = (uint16_t)bytes[2],
		.entry = IAPROF_PYTHON_ENTRY_OWNER,
		.position = IAPROF_PYTHON_POSITION_POINTER,
		.lines = IAPROF_PYTHON_LINES_LOCATIONS,
		.text_kind_shift = is_free_threaded ? 8 : 2,
	};
	if (is_free_threaded && parts->tlbc_index && frame[parts->tlbc_index] < FRAME_MAX - 4 &&
	    code[parts->copies] < UINT16_MAX) {
		layout->frame_bytecode = (uint16_t)frame[parts->tlbc_index];
		layout->code_copies = (uint16_t)code[parts->copies];
	}
}

bool python_layout_of_offsets(struct iaprof_python *python, const void *bytes, size_t size)
{
	uint64_t numbers[NUMBERS_MAX] = { 0 };
	memcpy(numbers, bytes, size < sizeof numbers ? size : sizeof numbers);
	if (memcmp(&numbers[COOKIE], "xdebugpy", 8) != 0)
		return false;
	python->version = (uint32_t)(numbers[VERSION] >> 16) & 0xffff;
	for (size_t i = 0; i < sizeof parts_of_versions / sizeof *parts_of_versions; i++) {
		const struct parts *parts = &parts_of_versions[i];
		if (parts->version != python->version || size < parts->count * sizeof *numbers)
			continue;
		if (!is_consistent(parts, numbers) || !fits(parts, numbers))
			return false;
		set_layout(&python->layout, parts, numbers);
		return true;
	}
	return false;
}
