/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling of C++ (Itanium ABI) and Rust (legacy and v0) symbol names. */
#pragma once

#include <stddef.h>

/* The longest demangled name, in bytes without the NUL; longer names are left mangled. */
#define DEMANGLE_LENGTH_MAX 4095

/*
 * Writes the demangled form of a symbol's name into text and returns its length; 0: not a mangled name, or malformed or
 * too long. Like perf, omits function parameters and the hash of Rust names. The name of a type, which kernels have, is
 * the type.
 */
size_t demangle(const char *name, char text[DEMANGLE_LENGTH_MAX + 1]);
