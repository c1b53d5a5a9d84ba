/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of processes of a parallel program, from the environment that mpirun, srun and torchrun start them with. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the rank in the text of /proc/PID/environ, which is not trusted. Returns false if there is none, or if the
 * program has one process only. Pure.
 */
bool process_rank_find(const char *environment, size_t length, uint32_t *rank);

enum process_rank_state {
	PROCESS_RANK_UNKNOWN, /* no environment to read: it is in the middle of execve(), or exits */
	PROCESS_RANK_NONE,    /* or the process has ended */
	PROCESS_RANK_FOUND,
	PROCESS_RANK_UNANSWERED /* reading waited too long, or was not tried because of earlier ones: iaprof-broker */
};

struct process_rank {
	uint32_t state; /* enum process_rank_state */
	uint32_t rank;
};

/* The same for a running process. Waits for the lock of its address space: only iaprof-broker calls it. */
enum process_rank_state process_rank_read(pid_t pid, uint32_t *rank);

/* Longest suffix of a name, with its NUL. */
#define PROCESS_RANK_SUFFIX_SIZE sizeof " (rank 2147483647)"

/* Writes the name of a process with a rank: "python3 (rank 3)". What does not fit is cut off. Pure. */
void process_rank_name(char *text, size_t size, const char *name, size_t length, uint32_t rank);

/* Returns " (rank 3)" in such a name, or NULL. Pure. */
const char *process_rank_suffix(const char *name);
