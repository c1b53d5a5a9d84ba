/* SPDX-License-Identifier: Apache-2.0 */
/* What the test host does for its instance: the members of struct iaprof_host. See test_services.h. */
#include "test_services.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>

#include <iaprof/unwind.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "test_records.h"

static struct test_host *owner(const struct iaprof_host *host)
{
	return host->core;
}

static uint64_t host_clock(const struct iaprof_host *host)
{
	return clock_monotonic();
}

IAPROF_PRINTF(3, 4) static void host_log(const struct iaprof_host *host, int level, const char *format, ...)
{
	struct test_message message = { .level = level };
	va_list arguments;
	va_start(arguments, format);
	ck_assert_int_ge(vasprintf(&message.text, format, arguments), 0);
	va_end(arguments);
	ck_assert_msg(!strchr(message.text, '\n'), "a message is one line: %s", message.text);
	pthread_mutex_lock(&owner(host)->lock);
	ck_assert(array_push(&owner(host)->messages, message));
	pthread_mutex_unlock(&owner(host)->lock);
}

IAPROF_PRINTF(3, 4) static int host_fail(const struct iaprof_host *host, int error, const char *format, ...)
{
	struct test_host *test = owner(host);
	char inner[sizeof test->failure];
	va_list arguments;
	va_start(arguments, format);
	pthread_mutex_lock(&test->lock);
	memcpy(inner, test->failure, sizeof inner);
	vsnprintf(test->failure, sizeof test->failure, format, arguments);
	ck_assert_msg(!strchr(test->failure, '\n'), "a failure is one line: %s", test->failure);
	size_t length = strlen(test->failure);
	if (inner[0])
		snprintf(test->failure + length, sizeof test->failure - length, ": %.2000s", inner);
	pthread_mutex_unlock(&test->lock);
	va_end(arguments);
	return -abs(error);
}

static int host_emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	struct test_host *test = owner(host);
	ck_assert_uint_eq(test->plugin.kind, IAPROF_PLUGIN_SOURCE);
	if (test->emit_error)
		return test->emit_error;
	pthread_mutex_lock(&test->lock);
	struct error error = { 0 };
	int result = test_records_append(test, batch, &error);
	pthread_mutex_unlock(&test->lock);
	ck_assert_msg(result == 0, "emit: %s", error.text);
	return 0;
}

static uint32_t host_intern_string(const struct iaprof_host *host, const char *text, size_t length)
{
	if (!text)
		return 0;
	pthread_mutex_lock(&owner(host)->lock);
	uint32_t id = test_records_intern_string(owner(host), text, length);
	pthread_mutex_unlock(&owner(host)->lock);
	return id;
}

static uint32_t host_intern_stack(const struct iaprof_host *host, uint32_t pid, const uint64_t *addresses, size_t count)
{
	pthread_mutex_lock(&owner(host)->lock);
	uint32_t id = test_records_intern_stack(owner(host), pid, addresses, count);
	pthread_mutex_unlock(&owner(host)->lock);
	return id;
}

static uint32_t host_intern_frame(const struct iaprof_host *host, const struct iaprof_named_frame *frame)
{
	return frame && frame->size >= sizeof *frame ? frame->name : 0; /* at least 1, as an id is */
}

static uint32_t host_declare_value_type(const struct iaprof_host *host, const char *name, const char *unit,
					uint64_t period)
{
	struct test_host *test = owner(host);
	if (!name || !unit)
		return 0;
	pthread_mutex_lock(&test->lock);
	struct iaprof_record_value_type wanted = {
		.header = { .type = IAPROF_RECORD_VALUE_TYPE, .size = sizeof wanted },
		.name = test_records_intern_string(test, name, strlen(name)),
		.unit = test_records_intern_string(test, unit, strlen(unit)),
		.period = period,
	};
	const struct iaprof_record *known = NULL;
	while ((known = test_host_next(test, known, IAPROF_RECORD_VALUE_TYPE))) {
		const struct iaprof_record_value_type *type = (const void *)known;
		if (type->name == wanted.name && type->unit == wanted.unit)
			break;
	}
	if (known)
		wanted.id = ((const struct iaprof_record_value_type *)known)->id;
	else {
		wanted.id = ++test->value_type_count;
		test_records_put(test, &wanted.header);
	}
	pthread_mutex_unlock(&test->lock);
	return wanted.id;
}

static void host_lost(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count,
		      uint32_t value_type, uint64_t value)
{
	struct test_host *test = owner(host);
	pthread_mutex_lock(&test->lock);
	struct iaprof_record_lost record = {
		.header = { .type = IAPROF_RECORD_LOST, .size = sizeof record, .time = host_clock(host) },
		.begin = begin,
		.count = count,
		.value = value,
		.value_type = value_type,
		.reason = test_records_intern_string(test, reason ? reason : "", reason ? strlen(reason) : 0),
	};
	test_records_put(test, &record.header);
	pthread_mutex_unlock(&test->lock);
}

IAPROF_PRINTF(3, 4) static void host_metadata(const struct iaprof_host *host, const char *key, const char *format, ...)
{
	struct test_host *test = owner(host);
	char *text CLEANUP_FREE = NULL;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	ck_assert_int_ge(length, 0);
	pthread_mutex_lock(&test->lock);
	struct iaprof_record_metadata record = {
		.header = { .type = IAPROF_RECORD_METADATA, .size = sizeof record, .time = host_clock(host) },
		.key = test_records_intern_string(test, key, strlen(key)),
		.value = test_records_intern_string(test, text, (size_t)length),
	};
	test_records_put(test, &record.header);
	pthread_mutex_unlock(&test->lock);
}

static int watch_add(struct test_host *test, struct test_watch watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = watch.fd };
	if (epoll_ctl(test->epoll, EPOLL_CTL_ADD, watch.fd, &event) < 0)
		return -errno;
	ck_assert(array_push(&test->watches, watch));
	return 0;
}

static int host_on_fd(const struct iaprof_host *host, int fd, uint32_t events, iaprof_on_fd *callback)
{
	return watch_add(owner(host), (struct test_watch){ .fd = fd, .on_fd = callback }, events);
}

static int host_remove_fd(const struct iaprof_host *host, int fd)
{
	struct test_host *test = owner(host);
	for (size_t i = 0; i < test->watches.count; i++)
		if (test->watches.items[i].fd == fd) {
			test->watches.items[i] = test->watches.items[--test->watches.count];
			return epoll_ctl(test->epoll, EPOLL_CTL_DEL, fd, NULL) < 0 ? -errno : 0;
		}
	return -ENOENT;
}

/* Opens a timer, also while iaprof-plugin-check lets the plugin open nothing. */
static int timer_open(void)
{
	struct rlimit usual, raised;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	raised = (struct rlimit){ usual.rlim_max, usual.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &raised), 0);
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
	return fd;
}

static int host_on_timer(const struct iaprof_host *host, uint64_t period, iaprof_on_timer *callback)
{
	ck_assert_uint_ge(period, 1000000);
	struct timespec time = { .tv_sec = (time_t)(period / 1000000000), .tv_nsec = (long)(period % 1000000000) };
	int fd = timer_open();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(timerfd_settime(fd, 0, &(struct itimerspec){ .it_interval = time, .it_value = time }, NULL),
			 0);
	return watch_add(owner(host), (struct test_watch){ .fd = fd, .timer = true, .on_timer = callback }, EPOLLIN);
}

static int host_advance(const struct iaprof_host *host, uint64_t time)
{
	struct test_host *test = owner(host);
	pthread_mutex_lock(&test->lock);
	test->progress = time > test->progress ? time : test->progress;
	struct iaprof_record_progress record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_PROGRESS, .time = time },
	};
	test_records_put(test, &record.header);
	pthread_mutex_unlock(&test->lock);
	return 0;
}

static const struct iaprof_target *host_target(const struct iaprof_host *host)
{
	ck_assert_msg(owner(host)->prepared, "target() is for prepare() and later");
	return &owner(host)->target;
}

/* A command that is not there: what would be its environment is kept for the test. */
/* Nothing is loaded into other processes. */
static int host_inject(const struct iaprof_host *host, const struct iaprof_injection *injection)
{
	return host_fail(host, ENOTSUP, "cannot load %s into process %u", injection->library, injection->pid);
}

static int host_command_environment(const struct iaprof_host *host, const char *name, const char *value, uint32_t how)
{
	struct test_host *test = owner(host);
	ck_assert_uint_le(how, IAPROF_ENVIRONMENT_PREPEND_PATH);
	if (!test->target.command_pid)
		return -ENOENT;
	if (!name)
		return -EINVAL;
	char *change = NULL;
	ck_assert_int_ge(asprintf(&change, "%s=%s", name, value ? value : ""), 0);
	ck_assert(array_push(&test->environment, change));
	return 0;
}

static int host_on_mapped_file(const struct iaprof_host *host, iaprof_on_mapped_file *callback)
{
	struct test_host *test = owner(host);
	ck_assert_uint_ne(test->plugin.flags & IAPROF_PLUGIN_NEEDS_PROCESSES, 0);
	test->on_mapped_file = callback;
	return 0;
}

/* There are no unwind tables. */
static int host_on_unwind(const struct iaprof_host *host, iaprof_on_unwind *callback)
{
	return callback ? 0 : -EINVAL;
}

static void host_unwind_process(const struct iaprof_host *host, __u32 pid, __u64 execution)
{
}

static const void *host_extension(const struct iaprof_host *host, const char *name)
{
	static const struct iaprof_unwind_extension unwind = { .size = sizeof unwind,
							       .on_unwind = host_on_unwind,
							       .unwind_process = host_unwind_process };
	return strcmp(name, IAPROF_UNWIND_EXTENSION) == 0 ? &unwind : NULL;
}

static uint32_t host_sample_stride(const struct iaprof_host *host, uint32_t longest)
{
	return 1;
}

static void host_offline(const struct iaprof_host *host)
{
	owner(host)->plugin.flags |= IAPROF_PLUGIN_LOSSLESS;
}

IAPROF_PRINTF(4, 5)
static void host_check_item(const struct iaprof_host *host, uint32_t state, const char *name, const char *format, ...)
{
	struct test_host *test = owner(host);
	char *text = NULL;
	ck_assert_msg(state <= IAPROF_CHECK_MISSING, "check_item(): unknown state %u", state);
	ck_assert_msg(name && *name && !strchr(name, '\n'), "check_item() needs a name of one line");
	va_list arguments;
	va_start(arguments, format);
	ck_assert_int_ge(vasprintf(&text, format, arguments), 0);
	va_end(arguments);
	ck_assert_msg(*text && !strchr(text, '\n'), "check_item(): the text of \"%s\", \"%s\", is not one line", name,
		      text);
	struct test_check_item item = { .state = state, .name = strdup(name), .text = text };
	ck_assert(array_push(&test->check_items, item));
}

static void host_finished(const struct iaprof_host *host)
{
	__atomic_store_n(&owner(host)->finished, true, __ATOMIC_RELEASE);
	eventfd_write(owner(host)->wake, 1);
}

static void host_request(const struct iaprof_host *host, uint32_t flags)
{
	ck_assert_uint_eq(owner(host)->plugin.kind, IAPROF_PLUGIN_SINK);
	owner(host)->requested |= flags;
}

static void host_request_times(const struct iaprof_host *host, uint64_t resolution)
{
	((struct test_host *)host->core)->time_resolution = resolution;
}

static struct iaprof_output *host_output_open(const struct iaprof_host *host, const char *variant, uint32_t flags)
{
	struct test_output *output = calloc(1, sizeof *output);
	ck_assert_ptr_nonnull(output);
	output->variant = variant ? strdup(variant) : NULL;
	output->flags = flags;
	output->data = calloc(1, 1);
	ck_assert(array_push(&owner(host)->outputs, output));
	return (struct iaprof_output *)output;
}

static int host_output_is_single(const struct iaprof_host *services)
{
	return owner(services)->output_single;
}

static int host_output_write(const struct iaprof_host *host, struct iaprof_output *opaque, const void *data,
			     size_t size)
{
	struct test_output *output = (struct test_output *)opaque;
	ck_assert(!output->closed && !output->discarded);
	if (owner(host)->output_limit && output->size + size > owner(host)->output_limit)
		return host_fail(host, ENOSPC, "write: no space left on device");
	output->data = realloc(output->data, output->size + size + 1);
	ck_assert_ptr_nonnull(output->data);
	if (size)
		memcpy(output->data + output->size, data, size);
	output->size += size;
	output->data[output->size] = '\0';
	return 0;
}

static int host_output_flush(const struct iaprof_host *host, struct iaprof_output *opaque)
{
	struct test_output *output = (struct test_output *)opaque;
	ck_assert(!output->closed && !output->discarded);
	output->flushed = output->size;
	output->renamed |= (output->flags & IAPROF_OUTPUT_INCREMENTAL) != 0;
	return 0;
}

static int host_output_close(const struct iaprof_host *host, struct iaprof_output *opaque)
{
	int result = host_output_flush(host, opaque);
	((struct test_output *)opaque)->closed = ((struct test_output *)opaque)->renamed = true;
	return result;
}

static void host_output_discard(const struct iaprof_host *host, struct iaprof_output *opaque)
{
	host_output_flush(host, opaque);
	((struct test_output *)opaque)->discarded = true;
}

static void host_default_interval(const struct iaprof_host *host, uint64_t interval)
{
	ck_assert_uint_eq(owner(host)->plugin.kind, IAPROF_PLUGIN_SINK);
	ck_assert_uint_ne(owner(host)->plugin.flags & IAPROF_PLUGIN_INTERVALS, 0);
	ck_assert_uint_ge(interval, 1000000);
}

static void host_end_run(const struct iaprof_host *host)
{
}

static int host_run_is_ending(const struct iaprof_host *host)
{
	return 1;
}

/* A test has no terminal. */
static int host_screen_acquire(const struct iaprof_host *host, const char *restore)
{
	ck_assert_uint_eq(owner(host)->plugin.kind, IAPROF_PLUGIN_SINK);
	ck_assert(!restore || strlen(restore) < 256);
	return -ENOTTY;
}

static void host_screen_release(const struct iaprof_host *host)
{
}

static void host_delivery(const struct iaprof_host *host, const struct iaprof_delivery *delivery)
{
	ck_assert_uint_eq(owner(host)->plugin.kind, IAPROF_PLUGIN_SINK);
	ck_assert_uint_ge(delivery->size, sizeof *delivery);
}

struct iaprof_host test_services(struct test_host *host)
{
	return (struct iaprof_host){
		.size = sizeof host->host,
		.instance_name = host->plugin.name,
		.core = host,
		.clock = host_clock,
		.log = host_log,
		.fail = host_fail,
		.request = host_request,
		.request_times = host_request_times,
		.default_interval = host_default_interval,
		.offline = host_offline,
		.check_item = host_check_item,
		.target = host_target,
		.command_environment = host_command_environment,
		.inject = host_inject,
		.sample_stride = host_sample_stride,
		.finished = host_finished,
		.end_run = host_end_run,
		.run_is_ending = host_run_is_ending,
		.delivery = host_delivery,
		.emit = host_emit,
		.advance = host_advance,
		.intern_string = host_intern_string,
		.intern_stack = host_intern_stack,
		.intern_frame = host_intern_frame,
		.declare_value_type = host_declare_value_type,
		.lost = host_lost,
		.metadata = host_metadata,
		.on_fd = host_on_fd,
		.remove_fd = host_remove_fd,
		.on_timer = host_on_timer,
		.on_mapped_file = host_on_mapped_file,
		.extension = host_extension,
		.output_open = host_output_open,
		.output_write = host_output_write,
		.output_flush = host_output_flush,
		.output_close = host_output_close,
		.output_discard = host_output_discard,
		.output_is_single = host_output_is_single,
		.screen_acquire = host_screen_acquire,
		.screen_release = host_screen_release,
	};
}
