/* SPDX-License-Identifier: Apache-2.0 */
/* Decoder cuda-sass: decodes instructions of CUDA GPUs, ELF machine 190. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <iaprof/image.h>
#include <iaprof/plugin.h>

#include "sass/flow.h"
#include "sass/sass.h"

#define MACHINE_CUDA 190  /* EM_CUDA */
#define ABI_VERSION_SM 8u /* from this one on, bits 8 to 15 of e_flags are the architecture, before bits 0 to 7 */

struct decoder {
	char unused;
};

/* A function that the core opened. */
struct function {
	uint32_t sm;
	const uint8_t *bytes; /* owned by the core */
	uint64_t size;
	const char *name;
	/* Built when it is first needed. */
	bool has_flow, too_large;
	struct sass_flow flow;
};

/* Returns the architecture of an image, such as 90, or 0. */
static unsigned sm_of_image(const void *image, uint64_t size)
{
	Elf64_Ehdr header;
	if (!image || size < sizeof header)
		return 0;
	memcpy(&header, image, sizeof header);
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_machine != MACHINE_CUDA)
		return 0;
	return header.e_ident[EI_ABIVERSION] >= ABI_VERSION_SM ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff;
}

static int function_open(const struct iaprof_host *host, void *instance, const struct iaprof_code *description,
			 void **code)
{
	uint32_t sm = sass_sm_bit(sm_of_image(description->image, description->image_size));
	if (!sm)
		return -ENOTSUP;
	struct function *function = calloc(1, sizeof *function);
	if (!function)
		return -ENOMEM;
	function->sm = sm;
	function->bytes = description->bytes;
	function->size = description->byte_count;
	function->name = description->name;
	*code = function;
	return 0;
}

static void function_close(const struct iaprof_host *host, void *instance, void *code)
{
	struct function *function = code;
	sass_flow_free(&function->flow);
	free(function);
}

static bool begins_at(const struct function *function, uint64_t offset)
{
	return offset % SASS_SIZE == 0 && offset < function->size && function->size - offset >= SASS_SIZE;
}

static int function_decode(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			   struct iaprof_code_instruction *instruction)
{
	const struct function *function = code;
	if (!begins_at(function, offset))
		return -EINVAL;
	struct sass_word word = sass_word_read(function->bytes + offset);
	instruction->size = SASS_SIZE;
	instruction->mnemonic = sass_name(function->sm, &word);
	instruction->group = sass_group(instruction->mnemonic);
	_Static_assert(sizeof instruction->text >= SASS_TEXT && sizeof instruction->waits >= SASS_WAITS, "text fits");
	sass_waits(&word, instruction->waits);
	sass_text(function->sm, &word, offset, instruction->text);
	return 0;
}

static int function_producers(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			      struct iaprof_producer *producers, size_t capacity, uint32_t *flags)
{
	struct function *function = code;
	*flags = IAPROF_PRODUCERS_INCOMPLETE;
	if (!begins_at(function, offset))
		return -EINVAL;
	if (!function->has_flow && !function->too_large) {
		int result =
			sass_flow_build(function->sm, function->bytes, function->size, function->name, &function->flow);
		function->has_flow = result == 0;
		function->too_large = result == -EFBIG;
		if (result == -ENOMEM)
			return result;
	}
	if (!function->has_flow)
		return 0;
	return sass_flow_producers(&function->flow, (uint32_t)(offset / SASS_SIZE), producers, capacity, flags);
}

/* R_CUDA_32 and R_CUDA_64: without them, the lines of all functions would be at 0. */
static const struct iaprof_relocation relocations[] = { { 1, 4, IAPROF_RELOCATION_ABSOLUTE, 0 },
							{ 2, 8, IAPROF_RELOCATION_ABSOLUTE, 0 } };

static const struct iaprof_decoder_operations operations = {
	.size = sizeof operations,
	.machine = MACHINE_CUDA,
	.relocations = relocations,
	.relocation_count = sizeof relocations / sizeof *relocations,
	.code_open = function_open,
	.code_close = function_close,
	.code_decode = function_decode,
	.code_producers = function_producers,
};

static const struct iaprof_plugin cuda_sass_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_DECODER,
	.name = "cuda-sass",
	.version = "0.1",
	.description = "CUDA GPU code: instructions of sm_75 to sm_120",
	.instance_size = sizeof(struct decoder),
	.decoder = &operations,
};

IAPROF_REGISTER_PLUGIN(cuda_sass_plugin)
