/* SPDX-License-Identifier: Apache-2.0 */
/* See stream.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "stream.h"
#include "process/process_maps.h"
#include "xe_uapi.h"

#define LATCH_PERIOD UINT64_C(5000000) /* ns */

static void property_set(struct xe_set_property *properties, size_t number, uint32_t property, uint64_t value)
{
	properties[number] = (struct xe_set_property){ .property = property, .value = value };
	if (number)
		properties[number - 1].next_extension = (uintptr_t)&properties[number];
}

int stream_open(int node, uint32_t gt, uint32_t cycles, uint32_t wait_rows)
{
	struct xe_set_property properties[3];
	struct xe_observation_param parameter = { .observation_type = XE_OBSERVATION_EU_STALL,
						  .observation_op = XE_OBSERVATION_STREAM_OPEN,
						  .param = (uintptr_t)properties };

	property_set(properties, 0, XE_EU_STALL_GT_ID, gt);
	property_set(properties, 1, XE_EU_STALL_SAMPLE_RATE, cycles);
	property_set(properties, 2, XE_EU_STALL_WAIT_NUM_REPORTS, wait_rows);
	int stream = ioctl(node, XE_IOCTL_OBSERVATION, &parameter);
	if (stream < 0)
		return -errno;
	/* The driver sets neither flag. */
	int flags = fcntl(stream, F_GETFL);
	if (flags < 0 || fcntl(stream, F_SETFL, flags | O_NONBLOCK) || fcntl(stream, F_SETFD, FD_CLOEXEC)) {
		int error = errno;
		close(stream);
		return -error;
	}
	return stream;
}

int stream_enable(int stream)
{
	return ioctl(stream, XE_IOCTL_STREAM_ENABLE, 0) ? -errno : 0;
}

int stream_disable(int stream)
{
	return ioctl(stream, XE_IOCTL_STREAM_DISABLE, 0) ? -errno : 0;
}

/* Files that a process has open. */
struct open_files {
	bool stream; /* it has the stream of some device open */
	bool node;
};

/* node: its path. Links are read but not followed, because their targets may block. */
static struct open_files process_files(const char *process, const char *node)
{
	struct open_files found = { 0 };
	char path[300];

	snprintf(path, sizeof path, "/proc/%.20s/fd", process);
	CLEANUP_CLOSEDIR DIR *folder = opendir(path);
	if (!folder)
		return found;
	for (const struct dirent *entry; !(found.stream && found.node) && (entry = readdir(folder));) {
		char target[128];
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
		target[length > 0 ? length : 0] = '\0';
		found.stream |= !strcmp(target, "anon_inode:[xe_eu_stall]");
		found.node |= *node && !strcmp(target, node);
	}
	return found;
}

struct owners {
	unsigned count;
	size_t length;
	char text[200];
};

static void owner_add(struct owners *owners, pid_t process)
{
	char name[64];

	process_describe(process, name, sizeof name);
	if (owners->length < sizeof owners->text)
		owners->length += (size_t)snprintf(owners->text + owners->length, sizeof owners->text - owners->length,
						   "%s%s", owners->count ? ", " : "", name);
	owners->count++;
}

void stream_owner_describe(int node, char *text, size_t size)
{
	struct owners any = { 0 }, with_node = { 0 };
	char link[64], path[128];
	bool ours = false;

	snprintf(link, sizeof link, "/proc/self/fd/%d", node);
	ssize_t length = node >= 0 ? readlink(link, path, sizeof path - 1) : 0;
	path[length > 0 ? length : 0] = '\0';
	CLEANUP_CLOSEDIR DIR *folder = opendir("/proc");
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		struct open_files files = process_files(entry->d_name, path);
		if (!files.stream)
			continue;
		pid_t process = (pid_t)strtol(entry->d_name, NULL, 10);
		if (process == getpid())
			ours = true;
		else
			owner_add(files.node ? &with_node : &any, process);
	}
	const struct owners *owners = with_node.count ? &with_node : &any;
	if (owners->count)
		snprintf(text, size, "%s%s", node >= 0 && owners->count > 1 ? "one of " : "", owners->text);
	else
		snprintf(text, size, "%s",
			 ours ? "this iaprof itself, another source of this run"
			      : "a process that is not visible from here");
}

uint64_t stream_latch_age(void)
{
	struct timespec tick = { .tv_nsec = 10000000 };

	/* This clock advances with the kernel's tick: 1, 3.3, 4 or 10 ms. */
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	uint64_t length = (uint64_t)tick.tv_sec * 1000000000 + (uint64_t)tick.tv_nsec;
	if (!length || length > 10000000)
		length = 10000000;
	return (LATCH_PERIOD + length - 1) / length * length + length;
}
