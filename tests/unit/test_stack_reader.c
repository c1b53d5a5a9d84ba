/* SPDX-License-Identifier: Apache-2.0 */
/* What sources of stacks do without, and which stacks records get (lib/bpf/stack_reader.h). */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "bpf/stack_reader.h"
#include "../run_suite.h"

static void ignore_log(const struct iaprof_host *host, int level, const char *format, ...)
{
	(void)host, (void)level, (void)format;
}

static int return_error(const struct iaprof_host *host, int error, const char *format, ...)
{
	(void)host, (void)format;
	return -abs(error);
}

static uint32_t intern_stack(const struct iaprof_host *host, uint32_t process, const uint64_t *addresses, size_t depth)
{
	(void)host;
	return depth ? process + (uint32_t)addresses[depth - 1] : 0;
}

static const struct iaprof_host host = { .log = ignore_log, .fail = return_error, .intern_stack = intern_stack };

static struct stack_reader reader_new(uint64_t unwind)
{
	return (struct stack_reader){
		.host = &host, .user = true, .unwind = unwind, .use_tables = true, .use_python = true
	};
}

TEST(a_refused_object_loses_python_frames_then_tables)
{
	struct stack_reader reader = reader_new(UNWIND_AUTO);
	ck_assert(stack_reader_reduce(&reader, -EINVAL));
	ck_assert(reader.use_tables && reader.python_is_refused);
	reader.use_python = false; /* as stack_reader_configure() sets it then */
	ck_assert(stack_reader_reduce(&reader, -EINVAL));
	ck_assert(!reader.use_tables);
	ck_assert(!stack_reader_reduce(&reader, -EINVAL));
}

TEST(tables_that_the_user_chose_are_kept)
{
	struct stack_reader reader = reader_new(UNWIND_TABLES);
	ck_assert(stack_reader_reduce(&reader, -EINVAL));
	reader.use_python = false;
	ck_assert(!stack_reader_reduce(&reader, -EINVAL));
	ck_assert(reader.use_tables);
}

TEST(errors_that_a_smaller_program_has_as_well_end_the_source)
{
	static const int errors[] = { -EPERM, -EMFILE, -ENFILE };
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		struct stack_reader reader = reader_new(UNWIND_AUTO);
		ck_assert(!stack_reader_reduce(&reader, errors[i]));
		ck_assert(reader.use_tables && !reader.python_is_refused);
	}
}

TEST(tables_are_not_used_without_user_stacks_or_with_frame_pointers)
{
	struct stack_reader reader = reader_new(UNWIND_FRAME_POINTERS);
	ck_assert_int_eq(stack_reader_probe(&reader, &host, BPF_PROG_TYPE_PERF_EVENT), 0);
	ck_assert(!reader.use_tables);
	reader = reader_new(UNWIND_TABLES);
	reader.user = false;
	ck_assert_int_eq(stack_reader_probe(&reader, &host, BPF_PROG_TYPE_PERF_EVENT), 0);
	ck_assert(!reader.use_tables);
}

TEST(stacks_that_are_lost_are_flagged)
{
	struct stack_reader reader = reader_new(UNWIND_AUTO);
	struct stack_addresses *stack = calloc(1, sizeof *stack + sizeof *stack->addresses);
	uint32_t flags = STACK_NO_TABLE;
	ck_assert_ptr_nonnull(stack);
	stack->depth = 1;
	stack->addresses[0] = 30;
	ck_assert_uint_eq(stack_reader_intern_user(&reader, 5, 1, 77, stack, &flags), 35);
	ck_assert_uint_eq(stack_reader_intern_user(&reader, 5, 1, 0, NULL, &flags), 0);
	ck_assert_uint_eq(flags, STACK_NO_TABLE);
	ck_assert_uint_eq(stack_reader_intern_user(&reader, 5, 1, 77, NULL, &flags), 0);
	ck_assert_uint_eq(flags, STACK_NO_TABLE | STACK_USER_MISSING);
	free(stack);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
