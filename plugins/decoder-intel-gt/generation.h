/* SPDX-License-Identifier: Apache-2.0 */
/* Determines the instruction set of a GPU's code from an ELF note or a version. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* In the order of release. */
enum gt_generation {
	GT_UNKNOWN_GENERATION,
	GT_XE,     /* Tiger Lake to Raptor Lake */
	GT_XE_HP,  /* never sold; between Xe and XeHPG */
	GT_XE_HPG, /* DG2; Meteor Lake and Arrow Lake */
	GT_XE_HPC, /* Ponte Vecchio */
	GT_XE2,    /* Lunar Lake, Battlemage */
	GT_XE3,    /* Panther Lake, Wildcat Lake, Nova Lake S, U and H */
	GT_XE3P,   /* Nova Lake P, Crescent Island */
	GT_GENERATION_COUNT
};

/* A set of generations: bit n is generation n. */
#define GT_SET(generation) (1u << (generation))

/* Returns the name, such as "xe2"; "unknown" for GT_UNKNOWN_GENERATION and invalid values. */
const char *gt_generation_name(enum gt_generation generation);

/* The following functions return GT_UNKNOWN_GENERATION for unknown values. */

/* The GMD id of a GPU: architecture in bits 31:22, release in 21:14, revision in 5:0. */
enum gt_generation gt_generation_of_version(uint32_t gmd_id);
/* A release such as 12.60, as the xe driver reports it: major and minor. */
enum gt_generation gt_generation_of_release(unsigned architecture, unsigned release);
/* The compiler's numbers of core and product families, from its ELF note. */
enum gt_generation gt_generation_of_core(uint32_t core_family);
enum gt_generation gt_generation_of_product(uint32_t product_family);
/* A GPU ELF image, from its notes of owner IntelGT. Safe for any bytes. */
enum gt_generation gt_generation_of_image(const void *image, size_t size);
