/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source to start from: reads /proc/loadavg every period and sends the load as a counter. It demonstrates options,
 * probe, a timer, declarations and records. Copy it, rename it, and replace /proc/loadavg by your hardware.
 */
#define _POSIX_C_SOURCE 200809L /* O_CLOEXEC, pread() */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <iaprof/iaprof.h>

#define LOADAVG_PATH "/proc/loadavg"

enum { COUNTER_LOAD = 1 };

/* iaprof zeroes the instance and stores the options. All state is here, because a plugin can have several instances. */
struct loadavg {
	uint64_t period;
	int fd; /* 0: not open; the standard descriptors are iaprof's */
};

static const struct iaprof_option options[] = {
	{ .name = "period",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct loadavg, period),
	  .default_value = "100ms",
	  .help = "Interval between readings of the load",
	  .minimum = 1000000,
	  .maximum = 60000000000 },
};

static int probe(const struct iaprof_host *host, void *instance)
{
	(void)instance;
	if (access(LOADAVG_PATH, R_OK) < 0)
		return host->fail(host, errno, "%s cannot be read: mount /proc", LOADAVG_PATH);
	return 0;
}

static int prepare(const struct iaprof_host *host, void *instance)
{
	struct loadavg *loadavg = instance;
	int fd = open(LOADAVG_PATH, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return host->fail(host, errno, "open %s: %s", LOADAVG_PATH, strerror(errno));
	loadavg->fd = fd;
	return 0;
}

static int send_record(const struct iaprof_host *host, const void *record, uint64_t size)
{
	struct iaprof_batch batch = { .records = record, .size = size, .count = 1 };
	return host->emit(host, &batch); /* if its queue is full, iaprof counts and reports what it drops */
}

static int send_load(const struct iaprof_host *host, struct loadavg *loadavg)
{
	char text[128];
	ssize_t length = pread(loadavg->fd, text, sizeof text - 1, 0);
	double load;
	if (length < 0)
		return host->fail(host, errno, "read %s: %s", LOADAVG_PATH, strerror(errno));
	text[length] = '\0';
	if (sscanf(text, "%lf", &load) != 1)
		return host->fail(host, EIO, "%s holds no number", LOADAVG_PATH);
	struct iaprof_record_counter_value value = {
		.header = { .size = sizeof value, .type = IAPROF_RECORD_COUNTER_VALUE, .time = host->clock(host) },
		.counter = COUNTER_LOAD,
		.value = load,
	};
	return send_record(host, &value, sizeof value);
}

static int timer_expired(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	(void)expirations;
	return send_load(host, instance);
}

static int start(const struct iaprof_host *host, void *instance)
{
	struct loadavg *loadavg = instance;
	struct iaprof_record_counter counter = {
		.header = { .size = sizeof counter, .type = IAPROF_RECORD_COUNTER, .time = host->clock(host) },
		.id = COUNTER_LOAD,
		.name = host->intern_string(host, "load", 4),
		.unit = host->intern_string(host, "tasks", 5),
		.kind = IAPROF_COUNTER_GAUGE,
	};
	int result = send_record(host, &counter, sizeof counter);
	if (result == 0)
		result = host->on_timer(host, loadavg->period, timer_expired);
	return result;
}

/* Sends remaining data. Timers no longer run. */
static int stop(const struct iaprof_host *host, void *instance)
{
	return send_load(host, instance);
}

static void destroy(const struct iaprof_host *host, void *instance)
{
	struct loadavg *loadavg = instance;
	(void)host;
	if (loadavg->fd)
		close(loadavg->fd);
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.probe = probe,
	.prepare = prepare,
	.start = start,
	.stop = stop,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "loadavg",
	.version = "1.0",
	.description = "System load average, as a counter",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct loadavg),
	.source = &operations,
	.destroy = destroy,
};
IAPROF_REGISTER_PLUGIN(plugin)
