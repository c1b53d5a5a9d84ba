/* SPDX-License-Identifier: Apache-2.0 */
/* What a seccomp filter does to system calls, by running its program here. It is untrusted. Pure; any thread. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Runs a program for a system call, as Linux does (seccomp_check_filter() in kernel/seccomp.c lists its instructions).
 * Returns its result; SECCOMP_RET_KILL_PROCESS for a program that Linux would not accept.
 */
uint32_t seccomp_filter_run(const struct sock_filter *program, size_t count, const struct seccomp_data *call);

/*
 * Returns whether a filter may end the process, or hand it to another one, for any system call of x86-64 with any
 * arguments: if not, what it forbids only fails. Container engines' filters are of that kind. A filter that is too
 * complicated to know counts as one.
 */
bool seccomp_filter_is_deadly(const struct sock_filter *program, size_t count);
