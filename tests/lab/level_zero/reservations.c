/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program has an mmap() of its own, which the drivers call instead of the C library's. What Linux returns to them
 * is the truth, also where /proc/PID/maps shows several mappings as one.
 */
#include "reservations.h"

#include <inttypes.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MINIMUM (UINT64_C(32) << 30)
#define COUNT_MAX 64

static struct {
	uint64_t start, size;
} reservations[COUNT_MAX];
static unsigned count;

__attribute__((visibility("default"))) void *mmap(void *address, size_t size, int protection, int flags, int file,
						  off_t offset)
{
	long result = syscall(SYS_mmap, address, size, protection, flags, file, offset);

	if (result != -1 && protection == PROT_NONE && size >= MINIMUM) {
		unsigned position = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);

		if (position < COUNT_MAX) {
			reservations[position].start = (uint64_t)result;
			reservations[position].size = size;
		}
	}
	return (void *)result;
}

__attribute__((visibility("default"))) void *mmap64(void *address, size_t size, int protection, int flags, int file,
						    off_t offset)
{
	return mmap(address, size, protection, flags, file, offset);
}

void reservations_print(FILE *file)
{
	for (unsigned i = 0; i < count && i < COUNT_MAX; i++)
		fprintf(file, "reservation\t%d\t%#" PRIx64 "\t%" PRIu64 "\n", getpid(), reservations[i].start,
			reservations[i].size);
}
