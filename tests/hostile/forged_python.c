/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that pretends to be CPython 3.11, with structures that lie. Argument: "cycle" has a frame that is its own
 * caller, and a thread that follows itself; "huge" has strings and tables that claim to be larger than memory; "churn"
 * has another code object with each call; "wild" has pointers into the Linux kernel. Prints a line, and spins.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED const unsigned long Py_Version = 0x030b02f0;
EXPORTED char PyCode_Type[408], _PyRuntime[4096];

static char interpreter[256], threads[2][512], cframe[16], frames[2][80], codes[1024][256], text[3][128];

static void set(void *object, size_t offset, const void *value)
{
	memcpy((char *)object + offset, &value, sizeof value);
}

static void set_number(void *object, size_t offset, uint64_t value)
{
	memcpy((char *)object + offset, &value, sizeof value);
}

static void make_code(char *code, uint32_t line)
{
	set(code, 8, PyCode_Type);
	memcpy(code + 72, &line, sizeof line);
	set(code, 112, text[0]);
	set(code, 128, text[1]);
	set(code, 136, text[2]);
}

static void make_text(char *object, const char *bytes, uint64_t length)
{
	uint32_t state = 1u << 2 | 1u << 5 | 1u << 6; /* one byte a character, compact, ASCII */
	set_number(object, 16, length);
	memcpy(object + 32, &state, sizeof state);
	strcpy(object + 48, bytes);
}

void _PyEval_EvalFrameDefault(const char *mode);

EXPORTED __attribute__((noinline)) void _PyEval_EvalFrameDefault(const char *mode)
{
	for (uint64_t i = 0;; i++) {
		if (mode[1] == 'h' && i % 4096 == 0) {
			char *code = codes[i / 4096 % 1024];
			make_code(code, (uint32_t)(i / 4096) + 1);
			set(frames[0], 32, code);
		}
		__asm__ volatile("" ::: "memory");
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "cycle";
	int is_huge = strcmp(mode, "huge") == 0;
	make_text(text[0], "/tmp/forged\x1b[31m.py", is_huge ? UINT64_C(1) << 31 : 16);
	make_text(text[1], "forged;function\n", is_huge ? UINT64_MAX : 16);
	set_number(text[2], 16, is_huge ? UINT64_MAX / 2 : 4);
	for (size_t i = 0; i < 1024; i++)
		make_code(codes[i], 7);
	set(_PyRuntime, 40, interpreter);
	set(interpreter, 0, interpreter);
	set(interpreter, 16, threads[0]);
	for (size_t i = 0; i < 2; i++) {
		set(threads[i], 8, threads[1]);
		set(threads[i], 16, interpreter);
		set(threads[i], 56, cframe);
	}
	set_number(threads[1], 152, (uint64_t)pthread_self());
	set(cframe, 8, frames[0]);
	for (size_t i = 0; i < 2; i++) {
		set(frames[i], 32, codes[i]);
		set(frames[i], 48,
		    strcmp(mode, "wild") == 0 ? (void *)UINT64_C(0xffffffff81000000) : (void *)frames[1]);
		set(frames[i], 56, codes[i] + 184);
	}
	puts("ready");
	fflush(stdout);
	_PyEval_EvalFrameDefault(mode);
}
