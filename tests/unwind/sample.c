/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With PID SAMPLES FREQUENCY, samples the user stacks of a process with unwind.bpf.h. Prints a line for each sample:
 * the reason for its end, then file and offset of each address, the leaf first; at the end, on standard error, how many
 * copies of these stacks unwind_copy.h unwinds to the same addresses; to the first ones of them, stating that the stack
 * continues outside of the copy; and to others.
 *
 * With PID alone, for a process that is stopped: for each line "PC SP FP" of standard input, unwinds a copy of its
 * stack from these registers, and prints the reason for the end and the addresses.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/array.h"
#include "base/clock.h"
#include "bpf/unwind_copy.h"
#include "bpf/unwinder.h"
#include "sample.bpf.skel.h"
#include "symbolizer/unwind/unwind_table.h"
#include <linux/types.h>
#include "sample.h"

/* For a busy machine, ns. */
#define PATIENCE UINT64_C(60000000000)

struct file {
	char path[256];
	uint32_t table;
	elf_segment_array segments;
};
struct place {
	uint64_t start, end, offset, bias;
	char path[256];
};
static ARRAY(struct file) files;
static ARRAY(struct iaprof_unwind_mapping) mappings;
static ARRAY(struct place) places;

static struct file *file_of(struct unwinder *unwinder, pid_t pid, const char *path, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < files.count; i++)
		if (strcmp(files.items[i].path, path) == 0)
			return &files.items[i];
	struct file file = { 0 };
	struct elf_file elf = ELF_FILE_NONE;
	struct unwind_table table = { 0 };
	char link[128];
	snprintf(file.path, sizeof file.path, "%s", path);
	snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	/* All processes have the same vDSO. */
	char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);
	int code = strcmp(path, "[vdso]") == 0 ? elf_file_open_borrowed(&elf, vdso, end - start)
		   : path[0] == '/'            ? elf_file_open(&elf, open(link, O_RDONLY))
					       : -ENOENT;
	if (!code) {
		elf_file_segments(&elf, &file.segments);
		if (!unwind_table_make(&table, &elf)) {
			struct iaprof_unwind_table data = { .size = sizeof data,
							    .id = (uint32_t)files.count + 1,
							    .first_page = table.first_page,
							    .page_count = (uint32_t)table.index.count - 1,
							    .row_count = (uint32_t)table.rows.count,
							    .rule_count = (uint32_t)table.rules.count,
							    .index = table.index.items,
							    .rows = table.rows.items,
							    .rules = table.rules.items };
			code = unwinder_add_table(unwinder, &data);
			if (code)
				fprintf(stderr, "%s: %s\n", path, strerror(-code));
			else
				file.table = data.id;
		}
		unwind_table_free(&table);
		elf_file_close(&elf);
	}
	return array_push(&files, file) ? &files.items[files.count - 1] : NULL;
}

static void read_maps(struct unwinder *unwinder, pid_t pid)
{
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "r");
	while (maps && fgets(line, sizeof line, maps)) {
		struct place place = { .path = "" };
		char rights[5];
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %255s", &place.start, &place.end,
			   rights, &place.offset, place.path) < 4 ||
		    rights[2] != 'x')
			continue;
		struct file *file = file_of(unwinder, pid, place.path, place.start, place.end);
		uint64_t address = 0;
		if (file->segments.count && elf_segments_address(&file->segments, place.offset, &address))
			place.bias = place.start - address;
		struct iaprof_unwind_mapping mapping = {
			.start = place.start, .end = place.end, .bias = place.bias, .table = file->table
		};
		(void)!array_push(&mappings, mapping);
		(void)!array_push(&places, place);
	}
	if (maps)
		fclose(maps);
}

enum comparison { EQUAL, SHORTER, DIFFERENT };
static uint64_t comparisons[3];

static void compare_copy(const struct unwinder *unwinder, const struct sample *sample)
{
	uint64_t addresses[STACK_DEPTH_MAX];
	uint32_t depth;
	uint32_t end = unwind_copy_walk(unwinder, &sample->copy, addresses, STACK_DEPTH_MAX, &depth);
	bool same = depth <= sample->depth && !memcmp(addresses, sample->addresses, depth * sizeof *addresses);
	comparisons[same && depth == sample->depth && end == sample->end ? EQUAL
		    : same && end == UNWIND_TRUNCATED                    ? SHORTER
									 : DIFFERENT]++;
}

static const char *const ends[] = { "complete", "unknown", "no-rule", "unreadable", "truncated", "no-registers" };

static int print_sample(void *context, void *data, size_t size)
{
	const struct sample *sample = data;
	compare_copy(context, sample);
	printf("%s", ends[sample->end]);
	for (uint32_t i = 0; i < sample->depth; i++) {
		uint64_t address = sample->addresses[i];
		size_t j = 0;
		while (j < places.count && !(address >= places.items[j].start && address < places.items[j].end))
			j++;
		if (j < places.count)
			printf(" %s+%" PRIx64, places.items[j].path, address - places.items[j].bias);
		else
			printf(" ?+%" PRIx64, address);
	}
	printf("\n");
	return 0;
}

static void start_clocks(struct sample_bpf *skeleton, const char *frequency)
{
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		struct perf_event_attr attribute = { .size = sizeof attribute,
						     .type = PERF_TYPE_SOFTWARE,
						     .config = PERF_COUNT_SW_CPU_CLOCK,
						     .sample_freq = (uint64_t)atoi(frequency),
						     .freq = 1 };
		int event = (int)syscall(SYS_perf_event_open, &attribute, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (event >= 0)
			ioctl(event, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(skeleton->progs.sample_stack));
	}
}

/* The number of the execution of a process that is stopped; any. */
#define STOPPED 1

static void copy_stack(struct unwind_copy *copy, int memory)
{
	copy->start = copy->registers.sp & ~(uint64_t)(UNWIND_COPY_PAGE - 1);
	copy->size = UNWIND_COPY_PAGES;
	copy->pages = 0;
	for (unsigned page = 0; page < UNWIND_COPY_PAGES; page++) {
		uint64_t offset = page * UNWIND_COPY_PAGE;
		if (pread(memory, copy->bytes + offset, UNWIND_COPY_PAGE, (off_t)(copy->start + offset)) ==
		    UNWIND_COPY_PAGE)
			copy->pages |= (uint16_t)(1u << page);
	}
}

static int unwind_stopped(const struct unwinder *unwinder, pid_t pid)
{
	static struct unwind_copy copy;
	static uint64_t addresses[STACK_DEPTH_MAX];
	char path[64], line[256];
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	copy.process = (uint32_t)pid;
	copy.execution = STOPPED;
	puts("ready");
	fflush(stdout);
	while (memory >= 0 && fgets(line, sizeof line, stdin)) {
		uint64_t pc, sp, fp;
		uint32_t depth;
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &pc, &sp, &fp) != 3)
			return 6;
		copy.registers = (struct unwind_registers){ .pc = pc, .sp = sp, .fp = fp };
		copy_stack(&copy, memory);
		printf("%s", ends[unwind_copy_walk(unwinder, &copy, addresses, STACK_DEPTH_MAX, &depth)]);
		for (uint32_t i = 0; i < depth; i++)
			printf(" %" PRIx64, addresses[i]);
		printf("\n");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool is_stopped = argc == 2;
	if (argc != 4 && !is_stopped)
		return 2;
	pid_t pid = atoi(argv[1]);
	struct sample_bpf *skeleton = sample_bpf__open();
	if (!skeleton)
		return 3;
	skeleton->rodata->target = (uint32_t)pid;
	bpf_map__set_max_entries(skeleton->maps.unwind_processes, 1024);
	bpf_map__set_max_entries(skeleton->maps.unwind_mappings, 65536);
	if (sample_bpf__load(skeleton))
		return 4;
	struct unwinder unwinder;
	struct unwinder_maps maps = UNWINDER_MAPS(skeleton);
	int code = unwinder_init(&unwinder, &maps);
	uint64_t begin = clock_monotonic();
	read_maps(&unwinder, pid);
	fprintf(stderr, "%zu files, %zu mappings, %" PRIu64 " bytes of tables, %" PRIu64 " ms\n", files.count,
		mappings.count, unwinder.table_bytes, (clock_monotonic() - begin) / 1000000);
	uint64_t execution = STOPPED;
	if (!is_stopped) {
		start_clocks(skeleton, argv[3]);
		/* The first sample tells it. */
		while (!(execution = *(volatile __u64 *)&skeleton->bss->execution))
			usleep(1000);
	}
	struct iaprof_unwind_process process = { .size = sizeof process,
						 .pid = (uint32_t)pid,
						 .execution = execution,
						 .mappings = mappings.items,
						 .mapping_count = (uint32_t)mappings.count };
	if (!code)
		code = unwinder_set_process(&unwinder, &process);
	if (code) {
		fprintf(stderr, "%s\n", strerror(-code));
		return 5;
	}
	if (is_stopped)
		return unwind_stopped(&unwinder, pid);
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(skeleton->maps.stacks), print_sample, &unwinder, NULL);
	uint64_t wanted = strtoull(argv[2], NULL, 10), end = clock_monotonic() + PATIENCE;
	while (clock_monotonic() < end && *(volatile __u64 *)&skeleton->bss->samples < wanted)
		ring_buffer__poll(ring, 100);
	ring_buffer__consume(ring);
	fprintf(stderr, "%" PRIu64 " samples, %.2f us each\n", (uint64_t)skeleton->bss->samples,
		(double)skeleton->bss->time_used / 1000 /
			(double)(skeleton->bss->samples ? skeleton->bss->samples : 1));
	fprintf(stderr, "%" PRIu64 " copies, %.2f us each\n", (uint64_t)skeleton->bss->copies,
		(double)skeleton->bss->copy_time / 1000 / (double)(skeleton->bss->copies ? skeleton->bss->copies : 1));
	fprintf(stderr, "copies: %" PRIu64 " equal, %" PRIu64 " shorter, %" PRIu64 " different\n", comparisons[EQUAL],
		comparisons[SHORTER], comparisons[DIFFERENT]);
	return 0;
}
