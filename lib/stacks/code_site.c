/* SPDX-License-Identifier: Apache-2.0 */
/* See code_site.h. */
#include "stacks/code_site.h"

#include <stddef.h>
#include <string.h>

#include "text/printable.h"

/* Classes of the rules whose callees say more. */
static const char *const runtimes[] = { "interpreter", "C library", "standard library", "Go runtime", "runtime" };

/* Folders that contain packages, one each in the next component. */
static const char *const package_folders[] = { "/site-packages/", "/dist-packages/", "/node_modules/", "/pkg/mod/" };
/* Cargo keeps packages in a folder for each server. */
#define CARGO_FOLDER "/registry/src/"

/* Returns what follows the last occurrence of a part; NULL: none. */
static const char *after_last(const char *path, const char *part)
{
	const char *found = NULL;
	for (const char *at = path; at && (at = strstr(at, part)); at++)
		found = at + strlen(part);
	return found;
}

/* Returns the path of a file from the name of its package on; NULL: it is in no package. */
static const char *package_path(const char *file)
{
	for (size_t i = 0; file && i < sizeof package_folders / sizeof *package_folders; i++) {
		const char *found = after_last(file, package_folders[i]);
		if (found)
			return found;
	}
	const char *server = file ? after_last(file, CARGO_FOLDER) : NULL, *slash = server ? strchr(server, '/') : NULL;
	return slash ? slash + 1 : NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);
	return length >= size && !strcmp(text + length - size, end);
}

/* Python's comprehensions are functions of their own, inside of the function that has them. */
static bool is_comprehension(const struct iaprof_frame *frame)
{
	static const char *const names[] = { "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>" };
	for (size_t i = 0; frame->kind == IAPROF_FRAME_PYTHON && i < sizeof names / sizeof *names; i++)
		if (ends_with(frame->name, names[i]))
			return true;
	return false;
}

#define IMPORT_FILE "<frozen importlib"

/* Code that Python made of a text has no file: "<string>", and so has code that it brings along, such as imports. */
static bool is_made_by_python(const struct iaprof_frame *frame)
{
	return frame->kind == IAPROF_FRAME_PYTHON && frame->file && frame->file[0] == '<' &&
	       strncmp(frame->file, IMPORT_FILE, strlen(IMPORT_FILE)) != 0;
}

static bool is_code(const struct iaprof_frame *frame)
{
	return frame->kind == IAPROF_FRAME_USER || frame->kind == IAPROF_FRAME_JIT ||
	       frame->kind == IAPROF_FRAME_PYTHON;
}

uint32_t code_site_rank(const struct iaprof_frame *frame)
{
	if (!is_code(frame) || frame->flags & IAPROF_FRAME_UNKNOWN || is_comprehension(frame))
		return 0;
	bool is_python = frame->kind == IAPROF_FRAME_PYTHON;
	if (frame->flags & IAPROF_FRAME_LIBRARY)
		return is_python ? CODE_SITE_RANK_LIBRARY : 0;
	return (is_python ? 4 : 2) + !package_path(frame->file);
}

/* Returns the path of a Python file from the name of its module on; NULL: it is not of the standard library. */
static const char *standard_module(const char *file)
{
	const char *found = after_last(file, "/lib/python");
	if (!found)
		found = after_last(file, "/lib64/python");
	const char *slash = found ? strchr(found, '/') : NULL;
	return slash ? slash + 1 : NULL;
}

static void append_name_part(struct text *text, const char *name, size_t length)
{
	struct text part = { 0 };
	text_append(&part, name, length);
	text_append_name(text, text_string(&part));
	text->failed |= part.failed;
	text_free(&part);
}

/* Appends "json" for json/decoder.py, "csv" for csv.py. */
static void append_component(struct text *text, const char *path)
{
	size_t length = strcspn(path, "/@");
	append_name_part(text, path, length > 3 && !strncmp(path + length - 3, ".py", 3) ? length - 3 : length);
}

/* Appends "libz" for libz.so.1, "_json" for _json.cpython-311-x86_64-linux-gnu.so. */
static void append_module(struct text *text, const char *module)
{
	static const char *const ends[] = { ".cpython-", ".abi3.", ".so" };
	const char *name = path_name(module);
	size_t length = strlen(name);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		const char *end = strstr(name, ends[i]);
		if (end && end > name && (size_t)(end - name) < length)
			length = (size_t)(end - name);
	}
	append_name_part(text, name, length);
}

/* Appends "encoding/json" for /usr/lib/go/src/encoding/json/decode.go. Returns false for other files. */
static bool append_go_package(struct text *text, const char *file)
{
	const char *path = file && ends_with(file, ".go") ? after_last(file, "/src/") : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	if (slash)
		append_name_part(text, path, (size_t)(slash - path));
	return slash != NULL;
}

static void append_library(struct text *text, const struct iaprof_frame *frame)
{
	const char *package = package_path(frame->file);
	if (frame->kind == IAPROF_FRAME_PYTHON && frame->file) {
		const char *path = package ?: standard_module(frame->file);
		if (strncmp(frame->file, IMPORT_FILE, strlen(IMPORT_FILE)) == 0)
			text_append_string(text, "imports");
		else
			append_component(text, path ?: path_name(frame->file));
	} else if (package) {
		append_component(text, package);
	} else if (frame->kind == IAPROF_FRAME_JIT) {
		text_append_string(text, "generated code");
	} else if (!append_go_package(text, frame->file) && frame->module && *frame->module) {
		append_module(text, frame->module);
	}
}

static bool is_runtime(const char *code_class)
{
	for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
		if (!strcmp(code_class, runtimes[i]))
			return true;
	return false;
}

/* What waits are for, by the reason that their source states (plugins/off-cpu/wait_reasons.c). */
static const struct {
	const char *reason, *words;
} wait_words[] = {
	{ "[lock]", "locks" },
	{ "[disk]", "the disk" },
	{ "[network]", "the network" },
	{ "[local socket]", "local sockets" },
	{ "[pipe]", "pipes" },
	{ "[event]", "events" },
	{ "[poll]", "polled files" },
	{ "[sleep]", "sleeps to end" },
	{ "[child process]", "child processes" },
	{ "[signal]", "signals" },
	{ "[terminal]", "the terminal" },
	{ "[file lock]", "file locks" },
	{ "[Linux kernel lock]", "locks of the Linux kernel" },
	{ "[page fault]", "page faults" },
	{ "[interruptible]", "unknown events" },
	{ "[uninterruptible]", "the Linux kernel" },
	{ "[stopped]", "stopped processes to continue" },
};

/* Appends "GPU xe: fence" for the reason "[GPU xe: fence]", which is not among the words. */
static void append_wait(struct text *text, const char *reason)
{
	for (size_t i = 0; i < sizeof wait_words / sizeof *wait_words; i++)
		if (!strcmp(reason, wait_words[i].reason)) {
			text_append_string(text, wait_words[i].words);
			return;
		}
	append_name_part(text, reason + (*reason == '['), strcspn(reason + (*reason == '['), "]"));
}

#define WAIT_CLASS "wait for "

uint32_t code_work_append(struct text *text, const struct iaprof_frame *frame, const char *code_class)
{
	bool is_idle = code_class && !strcmp(code_class, "idle");
	uint32_t idle = is_idle ? CODE_WORK_IDLE : 0;
	if (frame->kind == IAPROF_FRAME_LINUX_KERNEL) {
		text_append_string(text, code_class && !is_idle ? code_class : "Linux kernel");
		return idle;
	}
	if (frame->kind == IAPROF_FRAME_WAIT) {
		append_wait(text, frame->name);
		return CODE_WORK_WAIT;
	}
	if (!is_code(frame))
		return 0;
	if (is_comprehension(frame) || is_made_by_python(frame)) {
		text_append_string(text, "interpreter");
		return CODE_WORK_RUNTIME;
	}
	if (code_class && !is_idle) {
		bool is_wait = !strncmp(code_class, WAIT_CLASS, strlen(WAIT_CLASS));
		text_append_name(text, code_class + (is_wait ? strlen(WAIT_CLASS) : 0));
		return is_wait ? CODE_WORK_WAIT : is_runtime(code_class) ? CODE_WORK_RUNTIME : 0;
	}
	bool is_library = frame->module && strstr(path_name(frame->module), ".so");
	if (frame->flags & IAPROF_FRAME_UNKNOWN && !is_library) {
		text_append_string(text, "code without symbols");
		return CODE_WORK_RUNTIME | idle;
	}
	append_library(text, frame);
	return idle;
}
