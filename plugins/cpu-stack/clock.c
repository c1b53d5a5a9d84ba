/* SPDX-License-Identifier: Apache-2.0 */
/* See clock.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "clock.h"

/* More CPUs than any Linux has (NR_CPUS is at most 8192): a limit for what is read. */
#define CPU_COUNT_MAX 65536u

int cpu_list_read(const struct iaprof_host *host, uint32_t **cpus, size_t *count)
{
	static const char path[] = "/sys/devices/system/cpu/online"; /* "0-3,6,8-11" */
	FILE *file = fopen(path, "re");
	if (!file)
		return host->fail(host, errno, "open %s: %s", path, strerror(errno));

	uint32_t *list = NULL;
	size_t used = 0;
	uint32_t first = 0;
	int result = 0;
	while (result == 0 && fscanf(file, "%" SCNu32, &first) == 1) {
		uint32_t last = first;
		int separator = fgetc(file);
		if (separator == '-') {
			if (fscanf(file, "%" SCNu32, &last) != 1)
				last = 0;
			separator = fgetc(file);
		}
		if (last < first || last >= CPU_COUNT_MAX || used + (last - first) >= CPU_COUNT_MAX) {
			result = host->fail(host, EINVAL, "%s: not a list of CPUs", path);
			break;
		}
		uint32_t *larger = realloc(list, (used + last - first + 1) * sizeof *list);
		if (!larger) {
			result = host->fail(host, ENOMEM, "out of memory");
			break;
		}
		list = larger;
		for (uint32_t cpu = first; cpu <= last; cpu++)
			list[used++] = cpu;
		if (separator != ',')
			break;
	}
	fclose(file);
	if (result == 0 && used == 0)
		result = host->fail(host, EINVAL, "%s: not a list of CPUs", path);
	if (result) {
		free(list);
		return result;
	}
	*cpus = list;
	*count = used;
	return 0;
}

/* The value of a file in /proc/sys/kernel, or -1. */
static long kernel_setting(const char *name)
{
	char path[128];
	long value = -1;

	snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
	FILE *file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* The descriptor of the event, or a negative errno. */
static int event_open(bool hardware, uint64_t frequency, uint32_t cpu)
{
	struct perf_event_attr attribute = {
		.size = sizeof attribute,
		.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = hardware ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = frequency,
		.freq = 1,
		.disabled = 1,
	};
	long descriptor = syscall(SYS_perf_event_open, &attribute, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return descriptor < 0 ? -errno : (int)descriptor;
}

static int event_fail(const struct iaprof_host *host, int error, bool hardware, uint64_t frequency)
{
	long rate = kernel_setting("perf_event_max_sample_rate");

	switch (error) {
	case -EPERM:
	case -EACCES:
		return host->fail(host, error,
				  "perf_event_open: needs CAP_PERFMON (run as root) or kernel.perf_event_paranoid at "
				  "most 0 (it is %ld)",
				  kernel_setting("perf_event_paranoid"));
	case -ENOSYS:
		return host->fail(
			host, error,
			"perf_event_open: this Linux kernel has no perf events: it needs CONFIG_PERF_EVENTS=y");
	case -EINVAL:
		if (rate >= 0 && frequency > (uint64_t)rate)
			return host->fail(host, error,
					  "frequency=%" PRIu64
					  " is above what the Linux kernel allows: use %ld or less, "
					  "or raise kernel.perf_event_max_sample_rate",
					  frequency, rate);
		break;
	case -EMFILE:
	case -ENFILE:
		return host->fail(host, error,
				  "perf_event_open: %s: one is needed for each CPU: raise the limit of open files",
				  strerror(-error));
	default:
		break;
	}
	if (hardware)
		return host->fail(
			host, error,
			"perf_event_open: no hardware cycle counter can be used here (%s), as in most virtual "
			"machines: use clock=software",
			strerror(-error));
	return host->fail(host, error, "perf_event_open: %s", strerror(-error));
}

/* A CPU may go offline between our look and the open. */
static bool cpu_is_gone(int error)
{
	return error == -ENODEV || error == -ENXIO;
}

/* Opens one kind of clock on all CPUs. Returns 0 or a negative errno, without a message. */
static int events_open(struct sample_clock *clock, bool hardware, uint64_t frequency, const uint32_t *cpus,
		       size_t count)
{
	clock->hardware = hardware;
	clock->events = calloc(count, sizeof *clock->events);
	if (!clock->events)
		return -ENOMEM;
	int last_error = -ENODEV;
	for (size_t i = 0; i < count; i++) {
		int descriptor = event_open(hardware, frequency, cpus[i]);
		if (descriptor >= 0) {
			clock->events[clock->event_count++] =
				(struct sample_clock_event){ .descriptor = descriptor, .cpu = cpus[i] };
			continue;
		}
		last_error = descriptor;
		if (!cpu_is_gone(descriptor))
			break;
	}
	if (clock->event_count > 0 && (clock->event_count == count || cpu_is_gone(last_error)))
		return 0;
	sample_clock_close(clock);
	return last_error;
}

int sample_clock_check(const struct iaprof_host *host, enum sample_clock_choice choice)
{
	struct sample_clock clock = { 0 };
	uint32_t cpu = 0;
	uint32_t *cpus = NULL;
	size_t count = 0;
	int result = cpu_list_read(host, &cpus, &count);
	if (result)
		return result;
	cpu = cpus[0];
	free(cpus);

	bool hardware = choice == SAMPLE_CLOCK_HARDWARE;
	result = events_open(&clock, hardware, 1, &cpu, 1);
	if (result)
		return event_fail(host, result, hardware, 1);
	sample_clock_close(&clock);
	return 0;
}

int sample_clock_open(struct sample_clock *clock, const struct iaprof_host *host, enum sample_clock_choice choice,
		      uint64_t frequency, int program_descriptor)
{
	uint32_t *cpus = NULL;
	size_t count = 0;
	int result = cpu_list_read(host, &cpus, &count);
	if (result)
		return result;

	bool hardware = choice != SAMPLE_CLOCK_SOFTWARE;
	result = events_open(clock, hardware, frequency, cpus, count);
	if (result && choice == SAMPLE_CLOCK_AUTO) {
		host->log(host, IAPROF_LOG_DEBUG, "no hardware cycle counter (%s): the software clock is used",
			  strerror(-result));
		hardware = false;
		result = events_open(clock, hardware, frequency, cpus, count);
	}
	free(cpus);
	if (result)
		return event_fail(host, result, hardware, frequency);

	for (size_t i = 0; i < clock->event_count; i++) {
		if (ioctl(clock->events[i].descriptor, PERF_EVENT_IOC_SET_BPF, program_descriptor) != 0)
			return host->fail(host, errno, "attach the BPF program to the clock of CPU %" PRIu32 ": %s",
					  clock->events[i].cpu, strerror(errno));
	}
	return 0;
}

int sample_clock_start(struct sample_clock *clock, const struct iaprof_host *host)
{
	for (size_t i = 0; i < clock->event_count; i++) {
		if (ioctl(clock->events[i].descriptor, PERF_EVENT_IOC_ENABLE, 0) != 0)
			return host->fail(host, errno, "start the clock of CPU %" PRIu32 ": %s", clock->events[i].cpu,
					  strerror(errno));
	}
	return 0;
}

void sample_clock_stop(struct sample_clock *clock)
{
	/* Fails only for what is no perf event; a CPU that is gone has none running. */
	for (size_t i = 0; i < clock->event_count; i++)
		ioctl(clock->events[i].descriptor, PERF_EVENT_IOC_DISABLE, 0);
}

void sample_clock_close(struct sample_clock *clock)
{
	for (size_t i = 0; i < clock->event_count; i++)
		close(clock->events[i].descriptor);
	free(clock->events);
	clock->events = NULL;
	clock->event_count = 0;
}
