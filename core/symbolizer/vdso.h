/* SPDX-License-Identifier: Apache-2.0 */
/* The code that the Linux kernel maps into every process: the vDSO, as iaprof has it itself. */
#ifndef IAPROF_CORE_SYMBOLIZER_VDSO_H
#define IAPROF_CORE_SYMBOLIZER_VDSO_H

#include <stdbool.h>
#include <stdint.h>
#include "process/process.h"

/* A copy of iaprof's own vDSO as a file in memory; *size is that of its mapping. Returns a descriptor or a negative
 * errno. */
int vdso_open(uint64_t *size);
/* Whether a running process's vDSO is the same one as iaprof's, which has this size: 32-bit programs have another. */
bool vdso_is_same(const struct mapping *mapping, uint64_t size);

#endif
