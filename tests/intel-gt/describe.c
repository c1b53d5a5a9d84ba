/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says as lines of text, fields separated by tabs, what the decoder found in the kernels of a GPU ELF file, or in a
 * file of nothing but code of a generation: `describe FILE [GENERATION]`.
 *
 *     kernel       NAME GENERATION SIZE
 *     instruction  OFFSET SIZE MNEMONIC GROUP WIDTH CHANNEL FLAGS SCOREBOARD TARGET TARGET PIPE SOURCE-PIPE
 *     producer     OFFSET PRODUCER WAIT TOKEN
 *     incomplete   OFFSET
 *     text         OFFSET TEXT
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "decoder-intel-gt/disassembler.h"
#include "decoder-intel-gt/producer.h"

#define NO_LIBRARY 77 /* exit status: what a test that cannot run has */

static struct gt_disassembler *disassembler;

static void die(const char *what)
{
	fprintf(stderr, "describe: %s\n", what);
	exit(EXIT_FAILURE);
}

static void print_target(int32_t target)
{
	if (target == GT_NO_TARGET)
		printf("\t-");
	else
		printf("\t%d", target);
}

static void print_instruction(const struct gt_code *code, const struct gt_instruction *instruction)
{
	static const char *const groups[] = { "alu", "math", "matrix", "memory", "sync", "control" };
	static const struct {
		uint16_t flag;
		char letter;
	} letters[] = { { GT_NO_MASK, 'W' },        { GT_PREDICATED, 'P' },      { GT_INVERTED, '~' },
			{ GT_COMPACTED, 'C' },      { GT_END_OF_THREAD, 'E' },   { GT_INDIRECT_MESSAGE, 'I' },
			{ GT_BRANCH_CONTROL, 'B' }, { GT_INDIRECT_TARGET, 'R' }, { GT_NO_DESTINATION, 'N' } };
	static const char pipes[] = "-@AFILMS?"; /* in the order of enum gt_pipe */
	char flags[16] = "", scoreboard[GT_SCOREBOARD_TEXT];
	size_t count = 0;
	for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
		if (instruction->flags & letters[i].flag)
			flags[count++] = letters[i].letter;
	gt_scoreboard_format(&instruction->scoreboard, scoreboard);
	printf("instruction\t%u\t%u\t%s\t%s\t%u\t%u\t%s\t%s%s", instruction->offset, instruction->size,
	       instruction->flags & GT_NOT_DECODED ? "?" : gt_instruction_mnemonic(code->generation, instruction),
	       groups[instruction->group], instruction->execution_size, instruction->channel_offset, flags, scoreboard,
	       instruction->scoreboard.unknown ? "?" : "");
	print_target(instruction->target);
	print_target(instruction->target_2);
	printf("\t%c\t%c\n", pipes[instruction->pipe], pipes[instruction->source_pipe]);
}

static void print_producers(const struct gt_flow *flow)
{
	static const char *const waits[] = { "dst", "src", "token", "distance" };
	const struct gt_instruction *instructions = flow->code->instructions;
	for (uint32_t i = 0; i < flow->code->count; i++) {
		struct gt_producers producers;
		if (gt_producers_find(flow, i, &producers) < 0)
			die("out of memory");
		for (size_t k = 0; k < producers.count; k++)
			printf("producer\t%u\t%u\t%s\t%u\n", instructions[i].offset,
			       instructions[producers.items[k].instruction].offset, waits[producers.items[k].wait],
			       producers.items[k].token);
		if (producers.incomplete)
			printf("incomplete\t%u\n", instructions[i].offset);
		gt_producers_free(&producers);
	}
}

static void print_texts(const struct gt_code *code, const void *bytes)
{
	for (uint32_t i = 0; i < code->count; i++) {
		char text[256];
		gt_disassembler_text(disassembler, code->generation, bytes, code->size, code->instructions[i].offset,
				     text, sizeof text);
		printf("text\t%u\t%s\n", code->instructions[i].offset, text);
	}
}

static void print_all(const struct gt_code *code)
{
	struct gt_flow flow;
	if (gt_flow_build(code, &flow) < 0)
		die("out of memory");
	for (uint32_t i = 0; i < code->count; i++)
		print_instruction(code, &code->instructions[i]);
	print_producers(&flow);
	gt_flow_free(&flow);
}

static void describe(enum gt_generation generation, const char *name, const void *bytes, size_t size)
{
	struct gt_code code;
	/* Exactly as large as the code, so that a read beyond its end is seen by valgrind and ASan. */
	void *copy CLEANUP_FREE = malloc(size ? size : 1);
	if (!copy)
		die("out of memory");
	memcpy(copy, bytes, size);
	if (gt_code_walk(generation, copy, size, &code) < 0)
		die("the code cannot be walked over");
	printf("kernel\t%s\t%s\t%zu\n", name, gt_generation_name(generation), size);
	if (disassembler)
		print_texts(&code, copy);
	else
		print_all(&code);
	gt_code_free(&code);
}

/* The functions of the symbol table that lie in sections .text.*; the files are our own, and are taken to be right. */
static void describe_elf(const unsigned char *image, size_t size)
{
	enum gt_generation generation = gt_generation_of_image(image, size);
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
	const char *names = (const char *)image + sections[header->e_shstrndx].sh_offset;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
		const char *strings = (const char *)image + sections[sections[i].sh_link].sh_offset;
		for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
			const Elf64_Shdr *section = &sections[symbols[k].st_shndx % header->e_shnum];
			if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC &&
			    strncmp(names + section->sh_name, ".text.", 6) == 0)
				describe(generation, strings + symbols[k].st_name,
					 image + section->sh_offset + (symbols[k].st_value - section->sh_addr),
					 symbols[k].st_size);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "--library") == 0) {
		disassembler = gt_disassembler_open(argv[2][0] ? argv[2] : NULL);
		if (!disassembler)
			return NO_LIBRARY;
		argc -= 2;
		argv += 2;
	}
	if (argc != 2 && argc != 3)
		die("usage: describe FILE [GENERATION]");
	FILE *file CLEANUP_FCLOSE = fopen(argv[1], "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0)
		die("cannot open the file");
	long size = ftell(file);
	rewind(file);
	unsigned char *image CLEANUP_FREE = malloc(size > 0 ? (size_t)size : 1);
	if (size < 0 || !image || fread(image, 1, (size_t)size, file) != (size_t)size)
		die("cannot read the file");
	if (argc == 2)
		describe_elf(image, (size_t)size);
	for (int i = GT_UNKNOWN_GENERATION + 1; argc == 3 && i < GT_GENERATION_COUNT; i++)
		if (strcmp(gt_generation_name(i), argv[2]) == 0)
			describe(i, "code", image, (size_t)size);
	gt_disassembler_close(disassembler);
	return EXIT_SUCCESS;
}
