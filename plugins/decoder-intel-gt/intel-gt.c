/* SPDX-License-Identifier: Apache-2.0 */
/* Decoder intel-gt: reads images and decodes instructions of Intel GPUs from Xe on, ELF machine 205. */
#include <errno.h>
#include <stdlib.h>
#include <iaprof/plugin.h>

#include "disassembler.h"
#include "instruction.h"
#include "opcode.h"
#include "producer.h"
#include "zebin.h"

#define MACHINE_INTEL_GT 205 /* EM_INTELGT in the registry of ELF machines */

struct decoder {
	uint64_t generation; /* enum gt_generation; GT_UNKNOWN_GENERATION: not set */
	const char *library;
	struct gt_disassembler *disassembler; /* NULL if the library is not installed */
};

/* In the order of enum gt_generation. */
static const char *const generations[GT_GENERATION_COUNT + 1] = { "auto",   "xe",  "xe-hp", "xe-hpg",
								  "xe-hpc", "xe2", "xe3",   "xe3p" };

#define OPTION(...) IAPROF_OPTION(struct decoder, __VA_ARGS__)

static const struct iaprof_option options[] = {
	OPTION(generation, CHOICE, "generation", "auto", "Instruction set of the code; auto: determined from its image",
	       .choices = generations),
	OPTION(library, STRING, "library", NULL,
	       "Path of Intel's disassembler, for the text of instructions; by default, libiga64.so.2, libiga64.so.1 "
	       "and libiga64.so are tried"),
};

/* Loads the library now: the process that decodes cannot open files later. */
static int decoder_configure(const struct iaprof_host *host, void *instance)
{
	struct decoder *decoder = instance;
	decoder->disassembler = gt_disassembler_open(decoder->library);
	return 0;
}

static void decoder_destroy(const struct iaprof_host *host, void *instance)
{
	struct decoder *decoder = instance;
	gt_disassembler_close(decoder->disassembler);
}

/* Decodes the instruction at an offset and its name, even if the generation of the code is unknown. */
static int decode_named(enum gt_generation generation, const void *code, size_t code_size, size_t offset,
			struct gt_instruction *decoded, const char **mnemonic)
{
	/* An opcode has the same name in every generation; together, Xe2 and Xe3P have all opcodes since XeHPC. */
	int result = gt_instruction_decode(generation ? generation : GT_XE2, code, code_size, offset, decoded);
	if (result < 0 && !generation)
		result = gt_instruction_decode(GT_XE3P, code, code_size, offset, decoded);
	if (result == 0)
		*mnemonic = gt_instruction_mnemonic(generation ? generation : GT_XE3P, decoded);
	return result;
}

/* A kernel that the core opened. */
struct kernel {
	enum gt_generation generation;
	const void *bytes; /* owned by the core */
	size_t size;
	/* Each built when it is first needed. */
	bool has_code, has_flow, too_large;
	struct gt_code code;
	struct gt_flow flow;
};

static int kernel_open(const struct iaprof_host *host, void *instance, const struct iaprof_code *description,
		       void **code)
{
	const struct decoder *decoder = instance;
	struct kernel *kernel = calloc(1, sizeof *kernel);
	if (!kernel)
		return -ENOMEM;
	kernel->generation = (enum gt_generation)decoder->generation;
	if (!kernel->generation && description->image)
		kernel->generation = gt_generation_of_image(description->image, description->image_size);
	kernel->bytes = description->bytes;
	kernel->size = description->byte_count;
	*code = kernel;
	return 0;
}

static void kernel_close(const struct iaprof_host *host, void *instance, void *code)
{
	struct kernel *kernel = code;
	if (kernel->has_flow)
		gt_flow_free(&kernel->flow);
	gt_code_free(&kernel->code);
	free(kernel);
}

static uint32_t group_of(const struct gt_instruction *instruction)
{
	static const uint8_t groups[] = {
		[GT_GROUP_ALU] = IAPROF_INSTRUCTION_ARITHMETIC,       [GT_GROUP_MATH] = IAPROF_INSTRUCTION_MATH,
		[GT_GROUP_MATRIX] = IAPROF_INSTRUCTION_MATRIX,        [GT_GROUP_MEMORY] = IAPROF_INSTRUCTION_MEMORY,
		[GT_GROUP_SYNC] = IAPROF_INSTRUCTION_SYNCHRONIZATION, [GT_GROUP_CONTROL] = IAPROF_INSTRUCTION_CONTROL
	};
	return groups[instruction->group];
}

/* The length of an instruction is encoded in the same way in every generation. */
static int find_code(struct kernel *kernel)
{
	if (kernel->has_code || kernel->too_large)
		return 0;
	int result = gt_code_walk(kernel->generation ? kernel->generation : GT_XE2, kernel->bytes, kernel->size,
				  &kernel->code);
	kernel->too_large = result == -EFBIG;
	kernel->has_code = result == 0;
	return kernel->too_large ? 0 : result;
}

static bool begins_at(const struct kernel *kernel, uint64_t offset)
{
	return offset < kernel->size && gt_code_find(&kernel->code, (uint32_t)offset) != UINT32_MAX;
}

static int kernel_decode(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			 struct iaprof_code_instruction *instruction)
{
	const struct decoder *decoder = instance;
	struct kernel *kernel = code;
	struct gt_instruction decoded;
	int result = find_code(kernel);
	if (result == 0 && kernel->has_code && !begins_at(kernel, offset))
		result = -EINVAL;
	if (result == 0)
		result = decode_named(kernel->generation, kernel->bytes, kernel->size, offset, &decoded,
				      &instruction->mnemonic);
	if (result < 0)
		return result;
	instruction->size = decoded.size;
	instruction->group = group_of(&decoded);
	/* The meaning of the scoreboard bits, and the rest of the text, differ between generations. */
	if (!kernel->generation)
		return 0;
	_Static_assert(sizeof instruction->waits >= GT_SCOREBOARD_TEXT, "a scoreboard's text fits");
	gt_scoreboard_format(&decoded.scoreboard, instruction->waits);
	gt_disassembler_text(decoder->disassembler, kernel->generation, kernel->bytes, kernel->size, offset,
			     instruction->text, sizeof instruction->text);
	return 0;
}

static int find_flow(struct kernel *kernel)
{
	if (kernel->has_flow || kernel->too_large)
		return 0;
	int result = find_code(kernel);
	if (result < 0 || !kernel->has_code)
		return result;
	result = gt_flow_build(&kernel->code, &kernel->flow);
	kernel->has_flow = result == 0;
	return result;
}

static uint32_t wait_of(const struct gt_producer *producer)
{
	static const uint8_t waits[] = { [GT_WAIT_DESTINATION] = IAPROF_WAIT_RESULT,
					 [GT_WAIT_SOURCE] = IAPROF_WAIT_OPERANDS,
					 [GT_WAIT_TOKEN] = IAPROF_WAIT_TOKEN,
					 [GT_WAIT_DISTANCE] = IAPROF_WAIT_PIPELINE };
	return waits[producer->wait];
}

static int kernel_producers(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			    struct iaprof_producer *producers, size_t capacity, uint32_t *flags)
{
	struct kernel *kernel = code;
	*flags = IAPROF_PRODUCERS_INCOMPLETE;
	int result = kernel->generation ? find_flow(kernel) : 0;
	if (result < 0)
		return result;
	if (!kernel->has_flow)
		return 0;
	uint32_t number = offset < kernel->size ? gt_code_find(&kernel->code, (uint32_t)offset) : UINT32_MAX;
	if (number == UINT32_MAX || kernel->code.instructions[number].flags & GT_NOT_DECODED)
		return -EINVAL;
	struct gt_producers found;
	result = gt_producers_find(&kernel->flow, number, &found);
	if (result < 0)
		return result;
	for (size_t i = 0; i < found.count && i < capacity; i++)
		producers[i] =
			(struct iaprof_producer){ .offset =
							  kernel->code.instructions[found.items[i].instruction].offset,
						  .wait = wait_of(&found.items[i]),
						  .token = found.items[i].token };
	*flags = found.incomplete ? IAPROF_PRODUCERS_INCOMPLETE : 0;
	result = found.count > INT32_MAX ? INT32_MAX : (int)found.count;
	gt_producers_free(&found);
	return result;
}

static int decoder_read_image(const struct iaprof_host *host, void *instance, const struct iaprof_image *image,
			      const struct iaprof_image_report *report)
{
	return zebin_read(image, report);
}

static size_t decoder_display_name(const struct iaprof_host *host, void *instance, const char *name, char *text,
				   size_t capacity)
{
	return zebin_display_name(name, text, capacity);
}

static const struct iaprof_decoder_operations operations = {
	.size = sizeof operations,
	.machine = MACHINE_INTEL_GT,
	.code_open = kernel_open,
	.code_close = kernel_close,
	.code_decode = kernel_decode,
	.code_producers = kernel_producers,
	.image_read = decoder_read_image,
	.relocations = zebin_relocations,
	.relocation_count = ZEBIN_RELOCATION_COUNT,
	.display_name = decoder_display_name,
};

static const struct iaprof_plugin intel_gt_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_DECODER,
	.name = "intel-gt",
	.version = PLUGIN_VERSION,
	.description = "Intel GPU code: kernels and instructions",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct decoder),
	.decoder = &operations,
	.configure = decoder_configure,
	.destroy = decoder_destroy,
};

IAPROF_REGISTER_PLUGIN(intel_gt_plugin)
