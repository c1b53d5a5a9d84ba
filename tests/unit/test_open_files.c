/* SPDX-License-Identifier: Apache-2.0 */
/* Files that stay open are found again for other mappings of the same file, and only for those. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolizer/open_files.h"
#include "../run_suite.h"

static struct process process = { .pid = 1, .end = UINT64_MAX, .root = PROCESS_ROOT_OWN };
static struct mapping mapping;
static struct open_files files;
static struct file_identity identity;

static struct mapped_file_request request_make(void)
{
	return (struct mapped_file_request){
		.process = &process, .mapping = &mapping, .latest = clock_monotonic(), .live = true
	};
}

/* Adds a new file, as if it had been opened for the mapping. */
static void add_file(void)
{
	struct stat status;
	struct mapped_file file = { .descriptor = open("file", O_CREAT | O_RDWR | O_CLOEXEC, 0600),
				    .root = PROCESS_ROOT_OWN };
	ck_assert_int_eq(fstat(file.descriptor, &status), 0);
	file.identity = (struct file_identity){ .device = status.st_dev,
						.inode = status.st_ino,
						.size = (uint64_t)status.st_size,
						.modified = timespec_nanoseconds(&status.st_mtim),
						.changed = timespec_nanoseconds(&status.st_ctim) };
	mapping = (struct mapping){ .path = "/file",
				    .inode = status.st_ino,
				    .device_major = major(status.st_dev),
				    .device_minor = minor(status.st_dev) };
	process.root = PROCESS_ROOT_OWN;
	const struct mapped_file_request request = request_make();
	open_files_init(&files);
	open_files_add(&files, &request, &file);
	ck_assert_int_eq(file.descriptor, -1); /* it was taken */
	ck_assert_uint_eq(files.items.count, 1);
}

static bool is_found(void)
{
	const struct mapped_file_request request = request_make();
	return open_files_find(&files, &request, &identity);
}

TEST(another_process_has_the_same_file)
{
	add_file();
	process.pid++;
	ck_assert(is_found());
	ck_assert_uint_eq(identity.inode, mapping.inode);
	open_files_free(&files);
}

TEST(other_files_are_not_found)
{
	add_file();
	mapping.path = "/other";
	ck_assert(!is_found());
	mapping.path = "/file";
	mapping.inode_generation++;
	ck_assert(!is_found());
	mapping.inode_generation--;
	mapping.flags = IAPROF_MAPPING_DELETED;
	ck_assert(!is_found());
	mapping.flags = 0;
	process.root = 7;
	ck_assert(!is_found());
	process.root = PROCESS_ROOT_OWN;
	ck_assert(is_found());
	open_files_free(&files);
}

TEST(a_file_that_changes_is_not_found)
{
	add_file();
	int descriptor = files.items.items[0].descriptor;
	ck_assert_int_eq(write(descriptor, "text", 4), 4);
	ck_assert(!is_found());
	ck_assert_uint_eq(files.items.count, 0);
	ck_assert_int_eq(fcntl(descriptor, F_GETFD), -1);
	open_files_free(&files);
}

/* The inode number of an earlier file was reused. */
TEST(an_earlier_mapping_has_another_file)
{
	add_file();
	struct mapped_file_request request = request_make();
	request.latest = clock_monotonic() - 60 * NANOSECONDS_PER_SECOND;
	ck_assert(!open_files_find(&files, &request, &identity));
	ck_assert(is_found());
	open_files_free(&files);
}

TEST(unused_files_are_closed)
{
	add_file();
	int descriptor = files.items.items[0].descriptor;
	uint64_t before = clock_monotonic();
	ck_assert(is_found());
	open_files_close(&files, before);
	ck_assert_uint_eq(files.items.count, 1);
	open_files_close(&files, clock_monotonic() + 1);
	ck_assert_uint_eq(files.items.count, 0);
	ck_assert_int_eq(fcntl(descriptor, F_GETFD), -1);
	open_files_free(&files);
}

TEST(the_number_of_files_is_limited)
{
	add_file();
	struct mapped_file file = { .descriptor = open("file", O_RDONLY | O_CLOEXEC),
				    .root = PROCESS_ROOT_OWN,
				    .identity = files.items.items[0].identity };
	struct mapped_file_request request = request_make();
	files.limit = 1;
	mapping.path = "/link";
	open_files_add(&files, &request, &file);
	ck_assert_uint_eq(files.items.count, 1);
	ck_assert_int_ge(file.descriptor, 0);
	close(file.descriptor);
	open_files_free(&files);
}

int main(void)
{
	char folder[] = "/tmp/iaprof-open-XXXXXX";

	if (!mkdtemp(folder) || chdir(folder))
		return EXIT_FAILURE;
	int result = run_all_tests(0, NULL, NULL);
	unlink("file");
	rmdir(folder);
	return result;
}
