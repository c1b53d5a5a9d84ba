/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for code of libraries: the installed ones, and files of users. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stacks/code_site.h"
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

static const struct {
	struct iaprof_frame frame;
	const char *work;
	uint32_t flags, rank;
} works[] = {
	{ { .name = "Block.forward", .kind = IAPROF_FRAME_PYTHON, .file = "/home/me/decoder.py" }, "decoder", 0, 5 },
	{ { .name = "Flask.wsgi_app", .kind = IAPROF_FRAME_PYTHON, .file = PACKAGES "flask/app.py" }, "flask", 0, 4 },
	{ { .name = "loads", .kind = IAPROF_FRAME_PYTHON, .file = "/usr/lib/python3.11/json/__init__.py" },
	  "json",
	  0,
	  1 },
	{ { .name = "writer", .kind = IAPROF_FRAME_PYTHON, .file = "/usr/lib/python3.11/csv.py" }, "csv", 0, 1 },
	{ { .name = "_find_and_load", .kind = IAPROF_FRAME_PYTHON, .file = "<frozen importlib._bootstrap>" },
	  "imports",
	  0,
	  1 },
	{ { .name = "argmap_rank_1", .kind = IAPROF_FRAME_PYTHON, .file = "<class 'argmap'> compilation 22" },
	  "interpreter",
	  CODE_WORK_RUNTIME,
	  1 },
	{ { .name = "f.<locals>.<listcomp>", .kind = IAPROF_FRAME_PYTHON, .file = "/home/me/a.py" },
	  "interpreter",
	  CODE_WORK_RUNTIME,
	  0 },
	{ { .name = "_PyEval_EvalFrameDefault", .kind = IAPROF_FRAME_USER, .module = "/usr/bin/python3.11" },
	  "interpreter",
	  CODE_WORK_RUNTIME,
	  0 },
	{ { .name = "_PyObject_Malloc", .kind = IAPROF_FRAME_USER, .module = "/usr/bin/python3.11" },
	  "allocation",
	  0,
	  0 },
	{ { .name = "csv_writerow",
	    .kind = IAPROF_FRAME_USER,
	    .module = "/usr/lib/python3.11/lib-dynload/_csv.cpython-311-x86_64-linux-gnu.so" },
	  "_csv",
	  0,
	  0 },
	{ { .name = "strlen", .kind = IAPROF_FRAME_USER, .module = "/usr/lib/x86_64-linux-gnu/libc.so.6" },
	  "C library",
	  CODE_WORK_RUNTIME,
	  0 },
	{ { .name = "malloc", .kind = IAPROF_FRAME_USER, .module = "/usr/lib/x86_64-linux-gnu/libc.so.6" },
	  "allocation",
	  0,
	  0 },
	{ { .name = "deflate", .kind = IAPROF_FRAME_USER, .module = "/lib/x86_64-linux-gnu/libz.so.1.2.13" },
	  "libz",
	  0,
	  0 },
	{ { .name = "std::vector<int>::push_back", .kind = IAPROF_FRAME_USER, .module = "/home/me/solver" },
	  "standard library",
	  CODE_WORK_RUNTIME,
	  0 },
	{ { .name = "solve", .kind = IAPROF_FRAME_USER, .module = "/home/me/solver" }, "solver", 0, 3 },
	{ { .name = "de::parse",
	    .kind = IAPROF_FRAME_USER,
	    .module = "/home/me/server",
	    .file = "/root/.cargo/registry/src/index.crates.io-6f17d22bba15001f/serde_json-1.0.9/src/de.rs" },
	  "serde_json-1.0.9",
	  0,
	  2 },
	{ { .name = "fmt.Sprintf",
	    .kind = IAPROF_FRAME_USER,
	    .module = "/home/me/go",
	    .file = "/usr/lib/go-1.19/src/fmt/print.go" },
	  "fmt",
	  0,
	  0 },
	{ { .name = "runtime.mallocgc", .kind = IAPROF_FRAME_USER, .module = "/home/me/go" }, "allocation", 0, 0 },
	{ { .name = "[unknown]",
	    .kind = IAPROF_FRAME_USER,
	    .flags = IAPROF_FRAME_UNKNOWN,
	    .module = "/usr/lib/gcc/x86_64-linux-gnu/12/cc1" },
	  "code without symbols",
	  CODE_WORK_RUNTIME,
	  0 },
	{ { .name = "uv__io_poll", .kind = IAPROF_FRAME_USER, .module = "/usr/lib/x86_64-linux-gnu/libuv.so.1" },
	  "libuv",
	  CODE_WORK_IDLE,
	  0 },
	{ { .name = "take_gil", .kind = IAPROF_FRAME_USER, .module = "/usr/bin/python3.11" },
	  "the GIL",
	  CODE_WORK_WAIT,
	  0 },
	{ { .name = "do_syscall_64", .kind = IAPROF_FRAME_LINUX_KERNEL, .module = "[kernel]" }, "Linux kernel", 0, 0 },
	{ { .name = "asm_exc_page_fault", .kind = IAPROF_FRAME_LINUX_KERNEL }, "page faults", 0, 0 },
	{ { .name = "inet_csk_accept", .kind = IAPROF_FRAME_LINUX_KERNEL }, "Linux kernel", CODE_WORK_IDLE, 0 },
	{ { .name = "[lock]", .kind = IAPROF_FRAME_WAIT }, "locks", CODE_WORK_WAIT, 0 },
	{ { .name = "[GPU xe: fence]", .kind = IAPROF_FRAME_WAIT }, "GPU xe: fence", CODE_WORK_WAIT, 0 },
	{ { .name = "prog", .kind = IAPROF_FRAME_PROCESS }, "", 0, 0 },
};

TEST_LOOP(code_has_a_rank_and_a_name_by_what_it_does, 0, sizeof works / sizeof *works)
{
	struct text text = { 0 };
	uint32_t id = frame_table_add(&frames, &works[_i].frame);
	const struct iaprof_frame *found = &frames.frames.items[id];
	ck_assert_uint_eq(code_work_append(&text, found, found->kernel_class), works[_i].flags);
	ck_assert_str_eq(text_string(&text), works[_i].work);
	ck_assert_uint_eq(code_site_rank(found), works[_i].rank);
	text_free(&text);
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
	{ "libary file b", "1: a rule begins with library, own, code or class" },
	{ "own", "1: a field (file, module or function) and a pattern must follow" },
	{ "own file", "1: a field (file, module or function) and a pattern must follow" },
	{ "class attention", "1: a name, a colon and a pattern must follow" },
	{ "class attention: ", "1: a name, a colon and a pattern must follow" },
	{ "code allocation", "1: a name, a colon and a pattern must follow" },
	{ "code allocation: malloc", "1: a field (file, module or function) and a pattern must follow" },
	{ "code allocation: name malloc", "1: a field is file, module or function" },
	{ "class : *", "1: a name, a colon and a pattern must follow" },
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
