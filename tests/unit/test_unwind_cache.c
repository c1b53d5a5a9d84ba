/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of unwind tables: what was stored is found again, and nothing else is. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolizer/unwind/unwind_cache.h"
#include "../run_suite.h"

static char parent[] = "/tmp/iaprof-cache-XXXXXX", folder[64], entry[128];
static struct unwind_cache cache;
static struct remote_unwind made, found;
/* As of a file of 1970. */
static const struct file_identity file = {
	.device = 0x801, .inode = 0x77, .size = 1000, .modified = 5, .changed = 6, .mode = 0755
};

static void set_up(void)
{
	strcpy(parent + strlen(parent) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(parent));
	snprintf(folder, sizeof folder, "%s/tables", parent);
	snprintf(entry, sizeof entry, "%s/unwind-801-77", folder);
	ck_assert_int_eq(setenv("IAPROF_CACHE", folder, 1), 0);
	unwind_cache_open(&cache);
	memset(&made, 0, sizeof made);
	ck_assert(array_push(&made.segments, ((struct elf_segment){ .size = 0x3000, .executable = 1 })));
	ck_assert(array_push(&made.table.index, 0) && array_push(&made.table.index, 2) &&
		  array_push(&made.table.index, 3));
	for (uint16_t i = 0; i < 3; i++)
		ck_assert(array_push(&made.table.rows,
				     ((struct iaprof_unwind_row){ .offset = i == 1 ? 8 : 0, .rule = i % 2 })));
	ck_assert(array_push(&made.table.rules, (struct iaprof_unwind_rule){ 0 }));
	ck_assert(array_push(&made.table.rules,
			     ((struct iaprof_unwind_rule){ .cfa = IAPROF_UNWIND_CFA_STACK, .cfa_offset = 8 })));
	made.table.first_page = 5;
}

static void tear_down(void)
{
	char command[128];
	remote_unwind_free(&made);
	unwind_cache_close(&cache);
	snprintf(command, sizeof command, "rm -r %s", parent);
	ck_assert_int_eq(system(command), 0);
}

static bool has(const struct file_identity *wanted)
{
	bool result = unwind_cache_load(&cache, wanted, &found);
	if (result)
		remote_unwind_free(&found);
	return result;
}

TEST(what_was_stored_is_found)
{
	ck_assert_int_ge(cache.folder, 0);
	ck_assert(!has(&file));
	unwind_cache_store(&cache, &file, &made);
	ck_assert(unwind_cache_load(&cache, &file, &found));
	ck_assert_uint_eq(found.segments.count, 1);
	ck_assert_uint_eq(found.segments.items[0].size, 0x3000);
	ck_assert_uint_eq(found.table.first_page, 5);
	ck_assert_uint_eq(found.table.rows.count, 3);
	ck_assert_mem_eq(found.table.rows.items, made.table.rows.items, 3 * sizeof *made.table.rows.items);
	ck_assert_mem_eq(found.table.rules.items, made.table.rules.items, 2 * sizeof *made.table.rules.items);
	ck_assert_mem_eq(found.table.index.items, made.table.index.items, 3 * sizeof *made.table.index.items);
	remote_unwind_free(&found);
	struct stat status;
	ck_assert_int_eq(stat(folder, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0700);
	ck_assert_int_eq(stat(entry, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
}

TEST(a_file_without_a_table_is_remembered)
{
	array_free(&made.table.index);
	array_free(&made.table.rows);
	array_free(&made.table.rules);
	unwind_cache_store(&cache, &file, &made);
	ck_assert(has(&file));
}

TEST(another_file_is_not_found)
{
	unwind_cache_store(&cache, &file, &made);
	for (size_t i = 0; i < sizeof file; i++) {
		struct file_identity other = file;
		((uint8_t *)&other)[i] ^= 1;
		ck_assert_msg(!has(&other), "with another byte %zu", i);
	}
}

TEST(another_boot_or_program_has_other_tables)
{
	unwind_cache_store(&cache, &file, &made);
	struct unwind_cache_origin origin = cache.origin;
	cache.origin.boot_id[0] ^= 1;
	ck_assert(!has(&file));
	cache.origin = origin;
	cache.origin.program_modified++;
	ck_assert(!has(&file));
	cache.origin = origin;
	ck_assert(has(&file));
}

static void change(size_t offset, uint8_t bits)
{
	uint8_t byte;
	int descriptor = open(entry, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(descriptor, &byte, 1, (off_t)offset), 1);
	byte ^= bits;
	ck_assert_int_eq(pwrite(descriptor, &byte, 1, (off_t)offset), 1);
	close(descriptor);
}

TEST(a_damaged_entry_is_ignored)
{
	struct stat status;
	unwind_cache_store(&cache, &file, &made);
	ck_assert_int_eq(stat(entry, &status), 0);
	for (size_t i = 0; i < (size_t)status.st_size; i++) {
		change(i, 0x81);
		ck_assert_msg(!has(&file), "with byte %zu changed", i);
		change(i, 0x81);
	}
	ck_assert(has(&file));
	for (off_t size = status.st_size; size-- > 0;) {
		ck_assert_int_eq(truncate(entry, size), 0);
		ck_assert_msg(!has(&file), "with %ld bytes", (long)size);
	}
}

/* With a checksum that fits, the contents are still validated. */
TEST(an_invalid_table_is_ignored)
{
	made.table.rows.items[0].rule = 7;
	unwind_cache_store(&cache, &file, &made);
	ck_assert(!has(&file));
	made.table.rows.items[0].rule = 0;
	made.table.index.items[1] = 9;
	unwind_cache_store(&cache, &file, &made);
	ck_assert(!has(&file));
}

TEST(entries_of_others_are_ignored)
{
	unwind_cache_store(&cache, &file, &made);
	ck_assert_int_eq(chown(entry, 1000, 0), 0);
	ck_assert(!has(&file));
	ck_assert_int_eq(chown(entry, 0, 0), 0);
	ck_assert_int_eq(chmod(entry, 0620), 0);
	ck_assert(!has(&file));
	ck_assert_int_eq(chmod(entry, 0600), 0);
	ck_assert(has(&file));
	char moved[160];
	snprintf(moved, sizeof moved, "%s.moved", entry);
	ck_assert_int_eq(rename(entry, moved), 0);
	ck_assert_int_eq(symlink(moved, entry), 0);
	ck_assert(!has(&file));
}

/* Returns whether the folder is used, after a reopening. */
static bool is_used(void)
{
	unwind_cache_close(&cache);
	unwind_cache_open(&cache);
	return cache.folder >= 0;
}

TEST(a_folder_that_others_can_write_is_not_used)
{
	ck_assert(is_used());
	ck_assert_int_eq(chmod(folder, 0770), 0);
	ck_assert(!is_used());
	ck_assert_int_eq(chmod(folder, 0755), 0);
	ck_assert(!is_used());
	ck_assert_int_eq(chmod(folder, 0700), 0);
	ck_assert_int_eq(chown(folder, 1000, 0), 0);
	ck_assert(!is_used());
	ck_assert_int_eq(chown(folder, 0, 0), 0);
	ck_assert(is_used());
	ck_assert_int_eq(chmod(parent, 0777), 0);
	ck_assert(!is_used());
	ck_assert_int_eq(chmod(parent, 0700), 0);
	char moved[80];
	snprintf(moved, sizeof moved, "%s.moved", folder);
	ck_assert_int_eq(rename(folder, moved), 0);
	ck_assert_int_eq(symlink(moved, folder), 0);
	ck_assert(!is_used());
	ck_assert_int_eq(setenv("IAPROF_CACHE", "", 1), 0);
	ck_assert(!is_used());
}

TEST(without_a_folder_nothing_is_stored)
{
	ck_assert_int_eq(setenv("IAPROF_CACHE", "", 1), 0);
	ck_assert(!is_used());
	unwind_cache_store(&cache, &file, &made);
	ck_assert(!has(&file));
}

TEST(a_file_that_has_just_been_changed_is_not_stored)
{
	struct file_identity recent = file;
	recent.changed = (int64_t)clock_read(CLOCK_REALTIME);
	unwind_cache_store(&cache, &recent, &made);
	ck_assert(!has(&recent));
}

TEST(the_least_recently_used_entries_are_removed)
{
	struct file_identity files[3] = { file, file, file };
	struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	for (uint64_t i = 0; i < 3; i++) {
		char name[160];
		files[i].inode = i + 1;
		unwind_cache_store(&cache, &files[i], &made);
		snprintf(name, sizeof name, "%s/unwind-801-%d", folder, (int)i + 1);
		times[0].tv_sec = times[1].tv_sec = 1000 + (time_t)i;
		ck_assert_int_eq(utimensat(AT_FDCWD, name, times, 0), 0);
	}
	struct stat status;
	char name[160];
	snprintf(name, sizeof name, "%s/unwind-801-2", folder);
	ck_assert_int_eq(stat(name, &status), 0);
	uint64_t size = (uint64_t)status.st_blocks * 512;
	ck_assert(has(&files[0]));
	unwind_cache_trim(&cache, 2 * size);
	ck_assert(has(&files[0]));
	ck_assert(!has(&files[1]));
	ck_assert(has(&files[2]));
	unwind_cache_trim(&cache, 0);
	ck_assert(!has(&files[0]));
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP root is required\n");
		return 0;
	}
	return run_all_tests(0, set_up, tear_down);
}
