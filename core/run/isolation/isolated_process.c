/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the calls of iaprof: see isolated_process.h. */
#include "run/isolation/isolated_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "plugin/plugin_call.h"
#include "run/capabilities.h"

/* Interval at which the writer checks a full ring for room, in ns. */
#define ROOM_PERIOD 500000

/* Age at which a stack is defined again, in seconds: iaprof forgets stacks that were not defined for 10 s. */
#define STACK_AGE 2

/* The process, for functions that have no context: those of plugin_call.h, which must be async-signal-safe. */
static struct isolated_process *current_process;
static _Thread_local bool is_main_thread;

static void report_end(const char *callback, const char *what)
{
	char bytes[256] = "";
	size_t what_size = strlen(what) + 1, callback_size = callback ? strlen(callback) + 1 : 1;
	if (what_size + callback_size > sizeof bytes)
		return;
	memcpy(bytes, what, what_size);
	memcpy(bytes + what_size, callback ? callback : "", callback_size);
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_CRASHED, 0, 0, bytes, what_size + callback_size, CHANNEL_NOW);
}

/* Publishes the callback that the main thread is in, so that iaprof detects one that does not return. */
static void note_callback(const char *callback)
{
	if (!is_main_thread)
		return;
	struct shared_memory *memory = current_process->memory;
	atomic_store_explicit(&memory->callback, isolated_callback_find(callback), memory_order_relaxed);
	atomic_fetch_add_explicit(&memory->callback_number, 1, memory_order_release);
}

static void write_records(const struct isolated_process *process, const char *records, size_t size)
{
	bool wake = false;
	/* The ring has no room while iaprof is busy; meanwhile the queue of this process fills up and counts drops. */
	while (!record_ring_write(&process->memory->ring, records, size, &wake))
		nanosleep(&(struct timespec){ .tv_nsec = ROOM_PERIOD }, NULL);
	if (wake && eventfd_write(ISOLATED_WAKE, 1))
		process_exit_immediately(1);
}

/* Writes the records of a block in chunks of whole records. */
static void write_block(const struct isolated_process *process, const struct block *block)
{
	size_t begin = 0, end = 0;
	while (end < block->size) {
		size_t size = ((const struct iaprof_record *)(block->records + end))->size;
		if (end - begin + size > RECORD_RING_CHUNK_MAX) {
			write_records(process, block->records + begin, end - begin);
			begin = end;
		}
		end += size;
	}
	write_records(process, block->records + begin, end - begin);
}

/* The thread that moves records from the bus of this process into the ring. */
static void *move_records(void *argument)
{
	const struct isolated_process *process = argument;
	struct bus *bus = process->services.bus;
	for (struct block *block, *next; (block = bus_take(bus, UINT64_MAX));)
		for (; block; block = next) {
			next = block->next;
			if (!process->is_sink) /* whose records are discarded */
				write_block(process, block);
			bus_recycle(bus, block);
		}
	return NULL;
}

static void tick(void *context, uint64_t expirations)
{
	struct isolated_process *process = context;
	instance_report_refused(process->instance);
	intern_begin_epoch(process->services.intern);
	intern_expire_stacks(process->services.intern, STACK_AGE);
}

static int call_start(struct isolated_process *process, struct error *error)
{
	int result = instance_start(process->instance, error);
	if (!result && loop_watch_timer(process->services.loop, NANOSECONDS_PER_SECOND, tick, process, NULL))
		result = error_set(error, ENOMEM, "cannot watch a timer");
	return result;
}

/* Stops the instance. The thread's name is published as the callback, because it may not return. */
static int call_stop(struct isolated_process *process, struct error *error)
{
	if (process->instance->has_thread)
		note_callback(isolated_callback_name(ISOLATED_THREAD));
	return instance_stop(process->instance, error);
}

static int call(struct isolated_process *process, const struct message *message, struct error *error)
{
	struct sink_batch batch;
	switch (message->head.number) {
	case ISOLATED_CONFIGURE:
		return process->is_sink ? isolated_sink_configure(process, error)
					: instance_configure(process->instance, error);
	case ISOLATED_PROBE:
		return instance_probe(process->instance, error);
	case ISOLATED_CHECK:
		instance_check(process->instance);
		return 0;
	case ISOLATED_PREPARE:
		return instance_prepare(process->instance, error);
	case ISOLATED_START:
		return call_start(process, error);
	case ISOLATED_STOP:
		return call_stop(process, error);
	case ISOLATED_FINISH:
		return instance_finish(process->instance, error);
	case ISOLATED_RECORDS:
		memcpy(&batch, message->bytes, sizeof batch);
		return isolated_sink_records(process, &batch, error);
	case ISOLATED_PROFILE:
		return isolated_sink_profile(process, error);
	default:
		return error_set(error, EBADMSG, "malformed call");
	}
}

/* Takes a struct: see packing.h. */
static void take_struct(struct isolated_process *process, const struct message *message, int descriptor)
{
	uint32_t kind = message->header.type;
	struct unpacked unpacked;
	if (unpacked_make(&unpacked, message->bytes, message->size, descriptor,
			  kind == MESSAGE_PROFILE ? &process->texts : NULL))
		return;
	if (kind == MESSAGE_TARGET)
		process->services.target = *(struct iaprof_target *)unpacked.copy;
	else if (kind == MESSAGE_PROFILE)
		process->profile = unpacked;
	else if (kind == MESSAGE_MAPPED_FILE)
		instance_file_is_mapped(process->instance, unpacked.copy);
	else
		instance_unwind(process->instance, kind == MESSAGE_UNWIND_TABLE ? unpacked.copy : NULL,
				kind == MESSAGE_UNWIND_PROCESS ? unpacked.copy : NULL);
	/* A source may use the target until stop(). */
	if (kind != MESSAGE_TARGET && kind != MESSAGE_PROFILE)
		unpacked_free(&unpacked);
}

static void process_call(struct isolated_process *process, const struct message *message)
{
	struct error error = { 0 };
	if (message->head.number == ISOLATED_DESTROY) {
		process->is_done = true;
		return;
	}
	if (message->head.number == ISOLATED_PREPARE && !process->services.target.size)
		process_exit_immediately(1);
	int result = call(process, message, &error);
	if (message->head.number == ISOLATED_PREPARE && !result)
		capabilities_reduce();
	/* The ring has everything that a source sent before iaprof learns that the source has finished. */
	if (message->head.number == ISOLATED_FINISH) {
		instance_report_refused(process->instance);
		bus_close(process->services.bus);
		pthread_join(process->mover, NULL);
	}
	uint32_t flags = process->instance->offline ? RETURN_OFFLINE : 0;
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_RETURN, result, flags, error.text, strlen(error.text), NULL);
}

static void serve(void *context, uint32_t events)
{
	static struct message message;
	struct isolated_process *process = context;
	CLEANUP_CLOSE int descriptor = -1;
	int result = message_receive(ISOLATED_CHANNEL, &message, &descriptor, CHANNEL_NOW);
	if (!result)
		(message.header.type == MESSAGE_CALL ? process_call(process, &message)
						     : take_struct(process, &message, descriptor));
	else if (result != -ETIMEDOUT)
		process_exit_immediately(1); /* iaprof has ended */
}

/* Serves one message, and waits for it. */
static void serve_waiting(struct isolated_process *process)
{
	struct pollfd channel = { .fd = ISOLATED_CHANNEL, .events = POLLIN };
	if (poll(&channel, 1, -1) > 0)
		serve(process, 0);
}

void isolated_process_set_signals(void (*handler)(int number))
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &action, NULL);
}

/* Unlike SIG_IGN, not inherited by programs that the plugin executes. */
static void ignore(int number)
{
}

static bool make_services(struct isolated_process *process)
{
	struct instance_services *services = &process->services;
	services->bus = bus_new(BUS_CAPACITY_DEFAULT);
	services->intern = services->bus ? intern_new(services->bus) : NULL;
	services->loop = loop_new();
	if (!services->intern || !services->loop)
		return false;
	intern_expire_by_age(services->intern);
	isolated_services_init(process);
	return true;
}

/* Loads the plugin and makes its instance. iaprof has read the description and the settings before. */
static int make_instance(struct isolated_process *process, const char *path, struct error *error)
{
	struct instance_configuration configuration = { 0 };
	struct plugin *plugin = plugin_load(path, error);
	if (!plugin)
		return error->code;
	if (process->is_sink != (plugin->description.kind == IAPROF_PLUGIN_SINK))
		return error_set(error, ESTALE, "plugin %s: the file was replaced (run iaprof again)", path);
	if (shared_memory_read_settings(process->memory, &configuration))
		return error_set(error, ENOMEM, "out of memory");
	process->instance =
		instance_new(plugin, &configuration, (uint16_t)process->memory->number, &process->services, error);
	array_free(&configuration.settings);
	if (!process->instance)
		return error->code;
	process->instance->is_gated_elsewhere = true;
	if (process->is_sink)
		isolated_sink_init(process);
	return 0;
}

_Noreturn void isolated_process_main(const char *path)
{
	static struct isolated_process process;
	struct error error = { 0 };
	isolated_process_set_signals(ignore);
	signal(SIGPIPE, SIG_IGN); /* as in iaprof */
	/* For programs that the plugin executes. Only a sink has the service. */
	bool is_open = !fcntl(ISOLATED_CHANNEL, F_SETFD, FD_CLOEXEC) && !fcntl(ISOLATED_WAKE, F_SETFD, FD_CLOEXEC);
	process.is_sink = !fcntl(ISOLATED_SERVICE, F_SETFD, FD_CLOEXEC);
	process.memory = shared_memory_open(ISOLATED_MEMORY);
	/* Executing a program that has capabilities has reset the signal. */
	if (!is_open || !process.memory || prctl(PR_SET_PDEATHSIG, SIGKILL))
		process_exit_immediately(1);
	log_set_level(process.memory->log_level);
	current_process = &process;
	is_main_thread = true;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	plugin_call_isolate(report_end, note_callback);
	if (make_services(&process) && make_instance(&process, path, &error)) {
		(void)message_send(ISOLATED_CHANNEL, MESSAGE_CRASHED, 0, 0, error.text, strlen(error.text), NULL);
		process_exit_immediately(1);
	}
	if (!process.instance || thread_start(&process.mover, move_records, &process) ||
	    loop_watch_descriptor(process.services.loop, ISOLATED_CHANNEL, EPOLLIN, serve, &process, NULL))
		process_exit_immediately(1);
	while (!process.is_done) {
		const struct instance *instance = process.instance;
		/* Callbacks of descriptors and timers run from start() to stop(). */
		if (instance->started && !atomic_load(&instance->stopping))
			loop_turn(process.services.loop, UINT64_MAX);
		else
			serve_waiting(&process);
	}
	instance_free(process.instance);
	fflush(stdout);
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_RETURN, 0, 0, NULL, 0, NULL);
	process_exit_immediately(0);
}
