/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that have an NPU open, and the memory that they have there, from /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptors of a process beyond these are not searched. */
#define NPU_USER_DESCRIPTORS_MAX 65536u

/* Calls found for each process that has an NPU open. proc is "/proc", or a copy for tests. */
void npu_users_find(const char *proc, void (*found)(void *context, uint32_t pid), void *context);

/*
 * Reads the bytes of memory that a process has on NPUs, as Linux 7.2 reports them. Returns false if it has none open,
 * or the driver does not report it.
 */
bool npu_user_memory(const char *proc, uint32_t pid, uint64_t *bytes);

/*
 * Adds the resident memory of a DRM client, in text like that of /proc/PID/fdinfo/FD (drm-usage-stats.rst). Returns
 * false if there is none. Pure.
 */
bool drm_memory_parse(const char *text, uint64_t *bytes);
