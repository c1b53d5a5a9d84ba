/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any records of code objects, kernels and processes, in any order: what is found afterwards was loaded, by the process
 * that is said, and not later than the time that was asked for; and look-ups over an interval agree with those at one
 * time. Images are one that is made here, or none: what is in them is the affair of fuzz_zebin. Record type 7 is a
 * question, at the address and time of a KERNEL record.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/log.h"
#include "bus/record_check.h"
#include "correlator/device_code.h"
#include "symbolizer/device/device_address.h"
#include "symbolizer/worker/code_service.h"

#define MACHINE 205

/* A relocatable image with the kernels "a" and "b", 64 bytes each. */
struct image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[5]; /* none, two with code, symbols, names */
	Elf64_Sym symbols[3];
	char names[40];
	unsigned char code[128];
};
static const char names[40] = "\0.text.a\0.text.b\0.symtab";

static struct image make_image(void)
{
	struct image image = { .header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
							EV_CURRENT },
					   .e_type = ET_REL,
					   .e_machine = MACHINE,
					   .e_version = EV_CURRENT,
					   .e_shoff = offsetof(struct image, sections),
					   .e_ehsize = sizeof image.header,
					   .e_shentsize = sizeof image.sections[0],
					   .e_shnum = 5,
					   .e_shstrndx = 4 } };
	memcpy(image.names, names, sizeof names);
	for (unsigned i = 0; i < 2; i++) {
		image.sections[1 + i] = (Elf64_Shdr){ .sh_name = 1 + 8 * i,
						      .sh_type = SHT_PROGBITS,
						      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						      .sh_offset = offsetof(struct image, code) + (size_t)64 * i,
						      .sh_size = 64,
						      .sh_addralign = 1 };
		image.symbols[1 + i] = (Elf64_Sym){ .st_name = 7 + 8 * i, /* the end of the section's name */
						    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
						    .st_shndx = (Elf64_Half)(1 + i),
						    .st_size = 64 };
	}
	image.sections[3] = (Elf64_Shdr){ .sh_name = 17,
					  .sh_type = SHT_SYMTAB,
					  .sh_offset = offsetof(struct image, symbols),
					  .sh_size = sizeof image.symbols,
					  .sh_link = 4,
					  .sh_entsize = sizeof image.symbols[0],
					  .sh_addralign = 8 };
	image.sections[4] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					  .sh_offset = offsetof(struct image, names),
					  .sh_size = sizeof image.names,
					  .sh_addralign = 1 };
	return image;
}

struct run {
	struct intern *intern;
	struct process_table *processes;
	struct sampled_devices devices;
	struct code_workers *workers;
	struct device_code *code;
	uint32_t path, names[4]; /* string ids */
};

static void check_found(const struct device_code_found *found, uint64_t time)
{
	if (found->life.loaded > time || (found->code == NULL) == (found->kernel == NULL))
		abort();
	struct code_place place;
	if (found->code && !remote_code_find(found->code, found->address, &place))
		abort(); /* both kernels fill their sections */
}

static bool is_same(const struct device_code_found *a, const struct device_code_found *b)
{
	return a->pid == b->pid && a->code == b->code && a->kernel == b->kernel && a->address == b->address &&
	       a->life.loaded == b->life.loaded;
}

/* Over an interval: what is there at its ends is among it, oldest first, and one process has no more than all have. */
static void ask_during(const struct run *run, uint64_t device, uint32_t pid, uint64_t address, uint64_t begin,
		       uint64_t end)
{
	struct device_code_found all[DEVICE_CODE_FOUND_MAX], own[DEVICE_CODE_FOUND_MAX], one;
	size_t all_count =
		device_code_find_all_during(run->code, device, address, begin, end, all, DEVICE_CODE_FOUND_MAX);
	size_t own_count =
		device_code_find_during(run->code, device, pid, address, begin, end, own, DEVICE_CODE_FOUND_MAX);
	if (own_count > all_count)
		abort();
	for (size_t i = 0; i < all_count && i < DEVICE_CODE_FOUND_MAX; i++)
		check_found(&all[i], end);
	for (size_t i = 0; i < own_count && i < DEVICE_CODE_FOUND_MAX; i++) {
		check_found(&own[i], end);
		if (own[i].pid != pid || (i && own[i].life.loaded < own[i - 1].life.loaded))
			abort();
	}
	for (int last = 0; last < 2; last++) {
		bool is_among = !device_code_find(run->code, device, pid, address, last ? end : begin, &one) ||
				own_count > DEVICE_CODE_FOUND_MAX;
		for (size_t i = 0; i < own_count && !is_among; i++)
			is_among = is_same(&own[i], &one);
		if (!is_among)
			abort();
	}
}

static void ask(const struct run *run, const struct iaprof_record_kernel *record)
{
	struct device_code_found found;
	uint64_t address = device_address_plain(record->address), time = record->header.time;
	uint64_t device = device_code_device(run->code, record->header.source, record->id);
	if (device_code_find(run->code, device, record->pid, address, time, &found)) {
		check_found(&found, time);
		if (found.pid != record->pid)
			abort();
	}
	ask_during(run, device, record->pid, address, time / 2, time);
	ask_during(run, device, record->pid, address, time, time);
}

static void take(struct run *run, struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_PROCESS: {
		const struct iaprof_record_process *process = (const void *)record;
		process_table_event(run->processes, process, "name", false);
		if (process->event == IAPROF_PROCESS_EXEC || process->event == IAPROF_PROCESS_EXIT)
			device_code_end_process(run->code, process->pid, record->time);
		break;
	}
	case IAPROF_RECORD_DEVICE:
		sampled_devices_take(&run->devices, (const void *)record);
		break;
	case IAPROF_RECORD_CODE_OBJECT: {
		struct iaprof_record_code_object *object = (void *)record;
		object->path = object->path % 2 ? run->path : 0;
		object->machine = MACHINE;
		device_code_take_code_object(run->code, object);
		break;
	}
	case IAPROF_RECORD_CODE_OBJECT_UNLOAD:
		device_code_take_unload(run->code, (const void *)record);
		break;
	case IAPROF_RECORD_KERNEL: {
		struct iaprof_record_kernel *kernel = (void *)record;
		kernel->name = run->names[kernel->name % 4];
		device_code_take_kernel(run->code, kernel);
		ask(run, kernel);
		break;
	}
	case IAPROF_RECORD_LAUNCH:
		device_code_take_launch(run->code, (const void *)record);
		break;
	case IAPROF_RECORD_MAPPING:
		ask(run, (const void *)record);
		break;
	default:
		break;
	}
}

static void take_all(struct run *run, const char *records, size_t size)
{
	for (size_t at = 0; at + sizeof(struct iaprof_record) <= size;) {
		const struct iaprof_record *record = (const void *)(records + at);
		/* A mutation breaks one record, not all that follow. */
		if (record_check(record, size - at, NULL)) {
			at += 8;
			continue;
		}
		/* Alone, so that what is read behind a record of an older version is seen. */
		struct iaprof_record *alone = malloc(record->size);
		if (alone)
			take(run, memcpy(alone, record, record->size));
		free(alone);
		at += record->size;
	}
	device_code_statistics(run->code);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int image_descriptor = -1;
	char path[64];
	if (image_descriptor < 0) {
		struct image image = make_image();
		log_set_level(-1);
		image_descriptor = memfd_create("image", MFD_CLOEXEC);
		if (image_descriptor < 0 || write(image_descriptor, &image, sizeof image) != (ssize_t)sizeof image)
			return 0;
	}
	snprintf(path, sizeof path, "/proc/self/fd/%d", image_descriptor);
	size &= ~(size_t)7;
	char *records = malloc(size + 8);
	struct run run = { .intern = intern_new(NULL),
			   .processes = process_table_new(),
			   .workers = code_workers_new_in_threads(NULL, code_service_serve) };
	run.devices.intern = run.intern;
	struct budget budget;
	budget_init(&budget);
	if (run.intern && run.processes && run.workers)
		run.code = device_code_new(&(struct device_code_options){ .intern = run.intern,
									  .processes = run.processes,
									  .devices = &run.devices,
									  .workers = run.workers,
									  .budget = &budget,
									  .live = true });
	if (records && run.code) {
		run.path = intern_string(run.intern, path, strlen(path));
		run.names[1] = intern_string(run.intern, "a", 1);
		run.names[2] = intern_string(run.intern, "b", 1);
		run.names[3] = intern_string(run.intern, "stranger", 8);
		memcpy(records, bytes, size);
		take_all(&run, records, size);
		struct device_code_statistics statistics = device_code_statistics(run.code);
		if (statistics.unreadable || statistics.damaged || statistics.images > 1 + statistics.code_objects)
			abort();
	}
	device_code_free(run.code);
	sampled_devices_free(&run.devices);
	code_workers_free(run.workers);
	budget_free(&budget);
	process_table_free(run.processes);
	intern_free(run.intern);
	free(records);
	return 0;
}
