/* SPDX-License-Identifier: Apache-2.0 */
/* See drain.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bpf/unwind.h"
#include "drain.h"
#include "launches.h"
#include "ze-usdt.bpf.skel.h"

/* On a busy machine, a preempted task may not run for seconds. */
#define STOP_WAIT 1000u /* us */
#define STOP_WAITS 5000u

/* Events that are held back until a turn; further ones stay in the ring buffer, which counts its losses. */
#define ENDS_MAX 65536u

/* Turns become more frequent when the last one found a quarter of the maps in use. */
#define PERIOD_MIN UINT64_C(10000000) /* ns */

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "out of memory");
}

/* A negative result ends ring_buffer__consume() after this event. */
static int event_handle(void *context, void *data, size_t size)
{
	struct drain *drain = context;
	const struct ze_event *event = data;
	int result = 0;

	if (size >= sizeof(struct ze_event_compile) && event->type == ZE_EVENT_COMPILE)
		result = code_objects_add_module(&drain->objects, data);
	else if (size >= sizeof *event && event->type == ZE_EVENT_COUNTS)
		count_areas_open(&drain->counts, event);
	else if (size >= sizeof *event && !array_push(&drain->ends, *event))
		result = out_of_memory(drain->host);
	drain->event_error = result;
	if (result == 0 && drain->ends.count >= ENDS_MAX)
		result = -EAGAIN;
	return result;
}

static int time_handle(void *context, void *data, size_t size)
{
	struct drain *drain = context;

	if (size >= sizeof(struct ze_time))
		times_take(&drain->times, data, size);
	return 0;
}

int drain_events(struct drain *drain)
{
	drain->event_error = 0;
	if (drain->ends.count < ENDS_MAX)
		ring_buffer__consume(drain->ring);
	return drain->event_error ? drain->event_error : record_batch_flush(&drain->batch);
}

/*
 * Reads the events that have come so far. *complete: whether those after the call will be later ones. One that is still
 * being written holds back all that came after it.
 */
static int events_read(struct drain *drain, bool *complete)
{
	uint64_t end = __atomic_load_n(drain->produced, __ATOMIC_ACQUIRE);
	int result = drain_events(drain);

	*complete = drain->ends.count >= ENDS_MAX || __atomic_load_n(drain->consumed, __ATOMIC_ACQUIRE) >= end;
	return result;
}

int drain_event_descriptor(const struct drain *drain)
{
	return ring_buffer__epoll_fd(drain->ring);
}

/*
 * The same native stack can have other Python frames, and its thread can work on another span: it must be known that
 * the process has none. Its mappings are requested when it announces its first module.
 */
static bool process_is_countable(void *context, const struct ze_process *process)
{
	const struct ze_usdt_bpf *skeleton = context;
	struct unwind_process mappings;
	struct python_process python;
	struct thread_context_process spans;

	if (!skeleton->rodata->take_python && !skeleton->rodata->take_spans)
		return true;
	/* Both maps are empty unless Python stacks or spans are read. */
	return bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.unwind_processes), &process->id, &mappings) == 0 &&
	       bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.python_processes), &process->id, &python) != 0 &&
	       bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.thread_context_processes), &process->id, &spans) != 0;
}

int drain_init(struct drain *drain, const struct iaprof_host *host, struct stack_reader *stacks,
	       struct ze_usdt_bpf *skeleton, struct warning_limit *warnings)
{
	drain->host = host;
	drain->stacks = stacks;
	drain->skeleton = skeleton;
	drain->counts.host = host;
	drain->counts.is_countable = process_is_countable;
	drain->counts.context = skeleton;
	drain->map_size = bpf_map__max_entries(skeleton->maps.launches_0);
	int result = cpu_table_map(&drain->cpus, host, skeleton->maps.processors);
	if (result)
		return result;
	/* kernel/bpf/ringbuf.c: the consumer's page, then the producer's */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *pages = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, bpf_map__fd(skeleton->maps.events), 0);
	if (pages != MAP_FAILED) {
		drain->consumed = pages;
		drain->produced = drain->consumed + page / sizeof *drain->produced;
		drain->ring = ring_buffer__new(bpf_map__fd(skeleton->maps.events), event_handle, drain, NULL);
	}
	if (drain->ring && drain->times.is_on &&
	    ring_buffer__add(drain->ring, bpf_map__fd(skeleton->maps.times), time_handle, drain) != 0) {
		ring_buffer__free(drain->ring);
		drain->ring = NULL;
	}
	drain->times.host = host;
	drain->times.batch = &drain->batch;
	if (!drain->ring)
		return host->fail(host, errno, "cannot map the BPF ring buffer: %s", strerror(errno));

	result = record_batch_init(&drain->batch, host);
	if (result == 0)
		result = code_objects_init(&drain->objects, host, warnings, &drain->batch);
	return result;
}

void drain_free(struct drain *drain)
{
	cpu_table_unmap(&drain->cpus);
	ring_buffer__free(drain->ring);
	if (drain->consumed)
		munmap((void *)(uintptr_t)drain->consumed, 2 * (size_t)sysconf(_SC_PAGESIZE));
	array_free(&drain->ends);
	map_table_free(&drain->launches);
	map_table_free(&drain->executions);
	map_table_free(&drain->kernels);
	record_batch_free(&drain->batch);
	code_objects_free(&drain->objects);
	recordings_free(&drain->recordings);
	count_areas_free(&drain->counts);
	times_free(&drain->times);
}

/* The values are those of totals_emit(). */
static const struct record_counter counters[] = {
	{ .id = 1, .name = "kernel-side-time", .unit = "nanoseconds" },
	{ .id = 2, .name = "launches", .unit = "count" },
	{ .id = 3, .name = "launches-filtered", .unit = "count" },
	{ .id = 4, .name = "list-executions", .unit = "count" },
	{ .id = 5, .name = "modules", .unit = "count" },
};
#define COUNTERS (sizeof counters / sizeof *counters)

int drain_begin(struct drain *drain)
{
	drain->last_time = drain->host->clock(drain->host);
	drain->period = PERIOD_MIN; /* launches whose module was missed are found soon */
	__atomic_store_n(&drain->skeleton->data->active_set, 0, __ATOMIC_SEQ_CST);
	return record_batch_declare_counters(&drain->batch, counters, COUNTERS, drain->last_time);
}

static int set_read(struct drain *drain, uint32_t set)
{
	const struct ze_usdt_bpf *skeleton = drain->skeleton;
	const struct drained_map maps[] = {
		{ &drain->launches, set ? skeleton->maps.launches_1 : skeleton->maps.launches_0 },
		{ &drain->executions, set ? skeleton->maps.executions_1 : skeleton->maps.executions_0 },
		{ &drain->kernels, set ? skeleton->maps.kernels_1 : skeleton->maps.kernels_0 },
	};
	__atomic_store_n(&skeleton->bss->span_keys[set], 0, __ATOMIC_RELAXED);
	return stack_reader_drain(drain->stacks, set ? skeleton->maps.stacks_1 : skeleton->maps.stacks_0, maps,
				  sizeof maps / sizeof *maps);
}

static int end_apply(struct drain *drain, const struct ze_event *event)
{
	if (event->type == ZE_EVENT_UNLOAD) {
		recordings_forget_module(&drain->recordings, &event->process, event->module);
		return code_objects_remove_module(&drain->objects, event);
	}
	recordings_forget_process(&drain->recordings, &event->process);
	code_objects_forget_process(&drain->objects, &event->process);
	count_areas_forget_process(&drain->counts, &event->process);
	return times_forget_process(&drain->times, &event->process);
}

/* Applies ends whose preceding launches have all been emitted. */
static int ends_apply(struct drain *drain, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++)
		result = end_apply(drain, &drain->ends.items[i]);
	drain->ends.count -= count;
	if (count)
		memmove(drain->ends.items, drain->ends.items + count, drain->ends.count * sizeof *drain->ends.items);
	return result;
}

/* Emits the contents of a set: kernels before their launches, launches before the executions of their lists. */
static int set_emit(struct drain *drain, uint32_t set, bool is_last)
{
	int result = set_read(drain, set);

	const uint64_t *hashes = (const void *)drain->kernels.keys;
	const struct ze_kernel *kernels = (const void *)drain->kernels.values;
	for (uint32_t i = 0; result == 0 && i < drain->kernels.count; i++)
		result = code_objects_add_kernel(&drain->objects, hashes[i], &kernels[i]);
	if (result == 0)
		result = launches_emit(drain, is_last);
	if (result == 0)
		result = executions_emit(drain);
	if (result == 0)
		result = times_emit(&drain->times, drain->host->clock(drain->host), is_last);
	return result;
}

/* Reports losses and counters since the last call. */
static int totals_emit(struct drain *drain)
{
	const struct iaprof_host *host = drain->host;
	struct ze_processor sum, *before = &drain->reported;

	cpu_table_sum(&drain->cpus, &sum);
	const struct {
		const char *reason;
		uint64_t count;
	} losses[] = {
		{ "launch map full", sum.launches_full - before->launches_full },
		{ "launch map busy", sum.launches_busy - before->launches_busy },
		{ "launch arguments not readable", sum.launches_bad - before->launches_bad },
		{ "execution of a command list not counted", sum.executions_lost - before->executions_lost },
		{ "code object not announced: ring buffer full", sum.modules_lost - before->modules_lost },
		{ "code object's end not announced: ring buffer full", sum.unloads_lost - before->unloads_lost },
		{ "process's end not announced: ring buffer full", sum.exits_lost - before->exits_lost },
		{ "time of a launch: ring buffer full", sum.times_lost - before->times_lost },
	};
	for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
		if (losses[i].count)
			host->lost(host, losses[i].reason, drain->last_time, losses[i].count, 0, 0);
	drain->reported = sum;
	drain->last_time = host->clock(host);
	const uint64_t values[COUNTERS] = { sum.handler_time, sum.launches + drain->counts.launches,
					    sum.launches_filtered, sum.executions, sum.modules };
	return record_batch_set_counters(&drain->batch, counters, values, COUNTERS, drain->last_time);
}

/* Waits until no handler uses the set. */
static bool handlers_are_done(struct drain *drain, uint32_t set)
{
	return cpu_table_wait_idle(&drain->cpus, offsetof(struct ze_processor, active) + set * sizeof(__u64));
}

/* Adapts the time to the next turn to the number of entries found. */
static void period_adapt(struct drain *drain)
{
	if (drain->launches.count > drain->map_size / 4 || drain->stacks->stacks.count > drain->map_size / 8)
		drain->period /= 2;
	else
		drain->period *= 2;
	if (drain->period < PERIOD_MIN)
		drain->period = PERIOD_MIN;
	if (drain->period > drain->period_max)
		drain->period = drain->period_max;
}

int drain_turn(struct drain *drain)
{
	uint32_t *active_set = &drain->skeleton->data->active_set;
	int result = 0;

	if (!drain->set_pending) {
		/* Everything that ended before the switch is completely contained in the set that is drained now. */
		result = drain_events(drain);
		if (result)
			return result;
		drain->end_mark = drain->ends.count;
		__atomic_store_n(active_set, !*active_set, __ATOMIC_SEQ_CST);
		atomic_thread_fence(memory_order_seq_cst);
		drain->set_pending = true;
	}
	/* A task preempted inside its handler keeps the set busy: it is drained in a later turn. */
	if (!handlers_are_done(drain, !*active_set))
		return 0;
	/* Modules of the set's kernels were announced before their launches. */
	bool complete;
	result = events_read(drain, &complete);
	if (result || !complete)
		return result;
	drain->set_pending = false;
	result = set_emit(drain, !*active_set, false);
	if (result == 0)
		result = ends_apply(drain, drain->end_mark);
	count_areas_renew(&drain->counts, drain->host->clock(drain->host));
	drain->end_mark = 0;
	period_adapt(drain);
	device_images_expire(&drain->objects.images, drain->host->clock(drain->host));
	return result ? result : totals_emit(drain);
}

int drain_finish(struct drain *drain)
{
	uint32_t *active_set = &drain->skeleton->data->active_set;
	uint32_t last = *active_set & 1;

	count_areas_close(&drain->counts, drain->host->clock(drain->host));
	/* Detaching takes a tenth of a second per probe, so the handlers are disabled instead. */
	__atomic_store_n(active_set, ZE_HANDLERS_OFF, __ATOMIC_SEQ_CST);
	atomic_thread_fence(memory_order_seq_cst);
	bool done = true;
	for (uint32_t i = 0; i < STOP_WAITS && !(done = handlers_are_done(drain, 0) && handlers_are_done(drain, 1));
	     i++)
		usleep(STOP_WAIT);
	int result = done ? 0 : drain->host->fail(drain->host, ETIMEDOUT, "a BPF program does not finish");
	bool complete = false;
	for (uint32_t i = 0; i < STOP_WAITS && result == 0 && !complete; i++) {
		result = events_read(drain, &complete);
		if (!complete)
			usleep(STOP_WAIT);
	}
	if (result == 0)
		result = set_emit(drain, !last, false);
	if (result == 0)
		result = set_emit(drain, last, true);
	if (result == 0)
		result = ends_apply(drain, drain->ends.count);
	count_areas_hand_over(&drain->counts);
	return result ? result : totals_emit(drain);
}
