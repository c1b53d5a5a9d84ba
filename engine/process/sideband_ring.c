/* SPDX-License-Identifier: Apache-2.0 */
/* See sideband_ring.h. */
#include "process/sideband_ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process/rights.h"
#include "process/sideband_event.h"

/* PERF_FORMAT_LOST of linux/perf_event.h, since Linux 6.0; older headers lack it. */
#define READ_FORMAT_LOST (1u << 4)

/*
 * Number of bytes after which Linux wakes the reader. A program that starts has a dozen events of 100 bytes: waking for
 * each of them would delay it.
 */
#define WAKEUP_SIZE 1024u

/* Sets an error with cause and remedy of a failed perf_event_open(2). */
static int open_failure(int code, uint32_t cpu, struct error *error)
{
	const char *reason = strerror(code);
	char remedy[256];
	switch (code) {
	case EACCES:
	case EPERM:
		return error_set(error, code, "%s: %s", reason, rights_explain_perf(remedy, sizeof remedy));
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
				 "cannot map ring buffer of %zu KiB for CPU %u: %s (raise "
				 "kernel.perf_event_mlock_kb or ulimit -l, or grant CAP_IPC_LOCK)",
				 size / 1024, cpu, reason);
	return error_set(error, code, "cannot map ring buffer of %zu KiB for CPU %u: %s", size / 1024, cpu, reason);
}

static int event_open(struct perf_event_attr *attributes, uint32_t cpu)
{
	return (int)syscall(SYS_perf_event_open, attributes, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens the event with all features that Linux supports: it refuses unknown ones with EINVAL. */
static int event_open_best(uint32_t cpu, bool *counts_lost)
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
		 * Without build_id: Linux (at least up to 6.18) does not reset the flag of a record with a build id
		 * before it writes the same mapping for the next reader, whose device and inode numbers would be taken
		 * for a build id. perf 6.1 aborts on such a record.
		 */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.watermark = 1,
		.wakeup_watermark = WAKEUP_SIZE,
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
	ring->descriptor = event_open_best(cpu, &ring->counts_lost);
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
	uint64_t values[2]; /* the count (0 for a dummy event) and the number of lost records */
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
