/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder to start from: reads the images of eBPF programs, ELF machine 247, and names their instructions. The
 * encoding is that of RFC 9669, relocations are those of Documentation/bpf/llvm_reloc.rst in the Linux source. Copy it,
 * rename it, and decode your device's images and instructions. A decoder that can determine the dependencies of an
 * instruction also implements code_producers(): see iaprof/plugin.h.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iaprof/iaprof.h>

#define MACHINE_BPF 247 /* EM_BPF in elf.h */

#define INSTRUCTION_SIZE 8
#define OPCODE_LOAD_64 0x18 /* RFC 9669, section 5.4: occupies two instructions */

/* RFC 9669, table 1: the low three bits of the opcode. */
enum instruction_class { CLASS_LD, CLASS_LDX, CLASS_ST, CLASS_STX, CLASS_ALU, CLASS_JMP, CLASS_JMP32, CLASS_ALU64 };

static const char *const alu_names[16] = { "add", "sub", "mul", "div", "or",  "and",  "lsh",
					   "rsh", "neg", "mod", "xor", "mov", "arsh", "end" };
static const char *const jump_names[16] = { "ja",   "jeq",  "jgt",  "jge", "jset", "jne",  "jsgt",
					    "jsge", "call", "exit", "jlt", "jle",  "jslt", "jsle" };
static const char *const class_names[8] = { "ld", "ldx", "st", "stx" };

/* By which a profile can be grouped. */
static const uint32_t groups[8] = {
	[CLASS_LD] = IAPROF_INSTRUCTION_MEMORY,      [CLASS_LDX] = IAPROF_INSTRUCTION_MEMORY,
	[CLASS_ST] = IAPROF_INSTRUCTION_MEMORY,      [CLASS_STX] = IAPROF_INSTRUCTION_MEMORY,
	[CLASS_ALU] = IAPROF_INSTRUCTION_ARITHMETIC, [CLASS_ALU64] = IAPROF_INSTRUCTION_ARITHMETIC,
	[CLASS_JMP] = IAPROF_INSTRUCTION_CONTROL,    [CLASS_JMP32] = IAPROF_INSTRUCTION_CONTROL,
};

static const char *mnemonic_of(unsigned char opcode)
{
	switch (opcode & 7) {
	case CLASS_ALU:
	case CLASS_ALU64:
		return alu_names[opcode >> 4];
	case CLASS_JMP:
	case CLASS_JMP32:
		return jump_names[opcode >> 4];
	default:
		return class_names[opcode & 7];
	}
}

/* What code_open() knows of a function. The bytes stay valid until code_close(). */
struct ebpf_code {
	const unsigned char *bytes;
	uint64_t size;
	unsigned char begins[]; /* for each 8 bytes, whether an instruction begins there */
};

/* Returns the size of the instruction at offset, or 0 if none fits there. */
static uint32_t instruction_size(const struct ebpf_code *code, uint64_t offset)
{
	if (offset >= code->size || !mnemonic_of(code->bytes[offset]))
		return 0;
	uint32_t size = code->bytes[offset] == OPCODE_LOAD_64 ? 2 * INSTRUCTION_SIZE : INSTRUCTION_SIZE;
	return size <= code->size - offset ? size : 0;
}

/* Finds where instructions begin, so that the second half of one is not taken for another. */
static int code_open(const struct iaprof_host *host, void *instance, const struct iaprof_code *description, void **code)
{
	uint64_t count = description->byte_count / INSTRUCTION_SIZE;
	struct ebpf_code *opened = calloc(1, sizeof *opened + count);
	(void)host;
	(void)instance;
	if (!opened)
		return -ENOMEM;
	opened->bytes = description->bytes;
	opened->size = count * INSTRUCTION_SIZE;
	for (uint64_t offset = 0; offset < opened->size;) {
		uint32_t size = instruction_size(opened, offset);
		opened->begins[offset / INSTRUCTION_SIZE] = size > 0;
		offset += size ? size : INSTRUCTION_SIZE;
	}
	*code = opened;
	return 0;
}

static void code_close(const struct iaprof_host *host, void *instance, void *code)
{
	(void)host;
	(void)instance;
	free(code);
}

static int code_decode(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
		       struct iaprof_code_instruction *instruction)
{
	const struct ebpf_code *opened = code;
	(void)host;
	(void)instance;
	if (offset >= opened->size || offset % INSTRUCTION_SIZE || !opened->begins[offset / INSTRUCTION_SIZE])
		return -EINVAL;
	const unsigned char *bytes = opened->bytes + offset;
	uint32_t immediate = bytes[4] | (uint32_t)bytes[5] << 8 | (uint32_t)bytes[6] << 16 | (uint32_t)bytes[7] << 24;
	instruction->size = instruction_size(opened, offset);
	instruction->group = groups[bytes[0] & 7];
	instruction->mnemonic = mnemonic_of(bytes[0]);
	snprintf(instruction->text, sizeof instruction->text, "%s r%u, r%u, 0x%x", instruction->mnemonic,
		 bytes[1] & 15u, bytes[1] >> 4u, immediate);
	return 0;
}

/* Kernels are the global functions, except those in .text, which programs call. */
static int image_read(const struct iaprof_host *host, void *instance, const struct iaprof_image *image,
		      const struct iaprof_image_report *report)
{
	int result = 0;
	(void)host;
	(void)instance;
	for (uint64_t i = 1; !result && i < image->symbol_count; i++) {
		const struct iaprof_image_symbol *symbol = iaprof_image_symbol(image, i);
		if (symbol->type != STT_FUNC || symbol->binding != STB_GLOBAL || !*symbol->name ||
		    symbol->section >= image->section_count)
			continue;
		const struct iaprof_image_section *section = iaprof_image_section(image, symbol->section);
		struct iaprof_image_attribute size = { "instructions", (int64_t)(symbol->size / INSTRUCTION_SIZE) };
		struct iaprof_image_function program = { .size = sizeof program,
							 .flags = IAPROF_IMAGE_FUNCTION_KERNEL,
							 .name = symbol->name,
							 .section = symbol->section,
							 .offset = symbol->value - section->address,
							 .attribute_count = 1,
							 .attributes = &size };
		if (strcmp(section->name, ".text") != 0 && symbol->value >= section->address)
			result = report->function(report, &program);
	}
	return result;
}

/* Relocations of debug information: the object file of a program has no addresses. */
static const struct iaprof_relocation relocations[] = {
	{ .type = 2, .width = 8, .formula = IAPROF_RELOCATION_ABSOLUTE }, /* R_BPF_64_ABS64 */
	{ .type = 3, .width = 4, .formula = IAPROF_RELOCATION_ABSOLUTE }, /* R_BPF_64_ABS32 */
	{ .type = 4, .width = 4, .formula = IAPROF_RELOCATION_ABSOLUTE }, /* R_BPF_64_NODYLD32 */
};

static const struct iaprof_decoder_operations operations = {
	.size = sizeof operations,
	.machine = MACHINE_BPF,
	.code_open = code_open,
	.code_close = code_close,
	.code_decode = code_decode,
	.image_read = image_read,
	.relocations = relocations,
	.relocation_count = sizeof relocations / sizeof *relocations,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_DECODER,
	.name = "ebpf",
	.version = "1.0",
	.description = "eBPF code: functions and instructions",
	.instance_size = 1,
	.decoder = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
