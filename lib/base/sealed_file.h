/* SPDX-License-Identifier: Apache-2.0 */
/* Immutable contents: a sealed file in memory (memfd_create(2)). */
#pragma once

#include <stdint.h>

/*
 * Returns a descriptor, owned by the caller, of the current contents of a regular file: the file itself if it is
 * sealed, otherwise a copy; or a negative errno: -EINVAL not a regular file, -EFBIG larger than size_max, -ENOEXEC
 * truncated during the copy.
 */
int sealed_file_of(int descriptor, uint64_t size_max, uint64_t *size);
