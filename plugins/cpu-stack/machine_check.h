/* SPDX-License-Identifier: Apache-2.0 */
/* What --check tells of the stacks of programs and of the Linux kernel. */
#ifndef IAPROF_CPU_STACK_MACHINE_CHECK_H
#define IAPROF_CPU_STACK_MACHINE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

/* For check(). user, kernel: which stacks are taken. */
void cpu_stack_check_all(const struct iaprof_host *host, bool user, bool kernel);

#endif
