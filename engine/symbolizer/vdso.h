/* SPDX-License-Identifier: Apache-2.0 */
/* The vDSO, which the Linux kernel maps into every process, as mapped into iaprof. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "process/process.h"

/*
 * Creates a file in memory with a copy of iaprof's own vDSO; *size is that of its mapping. Returns a descriptor or a
 * negative errno.
 */
int vdso_open(uint64_t *size);
/*
 * Returns whether a running process's vDSO is the same as iaprof's, which has this size: 32-bit programs use a
 * different one.
 */
bool vdso_is_same(const struct mapping *mapping, uint64_t size);
