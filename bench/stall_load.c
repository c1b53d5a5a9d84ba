/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source stall-load: rows of EU stalls from memory, at a chosen rate, of as many kernels as asked for, each launched
 * from a few stacks of this process. They are folded as the source xe-eustall folds what it reads, so that all that
 * comes after the read of a stream can be measured.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <iaprof/plugin.h>

#include "xe-eustall/fold.h"

#define MACHINE_INTEL_GT 205u
/* 4 MiB: what a GPU's rings hold for eight Xe-cores, and more than the CPU's caches. */
#define ROW_COUNT 65536u
#define ADDRESSES_PER_KERNEL 8u
#define INSTRUCTION_SIZE 16u
#define STACK_COUNT 16u
#define IMAGE_KERNELS_MAX 64u
/* Code objects follow each other in the instruction heap. */
#define HEAP UINT64_C(0x800000000000)
#define OBJECT_SIZE 0x10000u
#define TURN_NANOSECONDS 5000000u /* the driver looks at its rings as often */
#define BATCH_BYTES 65536u
/* Kernels that are launched again and again while the rest is only sampled. */
#define BUSY_KERNELS 100u

struct image_kernel {
	const char *name;
	uint64_t offset, size;
};

struct stall_load {
	uint64_t rate, kernels, drain;
	const char *image;
	struct image_kernel image_kernels[IMAGE_KERNELS_MAX];
	uint32_t image_kernel_count;
	unsigned char *rows;
	struct fold fold;
	uint32_t stacks[STACK_COUNT];
	unsigned char batch[BATCH_BYTES] __attribute__((aligned(8)));
	uint32_t batch_size, batch_count;
};

static int load_finish(const struct iaprof_host *host, void *instance)
{
	struct stall_load *load = instance;
	free(load->rows);
	fold_free(&load->fold);
	return 0;
}

/* The kernels of a file of tests/data, which is taken to be right; their sections come one after the other. */
static int read_image(struct stall_load *load)
{
	int file = open(load->image, O_RDONLY | O_CLOEXEC);
	struct stat status;
	if (file < 0 || fstat(file, &status))
		return -errno;
	const unsigned char *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (image == MAP_FAILED)
		return -errno;
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
	uint64_t offset = 0;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		const char *names = (const char *)image + sections[sections[i].sh_link].sh_offset;
		const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
		for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
			if (ELF64_ST_TYPE(symbols[k].st_info) != STT_FUNC ||
			    symbols[k].st_size < ADDRESSES_PER_KERNEL * INSTRUCTION_SIZE ||
			    load->image_kernel_count == IMAGE_KERNELS_MAX)
				continue;
			load->image_kernels[load->image_kernel_count++] = (struct image_kernel){
				.name = names + symbols[k].st_name, .offset = offset, .size = symbols[k].st_size
			};
			offset += (symbols[k].st_size + 255) & ~UINT64_C(255);
		}
	}
	return load->image_kernel_count && offset <= OBJECT_SIZE ? 0 : -EINVAL;
}

static uint64_t kernel_address(const struct stall_load *load, uint64_t kernel)
{
	return HEAP + kernel / load->image_kernel_count * OBJECT_SIZE +
	       load->image_kernels[kernel % load->image_kernel_count].offset;
}

/* As the hardware writes them on Xe2: 29 bits of address, and counters of 8 bits after them. */
static void make_rows(struct stall_load *load)
{
	uint32_t random = 1;
	for (uint32_t i = 0; i < ROW_COUNT; i++) {
		random = random * 1664525u + 1013904223u;
		/* Every kernel has rows; a kernel's few addresses have many, as a loop's have. */
		uint64_t kernel = i % load->kernels;
		uint64_t address =
			kernel_address(load, kernel) + (random >> 16) % ADDRESSES_PER_KERNEL * INSTRUCTION_SIZE;
		unsigned __int128 row = (uint32_t)address >> 3;
		for (unsigned counter = 0; counter < row_layout_xe2.counter_count; counter++)
			row |= (unsigned __int128)(random >> counter & 7) << (29 + 8 * counter);
		memcpy(load->rows + (size_t)i * ROW_SIZE, &row, sizeof row);
	}
}

static int load_start(const struct iaprof_host *host, void *instance)
{
	struct stall_load *load = instance;
	int result = load->image ? read_image(load) : -EINVAL;
	if (result)
		return host->fail(host, -result, "image=: give a file of tests/data/zebin");
	load->rows = calloc(ROW_COUNT, ROW_SIZE);
	if (!load->rows || fold_init(&load->fold, &row_layout_xe2, FOLD_SLOTS_MAX))
		return host->fail(host, ENOMEM, "no memory for rows");
	make_rows(load);
	return 0;
}

static int load_stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static uint32_t text(const struct iaprof_host *host, const char *string)
{
	return host->intern_string(host, string, strlen(string));
}

static void send_batch(const struct iaprof_host *host, struct stall_load *load)
{
	struct iaprof_batch batch = { .records = load->batch, .size = load->batch_size, .count = load->batch_count };
	if (batch.count)
		(void)host->emit(host, &batch);
	load->batch_size = load->batch_count = 0;
}

/* Adds a record with its extra bytes, and fills in its header. */
static void add_record(const struct iaprof_host *host, struct stall_load *load, uint16_t type, void *record,
		       uint32_t size, uint64_t time)
{
	*(struct iaprof_record *)record = (struct iaprof_record){ .size = size, .type = type, .time = time };
	if (load->batch_size + size > BATCH_BYTES)
		send_batch(host, load);
	memcpy(load->batch + load->batch_size, record, size);
	load->batch_size += size;
	load->batch_count++;
}

static void send_launch(const struct iaprof_host *host, struct stall_load *load, uint32_t kernel, uint64_t time)
{
	struct iaprof_record_launch launch = { .kernel = kernel + 1,
					       .pid = (uint32_t)getpid(),
					       .user_stack = load->stacks[kernel % STACK_COUNT],
					       .count = 1,
					       .first_time = time };
	add_record(host, load, IAPROF_RECORD_LAUNCH, &launch, sizeof launch, time);
}

static void send_definitions(const struct iaprof_host *host, struct stall_load *load)
{
	uint64_t now = host->clock(host);
	uint32_t pid = (uint32_t)getpid(), path = text(host, load->image);
	struct iaprof_record_device device = { .id = 1,
					       .name = text(host, "memory GT 0"),
					       .machine = MACHINE_INTEL_GT };
	add_record(host, load, IAPROF_RECORD_DEVICE, &device, sizeof device, now);
	for (uint32_t i = 0; i < STALL_REASON_COUNT; i++) {
		struct iaprof_record_stall_reason reason = { .id = i, .name = text(host, stall_reason_names[i]) };
		add_record(host, load, IAPROF_RECORD_STALL_REASON, &reason, sizeof reason, now);
	}
	/* Addresses in this function do for stacks: what they are called does not matter. */
	for (uint32_t i = 0; i < STACK_COUNT; i++) {
		uint64_t address = (uint64_t)(uintptr_t)send_definitions + i;
		load->stacks[i] = host->intern_stack(host, pid, &address, 1);
	}
	for (uint32_t kernel = 0; kernel < load->kernels; kernel++) {
		const struct image_kernel *image_kernel = &load->image_kernels[kernel % load->image_kernel_count];
		uint32_t object = kernel / load->image_kernel_count + 1;
		if (kernel % load->image_kernel_count == 0) {
			struct iaprof_record_code_object code = { .id = object,
								  .pid = pid,
								  .machine = MACHINE_INTEL_GT,
								  .address = kernel_address(load, kernel),
								  .size = OBJECT_SIZE,
								  .instruction_base = HEAP,
								  .path = path };
			add_record(host, load, IAPROF_RECORD_CODE_OBJECT, &code, sizeof code, now);
		}
		struct iaprof_record_kernel record = { .id = kernel + 1,
						       .code_object = object,
						       .pid = pid,
						       .name = text(host, image_kernel->name),
						       .address = kernel_address(load, kernel),
						       .size = image_kernel->size };
		add_record(host, load, IAPROF_RECORD_KERNEL, &record, sizeof record, now);
		send_launch(host, load, kernel, now);
	}
	send_batch(host, load);
}

static void flush(const struct iaprof_host *host, struct stall_load *load, uint64_t begin, uint64_t now)
{
	struct {
		struct iaprof_record_stall_sample sample;
		uint64_t counts[STALL_REASON_COUNT];
	} record = { .sample = { .begin = begin,
				 .device = 1,
				 .address_space = IAPROF_ADDRESS_INSTRUCTION_BASE,
				 .reason_count = STALL_REASON_COUNT } };
	for (uint32_t kernel = 0; kernel < load->kernels && kernel < BUSY_KERNELS; kernel++)
		send_launch(host, load, kernel, now);
	for (uint32_t i = 0; i < load->fold.count; i++) {
		fold_get(&load->fold, i, &record.sample.address, record.counts);
		add_record(host, load, IAPROF_RECORD_STALL_SAMPLE, &record, sizeof record, now);
	}
	send_batch(host, load);
	fold_clear(&load->fold);
}

static void sleep_until(uint64_t moment)
{
	struct timespec time = { .tv_sec = (time_t)(moment / 1000000000), .tv_nsec = (long)(moment % 1000000000) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static int load_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct stall_load *load = instance;
	send_definitions(host, load);
	uint64_t begin = host->clock(host), flushed = begin, done = 0;
	uint32_t position = 0;
	for (uint64_t turn = 1; !__atomic_load_n(stopping, __ATOMIC_ACQUIRE); turn++) {
		sleep_until(begin + turn * TURN_NANOSECONDS);
		uint64_t now = host->clock(host);
		/* At most a million of rows/s for each of 100 s: far inside 64 bits. */
		for (uint64_t due = (now - begin) / 1000 * load->rate / 1000000; done < due;) {
			size_t count = ROW_COUNT - position;
			count = due - done < count ? due - done : count;
			size_t taken = fold_rows(&load->fold, load->rows + (size_t)position * ROW_SIZE, count, 1);
			position = (uint32_t)((position + taken) % ROW_COUNT);
			done += taken;
			if (taken < count) {
				flush(host, load, flushed, now);
				flushed = now;
			}
		}
		if (now - flushed >= load->drain) {
			flush(host, load, flushed, now);
			flushed = now;
		}
	}
	return 0;
}

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct stall_load, rate, UINT, "rate", "1000000", "Rows a second", .minimum = 1,
		      .maximum = 1000000000),
	IAPROF_OPTION(struct stall_load, kernels, UINT, "kernels", "200", "How many different kernels have rows",
		      .minimum = 1, .maximum = ROW_COUNT),
	IAPROF_OPTION(struct stall_load, drain, DURATION, "drain", "100ms", "How often folded rows are handed on",
		      .minimum = 1000000, .maximum = 10000000000),
	IAPROF_OPTION(struct stall_load, image, STRING, "image", NULL, "ELF file of the kernels; it has to be given"),
};

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.start = load_start,
	.stop = load_stop,
	.finish = load_finish,
	.thread = load_thread,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "stall-load",
	.description = "rows of EU stalls from memory, to measure what they cost",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct stall_load),
	.source = &operations,
};

IAPROF_REGISTER_PLUGIN(plugin)
