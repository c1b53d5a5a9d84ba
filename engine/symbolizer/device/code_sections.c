/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sections of a code object: see code_image.h. */
#include <errno.h>
#include <string.h>
#include <iaprof/record.h>
#include "symbolizer/device/code_image.h"

/* Addresses chosen for sections that have none: far from 0 and from each other, whatever the image claims. */
#define CHOSEN_START ((uint64_t)1 << 40)
#define CHOSEN_ALIGNMENT ((uint64_t)4096)

struct candidate {
	const char *name;
	uint64_t address, size, file_offset;
	size_t number;
};
typedef ARRAY(struct candidate) candidate_array;

void code_image_free(struct code_image *image)
{
	array_free(&image->sections);
	array_free(&image->functions);
	array_free(&image->section_numbers);
	array_free(&image->file_addresses);
	array_free(&image->callers);
}

static bool is_sound(const struct elf_file *file, const GElf_Shdr *header, const char *name)
{
	return header->sh_type == SHT_PROGBITS && !(header->sh_flags & SHF_COMPRESSED) && name && *name &&
	       header->sh_size && header->sh_offset <= file->size &&
	       header->sh_size <= file->size - header->sh_offset && header->sh_size <= UINT64_MAX - header->sh_addr;
}

/* Finds the sections with code. Returns false if out of memory. */
static bool find_candidates(struct code_image *image, const struct elf_file *file, size_t names,
			    candidate_array *candidates)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		const char *name = elf_strptr(file->elf, names, header.sh_name);
		struct candidate candidate = { name, header.sh_addr, header.sh_size, header.sh_offset,
					       elf_ndxscn(section) };
		if (!is_sound(file, &header, name))
			image->damage.sections++;
		else if (!array_push(candidates, candidate))
			return false;
	}
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* In an image with addresses, removes sections without an address and those whose address is taken. */
static void remove_overlapping(struct code_image *image, candidate_array *candidates)
{
	if (candidates->count)
		qsort(candidates->items, candidates->count, sizeof *candidates->items, compare);
	size_t kept = 0;
	uint64_t reach = image->addresses == IAPROF_IMAGE_ADDRESSES_DEVICE;
	for (size_t i = 0; i < candidates->count; i++) {
		if (candidates->items[i].address < reach) {
			image->damage.sections++;
			continue;
		}
		reach = candidates->items[i].address + candidates->items[i].size;
		candidates->items[kept++] = candidates->items[i];
	}
	candidates->count = kept;
}

/* Returns false if out of memory. */
static bool add_sections(struct code_image *image, const candidate_array *candidates)
{
	uint64_t chosen = CHOSEN_START;
	for (size_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->items[i];
		struct code_section section = { .address = candidate->address,
						.size = candidate->size,
						.file_offset = candidate->file_offset,
						.kernel = CODE_NONE };
		if (image->addresses == IAPROF_IMAGE_ADDRESSES_NONE)
			section.address = chosen;
		chosen += (candidate->size / CHOSEN_ALIGNMENT + 2) * CHOSEN_ALIGNMENT;
		section.name = string_table_intern(image->strings, candidate->name,
						   strnlen(candidate->name, IAPROF_STRING_LENGTH_MAX));
		if (!section.name || !array_push(&image->sections, section) ||
		    !array_push(&image->file_addresses, candidate->address))
			return false;
		image->section_numbers.items[candidate->number] = (uint32_t)i;
	}
	return true;
}

/* Sets the kernels of sections as reported by the decoder. */
static void name_kernels(struct code_image *image)
{
	for (size_t i = 0; i < image->description->sections.count; i++) {
		const struct described_section *described = &image->description->sections.items[i];
		uint32_t number = described->number < image->section_numbers.count
					  ? image->section_numbers.items[described->number]
					  : CODE_NONE;
		if (number != CODE_NONE)
			image->sections.items[number].kernel_name = described->kernel;
	}
}

/* Returns the lowest load address. */
static uint64_t first_address(const struct elf_file *file)
{
	size_t count;
	uint64_t first = UINT64_MAX;
	if (elf_getphdrnum(file->elf, &count))
		count = 0;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Phdr header;
		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_LOAD && header.p_vaddr < first)
			first = header.p_vaddr;
	}
	return first == UINT64_MAX ? 0 : first;
}

static void find_addresses(struct code_image *image, const struct elf_file *file, const candidate_array *candidates)
{
	image->addresses = image->description->addresses;
	image->base = image->description->base;
	if (image->addresses != IAPROF_IMAGE_ADDRESSES_UNSTATED)
		return;
	image->addresses = IAPROF_IMAGE_ADDRESSES_NONE;
	/* If no section with code has an address, the image has not been loaded. */
	for (size_t i = 0; i < candidates->count; i++)
		if (candidates->items[i].address)
			image->addresses = IAPROF_IMAGE_ADDRESSES_DEVICE;
	if (file->header.e_type != ET_DYN || image->addresses == IAPROF_IMAGE_ADDRESSES_NONE)
		return;
	image->addresses = IAPROF_IMAGE_ADDRESSES_RELATIVE;
	image->base = first_address(file);
}

int code_image_read_sections(struct code_image *image, const struct elf_file *file)
{
	size_t count, names;
	if (elf_getshdrnum(file->elf, &count) || elf_getshdrstrndx(file->elf, &names))
		return -ENOEXEC;
	if (!array_reserve(&image->section_numbers, count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		image->section_numbers.items[image->section_numbers.count++] = CODE_NONE;
	candidate_array candidates = { 0 };
	bool done = find_candidates(image, file, names, &candidates);
	find_addresses(image, file, &candidates);
	if (image->addresses != IAPROF_IMAGE_ADDRESSES_NONE)
		remove_overlapping(image, &candidates);
	done = done && add_sections(image, &candidates);
	if (done)
		name_kernels(image);
	array_free(&candidates);
	if (!done)
		return -ENOMEM;
	/* An image may hold variables alone. */
	bool has_no_code = count && !image->damage.sections;
	return image->sections.count || has_no_code ? 0 : -ENOEXEC;
}
