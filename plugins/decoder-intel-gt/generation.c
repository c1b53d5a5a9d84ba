/* SPDX-License-Identifier: Apache-2.0 */
/* See generation.h. */
#include "generation.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf_reader.h"

/* The maximum of e_shnum. */
#define SECTIONS_MAX SHN_LORESERVE

const char *gt_generation_name(enum gt_generation generation)
{
	static const char *const names[GT_GENERATION_COUNT] = { "unknown", "xe",  "xe-hp", "xe-hpg",
								"xe-hpc",  "xe2", "xe3",   "xe3p" };
	return names[(unsigned)generation < GT_GENERATION_COUNT ? generation : GT_UNKNOWN_GENERATION];
}

enum gt_generation gt_generation_of_release(unsigned architecture, unsigned release)
{
	switch (architecture) {
	case 12: /* linux, drivers/gpu/drm/xe/xe_pci.c: 12.00 to 12.10, 12.50 XeHP, 12.55 DG2, 12.60 PVC, 12.70 MTL */
		return release < 50                    ? GT_XE
		       : release < 55                  ? GT_XE_HP
		       : release >= 60 && release < 70 ? GT_XE_HPC
						       : GT_XE_HPG;
	case 20:
		return GT_XE2;
	case 30:
		return GT_XE3;
	case 35:
		return GT_XE3P;
	default:
		return GT_UNKNOWN_GENERATION;
	}
}

enum gt_generation gt_generation_of_version(uint32_t gmd_id)
{
	return gt_generation_of_release(gmd_id >> 22, gmd_id >> 14 & 0xff);
}

/* compute-runtime, third_party/igfxfmid/igfxfmid.h: GFXCORE_FAMILY */
enum gt_generation gt_generation_of_core(uint32_t core_family)
{
	switch (core_family) {
	case 0x0c07:
		return GT_XE_HPG;
	case 0x0c08:
		return GT_XE_HPC;
	case 0x0c09:
		return GT_XE2;
	case 0x1e00:
		return GT_XE3;
	case 0x2300:
		return GT_XE3P;
	default:
		return GT_UNKNOWN_GENERATION;
	}
}

/* compute-runtime, third_party/igfxfmid/igfxfmid.h: PRODUCT_FAMILY */
enum gt_generation gt_generation_of_product(uint32_t product_family)
{
	switch (product_family) {
	case 1270: /* DG2 */
	case 1272: /* Meteor Lake */
	case 1273: /* Arrow Lake */
		return GT_XE_HPG;
	case 1271: /* Ponte Vecchio */
		return GT_XE_HPC;
	case 1274: /* Battlemage */
	case 1275: /* Lunar Lake */
		return GT_XE2;
	case 1300: /* Panther Lake */
	case 1340: /* Nova Lake S, U, H */
		return GT_XE3;
	case 1360: /* Nova Lake P */
	case 1380: /* Crescent Island */
		return GT_XE3P;
	default:
		return GT_UNKNOWN_GENERATION;
	}
}

/* compute-runtime, shared/source/device_binary_format/zebin/zebin_elf.h: IntelGTSectionType */
enum { NOTE_PRODUCT_FAMILY = 1, NOTE_CORE_FAMILY = 2, NOTE_PRODUCT_CONFIGURATION = 6 };

/*
 * Generations according to the notes; the configuration is the most precise, and the core can be newer than the
 * product's number.
 */
struct findings {
	enum gt_generation by_configuration, by_core, by_product;
};

/* Reads the notes of one section: name size, description size, type, name, description, each padded to 4. */
static void read_notes(const unsigned char *notes, size_t size, struct findings *findings)
{
	static const char owner[] = "IntelGT";
	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		memcpy(&header, notes, sizeof header);
		uint64_t name = ((uint64_t)header.n_namesz + 3) & ~(uint64_t)3;
		uint64_t description = ((uint64_t)header.n_descsz + 3) & ~(uint64_t)3;
		notes += sizeof header;
		size -= sizeof header;
		if (name > size || description > size - name)
			return;
		if (header.n_namesz == sizeof owner && memcmp(notes, owner, sizeof owner) == 0 &&
		    header.n_descsz == sizeof(uint32_t)) {
			uint32_t value;
			memcpy(&value, notes + name, sizeof value);
			if (header.n_type == NOTE_PRODUCT_CONFIGURATION)
				findings->by_configuration = gt_generation_of_version(value);
			else if (header.n_type == NOTE_CORE_FAMILY)
				findings->by_core = gt_generation_of_core(value);
			else if (header.n_type == NOTE_PRODUCT_FAMILY)
				findings->by_product = gt_generation_of_product(value);
		}
		notes += name + description;
		size -= name + description;
	}
}

enum gt_generation gt_generation_of_image(const void *image, size_t size)
{
	const struct elf_reader reader = elf_reader_of_memory(image, size);
	struct elf_sections sections;
	struct findings findings = { 0 };
	if (!elf_sections_read(&reader, SECTIONS_MAX, &sections))
		return GT_UNKNOWN_GENERATION;
	for (size_t i = 0; i < sections.count; i++) {
		const Elf64_Shdr *section = &sections.items[i];
		if (section->sh_type == SHT_NOTE && section->sh_offset <= size &&
		    section->sh_size <= size - section->sh_offset)
			read_notes((const unsigned char *)image + section->sh_offset, section->sh_size, &findings);
	}
	free(sections.items);
	return findings.by_configuration ? findings.by_configuration
	       : findings.by_core        ? findings.by_core
					 : findings.by_product;
}
