/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that a benchmark runs and measures. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child_usage {
	double cpu_seconds;   /* user and system time of its whole life */
	uint64_t peak_memory; /* bytes resident at the most (VmHWM) */
	int status;           /* as of waitpid() */
};

/* Starts a program found in PATH; what it prints goes to a file (NULL: nowhere). Ends the benchmark when it cannot. */
pid_t child_spawn(char *const *arguments, const char *output);

/* CPU time that a process has used so far, all its threads. */
double child_cpu_seconds(pid_t pid);

/* Sends a signal (0: none) and waits for the end. */
struct child_usage child_end(pid_t pid, int signal);

/* Whether a program is in PATH. */
bool child_exists(const char *program);

/* A new folder for the benchmark's files; child_remove_folder() takes it away with them. */
char *child_make_folder(void);
void child_remove_folder(char *folder);

void sleep_seconds(double seconds);
