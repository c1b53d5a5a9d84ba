/* SPDX-License-Identifier: Apache-2.0 */
/* iaprof's own vDSO: see vdso.h. */
#include "symbolizer/vdso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include "base/cleanup.h"

/* Its extent in our own address space; false when there is none. */
static bool own_range(uint64_t *start, uint64_t *end)
{
	uint64_t wanted = getauxval(AT_SYSINFO_EHDR);
	CLEANUP_FCLOSE FILE *maps = wanted ? fopen("/proc/self/maps", "re") : NULL;
	char line[512];
	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, start, end) == 2 && *start == wanted && *end > *start)
			return true;
	return false;
}

int vdso_open(struct elf_file *elf, uint64_t *size)
{
	uint64_t start, end;
	if (!own_range(&start, &end))
		return -ENOENT;
	*size = end - start;
	char *copy = malloc(*size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, (const void *)(uintptr_t)start, *size);
	return elf_file_open_memory(elf, copy, *size);
}

bool vdso_is_same(const struct mapping *mapping, uint64_t size)
{
	/* On a 64-bit kernel the 32-bit vDSOs (i386, x32, compat) are below 4 GiB, and ours never is. */
	bool is_high = getauxval(AT_SYSINFO_EHDR) > UINT32_MAX;
	return mapping->end - mapping->start == size && (mapping->start > UINT32_MAX) == is_high;
}
