/* SPDX-License-Identifier: Apache-2.0 */
/* Stops of threads that this thread traces. */
#pragma once

#include <signal.h>
#include <sys/types.h>

/* PTRACE_SYSCALL's stops, with PTRACE_O_TRACESYSGOOD. */
#define SYSTEM_CALL_STOP (SIGTRAP | 0x80)

/*
 * Like waitpid() with WNOHANG, of one traced thread, or of any (-1): returns the thread that stopped or ended, 0, or -1
 * with errno. A stop that delivers a signal stays pending: if this process is killed before it continues the thread,
 * Linux delivers the signal, which would be lost otherwise. The caller continues the thread, or calls
 * traced_stop_consume() if the signal is not for the program.
 */
pid_t traced_stop_look(pid_t thread, int *status);

void traced_stop_consume(pid_t thread);
