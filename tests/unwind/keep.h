/* SPDX-License-Identifier: Apache-2.0 */
/* How programs with known call chains keep each function and each call. */
#pragma once

#define KEEP extern "C" __attribute__((noinline, noclone, used))
/* Behind a call, so that it is no tail call. */
#define AFTER asm volatile("" ::: "memory")
