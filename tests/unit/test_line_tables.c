/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables without units, as compilers of device code write them: tests/data/line-tables. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/device/code_object.h"
#include "../run_suite.h"

#define MACHINE 190 /* EM_CUDA in the registry of ELF machines */

static const char *const images[] = { "kernels.sm_75", "kernels.sm_90" };

/* The calls in kernels.cu, where both are inlined or the caller is the kernel around them. */
static const struct {
	const char *caller, *callee;
	uint32_t line;
} calls[] = { { "pair", "weight", 9 },
	      { "pair", "weight", 10 },
	      { "series", "pair", 17 },
	      { "first", "pair", 25 },
	      { "first", "weight", 27 },
	      { "second", "series", 0 }, /* not inlined: the line is not known */
	      { "second", "weight", 33 },
	      { "third", "pair", 38 },
	      { "second", "[division: __cuda_sm3x_div_rn_noftz_f32_slowpath]", 0 } };

static char *data_path(const char *image, const char *suffix)
{
	const char *folder = getenv("TEST_SOURCE_FOLDER");
	char *path = NULL;
	ck_assert_int_gt(asprintf(&path, "%s/tests/data/line-tables/%s%s", folder ? folder : ".", image, suffix), 0);
	return path;
}

static struct code_object *open_image(const char *image)
{
	static const struct iaprof_relocation relocations[] = { { 2, 8, IAPROF_RELOCATION_ABSOLUTE, 0 } };
	static struct plugin plugin = {
		.operations.decoder = { .machine = MACHINE, .relocations = relocations, .relocation_count = 1 }
	};
	static struct decoder decoder = { .plugin = &plugin, .name = "lines" };
	CLEANUP_FREE char *path = data_path(image, ".cubin");
	struct code_object *object;
	ck_assert_int_eq(code_object_open_file(&object, path, MACHINE, &decoder), 0);
	return object;
}

static uint64_t section_address(struct code_object *object, const char *name)
{
	size_t count;
	const struct code_section *sections = code_object_sections(object, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(sections[i].name, name) == 0)
			return sections[i].address;
	ck_abort_msg("there is no section %s", name);
}

static bool is_call(const struct debug_frame *caller, const struct debug_frame *callee)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strcmp(calls[i].caller, caller->name) == 0 && strcmp(calls[i].callee, callee->name) == 0 &&
		    calls[i].line == caller->line)
			return true;
	return false;
}

TEST_LOOP(every_instruction_has_its_line_and_calls_of_the_source, 0, 2)
{
	struct code_object *object = open_image(images[_i]);
	CLEANUP_FREE char *path = data_path(images[_i], ".lines");
	CLEANUP_FCLOSE FILE *lines = fopen(path, "re");
	ck_assert_ptr_nonnull(lines);
	char name[64];
	unsigned offset, line;
	size_t deepest = 0, count = 0;
	for (; fscanf(lines, "%63s %x %u", name, &offset, &line) == 3; count++) {
		struct code_location location;
		struct debug_frame frames[8];
		size_t depth = code_object_find(object, section_address(object, name) + offset, &location, frames, 8);
		ck_assert_uint_gt(depth, 0);
		ck_assert_msg(frames[depth - 1].line == line, "%s+%x: %u instead of %u", name, offset,
			      frames[depth - 1].line, line);
		for (size_t i = 0; i < depth; i++)
			ck_assert_str_eq(frames[i].file, "kernels.cu");
		for (size_t i = 1; i < depth; i++)
			ck_assert_msg(is_call(&frames[i - 1], &frames[i]), "%s+%x: %s:%u calls %s", name, offset,
				      frames[i - 1].name, frames[i - 1].line, frames[i].name);
		deepest = depth > deepest ? depth : deepest;
	}
	ck_assert_uint_gt(count, 250);
	ck_assert_uint_eq(deepest, 4);
	struct code_damage damage = code_object_damage(object), none = { 0 };
	ck_assert_mem_eq(&damage, &none, sizeof none);
	code_object_release(object);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
