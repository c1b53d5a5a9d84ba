/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disassembly by libiga64: see disassembler.h. The prototypes are our own, because Intel's header is C++; types and
 * numbers are those of intel-graphics-compiler, visa/iga/IGALibrary/api/iga.h.
 */
#include "disassembler.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instruction.h"

typedef void *iga_context;

struct iga_context_options {
	size_t size;
	uint32_t generation;
};

struct iga_disassemble_options {
	uint32_t size;
	uint32_t formatting;
	uint32_t reserved[2];
	uint32_t decoding;
	uint32_t base_offset;
};

#define IGA_SUCCESS 0
#define IGA_BFN_EXPRESSIONS 0x80u /* bfn.(s0&s1|s2) instead of its number */

typedef const char *iga_label(int32_t offset, void *user);
typedef int iga_context_create(const struct iga_context_options *options, iga_context *context);
typedef int iga_context_release(iga_context context);
typedef int iga_context_disassemble_instruction(iga_context context, const struct iga_disassemble_options *options,
						const void *instruction, iga_label *label, void *user, char **text);

struct gt_disassembler {
	void *library;
	iga_context_create *create;
	iga_context_release *release;
	iga_context_disassemble_instruction *disassemble;
	pthread_mutex_t lock; /* a context stores the text of its last instruction */
	iga_context contexts[GT_GENERATION_COUNT];
	bool refused[GT_GENERATION_COUNT]; /* an older library may not support the generation */
};

/* iga_gen_t */
static uint32_t iga_generation(enum gt_generation generation)
{
	static const uint32_t numbers[GT_GENERATION_COUNT] = {
		[GT_XE] = 0x01000000,  [GT_XE_HP] = 0x01000001, [GT_XE_HPG] = 0x01000002, [GT_XE_HPC] = 0x01000004,
		[GT_XE2] = 0x02000000, [GT_XE3] = 0x03000000,   [GT_XE3P] = 0x03000003
	};
	return numbers[generation];
}

static bool find_functions(struct gt_disassembler *disassembler)
{
	/* ISO C has no cast from void * to a function pointer: POSIX converts it through memory. */
	*(void **)&disassembler->create = dlsym(disassembler->library, "iga_context_create");
	*(void **)&disassembler->release = dlsym(disassembler->library, "iga_context_release");
	*(void **)&disassembler->disassemble = dlsym(disassembler->library, "iga_context_disassemble_instruction");
	return disassembler->create && disassembler->release && disassembler->disassemble;
}

struct gt_disassembler *gt_disassembler_open(const char *path)
{
	static const char *const names[] = { "libiga64.so.2", "libiga64.so.1", "libiga64.so" };
	struct gt_disassembler *disassembler = calloc(1, sizeof *disassembler);
	if (!disassembler)
		return NULL;
	if (path)
		disassembler->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !path && !disassembler->library && i < sizeof names / sizeof names[0]; i++)
		disassembler->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (disassembler->library && find_functions(disassembler) && pthread_mutex_init(&disassembler->lock, NULL) == 0)
		return disassembler;
	if (disassembler->library)
		dlclose(disassembler->library);
	free(disassembler);
	return NULL;
}

void gt_disassembler_close(struct gt_disassembler *disassembler)
{
	if (!disassembler)
		return;
	for (int i = 0; i < GT_GENERATION_COUNT; i++)
		if (disassembler->contexts[i])
			disassembler->release(disassembler->contexts[i]);
	pthread_mutex_destroy(&disassembler->lock);
	dlclose(disassembler->library);
	free(disassembler);
}

/* Returns NULL if the library does not support the generation. The lock must be held. */
static iga_context context_of(struct gt_disassembler *disassembler, enum gt_generation generation)
{
	iga_context *context = &disassembler->contexts[generation];
	if (*context || disassembler->refused[generation])
		return *context;
	struct iga_context_options options = { .size = sizeof options, .generation = iga_generation(generation) };
	if (disassembler->create(&options, context) != IGA_SUCCESS) {
		*context = NULL;
		disassembler->refused[generation] = true;
	}
	return *context;
}

/* Targets of the instruction being disassembled: both can be on one line. */
struct labels {
	uint32_t offset;
	unsigned count;
	char text[2][16];
};

/* libiga64 passes the distance from the instruction. */
static const char *label(int32_t distance, void *user)
{
	struct labels *labels = user;
	char *text = labels->text[labels->count++ % 2];
	int64_t target = (int64_t)labels->offset + distance;
	snprintf(text, sizeof labels->text[0], "%s0x%" PRIx32, target < 0 ? "-" : "",
		 (uint32_t)(target < 0 ? -target : target));
	return text;
}

/* Replaces runs of spaces and unprintable bytes by one space, and trims both ends. */
static void copy_line(const char *from, char *text, size_t size)
{
	size_t length = 0;
	for (; *from && length + 1 < size; from++) {
		bool space = *from <= ' ' || *from > '~';
		if (!space)
			text[length++] = *from;
		else if (length && text[length - 1] != ' ')
			text[length++] = ' ';
	}
	while (length && text[length - 1] == ' ')
		length--;
	text[length] = '\0';
}

bool gt_disassembler_text(struct gt_disassembler *disassembler, enum gt_generation generation, const void *code,
			  size_t code_size, size_t offset, char *text, size_t text_size)
{
	/* The library always reads 16 bytes, even for instructions of 8. */
	unsigned char bytes[GT_INSTRUCTION_SIZE_MAXIMUM] = { 0 };
	struct gt_instruction instruction;
	if (!text_size)
		return false;
	text[0] = '\0';
	if (!disassembler || gt_instruction_decode(generation, code, code_size, offset, &instruction) < 0)
		return false;
	memcpy(bytes, (const unsigned char *)code + offset, instruction.size);
	struct labels labels = { .offset = instruction.offset };
	const struct iga_disassemble_options options = { .size = sizeof options, .formatting = IGA_BFN_EXPRESSIONS };
	char *line = NULL;
	pthread_mutex_lock(&disassembler->lock);
	iga_context context = context_of(disassembler, generation);
	if (context && disassembler->disassemble(context, &options, bytes, label, &labels, &line) == IGA_SUCCESS &&
	    line)
		copy_line(line, text, text_size);
	pthread_mutex_unlock(&disassembler->lock);
	return text[0] != '\0';
}
