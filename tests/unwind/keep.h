/* SPDX-License-Identifier: Apache-2.0 */
/* How programs with known call chains keep each function and each call. */
#ifndef TESTS_UNWIND_KEEP_H
#define TESTS_UNWIND_KEEP_H

#define KEEP extern "C" __attribute__((noinline, noclone, used))
/* Behind a call, so that it is no tail call. */
#define AFTER asm volatile("" ::: "memory")

#endif
