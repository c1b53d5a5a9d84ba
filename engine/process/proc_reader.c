/* SPDX-License-Identifier: Apache-2.0 */
/* See proc_reader.h. */
#include "process/proc_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

int proc_open(uint32_t pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", pid, name);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	return descriptor < 0 ? -errno : descriptor;
}

void proc_maps_begin(struct proc_maps *maps, struct broker *broker, uint32_t pid)
{
	maps->broker = broker;
	maps->pid = pid;
	maps->has_begun = maps->has_ended = false;
	maps->begin = maps->filled = 0;
}

int proc_maps_read(struct proc_maps *maps)
{
	if (maps->has_ended)
		return 0;
	maps->filled -= maps->begin;
	memmove(maps->text, maps->text + maps->begin, maps->filled);
	maps->begin = 0;
	size_t room = sizeof maps->text - maps->filled;
	ssize_t size =
		broker_read(maps->broker, maps->pid, BROKER_MAPS, maps->has_begun, maps->text + maps->filled, room);
	maps->has_begun = true;
	maps->has_ended = size < (ssize_t)room;
	if (size <= 0)
		return (int)size;
	maps->filled += (size_t)size;
	return 1;
}

int proc_maps_take(struct proc_maps *maps, struct process_mapping *mapping)
{
	char *text = maps->text + maps->begin;
	size_t left = maps->filled - maps->begin;
	int result = proc_maps_next(&text, &left, mapping);
	maps->begin = maps->filled - left;
	if (result || left < sizeof maps->text)
		return result;
	maps->begin = maps->filled;
	return -EINVAL;
}

int proc_status_read(uint32_t pid, char text[PROC_STATUS_SIZE], struct proc_status *status)
{
	CLEANUP_CLOSE int descriptor = proc_open(pid, "stat");
	if (descriptor < 0)
		return descriptor;
	ssize_t size = read(descriptor, text, PROC_STATUS_SIZE);
	return size < 0 ? -errno : proc_status_parse(text, (size_t)size, status);
}

bool proc_status_has_ended(const struct proc_status *status)
{
	/* The exit event of an exiting process may already have been recorded. */
	bool ended = status->state == 'Z' || status->state == 'X' || status->flags & PROC_STATUS_EXITING;
	return ended && status->threads <= 1;
}

bool proc_reading_has_ended(int result, const struct proc_status *status)
{
	return result == -ENOENT || result == -ESRCH || (!result && proc_status_has_ended(status));
}

bool proc_has_ended(uint32_t pid)
{
	char text[PROC_STATUS_SIZE];
	struct proc_status status;
	return proc_reading_has_ended(proc_status_read(pid, text, &status), &status);
}

uint64_t proc_ticks_to_ns(uint64_t ticks)
{
	return ticks * (NANOSECONDS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

bool proc_identity_read(uint32_t pid, struct proc_identity *identity)
{
	*identity = (struct proc_identity){ 0 };
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", pid);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	bool has_user = false;
	while (file && !identity->namespace_pid && fgets(line, sizeof line, file)) {
		if (sscanf(line, "Uid: %*u %" SCNu32, &identity->user) == 1)
			has_user = true;
		(void)sscanf(line, "Gid: %*u %" SCNu32, &identity->group);
		/* Parses "NSpid:	4711	12	1": the last one is the pid in its own namespace. */
		if (!strncmp(line, "NSpid:", 6))
			for (const char *number = line + 6; (number = strpbrk(number, "0123456789"));
			     number += strspn(number, "0123456789"))
				identity->namespace_pid = (uint32_t)strtoul(number, NULL, 10);
	}
	return has_user;
}
