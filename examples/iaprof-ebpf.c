/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder to start from: names the instructions of eBPF, ELF machine 247. The encoding is that of RFC 9669. Copy it,
 * rename it, and decode your device's instructions. One that needs the ELF image around the code, or can tell what an
 * instruction waits for, has code_open() and its relatives besides decode(): see iaprof/plugin.h.
 */
#include <errno.h>
#include <stdio.h>

#include <iaprof/plugin.h>

#define MACHINE_BPF 247 /* EM_BPF in elf.h */

#define INSTRUCTION_SIZE 8
#define OPCODE_LOAD_64 0x18 /* RFC 9669, section 5.4: takes two instructions */

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

static const struct iaprof_plugin plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_DECODER,
	.option_size = sizeof(struct iaprof_option),
	.name = "ebpf",
	.version = "1.0",
	.description = "names eBPF instructions",
	.instance_size = 1,
	.machine = MACHINE_BPF,
	.decode = decode,
};
IAPROF_REGISTER_PLUGIN(plugin)
