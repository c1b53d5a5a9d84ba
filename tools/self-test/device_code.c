/* SPDX-License-Identifier: Apache-2.0 */
/* See device_code.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder-intel-gt/producer.h"
#include "device_code.h"
#include "elf/elf_reader.h"

#define SECTIONS_MAX 4096u

/* Sets the bytes of the section ".text.KERNEL". */
static bool find_text(struct device_code *code, const void *image, size_t size, const char *kernel)
{
	struct elf_reader reader = elf_reader_of_memory(image, size);
	struct elf_sections sections = { 0 };
	char wanted[128];

	snprintf(wanted, sizeof wanted, ".text.%s", kernel);
	if (!elf_sections_read(&reader, SECTIONS_MAX, &sections))
		return false;
	size_t names = sections.header.e_shstrndx;
	for (size_t i = 0; names < sections.count && !code->bytes && i < sections.count; i++) {
		const Elf64_Shdr *section = &sections.items[i], *strings = &sections.items[names];
		char name[sizeof wanted] = "";
		if (section->sh_name >= strings->sh_size ||
		    !reader.read(&reader, strings->sh_offset + section->sh_name, name, strlen(wanted) + 1) ||
		    strcmp(name, wanted) != 0 || section->sh_offset > size ||
		    section->sh_size > size - section->sh_offset)
			continue;
		code->bytes = (const unsigned char *)image + section->sh_offset;
		code->size = section->sh_size;
	}
	free(sections.items);
	return code->bytes;
}

bool device_code_open(struct device_code *code, const void *image, size_t size, const char *kernel)
{
	*code = (struct device_code){ 0 };
	enum gt_generation generation = gt_generation_of_image(image, size);
	if (!find_text(code, image, size, kernel) || gt_code_walk(generation, code->bytes, code->size, &code->code))
		return false;
	if (!gt_flow_build(&code->code, &code->flow))
		return true;
	gt_code_free(&code->code);
	return false;
}

void device_code_free(struct device_code *code)
{
	gt_flow_free(&code->flow);
	gt_code_free(&code->code);
	*code = (struct device_code){ 0 };
}

static bool is_load(const struct device_code *code, uint32_t number)
{
	const struct gt_instruction *instruction = &code->code.instructions[number];

	if (instruction->flags & (GT_NOT_DECODED | GT_NO_DESTINATION))
		return false;
	const char *name = gt_instruction_mnemonic(code->code.generation, instruction);
	return !strncmp(name, "send", 4) && strstr(name, "load");
}

/* Returns whether an instruction waits for a load between first and last. */
static bool waits_for_load(const struct device_code *code, uint32_t number, uint32_t first, uint32_t last)
{
	struct gt_producers producers = { 0 };
	bool found = false;

	if (code->code.instructions[number].flags & GT_NOT_DECODED ||
	    gt_producers_find(&code->flow, number, &producers))
		return false;
	for (size_t i = 0; i < producers.count; i++) {
		const struct gt_producer *producer = &producers.items[i];
		found |= producer->wait == GT_WAIT_DESTINATION && producer->instruction >= first &&
			 producer->instruction <= last && is_load(code, producer->instruction);
	}
	gt_producers_free(&producers);
	return found;
}

uint32_t device_code_load_wait(const struct device_code *code)
{
	for (uint32_t last = 0; last < code->code.count; last++) {
		const struct gt_instruction *branch = &code->code.instructions[last];
		if (branch->flags & (GT_NOT_DECODED | GT_INDIRECT_TARGET) || branch->target == GT_NO_TARGET ||
		    branch->target < 0 || (uint32_t)branch->target > branch->offset)
			continue;
		uint32_t first = gt_code_find(&code->code, (uint32_t)branch->target);
		for (uint32_t i = first; i <= last && first != UINT32_MAX; i++)
			if (waits_for_load(code, i, first, last))
				return i;
	}
	return UINT32_MAX;
}
