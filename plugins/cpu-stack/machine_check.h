/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of user and kernel stacks for --check. */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>

/* For check(). user, kernel: the stacks that are recorded. unwind: enum unwind_choice. */
void cpu_stack_check_all(const struct iaprof_host *host, bool user, uint64_t unwind, bool kernel);
