/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source that needs no hardware: it sends a given number of samples, and fails in the callback that in= names, or
 * sends the malformed record that record= names. It can also print in each callback, and pass NULL to the host.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <iaprof/plugin.h>
#include <iaprof/unwind.h>

#include "ending.h"

enum place { NOWHERE, CONFIGURE, PROBE, PREPARE, START, TIMER, DESCRIPTOR, THREAD, STOP, FINISH, CHECK, DESTROY };
static const char *const places[] = { "nowhere", "configure", "probe",  "prepare", "start",   "timer", "descriptor",
				      "thread",  "stop",      "finish", "check",   "destroy", NULL };

/* How it fails: with a reason; without one; or with a positive number, which no callback may return. */
enum manner { SAYING_WHY, SILENTLY, POSITIVE };
static const char *const manners[] = { "saying-why", "silently", "positive", NULL };

enum record_fault { RIGHT, SHORT, UNALIGNED, LONG, TYPE_ZERO, COUNT_ZERO, BACKWARDS, NO_BYTES };
static const char *const record_faults[] = { "right",      "short",     "unaligned", "long", "type-zero",
					     "count-zero", "backwards", "no-bytes",  NULL };

/* What it does for ever, or until its thread is stopped; once: overwrites shared memory. */
enum flood { NO_FLOOD, RECORDS, MESSAGES, MEMORY, LOSSES, STRINGS };
static const char *const floods[] = { "nothing", "records", "messages", "memory", "losses", "strings", NULL };

struct source {
	const struct iaprof_host *host;
	uint64_t in, how, record, ends;
	uint64_t floods;
	uint64_t samples;
	bool prints, omits, forks;
	const volatile int *stopping; /* of its thread, which floods; NULL: another callback */
	int event;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, in, CHOICE, "in", NULL, "the callback that fails", .choices = places),
	IAPROF_OPTION(struct source, how, CHOICE, "how", NULL, "how it fails", .choices = manners),
	IAPROF_OPTION(struct source, ends, CHOICE, "ends", NULL, "ends the process instead of failing",
		      .choices = endings),
	IAPROF_OPTION(struct source, floods, CHOICE, "floods", NULL, "what it sends without end instead of failing",
		      .choices = floods),
	IAPROF_OPTION(struct source, record, CHOICE, "record", NULL, "what is wrong with the last record",
		      .choices = record_faults),
	IAPROF_OPTION(struct source, samples, UINT, "samples", NULL,
		      "sends this many samples and has finished; 0: sends none and goes on until it is stopped"),
	IAPROF_OPTION(struct source, prints, BOOL, "prints", NULL, "prints the name of each callback"),
	IAPROF_OPTION(struct source, forks, BOOL, "forks", NULL, "leaves a child behind that never ends"),
	IAPROF_OPTION(struct source, omits, BOOL, "omits", NULL, "passes NULL or 0 to the host where it can"),
};

static int send_sample(const struct source *source, enum record_fault fault);

/* Overwrites all memory that other processes may have, too. */
static void overwrite_memory(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof line, maps)) {
		uintptr_t begin, end;
		if (strstr(line, " rw-s ") && sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2)
			memset((void *)begin, 0xa5, end - begin);
	}
	if (maps)
		fclose(maps);
}

static void flood(const struct source *source)
{
	const struct iaprof_host *host = source->host;
	if (source->floods == MEMORY)
		return overwrite_memory();
	while (!source->stopping || !__atomic_load_n(source->stopping, __ATOMIC_ACQUIRE))
		if (source->floods == RECORDS) {
			send_sample(source, RIGHT);
		} else if (source->floods == LOSSES) {
			host->lost(host, "flood", host->clock(host), 1, 0, 0);
		} else if (source->floods == STRINGS) {
			char text[32];
			snprintf(text, sizeof text, "flood %" PRIu64, host->clock(host));
			host->intern_string(host, text, strlen(text));
		} else {
			/* Thousands in a second, with CPU time left for others. */
			host->log(host, IAPROF_LOG_ERROR, "again");
			usleep(50);
		}
}

static int fail_in(struct source *source, enum place place)
{
	if (source->prints)
		printf("printed in %s\n", places[place]);
	if (source->in != place)
		return 0;
	if (source->floods)
		flood(source);
	end_process(source->ends);
	if (source->ends || source->floods)
		return 0;
	if (source->how == SAYING_WHY)
		return source->host->fail(source->host, EIO, "the %s fails as requested", places[place]);
	return source->how == POSITIVE ? 5 : -EIO;
}

static int configure(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	source->host = host;
	source->event = -1;
	return fail_in(source, CONFIGURE);
}

static int probe(const struct iaprof_host *host, void *instance)
{
	return fail_in(instance, PROBE);
}

static int timer_expired(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	return fail_in(instance, TIMER);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
/* Returns 0 if each function of the host does what its comment states for NULL. */
static int pass_null(const struct iaprof_host *host)
{
	const char *volatile none = NULL; /* volatile: the compiler warns of constants */
	const struct iaprof_unwind_extension *unwind = host->extension(host, IAPROF_UNWIND_EXTENSION);
	if (!unwind)
		return host->fail(host, EPROTO, "no extension for unwind tables");
	host->log(host, IAPROF_LOG_ERROR, none);
	host->metadata(host, none, none);
	host->lost(host, none, host->clock(host), 3, 0, 0);
	if (host->intern_string(host, none, 5) || host->intern_stack(host, 1, NULL, 5) ||
	    host->intern_frame(host, NULL))
		return host->fail(host, EPROTO, "an id of NULL");
	if (host->declare_value_type(host, none, "count", 0) || host->declare_value_type(host, "name", none, 0))
		return host->fail(host, EPROTO, "a value type of NULL");
	if (host->on_fd(host, 0, EPOLLIN, NULL) != -EINVAL || host->on_timer(host, 1000000, NULL) != -EINVAL ||
	    host->on_timer(host, 0, timer_expired) != -EINVAL || host->on_mapped_file(host, NULL) != -EINVAL ||
	    unwind->on_unwind(host, NULL) != -EINVAL || host->extension(host, "unwind-0") ||
	    host->extension(host, NULL))
		return host->fail(host, EPROTO, "a callback that is NULL, or a period of 0, was accepted");
	if (host->target(host)->command_pid &&
	    (host->command_environment(host, none, "value", IAPROF_ENVIRONMENT_SET) != -EINVAL ||
	     host->command_environment(host, "OMITTED", none, IAPROF_ENVIRONMENT_SET)))
		return host->fail(host, EPROTO, "an environment of NULL");
	return host->fail(host, EDOM, none) == -EDOM ? 0 : host->fail(host, EPROTO, "a failure without a reason");
}

#pragma GCC diagnostic pop

static int prepare(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	int result = fail_in(source, PREPARE);
	return result || !source->omits ? result : pass_null(host);
}

static int descriptor_ready(const struct iaprof_host *host, void *instance, int fd, uint32_t ready)
{
	return fail_in(instance, DESCRIPTOR);
}

/* A sample, as wrong as wanted. */
static int send_sample(const struct source *source, enum record_fault fault)
{
	const struct iaprof_host *host = source->host;
	uint64_t now = host->clock(host);
	struct iaprof_record_sample sample = {
		.header = { .size = sizeof sample, .type = IAPROF_RECORD_SAMPLE, .time = now },
		.pid = 4194304,
		.name = host->intern_string(host, "sampled program", strlen("sampled program")),
		.cpu = UINT32_MAX,
		.value_type = host->declare_value_type(host, "tests", "count", 1),
		.count = 1,
		.value = 1,
		.first_time = now,
	};
	struct iaprof_batch batch = { .records = &sample.header, .size = sizeof sample, .count = 1 };
	switch (fault) {
	case RIGHT:
		break;
	case SHORT:
		batch.size = sample.header.size = sizeof sample.header;
		break;
	case UNALIGNED:
		sample.header.size -= 4;
		break;
	case LONG:
		sample.header.size += 8;
		break;
	case TYPE_ZERO:
		sample.header.type = 0;
		break;
	case COUNT_ZERO:
		sample.count = 0;
		break;
	case BACKWARDS:
		sample.first_time = now + 1;
		break;
	case NO_BYTES:
		batch.size = 8;
		break;
	}
	return host->emit(host, &batch);
}

static int start(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	if (source->forks && fork() == 0)
		for (;;)
			pause();
	int result = fail_in(source, START);
	if (!result && source->in == TIMER)
		result = host->on_timer(host, 1000000, timer_expired);
	if (!result && source->in == DESCRIPTOR) {
		source->event = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
		result = source->event < 0 ? -errno : host->on_fd(host, source->event, EPOLLIN, descriptor_ready);
	}
	for (uint64_t i = 0; !result && i < source->samples; i++)
		result = send_sample(source, RIGHT);
	/* The source does not report the result of emit() for a malformed record: the core does. */
	if (!result && source->record != RIGHT)
		send_sample(source, (enum record_fault)source->record);
	else if (!result && source->samples)
		host->finished(host);
	return result;
}

/* Sends nothing; it fails, or ends when requested. */
static int run_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct source *source = instance;
	if (source->in == THREAD)
		source->stopping = stopping;
	int result = fail_in(source, THREAD);
	while (!result && !__atomic_load_n(stopping, __ATOMIC_ACQUIRE))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return result;
}

static int stop(const struct iaprof_host *host, void *instance)
{
	return fail_in(instance, STOP);
}

static int finish(const struct iaprof_host *host, void *instance)
{
	return fail_in(instance, FINISH);
}

static void check(const struct iaprof_host *host, void *instance)
{
	fail_in(instance, CHECK);
}

static void destroy(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	fail_in(source, DESTROY);
	if (source->event < 0)
		return;
	host->remove_fd(host, source->event);
	close(source->event);
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.probe = probe,
	.check = check,
	.prepare = prepare,
	.start = start,
	.stop = stop,
	.thread = run_thread,
	.finish = finish,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "failing-source",
	.description = "fails in the requested callback",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct source),
	.source = &operations,
	.configure = configure,
	.destroy = destroy,
};
IAPROF_REGISTER_PLUGIN(plugin)
