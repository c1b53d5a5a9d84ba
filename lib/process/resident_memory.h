/* SPDX-License-Identifier: Apache-2.0 */
/* Resident memory of processes (proc_pid_statm(5)). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Opens a process for resident_memory_read(); pid 0: this process. Returns a descriptor, or -1 with errno set. */
int resident_memory_open(pid_t pid);
/* Returns the memory in bytes; 0: unknown. descriptor may be -1. */
uint64_t resident_memory_read(int descriptor);
/* The same for a process that is read once. */
uint64_t resident_memory_of(pid_t pid);
