/* SPDX-License-Identifier: Apache-2.0 */
/* See resident_memory.h. */
#include "process/resident_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

int resident_memory_open(pid_t pid)
{
	char path[32] = "/proc/self/statm";
	if (pid)
		snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

uint64_t resident_memory_read(int descriptor)
{
	char text[128];
	unsigned long pages;
	ssize_t length = descriptor < 0 ? -1 : pread(descriptor, text, sizeof text - 1, 0);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	return sscanf(text, "%*u %lu", &pages) == 1 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

uint64_t resident_memory_of(pid_t pid)
{
	CLEANUP_CLOSE int descriptor = resident_memory_open(pid);
	return resident_memory_read(descriptor);
}
