/* SPDX-License-Identifier: Apache-2.0 */
/* The stubs of the procedure linkage table: see elf_plt_add() in elf_symbols.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/elf_symbols.h"

/* On x86-64 and AArch64; longer stubs are aligned to it. */
#define STUB_SIZE 16
/* Generous: the largest programs call about 20,000 functions of other files. */
#define STUB_COUNT_MAX ((size_t)1 << 20)

/* A slot of the global offset table, or a stub that jumps through one, and its function. */
struct place {
	uint64_t address;
	const char *name;
};

struct plt {
	ARRAY(struct place) slots;
	ARRAY(struct place) stubs;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	return (a->address > b->address) - (a->address < b->address);
}

static bool is_slot_relocation(unsigned machine, uint64_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

/*
 * Returns the number of relocations at the start of .rela.dyn that fill no slot: 336,000 of 355,000 in a compiler's
 * library.
 */
static size_t relative_count(const struct elf_file *file)
{
	GElf_Shdr header;
	GElf_Dyn entry;
	Elf_Data *data = elf_file_section_data(elf_file_section(file, NULL, SHT_DYNAMIC, &header));
	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_RELACOUNT)
			return entry.d_un.d_val;
	return 0;
}

/* Adds the slots that a relocation section fills, beginning with relocation first. Returns false if out of memory. */
static bool read_slots(const struct elf_file *file, const char *name, size_t first, struct plt *plt)
{
	GElf_Shdr header, symbols_header;
	Elf_Scn *section = elf_file_section(file, name, 0, &header);
	Elf_Scn *symbols_section = section ? elf_getscn(file->elf, header.sh_link) : NULL;
	Elf_Data *data = elf_file_section_data(section);
	Elf_Data *symbols = elf_file_section_data(symbols_section);
	if (!data || !symbols || header.sh_type != SHT_RELA || !gelf_getshdr(symbols_section, &symbols_header) ||
	    symbols_header.sh_type != SHT_DYNSYM)
		return true;
	size_t count = data->d_size / gelf_fsize(file->elf, ELF_T_RELA, 1, EV_CURRENT);
	for (size_t i = first; i < count && plt->slots.count < STUB_COUNT_MAX; i++) {
		GElf_Rela relocation;
		GElf_Sym symbol;
		if (!gelf_getrela(data, (int)i, &relocation) ||
		    !is_slot_relocation(file->header.e_machine, GELF_R_TYPE(relocation.r_info)) ||
		    GELF_R_SYM(relocation.r_info) > INT32_MAX ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		struct place slot = { .address = relocation.r_offset,
				      .name = elf_strptr(file->elf, symbols_header.sh_link, symbol.st_name) };
		if (slot.name && *slot.name && !array_push(&plt->slots, slot))
			return false;
	}
	return true;
}

static uint32_t read_u32(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* x86-64: "jmp *offset(%rip)", ff 25 OFFSET, optionally after endbr64 and with bnd. Returns 0 for other code. */
static uint64_t slot_of_x86_64(const unsigned char *code, uint64_t address)
{
	size_t at = memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	return address + at + 6 + (uint64_t)(int64_t)(int32_t)read_u32(code + at + 2);
}

/* AArch64: "adrp x16, page; ldr x17, [x16, #offset]", optionally after "bti c". Returns 0 for other code. */
static uint64_t slot_of_aarch64(const unsigned char *code, uint64_t address)
{
	size_t at = read_u32(code) == 0xd503245f ? 4 : 0;
	uint32_t page = read_u32(code + at), load = read_u32(code + at + 4);
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return 0;
	uint64_t pages = (uint64_t)(page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3);
	uint64_t distance = ((pages ^ (1u << 20)) - (1u << 20)) << 12; /* 21 bits with sign, in pages */
	return ((address + at) & ~(uint64_t)0xfff) + distance + (uint64_t)(load >> 10 & 0xfff) * 8;
}

/* Adds the stubs of one section. Returns false if out of memory. */
static bool read_stubs(const struct elf_file *file, const char *name, struct plt *plt)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(file, name, 0, &header);
	Elf_Data *data = elf_file_section_data(section);
	if (!data)
		return true;
	/* On x86-64, .plt.got has stubs of eight bytes if they lack endbr64. */
	size_t step = file->header.e_machine == EM_X86_64 ? 8 : STUB_SIZE;
	for (size_t at = 0; at + STUB_SIZE <= data->d_size + (STUB_SIZE - step); at += step) {
		unsigned char code[STUB_SIZE] = { 0 };
		size_t left = data->d_size - at;
		memcpy(code, (const char *)data->d_buf + at, left < sizeof code ? left : sizeof code);
		uint64_t address = header.sh_addr + at;
		struct place wanted = { .address = file->header.e_machine == EM_X86_64
							   ? slot_of_x86_64(code, address)
							   : slot_of_aarch64(code, address) };
		const struct place *slot =
			wanted.address && plt->slots.count
				? bsearch(&wanted, plt->slots.items, plt->slots.count, sizeof wanted, compare_places)
				: NULL;
		if (!slot)
			continue;
		struct place stub = { .address = address, .name = slot->name };
		if (plt->stubs.count >= STUB_COUNT_MAX || !array_push(&plt->stubs, stub))
			return false;
	}
	return true;
}

/* Adds the stubs as functions. */
static bool add_stubs(const struct plt *plt, struct symbol_builder *builder, char **names)
{
	static const char suffix[] = "@plt";
	size_t size = 0;
	for (size_t i = 0; i < plt->stubs.count; i++)
		size += strlen(plt->stubs.items[i].name) + sizeof suffix;
	char *next = *names = malloc(size ? size : 1);
	if (!next)
		return false;
	for (size_t i = 0; i < plt->stubs.count; i++) {
		const struct place *stub = &plt->stubs.items[i];
		uint64_t end = stub->address + STUB_SIZE;
		if (i + 1 < plt->stubs.count && plt->stubs.items[i + 1].address > stub->address &&
		    plt->stubs.items[i + 1].address < end)
			end = plt->stubs.items[i + 1].address;
		size_t length = strlen(stub->name);
		memcpy(next, stub->name, length);
		memcpy(next + length, suffix, sizeof suffix);
		if (!symbol_builder_add(builder, next, stub->address, end - stub->address, end, SYMBOL_LABEL))
			return false;
		next += length + sizeof suffix;
	}
	return true;
}

int elf_plt_add(const struct elf_file *file, struct symbol_builder *builder, char **names)
{
	*names = NULL;
	if ((file->header.e_machine != EM_X86_64 && file->header.e_machine != EM_AARCH64) ||
	    gelf_getclass(file->elf) != ELFCLASS64)
		return 0;
	struct plt plt = { 0 };
	bool done = read_slots(file, ".rela.plt", 0, &plt) && read_slots(file, ".rela.dyn", relative_count(file), &plt);
	if (done && plt.slots.count)
		qsort(plt.slots.items, plt.slots.count, sizeof *plt.slots.items, compare_places);
	done = done && read_stubs(file, ".plt", &plt) && read_stubs(file, ".plt.sec", &plt) &&
	       read_stubs(file, ".plt.got", &plt) && add_stubs(&plt, builder, names);
	array_free(&plt.slots);
	array_free(&plt.stubs);
	return done ? 0 : -ENOMEM;
}
