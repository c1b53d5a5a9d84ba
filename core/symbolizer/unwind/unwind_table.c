/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind_table.h. */
#include "symbolizer/unwind/unwind_table.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <elfutils/libdw.h>

#include "base/hash.h"

/* DWARF register numbers, from the System V ABI's supplement for x86-64, and from AAPCS64. */
struct registers {
	unsigned stack, frame, return_address;
};
static const struct registers x86_64 = { .stack = 7, .frame = 6, .return_address = 16 };
static const struct registers aarch64 = { .stack = 31, .frame = 29, .return_address = 30 };

/* One FDE: a function, or a part of one. */
struct function {
	uint64_t start, end;
};

struct maker {
	struct unwind_table *table;
	const struct registers *registers;
	Dwarf_CFI *cfi;
	ARRAY(struct function) functions;
	struct hash_index index; /* rules */
	uint16_t last_rule;      /* of the newest row */
	bool failed;             /* out of memory */
};

/* Pointer encodings in .eh_frame: Linux Standard Base, "DWARF Exception Header Encoding". */
enum pointer_encoding {
	POINTER_ABSOLUTE = 0x00,
	POINTER_UNSIGNED_2 = 0x02,
	POINTER_UNSIGNED_4 = 0x03,
	POINTER_UNSIGNED_8 = 0x04,
	POINTER_SIGNED_2 = 0x0a,
	POINTER_SIGNED_4 = 0x0b,
	POINTER_SIGNED_8 = 0x0c,
	POINTER_FORM = 0x0f,
	POINTER_RELATIVE = 0x10, /* to the address of the pointer */
	POINTER_BASE = 0xf0,
};

/* Returns the size of an encoded pointer, 0 if it is not supported. */
static size_t pointer_size(uint8_t encoding)
{
	switch (encoding & POINTER_FORM) {
	case POINTER_UNSIGNED_2:
	case POINTER_SIGNED_2:
		return 2;
	case POINTER_UNSIGNED_4:
	case POINTER_SIGNED_4:
		return 4;
	case POINTER_ABSOLUTE:
	case POINTER_UNSIGNED_8:
	case POINTER_SIGNED_8:
		return 8;
	default:
		return 0;
	}
}

static uint64_t read_pointer(const uint8_t *bytes, uint8_t encoding)
{
	uint64_t value = 0;
	size_t size = pointer_size(encoding);
	memcpy(&value, bytes, size); /* both supported machines, and those that profile them, are little-endian */
	bool is_signed = encoding & 8;
	if (is_signed && size < 8 && value >> (size * 8 - 1))
		value |= UINT64_MAX << (size * 8);
	return value;
}

/* Finds the encoding of addresses in a CIE's augmentation; false if it is damaged or not supported. */
static bool address_encoding(const Dwarf_CIE *cie, uint8_t *encoding)
{
	const uint8_t *data = cie->augmentation_data, *end = data + cie->augmentation_data_size;
	*encoding = POINTER_ABSOLUTE;
	if (cie->augmentation[0] == '\0')
		return true;
	if (cie->augmentation[0] != 'z')
		return false;
	for (const char *letter = cie->augmentation + 1; *letter; letter++) {
		if (*letter == 'S' || *letter == 'B') /* signal frame; pointer authentication */
			continue;
		if (!data || data >= end)
			return false;
		uint8_t value = *data++;
		if (*letter == 'R')
			*encoding = value;
		else if (*letter == 'P' && pointer_size(value) && (size_t)(end - data) >= pointer_size(value))
			data += pointer_size(value);
		else if (*letter != 'L')
			return false;
	}
	uint8_t base = *encoding & POINTER_BASE;
	return pointer_size(*encoding) && (base == 0 || base == POINTER_RELATIVE);
}

/* Adds the range of an FDE; false if it is damaged or not supported. */
static bool add_function(struct maker *maker, const Elf_Data *data, uint64_t address, const Dwarf_FDE *fde,
			 uint8_t encoding)
{
	const uint8_t *begin = data->d_buf;
	size_t size = pointer_size(encoding);
	if ((size_t)(fde->end - fde->start) < 2 * size)
		return false;
	uint64_t start = read_pointer(fde->start, encoding);
	uint64_t length = read_pointer(fde->start + size, encoding & (POINTER_FORM & ~8));
	if ((encoding & POINTER_BASE) == POINTER_RELATIVE)
		start += address + (uint64_t)(fde->start - begin);
	if (!length || start > UINT64_MAX - length)
		return false;
	struct function function = { .start = start, .end = start + length };
	if (!array_push(&maker->functions, function))
		maker->failed = true;
	return true;
}

static void list_functions(struct maker *maker, const struct elf_file *elf, Elf_Data *data, uint64_t address)
{
	const unsigned char *identity = (const unsigned char *)elf->header.e_ident;
	Dwarf_Off offset = 0, next, cie_offset = (Dwarf_Off)-1;
	Dwarf_CFI_Entry entry;
	uint8_t encoding = 0;
	bool is_readable = false;
	while (!maker->failed && dwarf_next_cfi(identity, data, true, offset, &next, &entry) == 0) {
		if (!dwarf_cfi_cie_p(&entry)) {
			Dwarf_Off wanted = entry.fde.CIE_pointer, ignored;
			Dwarf_CFI_Entry cie;
			if (wanted != cie_offset) {
				is_readable = dwarf_next_cfi(identity, data, true, wanted, &ignored, &cie) == 0 &&
					      dwarf_cfi_cie_p(&cie) && address_encoding(&cie.cie, &encoding);
				cie_offset = wanted;
			}
			if (!is_readable || !add_function(maker, data, address, &entry.fde, encoding))
				maker->table->skipped++;
		}
		if (next <= offset || next == (Dwarf_Off)-1)
			break;
		offset = next;
	}
}

static int compare(const void *left, const void *right)
{
	const struct function *a = left, *b = right;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Splits an operation of the form "register + offset". Returns false for any other one. */
static bool is_register(const Dwarf_Op *op, unsigned *number, int64_t *offset)
{
	if (op->atom == DW_OP_bregx) {
		*number = (unsigned)op->number;
		*offset = (int64_t)op->number2;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*number = (unsigned)(op->atom - DW_OP_breg0);
		*offset = (int64_t)op->number;
	} else {
		return false;
	}
	return *offset >= INT32_MIN && *offset <= INT32_MAX;
}

/*
 * Recognizes GNU ld's expression for the PLT of x86-64: rsp + 8 + ((rip & 15) >= N) * 8, where N is the offset of the
 * end of an entry's push. Returns N, or 0 for any other expression.
 */
static int plt_expression(const Dwarf_Op *ops, size_t count)
{
	static const uint8_t atoms[] = { DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
					 DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus };
	if (count != sizeof atoms || ops[0].number != 8 || ops[1].number != 0)
		return 0;
	for (size_t i = 0; i < sizeof atoms; i++)
		if (atoms[i] && ops[i].atom != atoms[i])
			return 0;
	return ops[4].atom > DW_OP_lit0 && ops[4].atom <= DW_OP_lit15 ? ops[4].atom - DW_OP_lit0 : 0;
}

static void set_cfa(const struct registers *registers, Dwarf_Frame *frame, struct iaprof_unwind_rule *rule)
{
	Dwarf_Op *ops;
	size_t count;
	unsigned number;
	int64_t offset;
	if (dwarf_frame_cfa(frame, &ops, &count) || !count)
		return;
	int plt = registers == &x86_64 ? plt_expression(ops, count) : 0;
	if (plt) {
		rule->cfa = IAPROF_UNWIND_CFA_PLT;
		rule->cfa_offset = plt;
		return;
	}
	bool is_value = count == 2 && ops[1].atom == DW_OP_deref;
	if ((count != 1 && !is_value) || !is_register(&ops[0], &number, &offset))
		return;
	if (number == registers->stack)
		rule->cfa = is_value ? IAPROF_UNWIND_CFA_STACK_VALUE : IAPROF_UNWIND_CFA_STACK;
	else if (number == registers->frame)
		rule->cfa = is_value ? IAPROF_UNWIND_CFA_FRAME_VALUE : IAPROF_UNWIND_CFA_FRAME;
	rule->cfa_offset = rule->cfa ? (int32_t)offset : 0;
}

static void get_register(const struct registers *registers, Dwarf_Frame *frame, unsigned number, uint8_t *place,
			 int32_t *offset)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	unsigned base;
	int64_t from_base;
	*place = IAPROF_UNWIND_IN_OTHER;
	if (dwarf_frame_register(frame, (int)number, memory, &ops, &count))
		return;
	if (!count) {
		*place = ops == memory ? IAPROF_UNWIND_UNDEFINED : IAPROF_UNWIND_SAME;
		return;
	}
	bool from_cfa = ops[0].atom == DW_OP_call_frame_cfa;
	if (from_cfa && (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		from_base = count == 1 ? 0 : (int64_t)ops[1].number;
		if (from_base < INT32_MIN || from_base > INT32_MAX)
			return;
		*place = IAPROF_UNWIND_AT_CFA;
	} else if (count == 1u + from_cfa && is_register(&ops[from_cfa], &base, &from_base)) {
		/* Expressions start with the CFA on the stack. */
		if (base == registers->frame)
			*place = IAPROF_UNWIND_AT_FRAME;
		else if (base == registers->stack)
			*place = IAPROF_UNWIND_AT_STACK;
		else
			return;
	} else {
		return;
	}
	*offset = (int32_t)from_base;
}

static struct iaprof_unwind_rule rule_of(const struct registers *registers, Dwarf_Frame *frame, bool is_signal)
{
	struct iaprof_unwind_rule rule = { .flags = is_signal ? IAPROF_UNWIND_SIGNAL_FRAME : 0 };
	get_register(registers, frame, registers->return_address, &rule.return_address, &rule.return_offset);
	if (rule.return_address == IAPROF_UNWIND_UNDEFINED)
		return (struct iaprof_unwind_rule){ .cfa = IAPROF_UNWIND_CFA_END };
	get_register(registers, frame, registers->frame, &rule.frame, &rule.frame_offset);
	set_cfa(registers, frame, &rule);
	bool is_usable = rule.return_address != IAPROF_UNWIND_IN_OTHER &&
			 (rule.return_address != IAPROF_UNWIND_SAME || registers != &x86_64);
	return rule.cfa && is_usable ? rule : (struct iaprof_unwind_rule){ 0 };
}

/* Returns the position of a rule; 0, which is no rule, if there are too many. */
static uint16_t intern_rule(struct maker *maker, const struct iaprof_unwind_rule *rule)
{
	struct unwind_table *table = maker->table;
	if (memcmp(&table->rules.items[maker->last_rule], rule, sizeof *rule) == 0)
		return maker->last_rule;
	uint64_t hash = hash_bytes(rule, sizeof *rule);
	hash_index_each (probe, &maker->index, hash)
		if (memcmp(&table->rules.items[probe.position], rule, sizeof *rule) == 0)
			return (uint16_t)probe.position;
	if (table->rules.count >= UNWIND_RULES_MAX)
		return 0;
	if (!hash_index_push(&maker->index, hash, &table->rules, *rule)) {
		maker->failed = true;
		return 0;
	}
	return (uint16_t)(table->rules.count - 1);
}

static void push_row(struct maker *maker, uint64_t offset, uint16_t rule)
{
	struct iaprof_unwind_row row = { .offset = (uint16_t)offset, .rule = rule };
	if (!array_push(&maker->table->rows, row))
		maker->failed = true;
}

/* Adds pages up to that of an address. Each starts with the last rule of the page before. */
static void reach_page(struct maker *maker, uint64_t address)
{
	struct unwind_table *table = maker->table;
	uint64_t page = address >> IAPROF_UNWIND_PAGE_BITS;
	if (!table->index.count)
		table->first_page = page;
	while (!maker->failed && table->index.count <= page - table->first_page) {
		uint32_t position = (uint32_t)table->rows.count;
		bool begins_here =
			table->first_page + table->index.count == page && !(address & (IAPROF_UNWIND_PAGE_SIZE - 1));
		if (!array_push(&table->index, position))
			maker->failed = true;
		else if (!begins_here)
			push_row(maker, 0, maker->last_rule);
	}
}

/* Adds a row for a rule that applies from an address on. Addresses are added in ascending order. */
static void add_row(struct maker *maker, uint64_t address, uint16_t rule)
{
	struct unwind_table *table = maker->table;
	uint64_t offset = address & (IAPROF_UNWIND_PAGE_SIZE - 1);
	reach_page(maker, address);
	if (maker->failed)
		return;
	uint32_t first = table->index.items[table->index.count - 1];
	struct iaprof_unwind_row *last = table->rows.count > first ? &table->rows.items[table->rows.count - 1] : NULL;
	if (last && last->offset == offset)
		last->rule = rule;
	else if (!last || last->rule != rule)
		push_row(maker, offset, rule);
	maker->last_rule = rule;
}

/* Returns false if the rules of a function cannot be read. */
static bool add_rules(struct maker *maker, const struct function *function)
{
	static const struct iaprof_unwind_rule none;
	bool is_read = false;
	for (uint64_t address = function->start; address < function->end && !maker->failed;) {
		Dwarf_Frame *frame;
		Dwarf_Addr start, end;
		bool is_signal;
		if (dwarf_cfi_addrframe(maker->cfi, address, &frame))
			break;
		dwarf_frame_info(frame, &start, &end, &is_signal);
		struct iaprof_unwind_rule rule = rule_of(maker->registers, frame, is_signal);
		free(frame);
		add_row(maker, address, intern_rule(maker, &rule));
		is_read = true;
		if (end <= address)
			break;
		address = end;
	}
	add_row(maker, function->end, intern_rule(maker, &none));
	return is_read;
}

static bool fits(const struct unwind_table *table, const struct function *function)
{
	uint64_t last = (function->end >> IAPROF_UNWIND_PAGE_BITS) + 1;
	uint64_t first = table->index.count ? table->first_page : function->start >> IAPROF_UNWIND_PAGE_BITS;
	return last - first < UNWIND_PAGES_MAX &&
	       table->rows.count + (function->end - function->start) < UNWIND_ROWS_MAX;
}

static void make(struct maker *maker)
{
	struct unwind_table *table = maker->table;
	uint64_t end = 0;
	if (maker->functions.count)
		qsort(maker->functions.items, maker->functions.count, sizeof *maker->functions.items, compare);
	for (size_t i = 0; i < maker->functions.count && !maker->failed; i++) {
		const struct function *function = &maker->functions.items[i];
		if (function->start < end || !fits(table, function) || !add_rules(maker, function))
			table->skipped++;
		else
			table->functions++;
		if (function->end > end)
			end = function->end;
	}
	if (table->index.count && !array_push(&table->index, (uint32_t)table->rows.count))
		maker->failed = true;
}

int unwind_table_make(struct unwind_table *table, const struct elf_file *elf)
{
	static const struct iaprof_unwind_rule none;
	GElf_Shdr header;
	*table = (struct unwind_table){ 0 };
	bool is_arm = elf->header.e_machine == EM_AARCH64;
	if (!is_arm && elf->header.e_machine != EM_X86_64)
		return -ENOTSUP;
	Elf_Scn *section = elf_file_section(elf, ".eh_frame", 0, &header);
	Elf_Data *data = section && header.sh_type != SHT_NOBITS ? elf_file_section_data(section) : NULL;
	if (!data)
		return -ENODATA;
	struct maker maker = { .table = table,
			       .registers = is_arm ? &aarch64 : &x86_64,
			       .cfi = dwarf_getcfi_elf(elf->elf) };
	if (!maker.cfi)
		return -ENODATA;
	maker.failed = !hash_index_push(&maker.index, hash_bytes(&none, sizeof none), &table->rules, none);
	list_functions(&maker, elf, data, header.sh_addr);
	make(&maker);
	dwarf_cfi_end(maker.cfi);
	array_free(&maker.functions);
	hash_index_free(&maker.index);
	if (maker.failed)
		unwind_table_free(table);
	return maker.failed ? -ENOMEM : table->index.count ? 0 : -ENODATA;
}

void unwind_functions_each(const struct elf_file *elf, bool (*use)(void *context, uint64_t start, uint64_t end),
			   void *context)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(elf, ".eh_frame", 0, &header);
	Elf_Data *data = section && header.sh_type != SHT_NOBITS ? elf_file_section_data(section) : NULL;
	bool is_known = elf->header.e_machine == EM_X86_64 || elf->header.e_machine == EM_AARCH64;
	struct unwind_table ignored = { 0 };
	struct maker maker = { .table = &ignored };
	if (data && is_known)
		list_functions(&maker, elf, data, header.sh_addr);
	for (size_t i = 0; i < maker.functions.count; i++)
		if (!use(context, maker.functions.items[i].start, maker.functions.items[i].end))
			break;
	array_free(&maker.functions);
}

void unwind_table_free(struct unwind_table *table)
{
	array_free(&table->index);
	array_free(&table->rows);
	array_free(&table->rules);
	*table = (struct unwind_table){ 0 };
}

uint64_t unwind_table_bytes(const struct unwind_table *table)
{
	return table->rows.count * sizeof *table->rows.items + table->index.count * sizeof *table->index.items;
}

const struct iaprof_unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address)
{
	static const struct iaprof_unwind_rule none;
	uint64_t page = (address >> IAPROF_UNWIND_PAGE_BITS) - table->first_page;
	if (table->index.count < 2 || page >= table->index.count - 1)
		return &none;
	uint32_t low = table->index.items[page], high = table->index.items[page + 1];
	uint16_t offset = address & (IAPROF_UNWIND_PAGE_SIZE - 1);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (table->rows.items[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return high > low && table->rows.items[low].offset <= offset ? &table->rules.items[table->rows.items[low].rule]
								     : &none;
}
