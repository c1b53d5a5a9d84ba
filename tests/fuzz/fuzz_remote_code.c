/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a child that reads device code sends: its tables, and what is at addresses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fuzz_stream.h"
#include "symbolizer/device/remote_code.h"

static void check_text(const char *text)
{
	if (text && strlen(text) > STREAM_SIZE_MAX)
		abort();
}

static void look_up(struct remote_code *code, uint64_t address)
{
	static struct code_place place;
	struct iaprof_producer producers[8];
	uint32_t flags;
	uint64_t base;
	size_t count = remote_code_producers(code, address, producers, 8, &flags);
	if (!remote_code_find(code, address, &place)) {
		if (count || remote_code_function(code, address, &base))
			abort();
		return;
	}
	if (!place.function_count || !remote_code_function(code, address, &base))
		abort();
	for (size_t i = 0; i < place.function_count; i++) {
		check_text(place.functions[i].name);
		check_text(place.functions[i].file);
	}
	check_text(place.location.function->name);
	check_text(place.instruction.mnemonic);
	check_text(place.instruction.text);
	struct code_frame frames[CODE_FRAMES_MAX];
	code_place_frames(&place, address, frames);
}

static void look_at(struct remote_code *code)
{
	const struct code_table *table = remote_code_table(code);
	for (size_t i = 0; i < table->function_count && i < 64; i++) {
		const struct code_function *function = &table->functions[i];
		int64_t value;
		code_function_attribute(function, "simd_size", &value);
		code_table_function(table, function->shown);
		look_up(code, function->address);
		look_up(code, function->address + function->size);
	}
	for (size_t i = 0; i < table->section_count && i < 64; i++)
		check_text(table->sections[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size > STREAM_SIZE_MAX)
		return 0;
	stream.bytes = bytes;
	stream.size = size;
	struct budget budget;
	budget_init(&budget);
	struct remote_code_context context = { .workers = code_workers_new_in_threads(NULL, stream_feed),
					       .budget = &budget };
	struct remote_code_request request = { .descriptor = memfd_create("code", MFD_CLOEXEC),
					       .name = "fuzz",
					       .owner = { .owner = geteuid() + 1, .mode = BUDGET_NEVER_TRUSTED } };
	struct remote_code *code = NULL;
	if (context.workers && request.descriptor >= 0 && !remote_code_load(&code, &context, &request))
		look_at(code);
	remote_code_free(code);
	code_workers_free(context.workers);
	budget_free(&budget);
	return 0;
}
