/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids of files with code: read with the image, sent once as MODULE records, and taken from them in a replay. */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bus/record_check.h"
#include "profile/collector.h"
#include "../run_suite.h"

static struct intern *intern;
static struct collector *collector;

static char library[4096]; /* a file of the machine that has a build id, with the path that /proc shows */
static char expected[2 * IAPROF_MODULE_BUILD_ID_SIZE_MAX + 1];

/* The C library, and what readelf prints of it. */
static void find_library(void)
{
	Dl_info info;
	char command[4200], line[256];
	ck_assert(dladdr((const void *)(uintptr_t)gnu_get_libc_version, &info));
	ck_assert_ptr_nonnull(realpath(info.dli_fname, library));
	snprintf(command, sizeof command, "LC_ALL=C readelf -n '%s' 2>/dev/null", library);
	FILE *pipe = popen(command, "re");
	ck_assert_ptr_nonnull(pipe);
	while (fgets(line, sizeof line, pipe))
		sscanf(line, " Build ID: %128[0-9a-f]", expected);
	pclose(pipe);
	ck_assert_str_ne(expected, "");
}

static uint32_t text(const char *name)
{
	return intern_string(intern, name, strlen(name));
}

static void take(const struct iaprof_record *record)
{
	collector_take(collector, &(struct iaprof_batch){ .records = record, .size = record->size, .count = 1 }, NULL,
		       NULL);
}

static void start(bool live)
{
	collector = collector_new(&(struct collector_options){ .intern = intern, .records = live, .live = live });
	ck_assert_ptr_nonnull(collector);
}

static void set_up(void)
{
	intern = intern_new(NULL);
	if (!*library)
		find_library();
}

static void tear_down(void)
{
	collector_free(collector);
	intern_free(intern);
}

#define START UINT64_C(0x10000000)

/* A process that has the library mapped, and count samples in it. */
static void take_samples(const uint8_t *build_id, uint32_t build_id_size, uint64_t count)
{
	uint32_t pid = (uint32_t)getpid();
	struct stat status;
	ck_assert_int_eq(stat(library, &status), 0);
	struct iaprof_record_value_type type = { .header = { .size = sizeof type, .type = IAPROF_RECORD_VALUE_TYPE },
						 .id = 1,
						 .name = text("cpu"),
						 .unit = text("count") };
	take(&type.header);
	struct iaprof_record_process process = {
		.header = { .size = sizeof process, .type = IAPROF_RECORD_PROCESS },
		.pid = pid,
		.event = IAPROF_PROCESS_EXISTING,
		.name = text("test"),
	};
	take(&process.header);
	struct iaprof_record_mapping mapping = {
		.header = { .size = sizeof mapping, .type = IAPROF_RECORD_MAPPING },
		.pid = pid,
		.path = text(library),
		.start = START,
		.size = (uint64_t)status.st_size,
		.inode = status.st_ino,
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
		.flags = IAPROF_MAPPING_EXISTING,
		.build_id_size = build_id_size,
	};
	if (build_id_size)
		memcpy(mapping.build_id, build_id, build_id_size);
	take(&mapping.header);
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t address = START + (uint64_t)status.st_size / 2 + 16 * i;
		struct iaprof_record_sample sample = {
			.header = { .size = sizeof sample, .type = IAPROF_RECORD_SAMPLE, .time = i },
			.pid = pid,
			.user_stack = intern_stack(intern, pid, &address, 1),
			.value_type = 1,
			.count = 1,
			.value = 1,
			.first_time = i,
		};
		take(&sample.header);
	}
	struct iaprof_record_sync sync = {
		.header = { .size = sizeof sync, .type = IAPROF_RECORD_SYNC, .time = count + 1 }
	};
	take(&sync.header);
	collector_finish(collector);
}

/* The only MODULE record that waits: into *module with its build id. Whether FRAMES records came after it. */
struct sent_module {
	struct iaprof_record_module head;
	uint8_t build_id[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
};

static uint32_t take_sent(struct sent_module *module, uint32_t *frames_after)
{
	uint32_t count = 0;
	*frames_after = 0;
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
			struct error error = { 0 };
			ck_assert_int_eq(record_check(record, record->size, &error), 0);
			if (record->type == IAPROF_RECORD_MODULE) {
				ck_assert_uint_le(record->size, sizeof *module);
				memcpy(module, record, record->size);
				count++;
			}
			*frames_after += count && record->type == IAPROF_RECORD_FRAMES;
		}
		block_release(block);
	}
	return count;
}

static void check_modules(const char *build_id)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(snapshot->profile.module_count, build_id != NULL);
	if (build_id) {
		ck_assert_str_eq(iaprof_profile_module(&snapshot->profile, 0)->path, library);
		ck_assert_str_eq(iaprof_profile_module(&snapshot->profile, 0)->build_id, build_id);
	}
	snapshot_release(snapshot);
}

TEST(build_ids_are_sent_once_and_replayed)
{
	struct sent_module module;
	uint32_t frames_after;
	start(true);
	take_samples(NULL, 0, 10);
	ck_assert_uint_eq(take_sent(&module, &frames_after), 1);
	ck_assert_uint_eq(frames_after, 10);
	ck_assert_str_eq(intern_text(intern, module.head.path), library);
	check_modules(expected);

	/* A replay knows it from the record alone. */
	collector_free(collector);
	start(false);
	check_modules(NULL);
	take(&module.head.header);
	take(&module.head.header);
	check_modules(expected);
}

/* Longer than Linux can put into a record of a mapping. */
TEST(long_build_ids_are_whole)
{
	struct sent_module module = { .head = { .header = { .size = sizeof module, .type = IAPROF_RECORD_MODULE },
						.path = text(library),
						.build_id_size = sizeof module.build_id } };
	char shown[2 * sizeof module.build_id + 1];
	for (size_t i = 0; i < sizeof module.build_id; i++) {
		module.build_id[i] = (uint8_t)(0xc0 + i);
		snprintf(shown + 2 * i, sizeof shown - 2 * i, "%02x", module.build_id[i]);
	}
	start(false);
	take(&module.head.header);
	check_modules(shown);
}

/* Versions before MODULE records had build ids in those of mappings. */
TEST(old_captures_have_them_in_mappings)
{
	const uint8_t build_id[] = { 0xc0, 0xff, 0xee };
	start(false);
	take_samples(build_id, sizeof build_id, 3);
	check_modules("c0ffee");
}

TEST(damaged_records_are_refused)
{
	struct error error = { 0 };
	struct {
		struct iaprof_record_module head;
		uint8_t build_id[24];
	} module = { .head = { .header = { .size = sizeof module, .type = IAPROF_RECORD_MODULE }, .path = 1 } };
	for (uint32_t size = 0; size <= 30; size++) {
		module.head.build_id_size = size;
		ck_assert_int_eq(record_check(&module, sizeof module, &error), size && size <= 24 ? 0 : -EINVAL);
	}
	module.head.build_id_size = UINT16_MAX;
	ck_assert_int_eq(record_check(&module, sizeof module, &error), -EINVAL);
	start(false);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
