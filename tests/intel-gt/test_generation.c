/* SPDX-License-Identifier: Apache-2.0 */
/* Generations: from numbers that drivers and compilers report, and from the notes of GPU ELF files. */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder-intel-gt/generation.h"
#include "../run_suite.h"

TEST(knows_versions)
{
	/* GMD ids that ocloc of compute-runtime 26.27 writes into the notes for these products. */
	static const struct {
		uint32_t version;
		enum gt_generation generation;
	} versions[] = { { 0x03000000, GT_XE },
			 /* tgl */ { 0x030dc008, GT_XE_HPG }, /* dg2 */
			 { 0x03118004, GT_XE_HPG },
			 /* mtl */ { 0x03128004, GT_XE_HPG }, /* arl-h */
			 { 0x030f0007, GT_XE_HPC },
			 /* pvc */ { 0x05004000, GT_XE2 }, /* bmg */
			 { 0x05010004, GT_XE2 },
			 /* lnl-m */ { 0x07800004, GT_XE3 }, /* ptl */
			 { 0x0780c001, GT_XE3 },
			 /* wcl */ { 0x08c28004, GT_XE3P }, /* nvl-p */
			 { 0x08c2c000, GT_XE3P },
			 /* cri */ { 0, GT_UNKNOWN_GENERATION },
			 { 0x02c00000, GT_UNKNOWN_GENERATION },
			 /* 11 */ { UINT32_MAX, GT_UNKNOWN_GENERATION } };
	for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
		ck_assert_str_eq(gt_generation_name(gt_generation_of_version(versions[i].version)),
				 gt_generation_name(versions[i].generation));
}

TEST(has_a_name_for_each)
{
	for (int i = 0; i < GT_GENERATION_COUNT; i++)
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(gt_generation_name(i), gt_generation_name(k));
	ck_assert_str_eq(gt_generation_name(GT_GENERATION_COUNT), "unknown");
	ck_assert_str_eq(gt_generation_name(-1), "unknown");
}

/* A file of tests/data/zebin, as large as it is. */
static unsigned char *read_fixture(const char *name, size_t *size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/tests/data/zebin/%s", getenv("TEST_SOURCE_FOLDER"), name);
	FILE *file = fopen(path, "rb");
	ck_assert_msg(file, "cannot open %s", path);
	unsigned char *bytes = malloc(1u << 20);
	*size = fread(bytes, 1, 1u << 20, file);
	ck_assert_uint_gt(*size, 0);
	fclose(file);
	return realloc(bytes, *size);
}

TEST(reads_the_notes_of_images)
{
	static const struct {
		const char *name;
		enum gt_generation generation;
	} images[] = { { "pvc/systolic.bin", GT_XE_HPC }, { "lnl/systolic.bin", GT_XE2 },
		       { "bmg/systolic.bin", GT_XE2 },    { "bmg/systolic.loaded-debug.elf", GT_XE2 },
		       { "ptl/systolic.bin", GT_XE3 },    { "ptl/transformer.nodebug.bin", GT_XE3 } };
	for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
		size_t size;
		unsigned char *image = read_fixture(images[i].name, &size);
		ck_assert_int_eq(gt_generation_of_image(image, size), images[i].generation);
		free(image);
	}
}

TEST(survives_cut_and_broken_images)
{
	size_t size;
	unsigned char *image = read_fixture("bmg/systolic.bin", &size);
	for (size_t length = 0; length < size; length += 1 + length / 64) {
		unsigned char *copy = malloc(length ? length : 1);
		memcpy(copy, image, length);
		enum gt_generation generation = gt_generation_of_image(copy, length);
		ck_assert(generation == GT_XE2 || generation == GT_UNKNOWN_GENERATION);
		free(copy);
	}
	/* Each 4 bytes of the header and the section table once all ones. */
	Elf64_Ehdr header;
	memcpy(&header, image, sizeof header);
	size_t table = header.e_shnum * sizeof(Elf64_Shdr);
	for (size_t i = 0; i < sizeof header + table; i += 4) {
		size_t at = i < sizeof header ? i : header.e_shoff + i - sizeof header;
		uint32_t kept;
		memcpy(&kept, image + at, 4);
		memset(image + at, 0xff, 4);
		enum gt_generation generation = gt_generation_of_image(image, size);
		ck_assert(generation == GT_XE2 || generation == GT_UNKNOWN_GENERATION);
		memcpy(image + at, &kept, 4);
	}
	free(image);
}

/* An image that is nothing but a header, one section and its notes. */
static enum gt_generation read_notes(const uint32_t *notes, size_t size)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr section;
		uint32_t notes[64];
	} image = { .header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
				.e_shoff = sizeof(Elf64_Ehdr),
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = 1 },
		    .section = { .sh_type = SHT_NOTE,
				 .sh_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr),
				 .sh_size = size } };
	memcpy(image.notes, notes, size);
	return gt_generation_of_image(&image, sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) + size);
}

/* "IntelGT" and its NUL, as two words. */
#define OWNER 0x65746e49, 0x0054476c

TEST(takes_the_most_exact_note)
{
	const uint32_t product[] = { 8, 4, 1, OWNER, 1271 }, core[] = { 8, 4, 2, OWNER, 0x0c09 };
	const uint32_t all[] = { 8, 4, 1, OWNER, 1271, 8, 4, 2, OWNER, 0x0c09, 8, 4, 6, OWNER, 0x07800004 };
	ck_assert_int_eq(read_notes(product, sizeof product), GT_XE_HPC);
	ck_assert_int_eq(read_notes(core, sizeof core), GT_XE2);
	ck_assert_int_eq(read_notes(all, 48), GT_XE2);
	ck_assert_int_eq(read_notes(all, sizeof all), GT_XE3);
	const uint32_t other_owner[] = { 8, 4, 1, 0x65746e49, 0x0054476d, 1271 },
		       short_value[] = { 8, 3, 1, OWNER, 1271 };
	ck_assert_int_eq(read_notes(other_owner, sizeof other_owner), GT_UNKNOWN_GENERATION);
	ck_assert_int_eq(read_notes(short_value, sizeof short_value), GT_UNKNOWN_GENERATION);
	const uint32_t huge[] = { UINT32_MAX, UINT32_MAX, 1, OWNER, 1271 };
	ck_assert_int_eq(read_notes(huge, sizeof huge), GT_UNKNOWN_GENERATION);
	ck_assert_int_eq(read_notes(product, sizeof product - 4), GT_UNKNOWN_GENERATION);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
