/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder to start from: reads the images of eBPF programs, ELF machine 247, and names their instructions. The
 * encoding is that of RFC 9669, relocations are those of Documentation/bpf/llvm_reloc.rst in the Linux source. Copy it,
 * rename it, and decode your device's images and instructions. A decoder that needs the ELF image around the code, or
 * that can determine the dependencies of an instruction, also implements code_open() and related functions: see
 * iaprof/plugin.h.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <iaprof/plugin.h>

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

static int decode(const struct iaprof_host *host, void *instance, const void *code, size_t code_size, size_t offset,
		  struct iaprof_instruction *instruction)
{
	const unsigned char *bytes = code;
	(void)host;
	(void)instance;
	if (offset > code_size || code_size - offset < INSTRUCTION_SIZE || offset % INSTRUCTION_SIZE)
		return -EINVAL;
	bytes += offset;
	uint32_t size = bytes[0] == OPCODE_LOAD_64 ? 2 * INSTRUCTION_SIZE : INSTRUCTION_SIZE;
	const char *mnemonic = mnemonic_of(bytes[0]);
	if (!mnemonic || code_size - offset < size)
		return -EINVAL;
	uint32_t immediate = bytes[4] | (uint32_t)bytes[5] << 8 | (uint32_t)bytes[6] << 16 | (uint32_t)bytes[7] << 24;
	instruction->size = size;
	instruction->mnemonic = mnemonic;
	snprintf(instruction->text, sizeof instruction->text, "%s r%u, r%u, 0x%x", mnemonic, bytes[1] & 15u,
		 bytes[1] >> 4u, immediate);
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

static const struct iaprof_plugin plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_DECODER,
	.option_size = sizeof(struct iaprof_option),
	.name = "ebpf",
	.version = "1.0",
	.description = "eBPF code: functions and instructions",
	.instance_size = 1,
	.machine = MACHINE_BPF,
	.decode = decode,
	.image_read = image_read,
	.relocations = relocations,
	.relocation_count = sizeof relocations / sizeof *relocations,
};
IAPROF_REGISTER_PLUGIN(plugin)
