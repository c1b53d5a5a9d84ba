/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose stacks are known: after "ready" it stays in one chain of calls for ever, and in one line of each.
 * truth_spin() is inlined, so that only debug info knows it.
 */
#include <unistd.h>

#include "next_turn.h"

#if defined(__clang__)
#define NOT_INLINED noinline
#else
#define NOT_INLINED noinline, noclone
#endif

static inline __attribute__((always_inline)) void truth_spin(void)
{
	for (volatile unsigned long work = 0;; work = NEXT_TURN(work))
		;
}

__attribute__((NOT_INLINED)) static void truth_c(void)
{
	truth_spin();
	__asm__ volatile("");
}

__attribute__((NOT_INLINED)) static void truth_b(void)
{
	truth_c();
	__asm__ volatile("");
}

__attribute__((NOT_INLINED)) static void truth_a(void)
{
	truth_b();
	__asm__ volatile("");
}

int main(void)
{
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	truth_a();
	return 0;
}
