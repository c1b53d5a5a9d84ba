/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables and mappings of processes as bytes, for the process of an isolated source. Tables have megabytes: what
 * exceeds a message is a file in memory.
 */
#pragma once

#include <stddef.h>
#include <iaprof/unwind.h>

/* Returns the size in bytes of a table or a process; the other is NULL. */
size_t unwind_packed_size(const struct iaprof_unwind_table *table, const struct iaprof_unwind_process *process);
/* Writes that many bytes, 8-byte aligned. */
void unwind_pack(const struct iaprof_unwind_table *table, const struct iaprof_unwind_process *process, char *bytes);

/* What unwind_unpack() finds: one of both has a size. The arrays are those in the bytes. */
struct unwind_unpacked {
	struct iaprof_unwind_table table;
	struct iaprof_unwind_process process;
};
/* Returns 0 or -EBADMSG. */
int unwind_unpack(const char *bytes, size_t size, struct unwind_unpacked *unpacked);
