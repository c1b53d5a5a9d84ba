/* SPDX-License-Identifier: Apache-2.0 */
/* One CPU's perf event for side-band records: see sideband_ring.h. */
#include "process/sideband_ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/sideband_event.h"

/* PERF_FORMAT_LOST of linux/perf_event.h, since Linux 6.0 and not in older headers. */
#define READ_FORMAT_LOST (1u << 4)

/* What perf_event_open(2) refused, with what to do. */
static int open_failure(int code, uint32_t cpu, struct error *error)
{
	int paranoid = 0;
	CLEANUP_FCLOSE FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	bool known = file && fscanf(file, "%d", &paranoid) == 1;
	const char *reason = strerror(code);
	switch (code) {
	case EACCES:
	case EPERM:
		if (known && paranoid > 2) /* Debian's: Linux itself ends at 2 */
			return error_set(error, code,
					 "%s: needs CAP_SYS_ADMIN (or root), as kernel.perf_event_paranoid is %d",
					 reason, paranoid);
		if (known)
			return error_set(error, code,
					 "%s: needs CAP_PERFMON (or root), or kernel.perf_event_paranoid at "
					 "most 0 (it is %d)",
					 reason, paranoid);
		return error_set(error, code, "%s: needs CAP_PERFMON (or root)", reason);
	case EMFILE:
		return error_set(error, code, "CPU %u: %s: needs a descriptor for each CPU", cpu, reason);
	case ENOSYS:
	case ENOENT:
	case EOPNOTSUPP:
		return error_set(error, code, "%s: needs a Linux kernel with perf events (CONFIG_PERF_EVENTS)", reason);
	default:
		return error_set(error, code, "perf_event_open on CPU %u: %s", cpu, reason);
	}
}

static int map_failure(int code, uint32_t cpu, size_t size, struct error *error)
{
	const char *reason = strerror(code);
	if (code == EPERM || code == ENOMEM)
		return error_set(error, code,
				 "a ring of %zu KiB for CPU %u: %s: raise kernel.perf_event_mlock_kb or "
				 "ulimit -l, or run with CAP_IPC_LOCK",
				 size / 1024, cpu, reason);
	return error_set(error, code, "a ring of %zu KiB for CPU %u: %s", size / 1024, cpu, reason);
}

static int event_open(struct perf_event_attr *attributes, uint32_t cpu)
{
	return (int)syscall(SYS_perf_event_open, attributes, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens the event with as much as this kernel can do: it refuses what it does not know with EINVAL. */
static int event_open_best(uint32_t cpu, size_t size, bool *counts_lost)
{
	struct perf_event_attr attributes = {
		.size = sizeof attributes,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = SIDEBAND_SAMPLE_TYPE,
		.read_format = READ_FORMAT_LOST,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		/*
		 * Without build_id: Linux (6.18 at least) does not reset the flag of a record with a build id before it
		 * writes the same mapping for the next reader, whose device and inode numbers then pass for a build id.
		 * perf 6.1 aborts on such a record.
		 */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(size / 2),
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	*counts_lost = true;
	int descriptor = event_open(&attributes, cpu);
	if (descriptor < 0 && errno == EINVAL) {
		*counts_lost = false;
		attributes.read_format = 0;
		descriptor = event_open(&attributes, cpu);
	}
	return descriptor < 0 ? -errno : descriptor;
}

int sideband_ring_open(struct sideband_ring *ring, uint32_t cpu, size_t size, struct error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	*ring = (struct sideband_ring){ .cpu = cpu, .size = size };
	ring->descriptor = event_open_best(cpu, size, &ring->counts_lost);
	if (ring->descriptor == -ENODEV)
		return -ENODEV;
	if (ring->descriptor < 0)
		return open_failure(-ring->descriptor, cpu, error);
	void *memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor, 0);
	if (memory == MAP_FAILED) {
		int code = errno;
		close(ring->descriptor);
		return map_failure(code, cpu, size, error);
	}
	ring->page = memory;
	ring->data = (const unsigned char *)memory + page;
	return 0;
}

void sideband_ring_close(struct sideband_ring *ring)
{
	munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->size);
	close(ring->descriptor);
}

const void *sideband_ring_bytes(const struct sideband_ring *ring, uint64_t position, size_t size, void *scratch)
{
	size_t start = position & (ring->size - 1), whole = ring->size - start;
	if (size <= whole)
		return ring->data + start;
	memcpy(scratch, ring->data + start, whole);
	memcpy((char *)scratch + whole, ring->data, size - whole);
	return scratch;
}

uint64_t sideband_ring_lost_silently(struct sideband_ring *ring)
{
	uint64_t values[2]; /* the count, 0 for a dummy event, and what was lost */
	if (!ring->counts_lost || read(ring->descriptor, values, sizeof values) != sizeof values ||
	    values[1] <= ring->lost)
		return 0;
	uint64_t count = values[1] - ring->lost;
	ring->lost = values[1];
	ring->counted_early += count;
	return count;
}

uint64_t sideband_ring_lost_stated(struct sideband_ring *ring, uint64_t count)
{
	uint64_t known = count < ring->counted_early ? count : ring->counted_early;
	ring->counted_early -= known;
	ring->lost += count - known;
	return count - known;
}
