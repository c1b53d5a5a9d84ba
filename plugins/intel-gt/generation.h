/* SPDX-License-Identifier: Apache-2.0 */
/* Which instruction set a GPU's code is in, from what names the GPU: an ELF note, a version, a PCI id. */
#ifndef IAPROF_PLUGINS_INTEL_GT_GENERATION_H
#define IAPROF_PLUGINS_INTEL_GT_GENERATION_H

#include <stddef.h>
#include <stdint.h>

/* In the order in which they came. */
enum gt_generation {
	GT_UNKNOWN_GENERATION,
	GT_XE,     /* Tiger Lake to Raptor Lake */
	GT_XE_HP,  /* was never sold; its code is between Xe and XeHPG */
	GT_XE_HPG, /* DG2; Meteor Lake and Arrow Lake */
	GT_XE_HPC, /* Ponte Vecchio */
	GT_XE2,    /* Lunar Lake, Battlemage */
	GT_XE3,    /* Panther Lake, Wildcat Lake, Nova Lake S, U and H */
	GT_XE3P,   /* Nova Lake P, Crescent Island */
	GT_GENERATION_COUNT
};

/* A set of generations, as in tables: bit n is generation n. */
#define GT_SET(generation) (1u << (generation))

/* "xe2"; "unknown" for GT_UNKNOWN_GENERATION and for what is no generation. */
const char *gt_generation_name(enum gt_generation generation);

/* These give GT_UNKNOWN_GENERATION for what they do not know. */

/* The GMD id of a GPU: architecture in bits 31:22, release in 21:14, revision in 5:0. */
enum gt_generation gt_generation_of_version(uint32_t gmd_id);
/* Release 12.60 as the xe driver tells it: major and minor. */
enum gt_generation gt_generation_of_release(unsigned architecture, unsigned release);
/* The numbers that the compiler's note has for a family of cores and of products. */
enum gt_generation gt_generation_of_core(uint32_t core_family);
enum gt_generation gt_generation_of_product(uint32_t product_family);
/* A PCI device id of Intel. */
enum gt_generation gt_generation_of_device(uint16_t device);
/* A GPU ELF image, from its notes of owner IntelGT. Any bytes are safe. */
enum gt_generation gt_generation_of_image(const void *image, size_t size);

#endif
