/* SPDX-License-Identifier: Apache-2.0 */
/* See sideband_rings.h. */
#include "process/sideband_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc_parser.h"

static int ring_start(struct sideband_ring *ring, uint64_t now, struct error *error)
{
	ring->last_time = now;
	if (ioctl(ring->descriptor, PERF_EVENT_IOC_ENABLE, 0))
		return error_set(error, errno, "process events: start on CPU %u: %s", ring->cpu, strerror(errno));
	return 0;
}

/*
 * Opens the ring buffer of a CPU that came online, and closes its previous one from before it went offline, which no
 * longer receives anything.
 */
static int ring_add(struct sideband_rings *rings, uint32_t cpu, uint64_t now, struct error *error)
{
	struct sideband_ring ring;
	size_t place = 0;

	while (place < rings->rings.count && rings->rings.items[place].cpu != cpu)
		place++;
	if (!array_reserve(&rings->rings, place + 1))
		return error_set(error, ENOMEM, "out of memory");
	int result = sideband_ring_open(&ring, cpu, rings->ring_size, error);
	if (result)
		return result == -ENODEV ? 0 : result; /* went offline meanwhile */
	if (place < rings->rings.count)
		sideband_ring_close(&rings->rings.items[place]);
	else
		rings->rings.count++;
	rings->rings.items[place] = ring;
	struct epoll_event event = { .events = EPOLLIN, .data.fd = ring.descriptor };
	if (epoll_ctl(rings->epoll, EPOLL_CTL_ADD, ring.descriptor, &event))
		return error_set(error, errno, "epoll: %s", strerror(errno));
	return rings->started ? ring_start(&rings->rings.items[place], now, error) : 0;
}

static int cpu_add(void *context, uint32_t cpu)
{
	struct sideband_cpus *cpus = context;
	return array_push(&cpus->numbers, cpu) ? 0 : -ENOMEM;
}

static bool cpus_have(const struct sideband_cpus *cpus, uint32_t cpu)
{
	for (size_t i = 0; i < cpus->numbers.count; i++)
		if (cpus->numbers.items[i] == cpu)
			return true;
	return false;
}

int sideband_rings_follow(struct sideband_rings *rings, uint64_t now, size_t *came, struct error *error)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	char text[sizeof rings->online_text];

	*came = 0;
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = descriptor < 0 ? -1 : read(descriptor, text, sizeof text);
	if (size < 0)
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	if ((size_t)size == rings->online_size && memcmp(text, rings->online_text, (size_t)size) == 0)
		return 0;
	struct sideband_cpus online = { 0 };
	int result = proc_cpu_list(text, (size_t)size, cpu_add, &online);
	if (result)
		error_set(error, result, result == -EBADMSG ? "%s is not a list of CPUs" : "%s: out of memory", path);
	for (size_t i = 0; i < online.numbers.count && !result; i++) {
		uint32_t cpu = online.numbers.items[i];
		if (cpus_have(&rings->online, cpu))
			continue;
		++*came;
		result = ring_add(rings, cpu, now, error);
	}
	array_free(&rings->online.numbers);
	rings->online = online;
	memcpy(rings->online_text, text, (size_t)size);
	rings->online_size = (size_t)size;
	return result;
}

int sideband_rings_open(struct sideband_rings *rings, size_t ring_size, struct error *error)
{
	size_t came;

	rings->ring_size = ring_size;
	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (rings->epoll < 0)
		return error_set(error, errno, "epoll: %s", strerror(errno));
	return sideband_rings_follow(rings, 0, &came, error);
}

void sideband_rings_close(struct sideband_rings *rings)
{
	for (size_t i = 0; i < rings->rings.count; i++)
		sideband_ring_close(&rings->rings.items[i]);
	if (rings->epoll > 0)
		close(rings->epoll);
	array_free(&rings->rings);
	array_free(&rings->online.numbers);
}

int sideband_rings_start(struct sideband_rings *rings, uint64_t now, struct error *error)
{
	int result = 0;
	rings->started = now;
	for (size_t i = 0; i < rings->rings.count && !result; i++)
		result = ring_start(&rings->rings.items[i], now, error);
	return result;
}

void sideband_rings_stop(struct sideband_rings *rings)
{
	rings->started = 0;
	for (size_t i = 0; i < rings->rings.count; i++)
		ioctl(rings->rings.items[i].descriptor, PERF_EVENT_IOC_DISABLE, 0);
}

void sideband_rings_remove_hangups(struct sideband_rings *rings)
{
	struct epoll_event events[16];
	int count = epoll_wait(rings->epoll, events, sizeof events / sizeof *events, 0);
	for (int i = 0; i < count; i++)
		if (events[i].events & (EPOLLHUP | EPOLLERR))
			epoll_ctl(rings->epoll, EPOLL_CTL_DEL, events[i].data.fd, NULL);
}
