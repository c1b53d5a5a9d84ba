/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference_clock PERIOD: a clock of the Linux kernel on each online CPU, as cpu-stack has, but without BPF and without
 * iaprof. It prints "started" and, when standard input ends, the CPU and time of each tick: "CPU NANOSECONDS". Times
 * are those of CLOCK_MONOTONIC.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of 24 bytes, for a minute with a tick each 0.5 ms. */
#define RING_SIZE (UINT64_C(4) << 20)

struct tick {
	struct perf_event_header header;
	uint64_t time;
};

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

static int print(int cpu, const struct perf_event_mmap_page *page)
{
	const unsigned char *data = (const unsigned char *)page + page->data_offset;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	if (head > RING_SIZE - sizeof(struct tick)) {
		fprintf(stderr, "the ring of CPU %d is full\n", cpu);
		return 1;
	}
	for (uint64_t at = 0; at < head;) {
		struct tick tick;
		memcpy(&tick, data + at, sizeof tick);
		if (tick.header.type == PERF_RECORD_SAMPLE)
			printf("%d %" PRIu64 "\n", cpu, tick.time);
		at += tick.header.size;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
					      .size = sizeof attributes,
					      .config = PERF_COUNT_SW_CPU_CLOCK,
					      .sample_period = argc > 1 ? strtoull(argv[1], NULL, 10) : 0,
					      .sample_type = PERF_SAMPLE_TIME,
					      .use_clockid = 1,
					      .clockid = CLOCK_MONOTONIC };
	int count = (int)sysconf(_SC_NPROCESSORS_CONF), result = 0;
	struct perf_event_mmap_page **pages = calloc((size_t)count, sizeof *pages);
	for (int cpu = 0; pages && cpu < count; cpu++) {
		int event = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (event < 0 && (errno == ENODEV || errno == ENXIO)) /* offline */
			continue;
		if (event < 0)
			return fail("perf_event_open");
		pages[cpu] = mmap(NULL, RING_SIZE + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
				  event, 0);
		if (pages[cpu] == MAP_FAILED)
			return fail("mmap");
	}
	puts("started");
	fflush(stdout);
	while (read(STDIN_FILENO, &(char){ 0 }, 1) > 0)
		;
	for (int cpu = 0; pages && cpu < count; cpu++)
		if (pages[cpu])
			result |= print(cpu, pages[cpu]);
	return result;
}
