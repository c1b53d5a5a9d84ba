/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of code objects share: the fixtures in tests/data/zebin, and what its judges and readelf say of them. */
#pragma once

#include <stdint.h>
#include "base/array.h"
#include "symbolizer/device/code_object.h"
#include "symbolizer/device/remote_code.h"

#define EXPECTED_FRAMES_MAX 8

/* A line of NAME.instructions.tsv.xz. */
struct expected_instruction {
	uint64_t address, offset;
	char kernel[128];
	uint32_t size;
	char mnemonic[64];
	size_t frame_count;
	struct {
		char function[128], file[128];
		uint32_t line;
	} frames[EXPECTED_FRAMES_MAX]; /* the innermost first; the outermost is the kernel's */
};
typedef ARRAY(struct expected_instruction) expected_instruction_array;

/* A section with code or a function, as readelf prints it. */
struct expected_place {
	uint64_t address, size;
	char name[128];
};
typedef ARRAY(struct expected_place) expected_place_array;

/* "bmg/transformer": all of them. */
extern const char *const zebin_fixtures[];
extern const int zebin_fixture_count;

/* The path of a file, which the caller frees: zebin_path("bmg/transformer", ".bin"). */
char *zebin_path(const char *fixture, const char *suffix);
/* Its bytes, which the caller frees. */
char *zebin_bytes(const char *fixture, const char *suffix, size_t *size);
/* The decoder plugin of these images, which the environment names, loaded once; a failure fails the test. */
struct decoder_finder *zebin_decoders(void);
struct decoder *zebin_decoder(void);
/* Opens it with its decoder; a failure fails the test. */
struct code_object *zebin_open(const char *fixture, const char *suffix);

/* An image as a child of the worker reads it. */
struct zebin_remote {
	struct budget budget;
	struct remote_code_context context;
	struct remote_code *code;
};
/* A failure fails the test. decoders: NULL none. */
void zebin_remote_open(struct zebin_remote *remote, const char *bytes, size_t size, struct decoder_finder *decoders);
void zebin_remote_close(struct zebin_remote *remote);

/* The caller frees them with array_free(). */
expected_instruction_array zebin_instructions(const char *fixture);
expected_place_array zebin_sections(const char *path);  /* with code */
expected_place_array zebin_functions(const char *path); /* of type FUNC */

/* The image's own address for where a section was loaded, by what readelf says of the loaded file. */
uint64_t zebin_own_address(const struct code_object *object, const expected_place_array *loaded, uint64_t address);

/* Fail the test unless an answer is what the judges say. */
void zebin_check_frames(const struct expected_instruction *wanted, const struct debug_frame *frames, size_t count);
void zebin_check_location(const struct expected_instruction *wanted, const struct code_location *location);

/* The header of a section, and the function's entry in .symtab, to be damaged; a failure fails the test. */
Elf64_Shdr *zebin_section(char *bytes, const char *name);
Elf64_Sym *zebin_symbol(char *bytes, const char *name);

/* The function with this name, or NULL. */
const struct code_function *find_function(const struct code_object *object, const char *name);
