/* SPDX-License-Identifier: Apache-2.0 */
/* The answer in a profile, of stacks whose answer is plain to see. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/test_profile.h"
#include "stacks/profile_summary.h"
#include "../run_suite.h"

static struct test_profile profile;
static struct profile_summary summary;
static struct text text;
static uint32_t stalls;

/* Texts of frames, which borrow them. */
static char descriptions[8][256];
static size_t description_count;

static void setup(void)
{
	profile = (struct test_profile){ 0 };
	summary = (struct profile_summary){ 0 };
	text = (struct text){ 0 };
	stalls = test_profile_value_type(&profile, "gpu-stalls", "count");
	description_count = 0;
}

static void teardown(void)
{
	profile_summary_free(&summary);
	text_free(&text);
	test_profile_free(&profile);
}

static uint32_t frame(const char *name, uint32_t kind, uint32_t flags, const char *file, uint32_t line)
{
	return test_profile_frame(
		&profile,
		&(struct iaprof_frame){ .name = name, .kind = kind, .flags = flags, .file = file, .line = line });
}

static uint32_t reason(const char *name, uint32_t stall_class)
{
	return frame(name, IAPROF_FRAME_STALL_REASON, stall_class << IAPROF_FRAME_STALL_CLASS_SHIFT, NULL, 0);
}

/* In place of a reason: time without a sample. */
#define UNSAMPLED UINT32_MAX

/* A launch from a line of model.c, of a kernel that stalls in a line of tile.cl, and waits for another line, or 0. */
static void add(const char *kernel, uint32_t line, uint32_t producer, uint32_t reason_frame, uint64_t value)
{
	uint32_t frames[10], count = 0;
	frames[count++] = frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0);
	frames[count++] = frame("forward", IAPROF_FRAME_USER, 0, "/src/model.c", 7);
	frames[count++] = test_profile_frame(&profile, &(struct iaprof_frame){ .name = "submit",
									       .kind = IAPROF_FRAME_USER,
									       .flags = IAPROF_FRAME_LIBRARY,
									       .module = "/usr/lib/libdriver.so.1" });
	frames[count++] = frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0);
	frames[count++] = frame(kernel, IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0);
	frames[count++] = frame("helper", IAPROF_FRAME_DEVICE_FUNCTION, IAPROF_FRAME_INLINED, NULL, 0);
	frames[count++] = frame("mad", IAPROF_FRAME_DEVICE_INSTRUCTION, 0, line ? "/k/tile.cl" : NULL, line);
	if (producer)
		frames[count++] =
			frame("load", IAPROF_FRAME_DEVICE_INSTRUCTION, IAPROF_FRAME_PRODUCER, "/k/tile.cl", producer);
	if (reason_frame != UNSAMPLED)
		frames[count++] = reason_frame;
	test_profile_value(&profile, test_profile_stack(&profile, frames, count), stalls, value);
}

/* The same kernel, launched by native code that a Python function calls. flags: of the native code. */
static void add_of_python(uint32_t reason_frame, uint32_t flags, uint64_t value)
{
	uint32_t frames[] = {
		frame("python3", IAPROF_FRAME_PROCESS, 0, NULL, 0),
		frame("main", IAPROF_FRAME_USER, IAPROF_FRAME_LIBRARY, "/src/python.c", 15),
		frame("Linear.forward", IAPROF_FRAME_PYTHON, 0, "/src/linear.py", 21),
		frame("Module.__call__", IAPROF_FRAME_PYTHON, IAPROF_FRAME_LIBRARY, "/torch/nn/module.py", 1773),
		frame("enqueue", IAPROF_FRAME_USER, flags, "/src/extension.cpp", 88),
		frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0),
		frame("gemm", IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0),
		reason_frame,
	};
	test_profile_value(&profile, test_profile_stack(&profile, frames, sizeof frames / sizeof *frames), stalls,
			   value);
}

static void make(uint32_t value_type)
{
	ck_assert_int_eq(profile_summary_make(&summary, test_profile_get(&profile), value_type), 0);
	profile_summary_append_text(&text, &summary);
	text_append(&text, "", 1);
	ck_assert(!text.failed);
}

#define EXPECT(part) ck_assert_msg(strstr(text.data, part) != NULL, "no \"%s\" in:\n%s", part, text.data)

TEST_LOOP(a_launch_from_python_is_of_the_programs_python_line, 0, 2)
{
	add_of_python(reason("sb", IAPROF_STALL_DATA), _i ? IAPROF_FRAME_LIBRARY : 0, 10);
	make(stalls);
	EXPECT("  Launch site: Linear.forward, linear.py:21\n");
}

/* A thread that a library starts, such as PyTorch's for gradients: no frame is of the program. */
static void add_of_library(uint32_t reason_frame, uint64_t value)
{
	static const struct {
		const char *name, *module;
		uint32_t flags;
	} chain[] = {
		{ "[libc.so.6+0x129ec5]", "/lib/libc.so.6", IAPROF_FRAME_UNKNOWN },
		{ "thread_init", "/site-packages/libtorch_python.so", 0 },
		{ "Engine::evaluate_function", "/site-packages/libtorch_cpu.so", 0 },
		{ "AddmmBackward0::apply", "/site-packages/libtorch_cpu.so", 0 },
		{ "at::mm", "/site-packages/libtorch_cpu.so", 0 },
		{ "addmm_out", "/site-packages/libtorch_cuda.so", 0 },
		{ "gemm_internal", "/site-packages/libtorch_cuda.so", 0 },
		{ "[libcublas.so.13+0x43e7a0]", "/site-packages/libcublas.so.13", IAPROF_FRAME_UNKNOWN },
		{ "cuLaunchKernel", "/lib/libcuda.so.1", 0 },
	};
	uint32_t frames[sizeof chain / sizeof *chain + 4], count = 0;
	frames[count++] = frame("python3", IAPROF_FRAME_PROCESS, 0, NULL, 0);
	for (size_t i = 0; i < sizeof chain / sizeof *chain; i++)
		frames[count++] = test_profile_frame(
			&profile, &(struct iaprof_frame){ .name = chain[i].name,
							  .kind = IAPROF_FRAME_USER,
							  .flags = chain[i].flags | IAPROF_FRAME_LIBRARY,
							  .module = chain[i].module });
	frames[count++] = frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0);
	frames[count++] = frame("gemm", IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0);
	frames[count++] = reason_frame;
	test_profile_value(&profile, test_profile_stack(&profile, frames, count), stalls, value);
}

TEST(a_launch_from_a_thread_of_libraries_is_of_the_largest_one)
{
	add_of_library(reason("sb", IAPROF_STALL_DATA), 10);
	make(stalls);
	EXPECT("  Launch site: at::mm, libtorch_cpu.so\n");
}

TEST(a_function_that_the_compiler_made_for_launching_is_no_launch_site)
{
	uint32_t frames[] = { frame("solver", IAPROF_FRAME_PROCESS, 0, NULL, 0),
			      frame("main", IAPROF_FRAME_USER, 0, NULL, 0),
			      frame("relax", IAPROF_FRAME_USER, 0, "/src/solver.cu", 30),
			      frame("scan", IAPROF_FRAME_USER, 0, NULL, 0),
			      frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0),
			      frame("scan", IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0),
			      reason("sb", IAPROF_STALL_DATA) };
	test_profile_value(&profile, test_profile_stack(&profile, frames, 7), stalls, 10);
	make(stalls);
	EXPECT("  Launch site: relax, solver.cu:30\n");
}

static void add_of_class(const char *name, const char *class, uint64_t value)
{
	uint32_t kernel = test_profile_frame(
		&profile,
		&(struct iaprof_frame){ .name = name, .kind = IAPROF_FRAME_DEVICE_FUNCTION, .kernel_class = class });
	uint32_t frames[] = { frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0), kernel,
			      reason("sb", IAPROF_STALL_DATA) };
	test_profile_value(&profile, test_profile_stack(&profile, frames, 3), stalls, value);
}

static void add_of_rank(const char *process, const char *class, uint32_t type, uint64_t value)
{
	uint32_t kernel = test_profile_frame(
		&profile,
		&(struct iaprof_frame){ .name = class, .kind = IAPROF_FRAME_DEVICE_FUNCTION, .kernel_class = class });
	uint32_t frames[] = { frame(process, IAPROF_FRAME_PROCESS, 0, NULL, 0), kernel };
	test_profile_value(&profile, test_profile_stack(&profile, frames, 2), type, value);
}

TEST(ranks_wait_in_collectives_for_the_one_with_the_least)
{
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	add_of_rank("python3 (rank 0)", "collective", time, 100);
	add_of_rank("python3 (rank 0)", "matrix product", time, 900);
	add_of_rank("python3 (rank 1)", "matrix product", time, 600);
	add_of_rank("python3 (rank 1)", "collective", time, 400);
	add_of_rank("python3", "collective", time, 5000); /* no rank */
	make(time);
	EXPECT("\nTime in collectives by rank: python3 (rank 1) 40.0 %, python3 (rank 0) 10.0 %. The others probably "
	       "wait for python3 (rank 0), which spends least there.\n");
	profile_summary_free(&summary);
	text_free(&text);
	add_of_rank("python3 (rank 0)", "collective", time, 300);
	make(time);
	EXPECT("\nTime in collectives by rank: python3 (rank 1) 40.0 %, python3 (rank 0) 30.8 %. The others probably "
	       "wait for python3 (rank 0), which spends least there.\n");
	profile_summary_free(&summary);
	text_free(&text);
	add_of_rank("python3 (rank 1)", "matrix product", time, 280);
	make(time);
	EXPECT("\nTime in collectives by rank: python3 (rank 1) 31.3 %, python3 (rank 0) 30.8 %.\n");
}

TEST(a_collective_waits_for_other_ranks_and_is_not_narrow)
{
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	static const struct {
		const char *name, *class;
		uint64_t time, samples;
	} kernels[] = { { "ncclDevKernel_AllReduce", "collective", 700, 100 }, { "gemm", "matrix product", 300, 900 } };
	for (size_t i = 0; i < 2; i++) {
		uint32_t kernel =
			test_profile_frame(&profile, &(struct iaprof_frame){ .name = kernels[i].name,
									     .kind = IAPROF_FRAME_DEVICE_FUNCTION,
									     .kernel_class = kernels[i].class });
		uint32_t frames[] = { frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0), kernel,
				      reason("barrier", IAPROF_STALL_BARRIER) };
		uint32_t stack = test_profile_stack(&profile, frames, 3);
		test_profile_value(&profile, stack, time, kernels[i].time);
		test_profile_value(&profile, stack, stalls, kernels[i].samples);
	}
	make(time);
	EXPECT("  What to try: This kernel exchanges data with other ranks, and waits until they come. ");
	ck_assert_ptr_null(strstr(text_string(&text), "uses about"));
}

TEST(one_rank_waits_for_nobody)
{
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	add_of_rank("python3 (rank 0)", "collective", time, 100);
	make(time);
	ck_assert_uint_eq(summary.ranks.count, 0);
}

TEST(kernels_are_added_up_by_class)
{
	add_of_class("flash_fwd", "attention", 30);
	add_of_class("gemm", "matrix product", 40);
	add_of_class("paged", "attention", 25);
	add_of_class("histogram", NULL, 5);
	make(stalls);
	EXPECT(" by class: attention 55.0 %, matrix product 40.0 %, other 5.00 %\n");
	EXPECT(" by kernel:\n  attention: flash_fwd 30.0 %, paged 25.0 %\n  matrix product: gemm 40.0 %\n"
	       "  other: histogram 5.00 %\n");
	ck_assert_uint_eq(summary.kernel_classes.count, 3);
}

TEST(classes_without_a_large_kernel_have_no_line)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		add_of_class(names[i], "attention", 18);
	add_of_class("norm", "normalization", 10);
	make(stalls);
	EXPECT(" by class: attention 90.0 %, normalization 10.0 %\n");
	EXPECT(" by kernel:\n  attention: a 18.0 %, b 18.0 %, c 18.0 %, d 18.0 %, e 18.0 %\n  1 more\n");
}

TEST(a_copy_is_better_avoided)
{
	add_of_class("multi_tensor_apply", "copy", 30);
	make(stalls);
	EXPECT("  What to try: This kernel only copies data. Avoid the copy: ");
}

TEST(a_copy_is_better_avoided_whatever_it_waits_for)
{
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	uint32_t kernel = test_profile_frame(&profile, &(struct iaprof_frame){ .name = "multi_tensor_apply",
									       .kind = IAPROF_FRAME_DEVICE_FUNCTION,
									       .kernel_class = "copy" });
	uint32_t frames[] = { frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0), kernel };
	test_profile_value(&profile, test_profile_stack(&profile, frames, 2), time, 9);
	make(time);
	EXPECT("not sampled.\n  What to try: This kernel only copies data. Avoid the copy: ");
}

TEST(without_a_class_there_is_no_sum)
{
	add_of_class("histogram", NULL, 5);
	make(stalls);
	ck_assert_ptr_null(strstr(text.data, "by class"));
}

TEST(names_the_bottleneck)
{
	uint32_t data = reason("sb", IAPROF_STALL_DATA), issuing = reason("run", IAPROF_STALL_ISSUING);
	add("gemm", 12, 9, data, 300);
	add("gemm", 12, 8, data, 100);
	add("gemm", 12, 9, issuing, 450);
	add("gemm", 0, 0, data, 50);
	add("norm", 12, 0, reason("bar", IAPROF_STALL_BARRIER), 100);
	make(stalls);
	ck_assert(summary.is_device);
	ck_assert_uint_eq(summary.value, 1000);
	ck_assert_uint_eq(summary.stalled, 550);
	ck_assert_uint_eq(summary.matched, 1000);
	ck_assert_uint_eq(summary.with_lines, 950);
	ck_assert_uint_eq(summary.functions.count, 2);
	ck_assert_str_eq(summary.functions.items[0].frame->name, "gemm");
	ck_assert_uint_eq(summary.functions.items[0].value, 900);
	ck_assert_uint_eq(summary.functions.items[0].classes[IAPROF_STALL_DATA], 450);
	ck_assert_uint_eq(summary.functions.items[0].classes[IAPROF_STALL_ISSUING], 450);
	ck_assert_str_eq(summary.functions.items[1].launch->name, "forward");
	ck_assert_uint_eq(summary.causes.count, 3);
	const struct summary_cause *top = &summary.causes.items[0];
	ck_assert_uint_eq(top->function, 0);
	ck_assert_uint_eq(top->value, 400);
	ck_assert_uint_eq(top->instruction->line, 12);
	ck_assert_uint_eq(top->producer->line, 9); /* 300 of 400 */
	ck_assert_uint_eq(summary.causes.items[1].value, 100);
	ck_assert_uint_eq(summary.causes.items[1].function, 1);
	ck_assert_ptr_null(summary.causes.items[1].producer);
	ck_assert_uint_eq(summary.causes.items[2].value, 50);
	EXPECT("40.0 % of GPU samples wait for data in gemm, tile.cl:12, until the load in line 9 completes.\n");
	EXPECT("  Launch site: forward, model.c:7\n  Stall reason: Data dependency (sb)\n  Producer: load, tile.cl:9\n"
	       "  What to try: Load earlier");
	EXPECT("GPU samples by kernel: gemm 90.0 %, norm 10.0 %\n");
	EXPECT("55.0 % stalled, 100 % matched to a kernel, 95.0 % with a source line\n");
}

TEST(names_no_bottleneck_where_none_dominates)
{
	uint32_t data = reason("sb", IAPROF_STALL_DATA);
	for (uint32_t line = 1; line <= 40; line++)
		add("gemm", line, 0, data, 100 + line);
	make(stalls);
	ck_assert_uint_eq(summary.causes.count, SUMMARY_CAUSES_MAX);
	for (uint32_t i = 0; i < SUMMARY_CAUSES_MAX; i++)
		ck_assert_uint_eq(summary.causes.items[i].instruction->line, 40 - i);
	EXPECT("No single bottleneck. The largest stalls: gemm, tile.cl:40 (Data dependency, 2.90 %); gemm, "
	       "tile.cl:39");
}

TEST(names_the_longest_kernel_where_nothing_was_sampled)
{
	stalls = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	add("gemm", 0, 0, UNSAMPLED, 70);
	add("norm", 0, 0, UNSAMPLED, 30);
	make(stalls);
	EXPECT("70.0 % of GPU time is in gemm. What kernels waited for was not sampled.\n  Launch site: forward, "
	       "model.c:7\n");
}

TEST(knows_reasons_of_old_captures_by_name)
{
	add("gemm", 1, 0, reason("sync", IAPROF_STALL_UNKNOWN), 10);
	add("gemm", 2, 0, reason("new", IAPROF_STALL_UNKNOWN), 5);
	make(stalls);
	ck_assert_uint_eq(summary.causes.items[0].stall_class, IAPROF_STALL_BARRIER);
	ck_assert_uint_eq(summary.causes.items[1].stall_class, IAPROF_STALL_OTHER);
}

TEST(unknown_idle_time_names_who_records_it)
{
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds"),
		 idle = test_profile_value_type(&profile, "gpu-idle", "nanoseconds");
	uint32_t program = frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0),
		 whole = frame("[GPU idle]", IAPROF_FRAME_WAIT, 0, NULL, 0),
		 unknown = frame("[not sampled]", IAPROF_FRAME_WAIT, 0, NULL, 0),
		 minimum = frame("[between kernels]", IAPROF_FRAME_WAIT, 0, NULL, 0);
	uint32_t kernel[] = { program, frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0),
			      frame("gemm", IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0) };
	test_profile_value(&profile, test_profile_stack(&profile, kernel, 3), time, 1000);
	test_profile_value(&profile, test_profile_stack(&profile, (uint32_t[]){ program, unknown, whole }, 3), idle,
			   2800);
	test_profile_value(&profile, test_profile_stack(&profile, (uint32_t[]){ program, minimum, whole }, 3), idle,
			   200);
	make(time);
	EXPECT("Sources cpu-stack and off-cpu record what the launching threads did meanwhile.\n");
}

TEST(states_what_threads_did_while_the_device_was_idle)
{
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds"),
		 idle = test_profile_value_type(&profile, "gpu-idle", "nanoseconds");
	uint32_t program = frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0),
		 load = frame("load", IAPROF_FRAME_USER, 0, NULL, 0),
		 disk = frame("[disk]", IAPROF_FRAME_WAIT, 0, NULL, 0),
		 launch = frame("[launch-bound]", IAPROF_FRAME_WAIT, 0, NULL, 0),
		 whole = frame("[GPU idle]", IAPROF_FRAME_WAIT, 0, NULL, 0);
	uint32_t kernel[] = { program, frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0),
			      frame("gemm", IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0) };
	test_profile_value(&profile, test_profile_stack(&profile, kernel, 3), time, 1000);
	test_profile_value(&profile, test_profile_stack(&profile, (uint32_t[]){ program, launch, whole }, 3), idle,
			   1000);
	test_profile_value(&profile, test_profile_stack(&profile, (uint32_t[]){ program, load, disk, whole }, 4), idle,
			   1500);
	test_profile_value(&profile, test_profile_stack(&profile, (uint32_t[]){ program, disk, whole }, 3), idle, 500);
	make(time);
	ck_assert_uint_eq(summary.idle, 3000);
	EXPECT("The GPU was idle 75.0 % of the 4 us from its first execution to its last.\n"
	       "What the launching threads did meanwhile: [disk] 66.7 %, [launch-bound] 33.3 %.\n");
	profile_summary_free(&summary);
	make(idle);
	ck_assert_uint_eq(summary.idle, 0);
}

static void add_copy(const char *name, const char *site, uint32_t line, uint32_t value_type, uint64_t value)
{
	uint32_t frames[] = { frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0),
			      frame(site, IAPROF_FRAME_PYTHON, 0, "/src/load.py", line),
			      frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0),
			      frame(name, IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0) };
	test_profile_value(&profile, test_profile_stack(&profile, frames, 4), value_type, value);
}

/* The kernel has 800 ns, the device is idle for 200, and copies take 300 of a run of 2000. */
TEST(states_copies_beside_the_time_and_where_pageable_memory_is_copied)
{
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds"),
		 idle = test_profile_value_type(&profile, "gpu-idle", "nanoseconds"),
		 copies = test_profile_value_type(&profile, "gpu-copy-time", "nanoseconds"),
		 bytes = test_profile_value_type(&profile, "gpu-copied", "bytes");
	uint32_t program = frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0);
	uint32_t kernel[] = { program, frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0),
			      frame("gemm", IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0) };
	uint32_t waits[] = { program, frame("[copy host to device (pageable)]", IAPROF_FRAME_WAIT, 0, NULL, 0),
			     frame("[GPU idle]", IAPROF_FRAME_WAIT, 0, NULL, 0) };
	test_profile_value(&profile, test_profile_stack(&profile, kernel, 3), time, 800);
	test_profile_value(&profile, test_profile_stack(&profile, waits, 3), idle, 200);
	add_copy("[copy host to device (pageable)]", "fetch", 5, copies, 150);
	add_copy("[copy host to device (pageable)]", "read", 9, copies, 100);
	add_copy("[copy host to device (pageable)]", "fetch", 5, bytes, 2 << 20);
	add_copy("[copy host to device (pageable)]", "read", 9, bytes, 1 << 20);
	add_copy("[memory set]", "read", 10, copies, 50);
	add_copy("[memory set]", "read", 10, bytes, 512);
	profile.end = 3000; /* it begins at 1000 */
	make(time);
	ck_assert_uint_eq(summary.value, 800);
	EXPECT("Copies: host to device (pageable) 3.00 MiB in 250 ns (12.5 % of the run), memory set 512 B in 50 ns "
	       "(2.50 % of the run).\n"
	       "Copies of pageable host memory take 12.5 % of the run.\n"
	       "  Launch site: fetch, load.py:5\n"
	       "  What to try: pin the host memory");
	EXPECT("GPU time by kernel: gemm 100 %\n");
}

/*
 * Per time, narrow has 1 of 100 samples of wide. Others have too few samples: of few, 4 are known to be less than 100,
 * the use of small and empty is not known, and brief has too little time to be compared with.
 */
TEST(names_kernels_that_use_little_of_the_device)
{
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	uint32_t program = frame("train", IAPROF_FRAME_PROCESS, 0, NULL, 0),
		 separator = frame("-", IAPROF_FRAME_SEPARATOR, 0, NULL, 0);
	static const struct {
		const char *name;
		uint64_t time, samples;
		double use;
		bool is_use_limit;
	} kernels[] = { { "narrow", 400000, 200, 0.01, false }, { "few", 300000, 4, 1 / 150.0, true },
			{ "wide", 200000, 10000, 1, false },    { "empty", 90000, 0, 0, false },
			{ "brief", 9000, 900, 2, false },       { "small", 1000, 90, 2, true } };
	for (size_t i = 0; i < 6; i++) {
		uint32_t frames[] = { program, separator,
				      frame(kernels[i].name, IAPROF_FRAME_DEVICE_FUNCTION, 0, NULL, 0),
				      reason("sb", IAPROF_STALL_DATA) };
		uint32_t stack = test_profile_stack(&profile, frames, 4);
		test_profile_value(&profile, stack, time, kernels[i].time);
		if (kernels[i].samples)
			test_profile_value(&profile, stack, stalls, kernels[i].samples);
	}
	make(time);
	ck_assert_uint_eq(summary.value, 1000000);
	ck_assert_str_eq(summary.fullest->frame->name, "wide");
	for (size_t i = 0; i < 6; i++) {
		const struct summary_function *kernel = &summary.functions.items[i];
		ck_assert_str_eq(kernel->frame->name, kernels[i].name);
		ck_assert_double_eq_tol(kernel->use, kernels[i].use, 1e-9);
		ck_assert(kernel->is_use_limit == kernels[i].is_use_limit);
	}
	EXPECT("\nnarrow takes 40.0 % of GPU time, but uses about 1 % as much of the GPU as wide: a larger grid, "
	       "batching, or other kernels beside it.\n"
	       "few takes 30.0 % of GPU time, but uses less than 0.67 % as much of the GPU as wide: a larger grid, "
	       "batching, or other kernels beside it.\nGPU time by kernel: ");
	profile_summary_free(&summary);
	make(stalls);
	ck_assert_ptr_null(summary.fullest);
}

TEST(lists_functions_of_the_cpu)
{
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	uint32_t program = frame("prog", IAPROF_FRAME_PROCESS, 0, NULL, 0),
		 main_frame = frame("main", IAPROF_FRAME_USER, 0, "/src/main.c", 0),
		 unknown = frame("[unknown]", IAPROF_FRAME_USER, IAPROF_FRAME_UNKNOWN, NULL, 0);
	uint32_t hot[] = { program, main_frame, frame("hot", IAPROF_FRAME_USER, 0, "/src/hot.c", 0) };
	test_profile_value(&profile, test_profile_stack(&profile, hot, 3), cpu, 70);
	test_profile_value(&profile, test_profile_stack(&profile, hot, 2), cpu, 20);
	test_profile_value(&profile, test_profile_stack(&profile, (uint32_t[]){ program, unknown }, 2), cpu, 10);
	make(cpu);
	ck_assert(!summary.is_device);
	ck_assert_uint_eq(summary.matched, 90);
	EXPECT("70.0 % of CPU time is in hot, hot.c.\n"
	       "  Where it goes: its own code 70.0 %\n"
	       "CPU time by function of the program: hot 70.0 %, main 20.0 %\n"
	       "Self CPU time by function: hot 70.0 %, main 20.0 %, [unknown] 10.0 %\n"
	       "90.0 % with the innermost function resolved\n");
}

/* Adds a stack: "prog python:parse:parser.py:41 library:memcpy:copy". Parts of a frame are kind, name, and file and
 * line of a program's code, or class of a library's, with underscores for blanks. */
static void add_stack(uint32_t value_type, uint64_t value, const char *description)
{
	static const struct {
		const char *name;
		uint32_t kind, flags;
	} kinds[] = { { "python", IAPROF_FRAME_PYTHON, 0 },
		      { "own", IAPROF_FRAME_USER, 0 },
		      { "library", IAPROF_FRAME_USER, IAPROF_FRAME_LIBRARY },
		      { "unknown", IAPROF_FRAME_USER, IAPROF_FRAME_UNKNOWN },
		      { "kernel", IAPROF_FRAME_LINUX_KERNEL, 0 },
		      { "wait", IAPROF_FRAME_WAIT, 0 } };
	char *words = descriptions[description_count++], *save = NULL;
	uint32_t frames[16], count = 0;
	ck_assert(description_count <= sizeof descriptions / sizeof *descriptions);
	snprintf(words, sizeof *descriptions, "%s", description);
	frames[count++] = frame(strtok_r(words, " ", &save), IAPROF_FRAME_PROCESS, 0, NULL, 0);
	for (char *word; (word = strtok_r(NULL, " ", &save));) {
		char *rest = word, *kind = strsep(&rest, ":"), *name = strsep(&rest, ":");
		struct iaprof_frame made = { .name = name };
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
			if (!strcmp(kind, kinds[i].name)) {
				made.kind = kinds[i].kind;
				made.flags = kinds[i].flags;
			}
		bool has_class = made.flags & IAPROF_FRAME_LIBRARY || made.kind == IAPROF_FRAME_LINUX_KERNEL;
		for (char *at = has_class ? rest : NULL; at && (at = strchr(at, '_'));)
			*at = ' ';
		made.kernel_class = has_class ? rest : NULL;
		made.module = made.flags & IAPROF_FRAME_LIBRARY ? "/lib/libz.so.1" : NULL;
		made.file = has_class ? NULL : strsep(&rest, ":");
		made.line = made.file && rest ? (uint32_t)atoi(rest) : 0;
		frames[count++] = test_profile_frame(&profile, &made);
	}
	test_profile_value(&profile, test_profile_stack(&profile, frames, count), value_type, value);
}

TEST(the_answer_is_the_innermost_function_of_the_program_with_what_it_calls)
{
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	add_stack(cpu, 30, "service own:main:main.c:1 python:parse:parser.py:41 library:eval:interpreter");
	add_stack(cpu, 20, "service python:parse:parser.py:43 library:eval:interpreter library:malloc:allocation");
	add_stack(cpu, 10, "service python:parse:parser.py:41 library:inflate library:memcpy:copy");
	add_stack(cpu, 25, "service python:main:app.py:9 kernel:entry");
	add_stack(cpu, 15, "service unknown:[unknown]");
	make(cpu);
	EXPECT("60.0 % of CPU time is in parse, parser.py:41.\n"
	       "  Hottest line: parser.py:41 (40.0 %)\n"
	       "  Where it goes: interpreter 30.0 %, allocation 20.0 %, libz 10.0 %\n"
	       "CPU time by function of the program: parse 60.0 %, main 25.0 %\n");
}

TEST(a_program_is_the_answer_where_no_function_is)
{
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	add_stack(cpu, 60, "cc1 unknown:[unknown] library:memcpy:copy");
	add_stack(cpu, 100, "cc1 unknown:[unknown]");
	add_stack(cpu, 30, "cc1 own:main");
	add_stack(cpu, 40, "meson python:load:build.py:3");
	add_stack(cpu, 20, "ld kernel:entry");
	make(cpu);
	EXPECT("76.0 % of CPU time is in cc1.\n"
	       "  Where it goes: code without symbols 40.0 %, copy 24.0 %, its own code 12.0 %\n"
	       "CPU time by program: cc1 76.0 %, meson 16.0 %, ld 8.00 %\n"
	       "CPU time by function of the program: load 16.0 %, main 12.0 %\n");
}

TEST(waits_are_for_something_in_a_function_and_idle_ones_are_apart)
{
	uint32_t waiting = test_profile_value_type(&profile, "off-cpu", "nanoseconds");
	add_stack(waiting, 60, "service python:worker:w.py:9 library:acquire kernel:futex wait:[lock]");
	add_stack(waiting, 20, "service python:other:w.py:20 library:acquire wait:[lock] own:waker:w.c:1");
	add_stack(waiting, 10, "service python:worker:w.py:10 library:read wait:[disk]");
	add_stack(waiting, 10, "service python:worker:w.py:9 library:take_gil:wait_for_the_GIL wait:[lock]");
	add_stack(waiting, 300, "service python:main:w.py:30 library:run_once:idle library:epoll wait:[poll]");
	add_stack(waiting, 0, "service wait:[poll]");
	make(waiting);
	EXPECT("80.0 % of waiting is for locks, most in worker, w.py:9.\n"
	       "Waiting by reason: locks 80.0 %, the GIL 10.0 %, the disk 10.0 %\n"
	       "Waiting by function of the program: worker 80.0 %, other 20.0 %\n"
	       "Idle waits of event loops and pools, not counted above: 300 ns\n");
	ck_assert_ptr_null(strstr(text_string(&text), "Self"));
}

TEST(work_of_the_program_below_an_event_loop_is_not_idle)
{
	uint32_t waiting = test_profile_value_type(&profile, "off-cpu", "nanoseconds");
	add_stack(waiting, 5, "service python:main:w.py:30 library:run_once:idle python:handle:w.py:7 wait:[sleep]");
	add_stack(waiting, 95, "service python:main:w.py:30 library:run_once:idle wait:[poll]");
	make(waiting);
	EXPECT("95.0 % of waiting is idle: event loops and pools without work.\n"
	       "Of the rest, 100 % is for sleeps to end, most in handle, w.py:7.\n");
}

/* The standard library's Python code is named where there is no other, and its pools are idle all the same. */
TEST(threads_of_libraries_alone_are_idle_in_their_pools)
{
	uint32_t waiting = test_profile_value_type(&profile, "off-cpu", "nanoseconds");
	uint32_t pool[] = { frame("service", IAPROF_FRAME_PROCESS, 0, NULL, 0),
			    test_profile_frame(&profile, &(struct iaprof_frame){ .name = "_handle_tasks",
										 .kind = IAPROF_FRAME_PYTHON,
										 .flags = IAPROF_FRAME_LIBRARY,
										 .file = "/lib/python3.11/pool.py",
										 .kernel_class = "idle" }),
			    frame("get", IAPROF_FRAME_PYTHON, IAPROF_FRAME_LIBRARY, "/lib/python3.11/queue.py", 5),
			    frame("[lock]", IAPROF_FRAME_WAIT, 0, NULL, 0) };
	test_profile_value(&profile, test_profile_stack(&profile, pool, 4), waiting, 30);
	uint32_t other[] = { pool[0], pool[2], pool[3] };
	test_profile_value(&profile, test_profile_stack(&profile, other, 3), waiting, 70);
	make(waiting);
	EXPECT("100 % of waiting is for locks, most in get, queue.py:5.\n");
	EXPECT("Idle waits of event loops and pools, not counted above: 30 ns\n");
}

TEST(states_that_nothing_was_sampled)
{
	make(stalls);
	ck_assert_str_eq(text.data, "No samples\n");
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
