/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program inside of hostile ELF files: it uses its CPU for ever. It needs nothing but its code and stack, so that
 * all else of its file may be damaged or never come.
 */
#if defined(__clang__)
#define NOT_INLINED noinline
#else
#define NOT_INLINED noinline, noclone
#endif

void _start(void);

__attribute__((NOT_INLINED)) static void hostile_spin(void)
{
	for (volatile unsigned long work = 0;; work = work + 1)
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
