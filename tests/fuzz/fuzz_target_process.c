/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of another process that may use Level Zero. Any bytes as the text of /proc/PID/maps when the first one
 * is 'm', of environ and cmdline when it is 'e', as a seccomp filter when it is 'f', else as a library whose functions
 * are looked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "elf/exported_functions.h"
#include "elf/function_table.h"
#include "inject/seccomp_filter.h"
#include "inject/system_call.h"
#include "process/process_maps.h"
#include "level_zero_use.h"

static void maps_read(const char *text, size_t length)
{
	const char *end = text + length;
	struct process_mapping mapping;

	while (process_mapping_next(&text, &length, &mapping)) {
		if (text + length != end || mapping.start >= mapping.end || mapping.path + mapping.path_length > end)
			abort();
		(void)process_mapping_is_named(&mapping, "libze_loader.so");
	}
	if (length)
		abort();
}

static void use_find(const char *text, size_t length)
{
	struct level_zero_use use = level_zero_use_find(text, length);
	uint32_t version[3];

	if (!memchr(use.loader, '\0', sizeof use.loader) || (use.runtime && !use.runtime_size))
		abort();
	(void)level_zero_version(use.loader, version);
}

static void environment_read(const char *text, size_t length)
{
	(void)python_environment_has_perf(text, length);
	(void)python_command_has_perf(text, length);
	(void)opencl_environment_is_on_level_zero(text, length);
}

static void library_read(const uint8_t *bytes, size_t size)
{
	static const char *const names[] = { "dlopen", "zeEventQueryStatus" };
	const struct elf_reader library = elf_reader_of_memory(bytes, size);
	uint64_t offsets[2];

	exported_functions_find(&library, names, 2, offsets);
	for (size_t i = 0; i < 2; i++) {
		if (offsets[i] > size)
			abort();
	}
	static const uint32_t indexes[] = { 0, 3 };
	if (function_table_find(&library, "clGetPlatformInfo", 1, indexes, 2, offsets)) {
		for (size_t i = 0; i < 2; i++) {
			if (!offsets[i] || offsets[i] >= size)
				abort();
		}
	}
	uint64_t offset = system_call_find(&library);
	if (offset && (offset + 2 > size || bytes[offset] != 0x0f || bytes[offset + 1] != 0x05))
		abort();
}

static void filter_run(const uint8_t *bytes, size_t size)
{
	static struct sock_filter program[BPF_MAXINSNS];
	size_t count = size / sizeof *program;

	count = count < BPF_MAXINSNS ? count : BPF_MAXINSNS;
	memcpy(program, bytes, count * sizeof *program);
	(void)seccomp_filter_is_deadly(program, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size && bytes[0] == 'm') {
		maps_read((const char *)bytes + 1, size - 1);
		use_find((const char *)bytes + 1, size - 1);
	} else if (size && bytes[0] == 'e')
		environment_read((const char *)bytes + 1, size - 1);
	else if (size && bytes[0] == 'f')
		filter_run(bytes + 1, size - 1);
	else
		library_read(bytes, size);
	return 0;
}
