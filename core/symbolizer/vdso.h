/* SPDX-License-Identifier: Apache-2.0 */
/* The code that the Linux kernel maps into every process: the vDSO, as iaprof has it itself. */
#ifndef IAPROF_CORE_SYMBOLIZER_VDSO_H
#define IAPROF_CORE_SYMBOLIZER_VDSO_H

#include "process/process.h"
#include "symbolizer/elf_file.h"

/* Opens a copy of iaprof's own vDSO; *size is that of its mapping. Returns 0 or a negative errno. */
int vdso_open(struct elf_file *elf, uint64_t *size);
/* Whether a running process's vDSO is the same one as iaprof's, which has this size: 32-bit programs have another. */
bool vdso_is_same(const struct mapping *mapping, uint64_t size);

#endif
