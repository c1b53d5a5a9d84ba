/* SPDX-License-Identifier: Apache-2.0 */
/* See vdso.h. */
#include "symbolizer/vdso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/cleanup.h"

/* Finds the vDSO in iaprof's address space; false if there is none. */
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

int vdso_open(uint64_t *size)
{
	uint64_t start, end;
	if (!own_range(&start, &end))
		return -ENOENT;
	*size = end - start;
	int descriptor = memfd_create("vdso", MFD_CLOEXEC);
	if (descriptor < 0)
		return -errno;
	if (write(descriptor, (const void *)(uintptr_t)start, *size) == (ssize_t)*size)
		return descriptor;
	close(descriptor);
	return -EIO;
}

bool vdso_is_same(const struct mapping *mapping, uint64_t size)
{
	/* On 64-bit Linux, the 32-bit vDSOs (i386, x32, compat) are below 4 GiB, which iaprof's never is. */
	bool is_high = getauxval(AT_SYSINFO_EHDR) > UINT32_MAX;
	return mapping->end - mapping->start == size && (mapping->start > UINT32_MAX) == is_high;
}
