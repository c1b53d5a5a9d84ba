/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the CPython interpreter in an ELF file, and the layout of its structures: from 3.13 on the file states it
 * (_Py_DebugOffsets), before it is that of the minor version. Parses hostile data: call it in a child of the worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <iaprof/python.h>
#include "symbolizer/elf_file.h"

/* Returns false if the file has neither an interpreter nor the module greenlet. */
bool python_runtime_find(struct iaprof_python *python, const struct elf_file *elf);

/* Sets the layout of a version before 3.13. Returns false if it is not known. */
bool python_layout_of_version(struct iaprof_python *python);
/* Sets version and layout by the bytes at the beginning of _PyRuntime, from 3.13 on. Returns false if they are unknown.
 */
bool python_layout_of_offsets(struct iaprof_python *python, const void *bytes, size_t size);
