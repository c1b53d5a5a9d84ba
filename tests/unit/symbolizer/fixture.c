/* SPDX-License-Identifier: Apache-2.0 */
/* A small library whose symbols the tests compare with nm: functions of every binding, aliases, inlined calls. */
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) int sum(const int *values, int count);
__attribute__((visibility("default"))) int total(const int *values, int count) __attribute__((alias("sum")));
__attribute__((visibility("default"))) int __total(const int *values, int count) __attribute__((alias("sum")));
__attribute__((visibility("default"), weak)) int weak_sum(const int *values, int count) __attribute__((alias("sum")));
__attribute__((visibility("default"), weak)) int only_weak(int value);
__attribute__((visibility("default"))) int outer(int value);
__attribute__((visibility("default"))) char *copy(const char *text);

static inline __attribute__((always_inline)) int innermost(int value)
{
	volatile int result = value;
	result = result * 3 + 1;
	return result;
}

static inline __attribute__((always_inline)) int middle(int value)
{
	int result = innermost(value);
	if (result > 100)
		result = innermost(result - 100);
	return result;
}

static __attribute__((noinline)) int local_function(int value)
{
	volatile int result = middle(value) + 7;
	return result;
}

int sum(const int *values, int count)
{
	volatile int result = 0;
	for (int i = 0; i < count; i++)
		result += values[i];
	return result;
}

int only_weak(int value)
{
	return local_function(value) + 2;
}

int outer(int value)
{
	return middle(value) + only_weak(value) + local_function(value + 1);
}

char *copy(const char *text)
{
	char *result = strdup(text);
	if (!result)
		abort();
	return result;
}

__asm__(".text\n"
	".type sized_assembler, %function\n"
	".globl sized_assembler\n"
	"sized_assembler:\n"
	"nop\n"
	"label_inside:\n"
	"nop\n"
	"nop\n"
	".size sized_assembler, . - sized_assembler\n"
	".balign 16\n"
	".globl unsized_assembler\n"
	"unsized_assembler:\n"
	"nop\n"
	"nop\n"
	".balign 16\n"
	".type after_assembler, %function\n"
	"after_assembler:\n"
	"nop\n"
	".size after_assembler, . - after_assembler\n");
