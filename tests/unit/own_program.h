/* SPDX-License-Identifier: Apache-2.0 */
/* The test's own program file, as an ELF file whose functions are known. */
#pragma once

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the bytes of the file, which the caller frees. */
static inline unsigned char *program_read(size_t *size)
{
	struct stat status;
	int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(fstat(descriptor, &status), 0);
	unsigned char *program = malloc((size_t)status.st_size);
	ck_assert_ptr_nonnull(program);
	ck_assert_int_eq(read(descriptor, program, (size_t)status.st_size), status.st_size);
	close(descriptor);
	*size = (size_t)status.st_size;
	return program;
}
