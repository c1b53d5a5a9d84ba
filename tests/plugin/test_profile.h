/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a struct iaprof_profile by hand, for tests of sinks. Strings are borrowed: literals, or the test's own. */
#pragma once

#include <iaprof/profile.h>

#include "base/array.h"

/* When the run of a profile begins, CLOCK_MONOTONIC ns. */
#define TEST_PROFILE_BEGIN 1000

struct test_profile {
	ARRAY(struct iaprof_frame) frames;
	ARRAY(struct iaprof_stack) stacks;
	ARRAY(struct iaprof_value_type) value_types;
	ARRAY(struct iaprof_value) values;
	ARRAY(struct iaprof_lost) lost;
	ARRAY(struct iaprof_module) modules;
	ARRAY(struct iaprof_time_value) times;
	ARRAY(struct iaprof_time_value) time_totals;
	uint64_t time_width, total_width;       /* ns; a test sets them before it adds times */
	uint64_t end;                           /* of the run; 0: after 5 seconds */
	const struct iaprof_activity *activity; /* a test may set it */
	const char *const *metadata;            /* likewise; NULL: none */
	struct iaprof_profile profile;          /* filled by test_profile_get() */
};

/* Adds a value type and returns its index. */
uint32_t test_profile_value_type(struct test_profile *profile, const char *name, const char *unit);
/* Adds a frame and returns its id. */
uint32_t test_profile_frame(struct test_profile *profile, const struct iaprof_frame *frame);
/* Adds a stack of frame ids, root first, and returns its index. */
uint32_t test_profile_stack(struct test_profile *profile, const uint32_t *frames, uint32_t count);
void test_profile_value(struct test_profile *profile, uint32_t stack, uint32_t value_type, uint64_t value);
/* The time at which a value was added, which is also passed to test_profile_value(). */
void test_profile_time(struct test_profile *profile, uint32_t stack, uint32_t value_type, uint64_t time,
		       uint64_t value);
void test_profile_lost(struct test_profile *profile, const struct iaprof_lost *lost);

/* Adds a stack of a program (a PROCESS frame) and functions (USER frames), "program;function;function", and a value. */
void test_profile_add(struct test_profile *profile, const char *stack, uint32_t value_type, uint64_t value);

/* The profile so far, as the last one of a run. */
const struct iaprof_profile *test_profile_get(struct test_profile *profile);
void test_profile_free(struct test_profile *profile);
