/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the calls of iaprof: see isolated_process.h. */
#include "run/isolation/isolated_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "plugin/plugin_call.h"
#include "process/process_maps.h"
#include "run/capabilities.h"
#include "run/isolation/message.h"
#include "run/isolation/unwind_packed.h"

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
	(void)message_send(current_process->channel, MESSAGE_CRASHED, 0, 0, bytes, what_size + callback_size,
			   CHANNEL_NOW);
}

/* Publishes the callback that the main thread is in, so that iaprof detects one that does not return. */
static void note_callback(const char *callback)
{
	if (!is_main_thread)
		return;
	struct record_ring *ring = current_process->ring;
	atomic_store_explicit(&ring->callback, isolated_callback_find(callback), memory_order_relaxed);
	atomic_fetch_add_explicit(&ring->callback_number, 1, memory_order_release);
}

static void write_records(const struct isolated_process *process, const char *records, size_t size)
{
	bool wake = false;
	/* The ring has no room while iaprof is busy; meanwhile the queue of this process fills up and counts drops. */
	while (!record_ring_write(process->ring, records, size, &wake))
		nanosleep(&(struct timespec){ .tv_nsec = ROOM_PERIOD }, NULL);
	if (wake && eventfd_write(process->wake, 1))
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
			if (process->service < 0) /* a source; records of sinks are discarded */
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

/* Calls a callback of a sink. */
static int call_sink(struct isolated_process *process, const struct message *message, struct error *error)
{
	struct sink_batch batch;
	switch (message->head.number) {
	case ISOLATED_CONFIGURE:
		return isolated_sink_configure(process, error);
	case ISOLATED_RECORDS:
		memcpy(&batch, message->bytes, sizeof batch);
		return isolated_sink_records(process, &batch, error);
	case ISOLATED_PROFILE:
		return isolated_sink_profile(process, error);
	default:
		return error_set(error, EBADMSG, "malformed call");
	}
}

static int call(struct isolated_process *process, const struct message *message, struct error *error)
{
	bool is_sink = process->service >= 0;
	switch (message->head.number) {
	case ISOLATED_CONFIGURE:
		return is_sink ? call_sink(process, message, error) : instance_configure(process->instance, error);
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
	default:
		return call_sink(process, message, error);
	}
}

static void take_mapped_file(struct instance *instance, struct message *message)
{
	struct iaprof_mapped_file file;
	if (message->size <= sizeof file)
		return;
	memcpy(&file, message->bytes, sizeof file);
	file.path = message->bytes + sizeof file;
	instance_file_is_mapped(instance, &file);
}

/* descriptor: a file with the bytes; -1: they are in the message. */
static void take_unwind(struct instance *instance, const struct message *message, int descriptor)
{
	struct stat status;
	struct unwind_unpacked unpacked;
	const char *bytes = message->bytes;
	size_t size = message->size;
	if (descriptor >= 0) {
		if (fstat(descriptor, &status))
			return;
		size = (size_t)status.st_size;
		bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
		if (bytes == MAP_FAILED)
			return;
	}
	if (!unwind_unpack(bytes, size, &unpacked))
		instance_unwind(instance, unpacked.table.size ? &unpacked.table : NULL,
				unpacked.process.size ? &unpacked.process : NULL);
	if (descriptor >= 0)
		munmap((void *)bytes, size);
}

static void process_message(struct isolated_process *process, struct message *message, int descriptor, pthread_t mover)
{
	static _Alignas(8) char target[MESSAGE_BYTES_MAX + 1]; /* the source may use it until stop() */
	struct error error = { 0 };
	if (message->header.type == MESSAGE_MAPPED_FILE) {
		take_mapped_file(process->instance, message);
		return;
	}
	if (message->header.type == MESSAGE_UNWIND) {
		take_unwind(process->instance, message, descriptor);
		return;
	}
	if (message->header.type == MESSAGE_STRINGS || message->header.type == MESSAGE_PROFILE) {
		isolated_sink_take_file(process, message->header.type, descriptor);
		return;
	}
	if (message->header.type != MESSAGE_CALL)
		return;
	if (message->head.number == ISOLATED_DESTROY) {
		process->is_done = true;
		return;
	}
	if (message->size && message->head.number == ISOLATED_PREPARE) {
		memcpy(target, message->bytes, message->size + 1);
		if (isolated_target_unpack(target, message->size, &process->services.target))
			process_exit_immediately(1);
	}
	int result = call(process, message, &error);
	if (message->head.number == ISOLATED_PREPARE && !result)
		capabilities_reduce();
	/* The ring has everything that a source sent before iaprof learns that the source has finished. */
	if (message->head.number == ISOLATED_FINISH) {
		instance_report_refused(process->instance);
		bus_close(process->services.bus);
		pthread_join(mover, NULL);
	}
	uint32_t flags = process->instance->offline ? RETURN_OFFLINE : 0;
	(void)message_send(process->channel, MESSAGE_RETURN, result, flags, error.text, strlen(error.text), NULL);
}

struct serving {
	struct isolated_process *process;
	pthread_t mover;
};

static void serve(void *context, uint32_t events)
{
	static struct message message;
	struct serving *serving = context;
	CLEANUP_CLOSE int descriptor = -1;
	int result = message_receive(serving->process->channel, &message, &descriptor, CHANNEL_NOW);
	if (!result)
		process_message(serving->process, &message, descriptor, serving->mover);
	else if (result != -ETIMEDOUT)
		process_exit_immediately(1); /* iaprof has ended */
}

/* Serves one message, and waits for it. */
static void serve_waiting(struct serving *serving)
{
	struct pollfd channel = { .fd = serving->process->channel, .events = POLLIN };
	if (poll(&channel, 1, -1) > 0)
		serve(serving, 0);
}

/* A service manager signals all processes of a service, but iaprof stops its sources in order. */
static void ignore(int number)
{
}

static void hold_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &action, NULL);
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
	if (process->service >= 0)
		isolated_sink_init(process);
	process->instance->services = services;
	process->instance->is_gated_elsewhere = true;
	return true;
}

/* Shared memory of iaprof and of other plugins is not the plugin's to write to. */
static void unmap_shared_memory(const struct isolated_process *process)
{
	struct process_mapping mapping;
	size_t length = 0;
	CLEANUP_FREE char *maps = process_file_read(getpid(), "maps", &length);
	const char *rest = maps;
	while (rest && process_mapping_next(&rest, &length, &mapping)) {
		void *memory = (void *)(uintptr_t)mapping.start;
		if (mapping.writable && mapping.shared && memory != process->ring && memory != process->memory)
			munmap(memory, mapping.end - mapping.start);
	}
}

/* Its description has been read in another process. */
static void load_code(const struct isolated_process *process)
{
	struct error error = { 0 };
	if (!plugin_load_code(process->instance->plugin, &error))
		return;
	(void)message_send(process->channel, MESSAGE_CRASHED, 0, 0, error.text, strlen(error.text), NULL);
	process_exit_immediately(1);
}

void isolated_process_run(struct isolated_process *process)
{
	struct serving serving = { .process = process };
	current_process = process;
	is_main_thread = true;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	hold_signals();
	plugin_call_isolate(report_end, note_callback);
	unmap_shared_memory(process);
	load_code(process);
	if (!make_services(process) || thread_start(&serving.mover, move_records, process) ||
	    loop_watch_descriptor(process->services.loop, process->channel, EPOLLIN, serve, &serving, NULL))
		process_exit_immediately(1);
	while (!process->is_done) {
		const struct instance *instance = process->instance;
		/* Callbacks of descriptors and timers run from start() to stop(). */
		if (instance->started && !atomic_load(&instance->stopping))
			loop_turn(process->services.loop, UINT64_MAX);
		else
			serve_waiting(&serving);
	}
	instance_free(process->instance);
	fflush(stdout);
	(void)message_send(process->channel, MESSAGE_RETURN, 0, 0, NULL, 0, NULL);
	process_exit_immediately(0);
}
