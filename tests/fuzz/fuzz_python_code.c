/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a copy of a code object of CPython, and as the offsets that an interpreter states. The first byte
 * chooses.
 */
#include <stdlib.h>
#include <string.h>
#include "bpf/python_code.h"
#include "symbolizer/python/python_runtime.h"

static void need(bool is_met)
{
	if (!is_met)
		abort();
}

static void read_code(const uint8_t *bytes, size_t size)
{
	struct python_code *code = malloc(size + 1);
	need(code);
	memcpy(code, bytes, size);
	if (size >= offsetof(struct python_code, lines) && python_code_is_valid(code, size)) {
		struct text text = { 0 };
		python_text_append(&text, &code->name, code->name_bytes);
		python_text_append(&text, &code->file, code->file_bytes);
		need(text.failed || text.size <= 3 * (PYTHON_NAME_BYTES + PYTHON_FILE_BYTES) + 6);
		need(text.failed || !memchr(text_string(&text), 0, text.size));
		text_free(&text);
		for (int32_t position = -2; position < 64; position += 2)
			need(python_line_find(code->line_format, code->lines, code->line_bytes, code->first_line,
					      position) <= INT32_MAX);
		python_line_find(code->line_format, code->lines, code->line_bytes, code->first_line, INT32_MAX);
	}
	free(code);
}

static void read_offsets(const uint8_t *bytes, size_t size)
{
	struct iaprof_python python = { 0 };
	if (python_layout_of_offsets(&python, bytes, size))
		need(python.layout.frame_size <= PYTHON_FRAME_BYTES && python.layout.code_size <= PYTHON_OBJECT_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size && bytes[0] == 'c')
		read_code(bytes + 1, size - 1);
	else if (size)
		read_offsets(bytes + 1, size - 1);
	return 0;
}
