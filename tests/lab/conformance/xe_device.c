// SPDX-License-Identifier: Apache-2.0
/* Calls to an xe device: finding it, queries, opening and draining streams. */
#include "xe_device.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

struct device device = { .fd = -1 };
void *const volatile nowhere = (void *)8;

bool device_is_xe(int fd)
{
	char name[16] = { 0 };
	struct drm_version version = { .name = name, .name_length = sizeof(name) - 1 };

	return ioctl(fd, DRM_IOCTL_VERSION, &version) == 0 && strcmp(name, "xe") == 0;
}

int device_open(void)
{
	for (int minor = 128; minor < 192; minor++) {
		int fd;

		snprintf(device.node, sizeof(device.node), "/dev/dri/renderD%d", minor);
		fd = open(device.node, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && device_is_xe(fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

bool device_find(void)
{
	struct xe_query_gt_list *list;
	uint32_t size;
	void *eu_stall;

	device.is_double = access("/sys/kernel/debug/xe-double/scenario", W_OK) == 0;
	device.fd = device_open();
	if (device.fd < 0)
		return false;
	eu_stall = device_query(XE_QUERY_EU_STALL, &size);
	list = device_query(XE_QUERY_GT_LIST, &size);
	for (unsigned i = 0; eu_stall && list && i < list->num_gt && !device.cores; i++) {
		device.gt = list->gt_list[i].gt_id;
		device.cores = list->gt_list[i].type == 0 ? device_cores(device.gt) : 0;
	}
	free(eu_stall);
	free(list);
	return device.cores != 0;
}

void *device_query(uint32_t id, uint32_t *size)
{
	struct xe_device_query query = { .query = id };
	void *answer;

	if (ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &query) != 0)
		return NULL;
	*size = query.size;
	answer = calloc(1, query.size + 1);
	query.data = (uintptr_t)answer;
	if (answer && ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &query) != 0) {
		free(answer);
		return NULL;
	}
	return answer;
}

unsigned device_cores(unsigned gt)
{
	uint8_t all[64] = { 0 };
	unsigned count = 0;
	uint32_t size = 0;
	uint8_t *answer = device_query(XE_QUERY_GT_TOPOLOGY, &size);

	for (uint32_t offset = 0; answer && offset + sizeof(struct xe_query_topology_mask) <= size;) {
		const struct xe_query_topology_mask *mask = (const void *)(answer + offset);

		if (mask->gt_id == gt && mask->type <= XE_TOPOLOGY_DSS_COMPUTE)
			for (uint32_t i = 0; i < mask->num_bytes && i < sizeof(all); i++)
				all[i] |= mask->mask[i];
		offset += sizeof(*mask) + mask->num_bytes;
	}
	for (size_t i = 0; i < sizeof(all); i++)
		count += (unsigned)__builtin_popcount(all[i]);
	free(answer);
	return count;
}

int observe(uint64_t type, uint64_t operation, const void *parameter)
{
	struct xe_observation_param param = { .observation_type = type,
					      .observation_op = operation,
					      .param = (uintptr_t)parameter };

	return ioctl(device.fd, XE_IOCTL_OBSERVATION, &param);
}

int stream_open_with(const struct property *properties, unsigned count)
{
	struct xe_ext_set_property chain[PROPERTIES_MAX] = { 0 };

	for (unsigned i = 0; i < count; i++) {
		chain[i].property = properties[i].id;
		chain[i].value = properties[i].value;
		chain[i].base.next_extension = i + 1 < count ? (uintptr_t)&chain[i + 1] : 0;
	}
	return observe(1, 0, chain);
}

int stream_open(unsigned wait)
{
	const struct property properties[] = { { XE_EU_STALL_GT_ID, device.gt },
					       { XE_EU_STALL_WAIT_NUM_REPORTS, wait } };
	int fd = stream_open_with(properties, 2);

	if (fd >= 0) {
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	return fd;
}

int stream_start(unsigned wait)
{
	int fd = stream_open(wait);

	if (fd >= 0 && ioctl(fd, XE_STREAM_ENABLE, 0) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

bool is_readable(int fd, int milliseconds)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, milliseconds) == 1 && entry.revents == POLLIN;
}

ssize_t stream_drain(int fd, uint8_t **bytes, size_t *size, size_t wanted)
{
	const size_t room = (size_t)device.cores * RING_SIZE;
	int patience = 200;

	for (;;) {
		ssize_t got;

		*bytes = realloc(*bytes, *size + room);
		if (!*bytes)
			abort();
		got = read(fd, *bytes + *size, room);
		if (got > 0) {
			*size += (size_t)got;
		} else if (errno == EAGAIN) {
			if (*size >= wanted || patience-- == 0)
				return (ssize_t)*size;
			is_readable(fd, 50);
		} else {
			return -1;
		}
	}
}

int in_child(int (*function)(void *argument), void *argument)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return -1;
	if (child == 0)
		_exit(function(argument));
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

void become_nobody(void)
{
	if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		abort();
}

bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t length = strlen(text);
	bool written = fd >= 0 && write(fd, text, length) == (ssize_t)length;
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return written;
}

bool file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length >= 0;
}
