/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NEXT_TURN(turn): turn + 1, in an endless loop that is sampled but leaves most of the CPU to others: after every
 * 3,000,000 turns (2 to 5 ms) it sleeps for 0 to 8 ms, which vary so that samples at a fixed rate do not miss the work.
 * The system call needs no C library. A macro keeps all of the loop in one function and one line.
 */
#pragma once

#if defined(__x86_64__)
#define NEXT_TURN_SLEEP(time)                                                                                          \
	({                                                                                                             \
		long result = 35; /* nanosleep */                                                                      \
		__asm__ volatile("syscall" : "+a"(result) : "D"(time), "S"(0L) : "rcx", "r11", "memory");              \
	})
#elif defined(__aarch64__)
#define NEXT_TURN_SLEEP(time)                                                                                          \
	({                                                                                                             \
		register long number __asm__("x8") = 101; /* nanosleep */                                              \
		register void *wanted __asm__("x0") = (time);                                                          \
		register void *left __asm__("x1") = 0;                                                                 \
		__asm__ volatile("svc 0" : "+r"(wanted) : "r"(number), "r"(left) : "memory");                          \
	})
#else /* no sleep */
#define NEXT_TURN_SLEEP(time) ((void)(time))
#endif

#define NEXT_TURN(turn)                                                                                                \
	({                                                                                                             \
		unsigned long now = (turn);                                                                            \
		if (now % 3000000 == 0) {                                                                              \
			long time[2] = { 0, (long)(now / 3000000 * 2654435761u % (1 << 23)) }; /* s, ns */             \
			NEXT_TURN_SLEEP(time);                                                                         \
		}                                                                                                      \
		now + 1;                                                                                               \
	})
