/* SPDX-License-Identifier: Apache-2.0 */
/* Contents that nobody can change any more: a file in memory, sealed (memfd_create(2)). */
#ifndef IAPROF_CORE_BASE_SEALED_FILE_H
#define IAPROF_CORE_BASE_SEALED_FILE_H

#include <stdint.h>

/*
 * A descriptor, which the caller owns, of the contents of a regular file as they are now: of the file itself when it is
 * sealed, else of a copy. Returns it, or a negative errno: -EINVAL not a regular file, -EFBIG larger than size_max,
 * -ENOEXEC it became shorter meanwhile.
 */
int sealed_file_of(int descriptor, uint64_t size_max, uint64_t *size);

#endif
