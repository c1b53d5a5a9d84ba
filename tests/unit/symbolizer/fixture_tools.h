/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the symbolizer's tests: mappings of fixture files, and the output of binutils for them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "process/process.h"
#include "symbolizer/symbolizer.h"

/* Where a mapping of a fixture starts: any address will do. */
#define FIXTURE_START 0x7f0000000000

struct fixture_symbol {
	uint64_t address, size;
	char type; /* as nm prints it */
	char *name;
};
typedef ARRAY(struct fixture_symbol) fixture_symbol_array;

/* The path of a file that the build made; the caller frees it. */
char *fixture_path(const char *name);
/* A new folder for temporary files; the caller removes and frees it. */
char *fixture_folder(void);
/* A process that has ended, so that nothing is asked of /proc. */
struct process fixture_process(void);
/* A mapping of the whole file, identified by its inode. */
struct mapping fixture_mapping(const char *path, uint32_t serial);
/* Gives it the build id that readelf finds in the file, instead of the inode. */
void fixture_mapping_use_build_id(struct mapping *mapping, const char *path);
/* The address in the mapping for an ELF virtual address, by what readelf says of the segments. */
uint64_t fixture_address(const char *path, uint64_t elf_address);
/* Returns the name of unresolved code of a file, which the caller frees. */
char *fixture_nameless(const char *path, uint64_t address);
/* What nm prints, with these options. The caller frees it with fixture_symbols_free(). */
fixture_symbol_array fixture_symbols(const char *options, const char *path);
void fixture_symbols_free(fixture_symbol_array *symbols);
/* The first line that a command prints, without its newline; the caller frees it. */
char *command_line_output(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Runs a command; the test fails when it does. */
void command_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports all tests of the program as skipped and ends it. */
_Noreturn void skip_all(const char *reason);
