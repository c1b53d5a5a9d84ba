/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program inside of hostile ELF files, and, with -DBUSY, one that keeps a CPU busy. It needs nothing but its code
 * and stack, so that all else of its file may be damaged or never come.
 */
#ifdef BUSY
#define NEXT_TURN(turn) ((turn) + 1)
#else
#include "next_turn.h"
#endif

#if defined(__clang__)
#define NOT_INLINED noinline
#else
#define NOT_INLINED noinline, noclone
#endif

void _start(void);

__attribute__((NOT_INLINED)) static void hostile_spin(void)
{
	for (volatile unsigned long work = 0;; work = NEXT_TURN(work))
		;
}

__attribute__((NOT_INLINED)) static void hostile_work(void)
{
	hostile_spin();
	__asm__ volatile("");
}

void _start(void)
{
	hostile_work();
	__asm__ volatile("");
}
