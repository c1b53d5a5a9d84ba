/* SPDX-License-Identifier: Apache-2.0 */
/* See clock.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "clock.h"
#include "cpu_list.h"
#include "process/rights.h"

/* Returns the event's descriptor, or a negative errno. */
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
	char text[256];
	long rate = rights_setting("kernel/perf_event_max_sample_rate");

	switch (error) {
	case -EPERM:
	case -EACCES:
		return host->fail(host, error, "perf_event_open: %s", rights_explain_perf(text, sizeof text));
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
		return host->fail(host, error, "perf_event_open: %s: one descriptor is needed for each CPU",
				  strerror(-error));
	case -ENOMEM:
		return host->fail(host, error, "perf_event_open: not enough memory");
	case -E2BIG: /* this Linux kernel does not know all members of the attributes */
		return host->fail(host, error, "perf_event_open: %s: Linux 5.12 or newer is required",
				  strerror(-error));
	case -EBUSY:
	case -ENOSPC:
		if (hardware)
			return host->fail(
				host, error,
				"perf_event_open: the hardware cycle counter is in use by another profiler or "
				"the NMI watchdog (%s): use clock=software, or sysctl kernel.nmi_watchdog=0",
				strerror(-error));
		break;
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

/* A CPU may go offline between reading the list and opening the event. */
static bool cpu_is_gone(int error)
{
	return error == -ENODEV || error == -ENXIO;
}

static void events_close(struct sample_clock *clock)
{
	for (size_t i = 0; i < clock->events.count; i++)
		close(clock->events.items[i].descriptor);
	array_free(&clock->events);
}

/* Opens one kind of clock on all CPUs. Returns 0 or a negative errno; logs nothing. */
static int events_open(struct sample_clock *clock, bool hardware, uint64_t frequency, const uint32_t *cpus,
		       size_t count)
{
	clock->hardware = hardware;
	if (!array_reserve(&clock->events, count))
		return -ENOMEM;
	int last_error = -ENODEV;
	for (size_t i = 0; i < count; i++) {
		int descriptor = event_open(hardware, frequency, cpus[i]);
		if (descriptor >= 0) {
			clock->events.items[clock->events.count++] =
				(struct sample_clock_event){ .descriptor = descriptor, .cpu = cpus[i] };
			continue;
		}
		last_error = descriptor;
		if (!cpu_is_gone(descriptor))
			break;
	}
	if (clock->events.count > 0 && (clock->events.count == count || cpu_is_gone(last_error)))
		return 0;
	events_close(clock);
	return last_error;
}

int sample_clock_check(const struct iaprof_host *host, enum sample_clock_choice choice)
{
	struct sample_clock clock = { 0 };
	struct cpu_list online;
	int result = cpu_list_read(host, &online);
	if (result)
		return result;

	bool hardware = choice == SAMPLE_CLOCK_HARDWARE;
	result = events_open(&clock, hardware, 1, online.items, 1);
	cpu_list_free(&online);
	if (result)
		return event_fail(host, result, hardware, 1);
	sample_clock_close(&clock);
	return 0;
}

static int event_attach(const struct sample_clock *clock, const struct iaprof_host *host,
			const struct sample_clock_event *event)
{
	if (ioctl(event->descriptor, PERF_EVENT_IOC_SET_BPF, clock->program_descriptor) == 0)
		return 0;
	return host->fail(host, errno, "cannot attach the BPF program to the clock of CPU %" PRIu32 ": %s", event->cpu,
			  strerror(errno));
}

int sample_clock_open(struct sample_clock *clock, const struct iaprof_host *host, enum sample_clock_choice choice,
		      uint64_t frequency, int program_descriptor)
{
	clock->frequency = frequency;
	clock->program_descriptor = program_descriptor;
	int result = cpu_list_read(host, &clock->online);
	if (result)
		return result;

	const struct cpu_list *online = &clock->online;
	bool hardware = choice != SAMPLE_CLOCK_SOFTWARE;
	result = events_open(clock, hardware, frequency, online->items, online->count);
	if (result && choice == SAMPLE_CLOCK_AUTO) {
		host->log(host, IAPROF_LOG_DEBUG, "no hardware cycle counter (%s): using the software clock",
			  strerror(-result));
		hardware = false;
		result = events_open(clock, hardware, frequency, online->items, online->count);
	}
	if (result)
		return event_fail(host, result, hardware, frequency);
	for (size_t i = 0; i < clock->events.count && result == 0; i++)
		result = event_attach(clock, host, &clock->events.items[i]);
	return result;
}

static int event_start(const struct iaprof_host *host, const struct sample_clock_event *event)
{
	if (ioctl(event->descriptor, PERF_EVENT_IOC_ENABLE, 0) == 0)
		return 0;
	return host->fail(host, errno, "cannot start the clock of CPU %" PRIu32 ": %s", event->cpu, strerror(errno));
}

int sample_clock_start(struct sample_clock *clock, const struct iaprof_host *host)
{
	int result = 0;
	for (size_t i = 0; i < clock->events.count && result == 0; i++)
		result = event_start(host, &clock->events.items[i]);
	return result;
}

/* Opens a clock for a CPU that came online. An event that was opened before the CPU went offline never ticks again. */
static int event_renew(struct sample_clock *clock, const struct iaprof_host *host, uint32_t cpu)
{
	size_t place = 0;
	while (place < clock->events.count && clock->events.items[place].cpu != cpu)
		place++;
	struct sample_clock_event event = { .descriptor = event_open(clock->hardware, clock->frequency, cpu),
					    .cpu = cpu };
	if (event.descriptor < 0)
		return cpu_is_gone(event.descriptor)
			       ? 0
			       : event_fail(host, event.descriptor, clock->hardware, clock->frequency);
	if (place < clock->events.count) {
		close(clock->events.items[place].descriptor);
	} else {
		if (!array_push(&clock->events, event)) {
			close(event.descriptor);
			return host->fail(host, ENOMEM, "out of memory");
		}
	}
	clock->events.items[place] = event;
	int result = event_attach(clock, host, &event);
	return result ? result : event_start(host, &event);
}

int sample_clock_follow(struct sample_clock *clock, const struct iaprof_host *host, size_t *came)
{
	struct cpu_list now;
	*came = 0;
	int result = cpu_list_read(host, &now);
	if (result)
		return result;
	for (size_t i = 0; i < now.count && result == 0; i++) {
		if (cpu_list_has(&clock->online, now.items[i]))
			continue;
		++*came;
		result = event_renew(clock, host, now.items[i]);
	}
	cpu_list_free(&clock->online);
	clock->online = now;
	return result;
}

void sample_clock_stop(struct sample_clock *clock)
{
	/* Fails only for descriptors that are not perf events; offline CPUs have nothing to stop. */
	for (size_t i = 0; i < clock->events.count; i++)
		ioctl(clock->events.items[i].descriptor, PERF_EVENT_IOC_DISABLE, 0);
}

void sample_clock_close(struct sample_clock *clock)
{
	events_close(clock);
	cpu_list_free(&clock->online);
}
