/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file that is looked into for probes, and as an image of device code. */
#include <stdint.h>
#include <stdlib.h>
#include "ze-usdt/code_range.h"
#include "ze-usdt/usdt_provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct elf_reader elf = elf_reader_of_memory(bytes, size);
	struct usdt_provider provider;
	struct code_range range;
	uint32_t sites = 0;

	bool found = usdt_provider_find(&elf, &provider);
	for (int i = 0; i < PROVIDER_PROBE_COUNT; i++)
		sites += provider.sites[i];
	if (provider.in_registers > provider.sites[PROVIDER_LAUNCH_KERNEL] ||
	    (found && (!sites || sites > PROVIDER_PROBE_COUNT * PROVIDER_SITES_MAX)))
		abort();
	/* A range has a size that the file could have, and no address above those of a device. */
	if (code_range_find(&elf, &range) && (range.address >> 57 || (range.address && !range.size)))
		abort();
	return 0;
}
