/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the USDT probes of provider level_zero (probes.h) in the notes of an ELF file. Pure; any thread. */
#pragma once

#include "elf/elf_reader.h"

enum provider_probe {
	PROVIDER_LAUNCH_KERNEL = 0,
	PROVIDER_EXECUTE_LIST = 1,
	PROVIDER_COMPILE_KERNEL = 2,
	PROVIDER_UNLOAD_MODULE = 3,
	PROVIDER_SHARE_COUNTS = 4,         /* after PROVIDER_LAUNCH_KERNEL */
	PROVIDER_COMPILE_KERNEL_AGAIN = 5, /* never fired */
	PROVIDER_TIMED_LAUNCH = 6,
	PROVIDER_KERNEL_TIME = 7,
	PROVIDER_TIME_ALL = 8, /* never fired */
	PROVIDER_PROBE_COUNT
};

/* Maximum number of sites of one probe in a file. Compilers may duplicate a site. */
#define PROVIDER_SITES_MAX 64u

/* Number of sites of each probe of provider level_zero (probes.h). */
struct usdt_provider {
	uint32_t sites[PROVIDER_PROBE_COUNT];
	/* Sites with their arguments in ZE_LAUNCH_REGISTERS: of launch_kernel, of launch_kernel_nop10. */
	uint32_t in_registers, nop10_sites;
	/* Sites with their arguments in ZE_NEW_LAUNCH_REGISTERS: of new_launch, of new_launch_nop10. */
	uint32_t new_sites, new_nop10_sites;
};

/* Parses .note.stapsdt. Returns false if the file has no such probe, or more than PROVIDER_SITES_MAX sites of one. */
bool usdt_provider_find(const struct elf_reader *bytes, struct usdt_provider *provider);

/* Returns a probe's name in the file. */
const char *provider_probe_name(enum provider_probe probe);
