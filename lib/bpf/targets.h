/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The processes to profile: one bit per process id, in a map that BPF programs read. */
#pragma once

/* Process ids are below PID_MAX_LIMIT (include/linux/threads.h) of 64-bit kernels: 4 Mi, one bit each. */
#define TARGET_WORDS (4u * 1024 * 1024 / 64)
