/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were mapped can be read after they are deleted, and only those. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process/kept_files.h"
#include "../run_suite.h"

/* A file in the working folder, open for reading. */
static int file_make(const char *name, const char *text)
{
	int descriptor = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);

	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, text, strlen(text)), strlen(text));
	return descriptor;
}

static uint64_t inode_of(int descriptor)
{
	struct stat status;

	ck_assert_int_eq(fstat(descriptor, &status), 0);
	return status.st_ino;
}

static void keep(struct kept_files *files, const char *name, const char *text)
{
	int descriptor = file_make(name, text);

	kept_files_add(files, &(struct kept_file_key){ name, inode_of(descriptor) }, descriptor);
	close(descriptor);
}

static void check_text(struct kept_files *files, const char *name, uint64_t inode, const char *text)
{
	struct stat status;
	char found[64] = "";
	int descriptor = kept_files_open(files, &(struct kept_file_key){ name, inode }, &status);

	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(pread(descriptor, found, sizeof found - 1, 0), strlen(text));
	ck_assert_str_eq(found, text);
	ck_assert_uint_eq(status.st_ino, inode);
	close(descriptor);
}

static void check_missing(struct kept_files *files, const char *name, uint64_t inode)
{
	struct stat status;

	ck_assert_int_eq(kept_files_open(files, &(struct kept_file_key){ name, inode }, &status), -ENOENT);
}

TEST(a_deleted_file_is_kept)
{
	struct kept_files files;
	int descriptor = file_make("kept-1", "one");
	uint64_t inode = inode_of(descriptor);

	kept_files_init(&files);
	kept_files_add(&files, &(struct kept_file_key){ "kept-1", inode }, descriptor);
	close(descriptor);
	ck_assert_int_eq(unlink("kept-1"), 0);
	check_text(&files, "kept-1", inode, "one");
	check_missing(&files, "kept-1", inode + 1);
	check_missing(&files, "kept-2", inode);
	check_missing(NULL, "kept-1", inode);
	kept_files_free(&files);
}

TEST(a_file_that_was_written_is_another)
{
	struct kept_files files;
	int descriptor = file_make("kept-1", "one");
	uint64_t inode = inode_of(descriptor);

	kept_files_init(&files);
	kept_files_add(&files, &(struct kept_file_key){ "kept-1", inode }, descriptor);
	ck_assert_int_eq(pwrite(descriptor, "longer", 6, 0), 6);
	check_missing(&files, "kept-1", inode);
	/* Mapped again, it is known as it is now. */
	kept_files_add(&files, &(struct kept_file_key){ "kept-1", inode }, descriptor);
	check_text(&files, "kept-1", inode, "longer");
	close(descriptor);
	ck_assert_int_eq(unlink("kept-1"), 0);
	kept_files_free(&files);
}

TEST(the_oldest_are_closed)
{
	struct kept_files files;
	struct rlimit limit, before;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 32; /* an eighth: four files */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	kept_files_init(&files);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	uint64_t inodes[6];
	char name[] = "kept-0", text[] = "0";
	for (int i = 0; i < 6; i++) {
		name[5] = text[0] = (char)('0' + i);
		keep(&files, name, text);
		keep(&files, name, text); /* another mapping of the same file, written again */
		int descriptor = open(name, O_RDONLY);
		inodes[i] = inode_of(descriptor);
		close(descriptor);
		ck_assert_int_eq(unlink(name), 0);
	}
	check_missing(&files, "kept-0", inodes[0]);
	check_text(&files, "kept-5", inodes[5], "5");
	ck_assert_uint_eq(files.count, 4);
	kept_files_free(&files);
}

int main(void)
{
	char folder[] = "/tmp/iaprof-kept-XXXXXX";

	if (!mkdtemp(folder) || chdir(folder) != 0)
		return 1;
	int result = run_all_tests(0, NULL, NULL);
	rmdir(folder);
	return result;
}
