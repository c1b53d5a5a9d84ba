/* SPDX-License-Identifier: Apache-2.0 */
/* C++ (Itanium ABI) and Rust (legacy and v0) symbol names as their programmers wrote them. */
#ifndef IAPROF_CORE_SYMBOLIZER_DEMANGLE_H
#define IAPROF_CORE_SYMBOLIZER_DEMANGLE_H

#include <stddef.h>

/* The longest demangled name, in bytes without the NUL; a name that would be longer stays as it is. */
#define DEMANGLE_LENGTH_MAX 4095

/*
 * Writes the demangled form of a symbol's name into text and returns its length; 0: it is not a mangled name, or one
 * that is damaged or too long. As perf does, without the parameters of a function and without a Rust name's hash.
 */
size_t demangle(const char *name, char text[DEMANGLE_LENGTH_MAX + 1]);

#endif
