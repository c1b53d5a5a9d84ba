/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind_table.h. */
#include "symbolizer/unwind/unwind_table.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <elfutils/libdw.h>

#include "base/hash.h"
#include "base/keyed_array.h"
#include "base/keyed_hash.h"
#include "symbolizer/unwind/call_frame.h"
#include "symbolizer/unwind/stack_switches.h"

/* DWARF register numbers, from the System V ABI's supplement for x86-64, and from AAPCS64. */
static const struct call_frame_registers x86_64 = { .stack = 7, .frame = 6, .return_address = 16, .is_x86 = true };
static const struct call_frame_registers aarch64 = { .stack = 31, .frame = 29, .return_address = 30 };

/* A CIE: what several functions share. */
struct common {
	uint64_t key; /* its offset in the section */
	bool is_readable, is_sized;
	uint8_t encoding;
	struct call_frame_common frame;
};

/* One FDE: a function, or a part of one. */
struct function {
	uint64_t start, end;
	const uint8_t *instructions, *instructions_end;
	uint32_t common;
	uint8_t cfa; /* enum iaprof_unwind_cfa, of all of it; IAPROF_UNWIND_CFA_NONE: it has instructions */
};

struct maker {
	struct unwind_table *table;
	const struct call_frame_registers *registers;
	KEYED_ARRAY(struct common) commons;
	ARRAY(struct function) functions;
	struct hash_index index; /* rules */
	struct hash_key hash_key;
	uint16_t last_rule; /* of the newest row */
	bool failed;        /* out of memory */
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

/* Adds an FDE; false if it is damaged or not supported. */
static bool add_function(struct maker *maker, const Elf_Data *data, uint64_t address, const Dwarf_FDE *fde,
			 uint32_t position)
{
	const struct common *common = &maker->commons.items[position];
	const uint8_t *begin = data->d_buf;
	uint8_t encoding = common->encoding;
	size_t size = pointer_size(encoding);
	if ((size_t)(fde->end - fde->start) < 2 * size)
		return false;
	uint64_t start = read_pointer(fde->start, encoding);
	uint64_t length = read_pointer(fde->start + size, encoding & (POINTER_FORM & ~8));
	uint64_t size_of_augmentation = 0;
	if ((encoding & POINTER_BASE) == POINTER_RELATIVE)
		start += address + (uint64_t)(fde->start - begin);
	if (!length || start > UINT64_MAX - length)
		return false;
	const uint8_t *instructions = fde->start + 2 * size;
	if (common->is_sized && (!call_frame_read_number(&instructions, fde->end, &size_of_augmentation) ||
				 size_of_augmentation > (uint64_t)(fde->end - instructions)))
		return false;
	struct function function = { .start = start,
				     .end = start + length,
				     .instructions = instructions + size_of_augmentation,
				     .instructions_end = fde->end,
				     .common = position };
	if (!array_push(&maker->functions, function))
		maker->failed = true;
	return true;
}

/* Returns the position of a CIE, POSITION_NONE if out of memory. */
static uint32_t find_common(struct maker *maker, const struct elf_file *elf, Elf_Data *data, uint64_t offset)
{
	const unsigned char *identity = (const unsigned char *)elf->header.e_ident;
	struct common common = { .key = offset };
	uint32_t position = keyed_array_find(&maker->commons, &common.key);
	Dwarf_Off ignored;
	Dwarf_CFI_Entry entry;
	if (position != POSITION_NONE)
		return position;
	if (dwarf_next_cfi(identity, data, true, offset, &ignored, &entry) == 0 && dwarf_cfi_cie_p(&entry) &&
	    address_encoding(&entry.cie, &common.encoding)) {
		const Dwarf_CIE *cie = &entry.cie;
		common.is_sized = cie->augmentation[0] == 'z';
		common.frame = (struct call_frame_common){ .registers = maker->registers,
							   .code_factor = cie->code_alignment_factor,
							   .data_factor = cie->data_alignment_factor,
							   .is_signal = strchr(cie->augmentation, 'S') };
		common.is_readable =
			call_frame_prepare(&common.frame, cie->initial_instructions, cie->initial_instructions_end);
	}
	position = keyed_array_add(&maker->commons, &common);
	maker->failed |= position == POSITION_NONE;
	return position;
}

static void list_functions(struct maker *maker, const struct elf_file *elf, Elf_Data *data, uint64_t address)
{
	const unsigned char *identity = (const unsigned char *)elf->header.e_ident;
	Dwarf_Off offset = 0, next, common_offset = (Dwarf_Off)-1;
	Dwarf_CFI_Entry entry;
	uint32_t common = POSITION_NONE;
	while (!maker->failed && dwarf_next_cfi(identity, data, true, offset, &next, &entry) == 0) {
		if (!dwarf_cfi_cie_p(&entry)) {
			if (entry.fde.CIE_pointer != common_offset)
				common = find_common(maker, elf, data, entry.fde.CIE_pointer);
			common_offset = entry.fde.CIE_pointer;
			if (common == POSITION_NONE || !maker->commons.items[common].is_readable ||
			    !add_function(maker, data, address, &entry.fde, common))
				maker->table->skipped++;
		}
		if (next <= offset || next == (Dwarf_Off)-1)
			break;
		offset = next;
	}
}

static bool add_switch(void *context, uint64_t start, uint64_t end, uint8_t cfa)
{
	struct maker *maker = context;
	struct function function = { .start = start, .end = end, .cfa = cfa };
	if (!array_push(&maker->functions, function))
		maker->failed = true;
	return !maker->failed;
}

static int compare(const void *left, const void *right)
{
	const struct function *a = left, *b = right;
	return a->start < b->start ? -1 : a->start > b->start;
}

static uint64_t hash_rule(const struct maker *maker, const struct iaprof_unwind_rule *rule)
{
	uint64_t words[sizeof *rule / sizeof(uint64_t)];
	static_assert(sizeof *rule == sizeof words && sizeof words / sizeof *words <= HASH_WORDS_MAX,
		      "all of the rule is hashed");
	memcpy(words, rule, sizeof *rule);
	return hash_words(&maker->hash_key, words, sizeof words / sizeof *words);
}

/* Returns the position of a rule; 0, which is no rule, if there are too many. */
static uint16_t intern_rule(struct maker *maker, const struct iaprof_unwind_rule *rule)
{
	struct unwind_table *table = maker->table;
	if (memcmp(&table->rules.items[maker->last_rule], rule, sizeof *rule) == 0)
		return maker->last_rule;
	uint64_t hash = hash_rule(maker, rule);
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
	struct call_frame frame;
	struct iaprof_unwind_rule rule;
	uint64_t end;
	bool is_read = false;
	if (function->cfa) {
		rule = (struct iaprof_unwind_rule){ .cfa = function->cfa };
		add_row(maker, function->start, intern_rule(maker, &rule));
		add_row(maker, function->end, intern_rule(maker, &none));
		return true;
	}
	call_frame_begin(&frame, &maker->commons.items[function->common].frame, function->start, function->instructions,
			 function->instructions_end);
	for (uint64_t address = function->start; address < function->end && !maker->failed; address = end) {
		if (!call_frame_next(&frame, &rule, &end))
			break;
		add_row(maker, address, intern_rule(maker, &rule));
		is_read = true;
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

static void build_table(struct maker *maker)
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
	struct maker maker = { .table = table, .registers = is_arm ? &aarch64 : &x86_64 };
	hash_key_make(&maker.hash_key);
	maker.failed = !hash_index_push(&maker.index, hash_rule(&maker, &none), &table->rules, none);
	if (data)
		list_functions(&maker, elf, data, header.sh_addr);
	stack_switches_each(elf, add_switch, &maker);
	build_table(&maker);
	keyed_array_free(&maker.commons);
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
	struct maker maker = { .table = &ignored,
			       .registers = elf->header.e_machine == EM_X86_64 ? &x86_64 : &aarch64 };
	if (data && is_known)
		list_functions(&maker, elf, data, header.sh_addr);
	for (size_t i = 0; i < maker.functions.count; i++)
		if (!use(context, maker.functions.items[i].start, maker.functions.items[i].end))
			break;
	keyed_array_free(&maker.commons);
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
