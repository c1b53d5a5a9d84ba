/* SPDX-License-Identifier: Apache-2.0 */
/* Device code of a run: records of sources become answers for addresses, and bad input becomes a count. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "bus/record_check.h"
#include "device/zebin_fixture.h"
#include "correlator/device_code.h"
#include "symbolizer/device/device_address.h"
#include "../run_suite.h"

#define SECOND UINT64_C(1000000000)
#define FIXTURE "bmg/transformer"

static struct result_stream results;
static struct intern *intern;
static struct process_table *processes;
static struct budget budget;
static struct code_workers *workers;
static struct device_code *code;
#define FOLDER "/tmp/iaprof-device-code-XXXXXX"
static char folder[sizeof FOLDER];
static expected_place_array loaded;
static expected_instruction_array instructions;
static struct sampled_devices devices;

static void set_up(void)
{
	memcpy(folder, FOLDER, sizeof FOLDER);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	intern = intern_new(NULL);
	devices = (struct sampled_devices){ .intern = intern };
	results = (struct result_stream){ .intern = intern, .is_read = true };
	processes = process_table_new();
	budget_init(&budget);
	workers = code_workers_new(zebin_decoders(), NULL);
	ck_assert_ptr_nonnull(workers);
	code = device_code_new(&(struct device_code_options){ .intern = intern,
							      .processes = processes,
							      .devices = &devices,
							      .workers = workers,
							      .budget = &budget,
							      .results = &results,
							      .live = true });
	CLEANUP_FREE char *path = zebin_path(FIXTURE, ".loaded-debug.elf");
	loaded = zebin_sections(path);
	instructions = zebin_instructions(FIXTURE);
}

static void tear_down(void)
{
	device_code_free(code);
	sampled_devices_free(&devices);
	code_workers_free(workers);
	budget_free(&budget);
	process_table_free(processes);
	intern_free(intern);
	result_stream_free(&results);
	array_free(&loaded);
	array_free(&instructions);
	CLEANUP_FREE char *command = NULL;
	ck_assert_int_gt(asprintf(&command, "rm -rf '%s'", folder), 0);
	ck_assert_int_eq(system(command), 0);
}

static uint32_t text(const char *name)
{
	return intern_string(intern, name, strlen(name));
}

static void load_object(uint32_t id, uint32_t pid, const char *path, uint64_t time)
{
	struct iaprof_record_code_object record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_CODE_OBJECT, .source = 1, .time = time },
		.id = id,
		.pid = pid,
		.machine = 205,
		.path = text(path)
	};
	device_code_take_code_object(code, &record);
}

static void load_fixture(uint32_t id, uint32_t pid, const char *suffix, uint64_t time)
{
	CLEANUP_FREE char *path = zebin_path(FIXTURE, suffix);
	load_object(id, pid, path, time);
}

static void unload(uint32_t id, uint64_t time)
{
	struct iaprof_record_code_object_unload record = { .header = { .source = 1, .time = time }, .id = id };
	device_code_take_unload(code, &record);
}

/* Returns the id that the kernel gets. */
static uint32_t take_kernel(uint32_t object, uint32_t pid, const char *name, uint64_t address, uint64_t size,
			    uint64_t time)
{
	static uint32_t id;
	struct iaprof_record_kernel record = { .header = { .source = 1, .time = time },
					       .id = ++id,
					       .code_object = object,
					       .pid = pid,
					       .name = text(name),
					       .address = address,
					       .size = size };
	device_code_take_kernel(code, &record);
	return id;
}

static void take_process(uint32_t pid, uint32_t event, uint64_t time)
{
	struct iaprof_record_process record = { .header = { .time = time }, .pid = pid, .event = event };
	ck_assert_int_eq(process_table_event(processes, &record, "program", false), 0);
	if (event == IAPROF_PROCESS_EXIT || event == IAPROF_PROCESS_EXEC)
		device_code_end_process(code, pid, time);
}

/* How many of the fixture's instructions are found where they were loaded, with the right kernel and lines. */
static size_t count_found(uint32_t pid, uint64_t time)
{
	size_t count = 0;
	for (size_t i = 0; i < instructions.count; i++) {
		struct device_code_found found;
		struct code_place place;
		if (!device_code_find(code, 0, pid, device_address_plain(instructions.items[i].address), time, &found))
			continue;
		ck_assert_uint_eq(found.pid, pid);
		ck_assert_ptr_nonnull(found.code);
		ck_assert_ptr_null(found.kernel);
		ck_assert(remote_code_find(found.code, found.address, &place));
		zebin_check_location(&instructions.items[i], &place.location);
		zebin_check_frames(&instructions.items[i], place.functions, place.function_count);
		count++;
	}
	return count;
}

TEST(a_loaded_image_is_found_from_its_load_to_its_unload)
{
	load_fixture(1, 10, ".loaded-debug.elf", 2 * SECOND);
	ck_assert_uint_eq(count_found(10, SECOND), 0);
	ck_assert_uint_eq(count_found(10, 2 * SECOND), instructions.count);
	ck_assert_uint_eq(count_found(11, 2 * SECOND), 0);
	unload(1, 3 * SECOND);
	unload(1, 3 * SECOND);
	ck_assert_uint_eq(count_found(10, 3 * SECOND - 1), instructions.count);
	ck_assert_uint_eq(count_found(10, 3 * SECOND), 0);
	struct device_code_statistics statistics = device_code_statistics(code);
	ck_assert_uint_eq(statistics.code_objects, 1);
	ck_assert_uint_eq(statistics.images, 1);
	ck_assert_uint_eq(statistics.unreadable + statistics.damaged + statistics.refused, 0);
}

/* Sections of a relocatable image are where the kernels are; the rest is nowhere. */
static void take_kernels(uint32_t object, uint32_t pid, uint64_t time)
{
	for (size_t i = 0; i < loaded.count; i++)
		take_kernel(object, pid, loaded.items[i].name + strlen(".text."),
			    device_address_plain(loaded.items[i].address), 0, time);
}

TEST(a_relocatable_image_is_where_its_kernels_are)
{
	load_fixture(1, 10, ".bin", SECOND);
	ck_assert_uint_eq(count_found(10, 2 * SECOND), 0);
	take_kernels(1, 10, 5 * SECOND);
	/* It was there since it was loaded, not since somebody heard of the kernel. */
	ck_assert_uint_eq(count_found(10, SECOND), instructions.count);
	ck_assert_uint_eq(count_found(10, SECOND - 1), 0);
	/* A kernel of somebody else's, or a second place, moves nothing. */
	take_kernel(1, 11, "matmul_tile", 0x1000, 64, 6 * SECOND);
	take_kernel(1, 10, "matmul_tile", 0x1000, 64, 6 * SECOND);
	struct device_code_found found;
	ck_assert(!device_code_find(code, 0, 10, 0x1000, 6 * SECOND, &found));
	unload(1, 7 * SECOND);
	ck_assert_uint_eq(count_found(10, 7 * SECOND), 0);
	ck_assert_uint_eq(count_found(10, 7 * SECOND - 1), instructions.count);
}

TEST(one_image_is_kept_once)
{
	for (uint32_t id = 1; id <= 100; id++)
		load_fixture(id, 100 + id % 2, ".loaded-debug.elf", SECOND + id);
	ck_assert_uint_eq(device_code_statistics(code).images, 1);
	ck_assert_uint_eq(device_code_statistics(code).code_objects, 100);
	struct device_code_found found[4];
	uint64_t address = device_address_plain(instructions.items[0].address);
	ck_assert_uint_eq(device_code_find_all_during(code, 0, address, 2 * SECOND, 2 * SECOND, found, 4), 2);
	ck_assert_ptr_eq(found[0].code, found[1].code);
	ck_assert_uint_ne(found[0].pid, found[1].pid);
	ck_assert_uint_eq(device_code_find_all_during(code, 0, address, 2 * SECOND, 2 * SECOND, found, 1), 2);
}

TEST(code_goes_with_its_program)
{
	take_process(10, IAPROF_PROCESS_EXISTING, 0);
	load_fixture(1, 10, ".loaded-debug.elf", SECOND);
	take_process(10, IAPROF_PROCESS_EXEC, 2 * SECOND);
	ck_assert_uint_eq(count_found(10, 2 * SECOND - 1), instructions.count);
	ck_assert_uint_eq(count_found(10, 2 * SECOND), 0);
	/* The id of a program that ended is used again. */
	load_fixture(2, 10, ".loaded-debug.elf", 3 * SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, 4 * SECOND);
	take_process(10, IAPROF_PROCESS_FORK, 5 * SECOND);
	ck_assert_uint_eq(count_found(10, 4 * SECOND), 0);
	load_fixture(3, 10, ".loaded-debug.elf", 6 * SECOND);
	ck_assert_uint_eq(count_found(10, 5 * SECOND), 0);
	ck_assert_uint_eq(count_found(10, 6 * SECOND), instructions.count);
	unload(1, 7 * SECOND); /* of the program before */
	ck_assert_uint_eq(count_found(10, 7 * SECOND), instructions.count);
}

TEST(the_end_of_a_program_may_be_heard_first)
{
	take_process(10, IAPROF_PROCESS_FORK, SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, 3 * SECOND);
	load_fixture(1, 10, ".loaded-debug.elf", 2 * SECOND);
	take_kernel(0, 10, "other", 0x1000, 64, 2 * SECOND);
	ck_assert_uint_eq(count_found(10, 2 * SECOND), instructions.count);
	ck_assert_uint_eq(count_found(10, 3 * SECOND), 0);
	struct device_code_found found;
	ck_assert(device_code_find(code, 0, 10, 0x1008, 2 * SECOND, &found));
	ck_assert(!device_code_find(code, 0, 10, 0x1008, 3 * SECOND, &found));
}

TEST(kernels_may_be_heard_of_after_the_end_of_their_program)
{
	take_process(10, IAPROF_PROCESS_FORK, SECOND);
	load_fixture(1, 10, ".loaded-debug.elf", 2 * SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, 5 * SECOND);
	for (size_t i = 0; i < loaded.count; i++)
		take_kernel(1, 10, loaded.items[i].name + strlen(".text."),
			    device_address_plain(loaded.items[i].address), 64, 3 * SECOND);
	ck_assert_uint_eq(count_found(10, 4 * SECOND), instructions.count);
	ck_assert_uint_eq(count_found(10, 5 * SECOND), 0);
	/* One that is in no image stands for itself. */
	struct device_code_found found;
	take_kernel(1, 10, "elsewhere", 0x1000, 64, 3 * SECOND);
	ck_assert(device_code_find(code, 0, 10, 0x1000, 4 * SECOND, &found));
	ck_assert_str_eq(found.kernel, "elsewhere");
}

TEST(kernels_by_name_may_be_heard_of_after_the_end_of_their_program)
{
	struct device_code_found found;
	take_process(10, IAPROF_PROCESS_FORK, SECOND);
	load_fixture(1, 10, ".loaded-debug.elf", 2 * SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, 5 * SECOND);
	const char *name = loaded.items[0].name + strlen(".text.");
	uint32_t id = take_kernel(1, 10, name, 0, 0, 3 * SECOND);
	ck_assert(device_code_find_kernel(code, 1, id, 0, &found));
	ck_assert_ptr_nonnull(found.code);
	/* Its number may be that of other code afterwards. */
	load_fixture(1, 11, ".loaded-debug.elf", 6 * SECOND);
	ck_assert_uint_eq(device_code_statistics(code).refused, 0);
}

TEST(what_has_no_image_goes_with_its_program_too)
{
	take_process(10, IAPROF_PROCESS_EXEC, SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, 3 * SECOND);
	for (int i = 0; i < 2; i++)
		load_object(1, 10, "/nowhere", 2 * SECOND);
	ck_assert_uint_eq(device_code_statistics(code).unreadable, 2);
	ck_assert_uint_eq(device_code_statistics(code).refused, 0);
}

/* A program that loaded, unloaded, loaded something else and ended, all between two reads of samples. */
TEST(what_was_there_for_a_part_of_an_interval_is_found)
{
	struct device_code_found found[4];
	uint64_t address = device_address_plain(instructions.items[0].address);
	take_process(10, IAPROF_PROCESS_FORK, SECOND);
	load_fixture(1, 10, ".loaded-debug.elf", 2 * SECOND);
	unload(1, 3 * SECOND);
	take_kernel(0, 10, "other", address, 64, 4 * SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, 5 * SECOND);
	take_kernel(0, 11, "another's", address, 64, 6 * SECOND);
	ck_assert(!device_code_find(code, 0, 10, address, SECOND, &found[0]));
	ck_assert(!device_code_find(code, 0, 10, address, 7 * SECOND, &found[0]));
	ck_assert_uint_eq(device_code_find_during(code, 0, 10, address, SECOND, 7 * SECOND, found, 4), 2);
	struct code_place place;
	ck_assert_ptr_nonnull(found[0].code);
	ck_assert_uint_eq(found[0].life.loaded, 2 * SECOND);
	ck_assert_uint_eq(found[0].life.unloaded, 3 * SECOND);
	ck_assert_uint_eq(found[1].life.unloaded, 5 * SECOND);
	ck_assert(remote_code_find(found[0].code, found[0].address, &place));
	zebin_check_location(&instructions.items[0], &place.location);
	ck_assert_str_eq(found[1].kernel, "other");
	ck_assert_uint_eq(found[1].address, 0);
	ck_assert_uint_eq(found[1].life.loaded, 4 * SECOND);
	ck_assert_uint_eq(device_code_find_during(code, 0, 10, address, 3 * SECOND, 4 * SECOND - 1, found, 4), 0);
	ck_assert_uint_eq(device_code_find_during(code, 0, 10, address, 5 * SECOND, 7 * SECOND, found, 4), 0);
	ck_assert_uint_eq(device_code_find_during(code, 0, 12, address, SECOND, 7 * SECOND, found, 4), 0);
	ck_assert_uint_eq(device_code_find_all_during(code, 0, address, SECOND, 7 * SECOND, found, 4), 3);
	ck_assert_uint_eq(found[0].pid + found[1].pid + found[2].pid, 10 + 10 + 11);
	ck_assert_uint_eq(device_code_find_all_during(code, 0, address, SECOND, 7 * SECOND, found, 1), 3);
	ck_assert_uint_eq(device_code_find_all_during(code, 0, address, 5 * SECOND, 7 * SECOND, found, 4), 1);
	ck_assert_uint_eq(found[0].pid, 11);
}

/* More than is ever given of them; their count is right all the same. */
TEST(short_programs_by_the_thousand_are_found_each_in_its_time)
{
	struct device_code_found found[DEVICE_CODE_FOUND_MAX];
	for (uint32_t i = 0; i < 3000; i++) {
		uint64_t time = SECOND + i * UINT64_C(1000000);
		take_process(100 + i, IAPROF_PROCESS_FORK, time);
		take_kernel(0, 100 + i, "short", 0x1000, 64, time + 100000);
		take_process(100 + i, IAPROF_PROCESS_EXIT, time + 900000);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		uint64_t time = SECOND + i * UINT64_C(1000000);
		ck_assert_uint_eq(device_code_find_all_during(code, 0, 0x1008, time, time + 999999, found, 4), 1);
		ck_assert_uint_eq(found[0].pid, 100 + i);
	}
	ck_assert_uint_eq(
		device_code_find_all_during(code, 0, 0x1008, SECOND, 4 * SECOND, found, DEVICE_CODE_FOUND_MAX), 3000);
	for (size_t i = 0; i < DEVICE_CODE_FOUND_MAX; i++)
		ck_assert_str_eq(found[i].kernel, "short");
}

TEST(a_kernel_without_an_image_has_its_name)
{
	struct device_code_found found;
	take_kernel(0, 10, "alone", 0xffff800000001000, 64, SECOND);
	ck_assert(device_code_find(code, 0, 10, 0x800000001010, SECOND, &found));
	ck_assert_ptr_null(found.code);
	ck_assert_str_eq(found.kernel, "alone");
	ck_assert_uint_eq(found.address, 0x10);
	ck_assert(!device_code_find(code, 0, 10, 0x800000001040, SECOND, &found));
	/* An image that is gone, and one that does not know the kernel. */
	load_object(1, 10, "/nonexistent", SECOND);
	take_kernel(1, 10, "orphan", 0x5000, 64, SECOND);
	load_fixture(2, 10, ".bin", SECOND);
	take_kernel(2, 10, "stranger", 0x6000, 64, SECOND);
	ck_assert(device_code_find(code, 0, 10, 0x5000, SECOND, &found));
	ck_assert_str_eq(found.kernel, "orphan");
	ck_assert(device_code_find(code, 0, 10, 0x6000, SECOND, &found));
	ck_assert_str_eq(found.kernel, "stranger");
	unload(1, 2 * SECOND);
	ck_assert(!device_code_find(code, 0, 10, 0x5000, 2 * SECOND, &found));
}

TEST(kernels_that_cannot_be_are_counted)
{
	static const uint64_t sizes[] = { 0, UINT64_C(1) << 63, UINT64_MAX, (UINT64_C(1) << 32) + 1 };
	struct device_code_found found;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		take_kernel(0, 10, "odd", 0x1000, sizes[i], SECOND);
	take_kernel(0, 10, "nowhere", 0, 64, SECOND);
	ck_assert_uint_eq(device_code_statistics(code).unplaced, 5);
	ck_assert(!device_code_find(code, 0, 10, 0x1000, SECOND, &found));
	take_kernel(0, 10, "at the end", UINT64_C(0xfeffffffffffffc0), 64, SECOND);
	take_kernel(0, 10, "beyond", UINT64_C(0xfeffffffffffffc0), UINT64_C(1) << 32, SECOND);
	/* Overlapping ones: the newer counts. */
	take_kernel(0, 10, "one", 0x1000, 0x1000, SECOND);
	take_kernel(0, 10, "two", 0x1800, 0x1000, 2 * SECOND);
	ck_assert(device_code_find(code, 0, 10, 0x1900, 2 * SECOND, &found));
	ck_assert_str_eq(found.kernel, "two");
	ck_assert(device_code_find(code, 0, 10, 0x1100, 2 * SECOND, &found));
	ck_assert_str_eq(found.kernel, "one");
}

TEST(an_image_in_memory_is_read)
{
	size_t size;
	CLEANUP_FREE char *bytes = zebin_bytes(FIXTURE, ".loaded-debug.elf", &size);
	CLEANUP_CLOSE int descriptor = memfd_create("image", MFD_CLOEXEC);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, bytes, size), (ssize_t)size);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	load_object(1, 10, path, SECOND);
	ck_assert_uint_eq(count_found(10, SECOND), instructions.count);
	load_object(2, 10, "/proc/self/fd/0/../../root", SECOND);
	load_object(3, 10, "/proc/self/fd/", SECOND);
	load_object(4, 10, "/proc/self/fd/999999", SECOND);
	ck_assert_uint_eq(device_code_statistics(code).unreadable, 3);
}

static char *path_in_folder(const char *name)
{
	char *path = NULL;
	ck_assert_int_gt(asprintf(&path, "%s/%s", folder, name), 0);
	return path;
}

static void make_file(const char *path, const void *bytes, size_t size, off_t length)
{
	CLEANUP_CLOSE int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, bytes, size), (ssize_t)size);
	ck_assert_int_eq(ftruncate(descriptor, length), 0);
}

/* Every kind of path that is not an image, each used twice and reported once. */
TEST(what_is_no_image_is_reported_once_and_counted)
{
	CLEANUP_FREE char *said = path_in_folder("said");
	CLEANUP_FREE char *fifo = path_in_folder("fifo");
	CLEANUP_FREE char *link = path_in_folder("link");
	CLEANUP_FREE char *huge = path_in_folder("huge");
	CLEANUP_FREE char *empty = path_in_folder("empty");
	CLEANUP_FREE char *prose = path_in_folder("prose");
	CLEANUP_FREE char *other = path_in_folder("other");
	CLEANUP_FREE char *cut = path_in_folder("cut\x1b[2J\n");
	CLEANUP_FREE char *image = zebin_path(FIXTURE, ".bin");
	size_t size;
	CLEANUP_FREE char *bytes = zebin_bytes(FIXTURE, ".bin", &size);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(symlink(image, link), 0);
	make_file(huge, "\177ELF", 4, (off_t)1 << 40);
	make_file(empty, "", 0, 0);
	make_file(prose, "not an image", 12, 12);
	make_file(cut, bytes, 1000, 1000);
	((Elf64_Ehdr *)(void *)bytes)->e_machine = EM_X86_64;
	make_file(other, bytes, size, (off_t)size);
	char *const paths[] = { fifo,
				link,
				folder,
				huge,
				empty,
				prose,
				cut,
				other,
				(char *)"/nonexistent/image",
				(char *)"/dev/zero",
				(char *)"relative" };
	size_t count = sizeof paths / sizeof *paths;
	fflush(stderr);
	int saved = dup(STDERR_FILENO), file = open(said, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert(saved >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
	for (uint32_t i = 0; i < 2 * count; i++)
		load_object(1 + i, 10, paths[i % count], SECOND);
	fflush(stderr);
	ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
	close(saved);
	char output[8192] = "";
	ck_assert_int_gt(pread(file, output, sizeof output - 1, 0), 0);
	close(file);
	size_t lines = 0;
	for (const char *byte = output; *byte; byte++) {
		lines += *byte == '\n';
		ck_assert(*byte == '\n' || (unsigned char)*byte >= ' ');
	}
	ck_assert_msg(lines == 4, "%s", output); /* gone, no file, too large, no image */
	ck_assert_uint_eq(device_code_statistics(code).unreadable, 2 * count);
	ck_assert_uint_eq(device_code_statistics(code).images, 0);
	/* The run goes on. */
	load_fixture(1000, 10, ".loaded-debug.elf", SECOND);
	ck_assert_uint_eq(count_found(10, SECOND), instructions.count);
}

TEST(code_objects_that_contradict_are_refused)
{
	load_fixture(1, 10, ".loaded-debug.elf", SECOND);
	load_fixture(1, 11, ".loaded-debug.elf", SECOND);
	load_fixture(0, 11, ".loaded-debug.elf", SECOND);
	ck_assert_uint_eq(device_code_statistics(code).refused, 2);
	ck_assert_uint_eq(count_found(11, SECOND), 0);
}

TEST(what_is_too_much_is_refused_and_comes_back_when_there_is_room)
{
	for (uint32_t id = 1; id <= 70000; id++)
		load_object(id, 10 + id % 1000, "", SECOND);
	ck_assert_uint_eq(device_code_statistics(code).refused, 70000 - 65536);
	for (uint32_t pid = 10; pid < 1010; pid++)
		take_process(pid, IAPROF_PROCESS_EXIT, 2 * SECOND);
	load_fixture(80000, 10, ".loaded-debug.elf", 3 * SECOND);
	ck_assert_uint_eq(device_code_statistics(code).refused, 70000 - 65536);
	ck_assert_uint_eq(count_found(10, 3 * SECOND), instructions.count);
	/* Kernels that nobody unloads do not fill the memory either. */
	for (uint64_t i = 0; i < 200000; i++)
		take_kernel(0, 2000, "k", 0x100000 + i * 64, 64, 4 * SECOND + i);
	uint64_t refused = device_code_statistics(code).refused;
	ck_assert_uint_gt(refused, 100000);
	/* The end of their program is heard of late: they make room all the same. */
	take_process(2000, IAPROF_PROCESS_EXIT, 4 * SECOND + 1);
	load_fixture(80001, 11, ".loaded-debug.elf", 5 * SECOND);
	ck_assert_uint_eq(device_code_statistics(code).refused, refused);
	ck_assert_uint_eq(count_found(11, 5 * SECOND), instructions.count);
}

TEST(a_device_has_one_number_for_all_sources)
{
	struct iaprof_record_device device = { .header = { .source = 1 }, .id = 3, .address = text("0000:03:00.0") };
	sampled_devices_take(&devices, &device);
	device.header.source = 2;
	device.id = 7;
	sampled_devices_take(&devices, &device);
	device.id = 8;
	device.address = text("0000:04:00.0");
	sampled_devices_take(&devices, &device);
	uint64_t number = device_code_device(code, 1, 3);
	ck_assert_uint_ne(number, 0);
	ck_assert_uint_eq(device_code_device(code, 2, 7), number);
	ck_assert_uint_ne(device_code_device(code, 2, 8), number);
	ck_assert_uint_eq(device_code_device(code, 2, 0), 0);
	/* What is for any device is found for each; what is for one is not found for another. */
	struct device_code_found found;
	take_kernel(0, 10, "any", 0x1000, 64, SECOND);
	ck_assert(device_code_find(code, number, 10, 0x1000, SECOND, &found));
	ck_assert(device_code_find(code, 0, 10, 0x1000, SECOND, &found));
	ck_assert_uint_eq(device_code_find_all_during(code, number, 0x1000, SECOND, SECOND, &found, 1), 1);
	/* Over an interval, what is for the device and what is for any are given both, the oldest first. */
	struct iaprof_record_code_object object = { .header = { .source = 2, .time = 2 * SECOND },
						    .id = 1,
						    .device = 7,
						    .pid = 10,
						    .path = text("/nonexistent") };
	struct device_code_found several[3];
	device_code_take_code_object(code, &object);
	struct iaprof_record_kernel kernel = { .header = { .source = 2, .time = 2 * SECOND },
					       .id = 1,
					       .code_object = 1,
					       .pid = 10,
					       .name = text("own"),
					       .address = 0x1000,
					       .size = 64 };
	device_code_take_kernel(code, &kernel);
	take_kernel(0, 10, "any again", 0x1000, 64, 3 * SECOND);
	ck_assert_uint_eq(device_code_find_during(code, number, 10, 0x1008, 0, 4 * SECOND, several, 3), 3);
	ck_assert_str_eq(several[0].kernel, "any");
	ck_assert_str_eq(several[1].kernel, "own");
	ck_assert_str_eq(several[2].kernel, "any again");
	ck_assert_uint_eq(device_code_find_during(code, number, 10, 0x1008, 0, 4 * SECOND, several, 1), 3);
	ck_assert_uint_eq(device_code_find_during(code, 0, 10, 0x1008, 0, 4 * SECOND, several, 3), 2);
	ck_assert_str_eq(several[1].kernel, "any again");
	ck_assert_uint_eq(device_code_find_all_during(code, number, 0x1008, 0, 4 * SECOND, several, 3), 3);
	ck_assert_str_eq(several[0].kernel, "own");
	ck_assert_uint_eq(
		device_code_find_all_during(code, device_code_device(code, 2, 8), 0x1008, 0, 4 * SECOND, several, 3),
		2);
}

/* Sinks get each function with what readelf and the section .ze_info say of it. */
TEST_LOOP(functions_are_told_to_sinks, 0, 2)
{
	CLEANUP_FREE char *path = zebin_path(FIXTURE, _i ? ".bin" : ".loaded-debug.elf");
	CLEANUP_FREE char *placed = zebin_path(FIXTURE, ".loaded-debug.elf");
	expected_place_array wanted = zebin_functions(placed);
	struct code_object *object = zebin_open(FIXTURE, _i ? ".bin" : ".loaded-debug.elf");
	load_object(6, 10, path, SECOND);
	size_t told = 0;
	for (struct block *block = result_stream_take(&results), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
			ck_assert_int_eq(record_check(record, record->size, NULL), 0);
			if (record->type == IAPROF_RECORD_STRING)
				continue;
			ck_assert_uint_eq(record->type, IAPROF_RECORD_CODE_FUNCTION);
			ck_assert_uint_eq(record->source, 1);
			const struct iaprof_record_code_function *function = (const void *)record;
			const struct expected_place *place = NULL;
			for (size_t i = 0; i < wanted.count; i++)
				if (!strcmp(wanted.items[i].name, intern_text(intern, function->name)))
					place = &wanted.items[i];
			ck_assert_ptr_nonnull(place);
			ck_assert_uint_eq(function->code_object, 6);
			ck_assert_uint_eq(function->size, place->size);
			ck_assert_uint_eq(function->address, _i ? 0 : device_address_plain(place->address));
			ck_assert_uint_eq(function->flags, IAPROF_CODE_FUNCTION_KERNEL);
			const struct code_function *own = find_function(object, place->name);
			ck_assert_str_eq(intern_text(intern, function->shown_name), own->shown);
			ck_assert_uint_ge(function->attribute_count, 3);
			ck_assert_uint_eq(function->attribute_count, own->attribute_count);
			for (uint32_t i = 0; i < function->attribute_count; i++) {
				const struct iaprof_attribute *attribute =
					&iaprof_record_code_function_attributes(function)[i];
				int64_t value;
				ck_assert(code_function_attribute(own, intern_text(intern, attribute->name), &value));
				ck_assert_int_eq(attribute->value, value);
			}
			told++;
		}
		block_release(block);
	}
	ck_assert_uint_eq(told, wanted.count);
	array_free(&wanted);
	code_object_release(object);
}

TEST(a_replay_reads_nothing)
{
	device_code_free(code);
	code = device_code_new(&(struct device_code_options){ .intern = intern, .processes = processes });
	load_fixture(1, 10, ".loaded-debug.elf", SECOND);
	load_object(2, 10, "/nonexistent", SECOND);
	take_kernels(1, 10, SECOND);
	ck_assert_uint_eq(count_found(10, SECOND), 0);
	struct device_code_statistics statistics = device_code_statistics(code);
	ck_assert_uint_eq(statistics.code_objects, 2);
	ck_assert_uint_eq(statistics.kernels, loaded.count);
	ck_assert_uint_eq(statistics.unreadable, 0);
}

int main(void)
{
	return run_all_tests(300, set_up, tear_down);
}
