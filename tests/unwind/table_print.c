/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the unwind table of an ELF file for test_tables.py: a line for each row, with the address and the rule in the
 * words of readelf --debug-dump=frames-interp, and a last one with numbers.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "symbolizer/unwind/unwind_table.h"

static void print_register(const char *name, uint8_t place, int32_t offset)
{
	static const char *const bases[] = {
		[IAPROF_UNWIND_AT_CFA] = "c", [IAPROF_UNWIND_AT_FRAME] = "frame", [IAPROF_UNWIND_AT_STACK] = "stack"
	};
	if (place == IAPROF_UNWIND_SAME)
		printf(" %s=u", name);
	else if (place < sizeof bases / sizeof *bases && bases[place])
		printf(" %s=%s%+" PRId32, name, bases[place], offset);
	else
		printf(" %s=other", name);
}

static void print_rule(const struct iaprof_unwind_rule *rule)
{
	static const char *const names[] = { [IAPROF_UNWIND_CFA_NONE] = "none",
					     [IAPROF_UNWIND_CFA_END] = "end",
					     [IAPROF_UNWIND_CFA_STACK] = "stack",
					     [IAPROF_UNWIND_CFA_FRAME] = "frame",
					     [IAPROF_UNWIND_CFA_FRAME_VALUE] = "*frame",
					     [IAPROF_UNWIND_CFA_STACK_VALUE] = "*stack",
					     [IAPROF_UNWIND_CFA_PLT] = "plt",
					     [IAPROF_UNWIND_CFA_INDEXED_VALUE] = "*index",
					     [IAPROF_UNWIND_CFA_SWITCHED] = "switched" };
	static const char *const registers[16] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
						   "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
	bool is_register = rule->cfa == IAPROF_UNWIND_CFA_REGISTER;
	printf("%s", is_register ? registers[rule->cfa_offset & 15] : names[rule->cfa]);
	if (rule->cfa >= IAPROF_UNWIND_CFA_STACK) {
		bool is_value =
			rule->cfa == IAPROF_UNWIND_CFA_FRAME_VALUE || rule->cfa == IAPROF_UNWIND_CFA_STACK_VALUE;
		printf("%+" PRId32, is_value      ? (int16_t)rule->cfa_offset
				    : is_register ? rule->cfa_offset >> 16
						  : rule->cfa_offset);
		if (is_value)
			printf("%+" PRId32, rule->cfa_offset >> 16);
		print_register("frame", rule->frame, rule->frame_offset);
		print_register("ra", rule->return_address, rule->return_offset);
		if (rule->flags & IAPROF_UNWIND_SIGNAL_FRAME)
			printf(" signal");
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	struct elf_file elf = ELF_FILE_NONE;
	struct unwind_table table;
	if (argc != 2 || elf_file_open(&elf, open(argv[1], O_RDONLY | O_CLOEXEC)))
		return 2;
	int code = unwind_table_make(&table, &elf);
	if (code) {
		printf("%s\n", strerror(-code));
		return 1;
	}
	for (uint32_t page = 0; page + 1 < table.index.count; page++) {
		for (uint32_t row = table.index.items[page]; row < table.index.items[page + 1]; row++) {
			const struct iaprof_unwind_row *item = &table.rows.items[row];
			printf("%" PRIx64 " ", ((table.first_page + page) << IAPROF_UNWIND_PAGE_BITS) + item->offset);
			print_rule(&table.rules.items[item->rule]);
		}
	}
	printf("rows %zu rules %zu pages %zu functions %" PRIu32 " skipped %" PRIu32 "\n", table.rows.count,
	       table.rules.count, table.index.count - 1, table.functions, table.skipped);
	unwind_table_free(&table);
	elf_file_close(&elf);
	return 0;
}
