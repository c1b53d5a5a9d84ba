/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for code of libraries: the installed ones, and files of users. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbolizer/frame_table.h"
#include "../run_suite.h"

static struct code_rules *rules;
static struct frame_table frames;

static void set_up(void)
{
	char path[4096];
	struct error error = { 0 };
	snprintf(path, sizeof path, "%s/examples/code.rules", getenv("TEST_SOURCE_FOLDER"));
	rules = code_rules_new();
	ck_assert_msg(code_rules_read(rules, path, &error) == 0, "%s", error.text);
	frames = (struct frame_table){ .rules = rules };
}

static void tear_down(void)
{
	frame_table_free(&frames);
	code_rules_free(rules);
}

static bool is_library(const struct iaprof_frame *frame)
{
	uint32_t id = frame_table_add(&frames, frame);
	return frames.frames.items[id].flags & IAPROF_FRAME_LIBRARY;
}

/* Adds rules as a file of the user's. Returns the error. */
static struct error read_rules(const char *text, size_t size)
{
	char path[] = "/tmp/rules-XXXXXX";
	int file = mkstemp(path);
	struct error error = { 0 };
	ck_assert_int_eq(write(file, text, size), size);
	close(file);
	code_rules_read(rules, path, &error);
	unlink(path);
	return error;
}

#define PACKAGES "/opt/venv/lib/python3.12/site-packages/"

static const struct {
	struct iaprof_frame frame;
	bool is_library;
} known[] = {
	{ { .name = "Block.forward", .file = "decoder.py" }, false },
	{ { .name = "Block.forward", .file = "/home/me/lib/decoder.py" }, false },
	{ { .name = "LlamaAttention.forward", .file = PACKAGES "transformers/models/llama/modeling_llama.py" }, false },
	{ { .name = "Module._wrapped_call_impl", .file = PACKAGES "torch/nn/modules/module.py" }, true },
	{ { .name = "CudaLauncher.__call__", .file = PACKAGES "triton/backends/nvidia/driver.py" }, true },
	{ { .name = "call", .file = "/tmp/torchinductor_me/ab/cabcd.py" }, true },
	{ { .name = "Thread.run", .file = "/usr/lib/python3.11/threading.py" }, true },
	{ { .name = "run_module", .file = "<frozen runpy>" }, true },
	{ { .name = "enqueue", .module = "/home/me/build/my_op.so" }, false },
	{ { .name = "THPVariable_add", .module = PACKAGES "torch/lib/libtorch_python.so" }, true },
	{ { .name = "vllm::attention", .module = PACKAGES "vllm/_C.abi3.so" }, true },
	{ { .name = "cfunction_call", .module = "/usr/bin/python3.11" }, true },
	{ { .name = "zeCommandListAppendLaunchKernel", .module = "/usr/lib/x86_64-linux-gnu/libze_loader.so.1" },
	  true },
	{ { .name = "work", .module = "libmodel.so" }, true }, /* without a path: of other tools' text */
	{ { .name = "main", .module = "/usr/bin/solver" }, false },
	{ { .name = "std::vector<int>::push_back", .module = "/home/me/solver" }, true },
	{ { .name = "libcudart_static_4d8b33a1", .module = "/home/me/solver" }, true },
	{ { .name = "cuLaunchKernel", .module = "/usr/local/nvidia/lib64/libcuda.so.580.159.04" }, true },
	{ { .name = "solve", .file = "/home/me/solver.c", .module = "/home/me/solver" }, false },
	{ { .name = "__kernel_clock_gettime", .module = "[vdso]" }, true },
};

TEST_LOOP(code_of_libraries_is_known, 0, sizeof known / sizeof *known)
{
	struct iaprof_frame frame = known[_i].frame;
	frame.kind = frame.module ? IAPROF_FRAME_USER : IAPROF_FRAME_PYTHON;
	ck_assert_int_eq(is_library(&frame), known[_i].is_library);
	ck_assert_int_eq(is_library(&frame), known[_i].is_library);
	ck_assert_uint_eq(frames.frames.count, 1);
	frame.kind = IAPROF_FRAME_DEVICE_FUNCTION;
	ck_assert(!is_library(&frame));
}

/* NULL: none */
static const char *class_of(const char *name)
{
	uint32_t id =
		frame_table_add(&frames, &(struct iaprof_frame){ .name = name, .kind = IAPROF_FRAME_DEVICE_FUNCTION });
	const struct iaprof_profile profile = { .frames = frames.frames.items,
						.frame_size = sizeof(struct iaprof_frame),
						.frame_count = id + 1 };
	return iaprof_profile_kernel_class(&profile, id);
}

TEST(kernels_have_a_class)
{
	char path[4096], line[8192];
	size_t count = 0;
	snprintf(path, sizeof path, "%s/tests/data/kernel_names.txt", getenv("TEST_SOURCE_FOLDER"));
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file)) {
		if (*line == '#')
			continue;
		line[strcspn(line, "\n")] = '\0';
		char *name = strchr(line, '\t');
		ck_assert_ptr_nonnull(name);
		*name++ = '\0';
		const char *found = class_of(name);
		ck_assert_msg(strcmp(found ? found : "-", line) == 0, "%s: %s", name, found ? found : "no class");
		count++;
	}
	ck_assert_uint_ge(count, 200);
}

TEST(profiles_of_earlier_versions_have_no_classes)
{
	ck_assert_str_eq(class_of("gemm_kernel"), "matrix product");
	const struct iaprof_profile earlier = { .frames = frames.frames.items, .frame_size = 56, .frame_count = 1 };
	ck_assert_ptr_null(iaprof_profile_kernel_class(&earlier, 0));
}

TEST(a_later_rule_overrides_earlier_ones)
{
	static const char text[] = "# mine\n\n  library\tfile  /home/me/engine/*  \r\nown function at::mm";
	const struct iaprof_frame engine = { .name = "Engine.step",
					     .file = "/home/me/engine/core.py",
					     .kind = IAPROF_FRAME_PYTHON },
				  mm = { .name = "at::mm", .module = "/lib/libtorch.so", .kind = IAPROF_FRAME_USER };
	ck_assert_str_eq(read_rules(text, strlen(text)).text, "");
	ck_assert(is_library(&engine));
	ck_assert(!is_library(&mm));
}

static const struct {
	const char *text, *error;
} wrong[] = {
	{ "own file a\nlibrary files b", "2: a field is file, module or function" },
	{ "libary file b", "1: a rule begins with library, own or class" },
	{ "own", "1: a field (file, module or function) and a pattern must follow" },
	{ "own file", "1: a field (file, module or function) and a pattern must follow" },
	{ "class attention", "1: class: a name, a colon and a pattern must follow" },
	{ "class attention: ", "1: class: a name, a colon and a pattern must follow" },
	{ "class : *", "1: class: a name, a colon and a pattern must follow" },
};

TEST_LOOP(errors_have_their_line, 0, sizeof wrong / sizeof *wrong)
{
	struct error error = read_rules(wrong[_i].text, strlen(wrong[_i].text));
	ck_assert_int_eq(error.code, -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, wrong[_i].error));
}

TEST(files_have_limits)
{
	static const char rule[] = "own file a\n";
	size_t count = CODE_RULES_MAX + 1, length = strlen(rule);
	char *text = malloc(count * length);
	for (size_t i = 0; i < count; i++)
		memcpy(text + i * length, rule, length);
	ck_assert_ptr_nonnull(strstr(read_rules(text, count * length).text, "too many rules"));
	free(text);
	text = calloc(1, CODE_RULES_FILE_MAX + 1);
	ck_assert_int_eq(read_rules(text, 2).code, -EINVAL);
	memset(text, '#', CODE_RULES_FILE_MAX + 1);
	ck_assert_int_eq(read_rules(text, CODE_RULES_FILE_MAX).code, 0);
	ck_assert_int_eq(read_rules(text, CODE_RULES_FILE_MAX + 1).code, -EFBIG);
	free(text);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
