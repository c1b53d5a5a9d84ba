/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an isolated source that is in iaprof: see isolation.h. */
#include "run/isolation/isolation.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/log.h"
#include "plugin/plugin_call.h"
#include "run/isolation/isolated_process.h"
#include "run/isolation/message.h"
#include "run/isolation/outbox.h"
#include "run/isolation/record_intake.h"
#include "run/isolation/unwind_packed.h"

/* Longest time in a callback, ns: a source that hangs is to be named within 5 s. Run delay does not count. */
#define CALLBACK_TIME (4 * NANOSECONDS_PER_SECOND)
/* The same for stop() and finish() of a lossless source, whose records wait for the sinks, ns. */
#define LOSSLESS_TIME (60 * NANOSECONDS_PER_SECOND)
/* How often callbacks are checked and records that wait for the bus are tried again, ns. */
#define PERIOD (NANOSECONDS_PER_SECOND / 10)
#define PERIOD_MS 10
/* Messages of the process that are handled in a turn of the loop, so that it cannot occupy the loop. */
#define MESSAGES_PER_TURN 64
/* Messages for the user in a period: 1000 a second. */
#define LINES_PER_PERIOD 100
/* How long a killed process is waited for, in ms: one in an uninterruptible system call ends later. */
#define REAP_TIME 1000

struct isolation {
	struct instance *instance;
	struct record_ring *ring;
	struct record_intake intake;
	pid_t process; /* 0: it has been waited for */
	int channel, wake;
	bool is_configured, is_dead;
	struct loop_watch *channel_watch, *wake_watch, *timer_watch;
	struct run_delay delay; /* of this thread, and of the process */
	struct delayed_process helper;
	/* The callback that the process was in at the last check. */
	uint32_t callback_number;
	struct deadline callback_deadline;
	unsigned lines, dropped_lines; /* messages for the user since lines_begin */
	uint64_t lines_begin;
	struct outbox outbox;
	struct message message; /* received last */
};

static void set_name(struct error *error, const struct instance *instance)
{
	error_wrap(error, "%s %s", plugin_kind_name(instance->plugin->description.kind), instance->name);
}

static void close_channel(struct isolation *isolation)
{
	struct loop *loop = isolation->instance->services->loop;
	struct loop_watch **watches[] = { &isolation->channel_watch, &isolation->wake_watch, &isolation->timer_watch };
	for (size_t i = 0; i < sizeof watches / sizeof *watches; i++)
		if (*watches[i])
			loop_unwatch(loop, STEAL_POINTER(*watches[i]));
	if (isolation->channel >= 0)
		close(isolation->channel);
	if (isolation->wake >= 0)
		close(isolation->wake);
	isolation->channel = isolation->wake = -1;
}

/* Ends the process. Returns its wait status; -1 if it is not known. */
static int reap(struct isolation *isolation, bool kill_it)
{
	int status = -1;
	if (!isolation->process)
		return -1;
	if (kill_it)
		kill(isolation->process, SIGKILL);
	for (int i = 0; i < REAP_TIME; i++) {
		pid_t ended = waitpid(isolation->process, &status, WNOHANG);
		if (ended)
			break;
		poll(NULL, 0, 1);
	}
	isolation->process = 0;
	return status;
}

/* Takes what the process has written. Bounded by the size of the ring, as the process may go on writing. */
static int take_records(struct isolation *isolation, size_t chunks, struct error *error)
{
	bool more = isolation->instance->services->bus != NULL;
	int result = 0;
	for (size_t i = 0; !result && more && i < chunks; i++)
		result = record_intake_take(&isolation->intake, &more, error);
	return result;
}

/*
 * The process has ended too early, or is ended for what it did. what: "crashed with SIGSEGV", for example; callback: ""
 * if it is not known.
 */
static void die(struct isolation *isolation, const char *what, const char *callback)
{
	struct instance *instance = isolation->instance;
	if (isolation->is_dead)
		return;
	isolation->is_dead = true;
	reap(isolation, true);
	struct error ignored = { 0 }, error = { 0 };
	take_records(isolation, 2 * RECORD_RING_SIZE / RECORD_INTAKE_CHUNK, &ignored);
	close_channel(isolation);
	error_set(&error, ECHILD, *callback ? "%s in callback %s" : "%s", what, callback);
	set_name(&error, instance);
	log_message(IAPROF_LOG_ERROR, "%s", error.text);
	pthread_mutex_lock(&instance->lock);
	if (!instance->error.text[0])
		instance->error = error;
	instance->error_is_shown = true;
	pthread_mutex_unlock(&instance->lock);
	if (instance->started)
		instance->host.lost(&instance->host, "records: the plugin ended early", clock_monotonic(),
				    IAPROF_COUNT_UNKNOWN, 0, 0);
	instance_end(instance);
}

static const char *current_callback(const struct isolation *isolation)
{
	return isolated_callback_name(atomic_load(&isolation->ring->callback));
}

/* The process has closed the channel without a message. */
static void die_of_status(struct isolation *isolation)
{
	char what[128];
	const char *callback = current_callback(isolation);
	int status = reap(isolation, false);
	if (status != -1 && WIFSIGNALED(status))
		snprintf(what, sizeof what, "ended by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "KILL");
	else if (status != -1 && WIFEXITED(status))
		snprintf(what, sizeof what, "ended with status %d", WEXITSTATUS(status));
	else
		snprintf(what, sizeof what, "closed its connection to iaprof");
	die(isolation, what, callback);
}

static void die_of_time(struct isolation *isolation, const char *callback)
{
	char what[128];
	snprintf(what, sizeof what, "callback %s does not return: ended after 4 s (isolate=no waits for it)", callback);
	die(isolation, what, "");
}

static void die_of_records(struct isolation *isolation, const struct error *error)
{
	die(isolation, error->text, "");
}

static void report_dropped_lines(struct isolation *isolation)
{
	if (isolation->dropped_lines)
		log_message(IAPROF_LOG_WARNING, "%s: %u messages dropped: more than 1000 per second",
			    isolation->instance->name, isolation->dropped_lines);
	isolation->dropped_lines = 0;
}

static void take_log(struct isolation *isolation, const struct message *message)
{
	uint64_t now = clock_monotonic();
	if (now - isolation->lines_begin >= PERIOD) {
		report_dropped_lines(isolation);
		isolation->lines_begin = now;
		isolation->lines = 0;
	}
	if (isolation->lines++ >= LINES_PER_PERIOD)
		isolation->dropped_lines++;
	else if (message->value <= log_level())
		log_message(message->value < 0 ? 0 : message->value, "%s: %.2000s", isolation->instance->name,
			    message->bytes);
}

/* Splits the bytes of a message at the first NUL. Returns the second text; "" if there is none. */
static const char *second_text(const struct message *message)
{
	size_t first = strlen(message->bytes);
	return first < message->size ? message->bytes + first + 1 : "";
}

static int send_now(struct isolation *isolation, uint32_t kind, int32_t value)
{
	return message_send(isolation->channel, kind, value, 0, NULL, 0, MSG_DONTWAIT);
}

/* Puts a file on the way to the process, which may be busy. */
static int file_is_mapped(const struct iaprof_host *host, void *memory, const struct iaprof_mapped_file *file)
{
	struct isolation *isolation = instance_of(host)->isolation;
	size_t path = strlen(file->path) + 1;
	char *bytes = outbox_add(&isolation->outbox, MESSAGE_MAPPED_FILE, sizeof *file + path);
	(void)memory;
	if (!bytes)
		return 0;
	memcpy(bytes, file, sizeof *file);
	memcpy(bytes + sizeof *file, file->path, path);
	outbox_send(&isolation->outbox, isolation->channel);
	return 0;
}

static int unwind(const struct iaprof_host *host, void *memory, const struct iaprof_unwind_table *table,
		  const struct iaprof_unwind_process *process)
{
	struct isolation *isolation = instance_of(host)->isolation;
	char *bytes = outbox_add(&isolation->outbox, MESSAGE_UNWIND, unwind_packed_size(table, process));
	(void)memory;
	if (!bytes)
		return 0;
	unwind_pack(table, process, bytes);
	outbox_send(&isolation->outbox, isolation->channel);
	return 0;
}

/* Handles a message other than RETURN. */
static void take_message(struct isolation *isolation, const struct message *message)
{
	struct instance *instance = isolation->instance;
	const struct iaprof_host *host = &instance->host;
	struct error error = { 0 };
	switch (message->kind) {
	case MESSAGE_LOG:
		take_log(isolation, message);
		break;
	case MESSAGE_ENDED:
		if (message->size) {
			error_set(&error, message->value ? message->value : EIO, "%.2000s", message->bytes);
			instance_set_error(instance, &error);
		}
		instance_end(instance);
		break;
	case MESSAGE_CRASHED:
		error_set(&error, ECHILD, "%.100s", message->bytes);
		die(isolation, error.text, isolated_callback_name(isolated_callback_find(second_text(message))));
		break;
	case MESSAGE_CHECK_ITEM:
		host->check_item(host, (uint32_t)message->value, message->bytes, "%s", second_text(message));
		break;
	case MESSAGE_ENVIRONMENT:
		send_now(isolation, MESSAGE_ANSWER,
			 host->command_environment(host, message->bytes, second_text(message),
						   (uint32_t)message->value));
		break;
	case MESSAGE_WATCH_UNWIND:
		send_now(isolation, MESSAGE_ANSWER, host->on_unwind(host, unwind));
		break;
	case MESSAGE_UNWIND_PROCESS: {
		uint64_t execution = 0;
		memcpy(&execution, message->bytes, message->size < sizeof execution ? message->size : sizeof execution);
		host->unwind_process(host, message->number, execution);
		break;
	}
	case MESSAGE_WATCH_FILES:
		send_now(isolation, MESSAGE_ANSWER, host->on_mapped_file(host, file_is_mapped));
		break;
	default:
		die(isolation, "sent a malformed message", "");
	}
}

/* Receives a message into isolation->message. Returns false if there is none; a process that has ended is dead. */
static bool receive(struct isolation *isolation)
{
	int result = isolation->is_dead ? -EAGAIN
					: message_receive(isolation->channel, &isolation->message, NULL, MSG_DONTWAIT);
	if (result == -EBADMSG)
		die(isolation, "sent a malformed message", "");
	else if (result && result != -EAGAIN)
		die_of_status(isolation);
	return !result;
}

/* Excludes run delay of the process, which is not its fault. */
static struct deadline make_deadline(struct isolation *isolation, uint64_t duration)
{
	const struct deadline so_far = { .delay = &isolation->delay, .helper = &isolation->helper };
	run_delay_follow(&isolation->delay);
	deadline_note_helper(&so_far);
	struct deadline deadline = deadline_make(&isolation->delay, duration);
	deadline.helper = &isolation->helper;
	return deadline;
}

/* Waits for the RETURN of a call. Returns false if the process is dead. */
static bool wait_for_return(struct isolation *isolation, const char *callback)
{
	bool is_last = !strcmp(callback, "finish") || !strcmp(callback, "stop");
	struct deadline deadline = make_deadline(
		isolation, is_last && instance_is_lossless(isolation->instance) ? LOSSLESS_TIME : CALLBACK_TIME);
	while (!isolation->is_dead) {
		struct error error = { 0 };
		struct pollfd ready[] = { { .fd = isolation->channel, .events = POLLIN },
					  { .fd = isolation->wake, .events = POLLIN } };
		if (poll(ready, 2, PERIOD_MS) < 0 && errno != EINTR)
			break;
		eventfd_t ignored;
		if (ready[1].revents)
			(void)eventfd_read(isolation->wake, &ignored);
		if (take_records(isolation, RECORD_RING_SIZE / RECORD_INTAKE_CHUNK, &error))
			die_of_records(isolation, &error);
		else if (isolation->instance->services->bus)
			(void)record_ring_sleep(isolation->ring, isolation->intake.position);
		for (int i = 0; i < MESSAGES_PER_TURN && receive(isolation); i++) {
			if (isolation->message.kind == MESSAGE_RETURN)
				return true;
			take_message(isolation, &isolation->message);
		}
		if (!isolation->is_dead && deadline_has_passed(&deadline)) {
			const char *current = current_callback(isolation);
			die_of_time(isolation, *current ? current : callback);
		}
	}
	return false;
}

/* Takes the records that the process wrote before it returned from finish(). */
static void take_rest(struct isolation *isolation)
{
	struct error error = { 0 };
	struct deadline deadline = make_deadline(isolation, LOSSLESS_TIME);
	while (!record_intake_is_empty(&isolation->intake) && !deadline_has_passed(&deadline)) {
		if (take_records(isolation, RECORD_RING_SIZE / RECORD_INTAKE_CHUNK, &error)) {
			die_of_records(isolation, &error);
			return;
		}
		if (!record_intake_is_empty(&isolation->intake))
			poll(NULL, 0, 1);
	}
}

/* Sends a call after everything that waits. Returns false if the process does not read it in time. */
static bool send_call(struct isolation *isolation, uint32_t number, const char *target, size_t size)
{
	struct deadline deadline = make_deadline(isolation, CALLBACK_TIME);
	while (!isolation->is_dead && !deadline_has_passed(&deadline)) {
		if (outbox_send(&isolation->outbox, isolation->channel) &&
		    message_send(isolation->channel, MESSAGE_CALL, 0, number, target, size, MSG_DONTWAIT) != -EAGAIN)
			return true;
		/* Meanwhile the process may wait for room, too. */
		struct pollfd ready = { .fd = isolation->channel, .events = POLLOUT | POLLIN };
		poll(&ready, 1, PERIOD_MS);
		if (receive(isolation) && isolation->message.kind != MESSAGE_RETURN)
			take_message(isolation, &isolation->message);
	}
	return isolation->is_dead;
}

/* Stores a failure of a call. Returns its code. */
static int fail(struct isolation *isolation, const struct error *failure, struct error *error)
{
	instance_set_error(isolation->instance, failure);
	if (error)
		*error = *failure;
	return failure->code;
}

int isolation_call(struct isolation *isolation, const char *callback, struct error *error)
{
	struct instance *instance = isolation->instance;
	_Alignas(8) char target[MESSAGE_BYTES_MAX];
	ptrdiff_t size = 0;
	struct error failure = { 0 };
	if (isolation->is_dead)
		return -ECHILD;
	enum isolated_callback number = isolated_callback_find(callback);
	if (number == ISOLATED_PREPARE)
		size = isolated_target_pack(&instance->services->target, target, sizeof target);
	if (size < 0) {
		error_set(&failure, E2BIG, "too many processes for a plugin in a process of its own (isolate=no)");
		set_name(&failure, instance);
		return fail(isolation, &failure, error);
	}
	isolation->is_configured |= number == ISOLATED_CONFIGURE;
	if (!send_call(isolation, number, target, (size_t)size))
		die_of_time(isolation, current_callback(isolation));
	if (!wait_for_return(isolation, callback))
		return -ECHILD;
	if (number == ISOLATED_CONFIGURE)
		instance->offline = isolation->message.number & RETURN_OFFLINE;
	if (number == ISOLATED_FINISH && instance->services->bus)
		take_rest(isolation);
	if (!isolation->message.value)
		return 0;
	error_set(&failure, isolation->message.value, "%.2000s", isolation->message.bytes);
	return fail(isolation, &failure, error);
}

static void channel_ready(void *context, uint32_t events)
{
	struct isolation *isolation = context;
	(void)events;
	for (int i = 0; i < MESSAGES_PER_TURN && receive(isolation); i++)
		if (isolation->message.kind != MESSAGE_RETURN)
			take_message(isolation, &isolation->message);
}

static void records_ready(void *context, uint32_t events)
{
	struct isolation *isolation = context;
	struct error error = { 0 };
	eventfd_t ignored;
	(void)events;
	(void)eventfd_read(isolation->wake, &ignored);
	if (take_records(isolation, RECORD_RING_SIZE / RECORD_INTAKE_CHUNK / 4, &error))
		die_of_records(isolation, &error);
	else if (!isolation->intake.waiting_count && !record_ring_sleep(isolation->ring, isolation->intake.position))
		(void)eventfd_write(isolation->wake, 1); /* continues in the next turn: others have theirs in between */
}

/* Ends a process that has been in the same callback for too long. */
static void check_callback(struct isolation *isolation)
{
	uint32_t number = atomic_load(&isolation->ring->callback_number);
	const char *callback = current_callback(isolation);
	if (number != isolation->callback_number) {
		isolation->callback_number = number;
		isolation->callback_deadline = *callback ? make_deadline(isolation, CALLBACK_TIME) : DEADLINE_NONE;
	} else if (deadline_has_passed(&isolation->callback_deadline)) {
		die_of_time(isolation, callback);
	}
}

static void expired(void *context, uint64_t expirations)
{
	struct isolation *isolation = context;
	const struct instance *instance = isolation->instance;
	(void)expirations;
	if (isolation->outbox.lost)
		instance->host.lost(&instance->host, "mapped files and unwind tables: the plugin did not read them",
				    clock_monotonic(), isolation->outbox.lost, 0, 0);
	if (isolation->intake.unknown)
		instance->host.lost(&instance->host, "stacks: ids not known", clock_monotonic(),
				    isolation->intake.unknown, 0, 0);
	isolation->outbox.lost = isolation->intake.unknown = 0;
	outbox_send(&isolation->outbox, isolation->channel);
	record_intake_close_files(&isolation->intake, false);
	check_callback(isolation);
	if (!isolation->is_dead && isolation->intake.waiting_count)
		records_ready(isolation, 0);
}

int isolation_watch(struct isolation *isolation)
{
	struct loop *loop = isolation->instance->services->loop;
	uint64_t period = instance_is_lossless(isolation->instance) ? PERIOD / 10 : PERIOD;
	if (isolation->is_dead)
		return 0;
	isolation->callback_number = atomic_load(&isolation->ring->callback_number) - 1;
	(void)eventfd_write(isolation->wake, 1);
	int result = loop_watch_descriptor(loop, isolation->channel, EPOLLIN, channel_ready, isolation,
					   &isolation->channel_watch);
	if (!result)
		result = loop_watch_descriptor(loop, isolation->wake, EPOLLIN, records_ready, isolation,
					       &isolation->wake_watch);
	return result ? result : loop_watch_timer(loop, period, expired, isolation, &isolation->timer_watch);
}

uint64_t isolation_cost(const struct isolation *isolation)
{
	return isolation && isolation->process ? clock_of_process(isolation->process) : 0;
}

bool isolation_is_dead(const struct isolation *isolation)
{
	return isolation && isolation->is_dead;
}

/* Starts the process. Returns 0 or a negative errno. */
static int start(struct isolation *isolation)
{
	int channel[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel))
		return -errno;
	fflush(NULL);
	pid_t parent = getpid();
	isolation->process = fork();
	if (isolation->process == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			process_leave(1);
		/* Ctrl-C and Ctrl-Z of a terminal are for iaprof, which ends and continues alone. */
		setsid();
		struct isolated_process process = { .instance = isolation->instance,
						    .ring = isolation->ring,
						    .channel = channel[1],
						    .wake = isolation->wake };
		isolated_process_run(&process);
	}
	int result = isolation->process < 0 ? -errno : 0;
	close(channel[1]);
	isolation->channel = channel[0];
	if (result)
		isolation->process = 0;
	isolation->helper.pid = isolation->process;
	isolation->intake.process = isolation->process;
	isolation->intake.process_descriptor = result ? -1 : (int)syscall(SYS_pidfd_open, isolation->process, 0);
	return result;
}

struct isolation *isolation_new(struct instance *instance, struct error *error)
{
	struct isolation *isolation = calloc(1, sizeof *isolation);
	int result = isolation ? 0 : -ENOMEM;
	if (isolation) {
		isolation->instance = instance;
		isolation->channel = -1;
		isolation->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		isolation->ring = record_ring_new();
		isolation->intake = (struct record_intake){ .ring = isolation->ring,
							    .instance = instance,
							    .process_descriptor = -1 };
		result = isolation->wake < 0 || !isolation->ring ? -errno : record_intake_init(&isolation->intake);
	}
	if (!result)
		result = start(isolation);
	if (!result)
		return isolation;
	error_set(error, result, "%s: cannot start a process for the plugin: %s (isolate=no)", instance->name,
		  strerror(-result));
	if (isolation)
		isolation_free(isolation);
	return NULL;
}

void isolation_free(struct isolation *isolation)
{
	/* destroy() has no result: a process that has closed the channel by itself is not asked why. */
	if (isolation->process && isolation->is_configured && !isolation->is_dead &&
	    !message_send(isolation->channel, MESSAGE_CALL, 0, ISOLATED_DESTROY, NULL, 0, MSG_DONTWAIT))
		(void)wait_for_return(isolation, "destroy");
	report_dropped_lines(isolation);
	if (isolation->process)
		reap(isolation, true);
	close_channel(isolation);
	if (isolation->intake.process_descriptor >= 0)
		close(isolation->intake.process_descriptor);
	record_intake_free(&isolation->intake);
	record_ring_free(isolation->ring);
	run_delay_release(&isolation->delay);
	outbox_free(&isolation->outbox);
	free(isolation);
}
