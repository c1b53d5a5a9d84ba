/* SPDX-License-Identifier: Apache-2.0 */
/* See drain.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <iaprof/record.h>
#include "drain.h"
#include "launches.h"
#include "ze-usdt.bpf.skel.h"

/* How long a turn waits for handlers that still use the set of maps to be drained; one runs for a few microseconds. */
#define HANDLER_WAIT 200000u /* ns */

/* A preempted task may not run for seconds on a machine that is busy. */
#define STOP_WAIT 1000u /* us */
#define STOP_WAITS 5000u

/* The value of active_set that turns the handlers off. */
#define HANDLERS_OFF 2u

/* Events that wait for a turn; more stay in the ring buffer, which counts what it has no room for. */
#define ENDS_MAX 65536u

/* A turn comes sooner when the last one found a quarter of the maps in use. */
#define PERIOD_MIN UINT64_C(10000000) /* ns */

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "out of memory");
}

static size_t processors_size(const struct drain *drain)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = drain->processor_count * sizeof *drain->processors;
	return (size + page - 1) / page * page;
}

static bool end_keep(struct drain *drain, const struct ze_event *event)
{
	if (drain->end_count == drain->end_capacity) {
		size_t capacity = drain->end_capacity ? drain->end_capacity * 2 : 64;
		struct ze_event *larger = realloc(drain->ends, capacity * sizeof *larger);
		if (!larger)
			return false;
		drain->ends = larger;
		drain->end_capacity = capacity;
	}
	drain->ends[drain->end_count++] = *event;
	return true;
}

/* A negative result ends ring_buffer__consume() after this event. */
static int event_handle(void *context, void *data, size_t size)
{
	struct drain *drain = context;
	const struct ze_event *event = data;
	int result = 0;

	if (size >= sizeof(struct ze_event_compile) && event->type == ZE_EVENT_COMPILE)
		result = objects_add_module(&drain->objects, data);
	else if (size >= sizeof *event && !end_keep(drain, event))
		result = out_of_memory(drain->host);
	drain->event_error = result;
	if (result == 0 && drain->end_count >= ENDS_MAX)
		result = -EAGAIN;
	return result;
}

int drain_events(struct drain *drain)
{
	drain->event_error = 0;
	if (drain->end_count < ENDS_MAX)
		ring_buffer__consume(drain->ring);
	return drain->event_error ? drain->event_error : record_batch_flush(&drain->batch);
}

int drain_event_descriptor(const struct drain *drain)
{
	return ring_buffer__epoll_fd(drain->ring);
}

int drain_init(struct drain *drain, const struct iaprof_host *host, struct ze_usdt_bpf *skeleton,
	       struct complaints *complaints)
{
	drain->host = host;
	drain->skeleton = skeleton;
	drain->processor_count = bpf_map__max_entries(skeleton->maps.processors);
	drain->map_size = bpf_map__max_entries(skeleton->maps.launches_0);
	void *mapped =
		mmap(NULL, processors_size(drain), PROT_READ, MAP_SHARED, bpf_map__fd(skeleton->maps.processors), 0);
	if (mapped == MAP_FAILED)
		return host->fail(host, errno, "map the BPF program's counters: %s", strerror(errno));
	drain->processors = mapped;
	drain->ring = ring_buffer__new(bpf_map__fd(skeleton->maps.events), event_handle, drain, NULL);
	if (!drain->ring)
		return host->fail(host, errno, "map the BPF program's events: %s", strerror(errno));

	drain->launches.key_size = sizeof(struct ze_launch_key);
	drain->launches.value_size = sizeof(struct ze_count);
	drain->executions.key_size = sizeof(struct ze_execution_key);
	drain->executions.value_size = sizeof(struct ze_count);
	drain->kernels.key_size = sizeof(uint64_t);
	drain->kernels.value_size = sizeof(struct ze_kernel);
	drain->stacks.key_size = sizeof(uint64_t);
	drain->stacks.value_size = bpf_map__value_size(skeleton->maps.stacks_0);
	int result = record_batch_init(&drain->batch, host);
	if (result == 0)
		result = objects_init(&drain->objects, host, complaints, &drain->batch);
	return result;
}

void drain_free(struct drain *drain)
{
	if (drain->processors)
		munmap(drain->processors, processors_size(drain));
	ring_buffer__free(drain->ring);
	free(drain->ends);
	map_table_free(&drain->launches);
	map_table_free(&drain->executions);
	map_table_free(&drain->kernels);
	map_table_free(&drain->stacks);
	stack_index_free(&drain->index);
	record_batch_free(&drain->batch);
	objects_free(&drain->objects);
	recordings_free(&drain->recordings);
}

int drain_begin(struct drain *drain)
{
	static const struct {
		enum drain_counter id;
		const char *name, *unit;
	} counters[] = {
		{ DRAIN_KERNEL_TIME, "kernel-side-time", "nanoseconds" },
		{ DRAIN_LAUNCHES, "launches", "count" },
		{ DRAIN_LAUNCHES_FILTERED, "launches-filtered", "count" },
		{ DRAIN_EXECUTIONS, "list-executions", "count" },
		{ DRAIN_MODULES, "modules", "count" },
	};
	int result = 0;

	drain->last_time = drain->host->clock(drain->host);
	drain->period = drain->period_max;
	for (size_t i = 0; i < sizeof counters / sizeof counters[0] && result == 0; i++)
		result = record_batch_declare_counter(&drain->batch, counters[i].id, counters[i].name, counters[i].unit,
						      drain->last_time);
	return result ? result : record_batch_flush(&drain->batch);
}

static int set_read(struct drain *drain, uint32_t set)
{
	const struct ze_usdt_bpf *skeleton = drain->skeleton;
	struct {
		struct map_table *table;
		const struct bpf_map *map;
	} maps[] = {
		{ &drain->launches, set ? skeleton->maps.launches_1 : skeleton->maps.launches_0 },
		{ &drain->executions, set ? skeleton->maps.executions_1 : skeleton->maps.executions_0 },
		{ &drain->kernels, set ? skeleton->maps.kernels_1 : skeleton->maps.kernels_0 },
		{ &drain->stacks, set ? skeleton->maps.stacks_1 : skeleton->maps.stacks_0 },
	};
	int result = 0;

	for (size_t i = 0; i < sizeof maps / sizeof maps[0] && result == 0; i++)
		result = map_table_drain(maps[i].table, bpf_map__fd(maps[i].map));
	if (result == -ENOMEM || (result == 0 && !stack_index_build(&drain->index, &drain->stacks)))
		return out_of_memory(drain->host);
	if (result)
		return drain->host->fail(drain->host, result, "read the BPF program's maps: %s", strerror(-result));
	return 0;
}

static int end_apply(struct drain *drain, const struct ze_event *event)
{
	if (event->type == ZE_EVENT_UNLOAD) {
		recordings_forget_module(&drain->recordings, &event->process, event->module);
		return objects_remove_module(&drain->objects, event);
	}
	recordings_forget_process(&drain->recordings, &event->process);
	objects_forget_process(&drain->objects, &event->process);
	return 0;
}

/* Ends of which everything before them has been emitted. */
static int ends_apply(struct drain *drain, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++)
		result = end_apply(drain, &drain->ends[i]);
	drain->end_count -= count;
	if (count)
		memmove(drain->ends, drain->ends + count, drain->end_count * sizeof *drain->ends);
	return result;
}

/* What a set holds, kernels before their launches and launches before the executions of their list. */
static int set_emit(struct drain *drain, uint32_t set)
{
	int result = set_read(drain, set);

	const uint64_t *hashes = (const void *)drain->kernels.keys;
	const struct ze_kernel *kernels = (const void *)drain->kernels.values;
	for (uint32_t i = 0; result == 0 && i < drain->kernels.count; i++)
		result = objects_add_kernel(&drain->objects, hashes[i], &kernels[i]);
	if (result == 0)
		result = launches_emit(drain);
	if (result == 0)
		result = executions_emit(drain);
	return result;
}

static uint64_t load(const __u64 *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static struct ze_processor processors_sum(const struct drain *drain)
{
	struct ze_processor sum = { 0 };

	for (uint32_t i = 0; i < drain->processor_count; i++) {
		const struct ze_processor *processor = &drain->processors[i];
		sum.launches += load(&processor->launches);
		sum.launches_filtered += load(&processor->launches_filtered);
		sum.launches_full += load(&processor->launches_full);
		sum.launches_busy += load(&processor->launches_busy);
		sum.launches_bad += load(&processor->launches_bad);
		sum.stacks_lost += load(&processor->stacks_lost);
		sum.stacks_missing += load(&processor->stacks_missing);
		sum.executions += load(&processor->executions);
		sum.executions_lost += load(&processor->executions_lost);
		sum.modules += load(&processor->modules);
		sum.modules_lost += load(&processor->modules_lost);
		sum.unloads_lost += load(&processor->unloads_lost);
		sum.exits_lost += load(&processor->exits_lost);
		sum.handler_time += load(&processor->handler_time);
	}
	return sum;
}

/* The losses and the counters since the last time. */
static int totals_emit(struct drain *drain)
{
	const struct iaprof_host *host = drain->host;
	struct ze_processor sum = processors_sum(drain), *before = &drain->reported;
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
	};
	for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
		if (losses[i].count)
			host->lost(host, losses[i].reason, drain->last_time, losses[i].count, 0, 0);
	drain->reported = sum;
	drain->last_time = host->clock(host);
	const struct {
		enum drain_counter id;
		uint64_t value;
	} counters[] = {
		{ DRAIN_KERNEL_TIME, sum.handler_time },
		{ DRAIN_LAUNCHES, sum.launches },
		{ DRAIN_LAUNCHES_FILTERED, sum.launches_filtered },
		{ DRAIN_EXECUTIONS, sum.executions },
		{ DRAIN_MODULES, sum.modules },
	};
	int result = 0;
	for (size_t i = 0; i < sizeof counters / sizeof counters[0] && result == 0; i++)
		result = record_batch_set_counter(&drain->batch, counters[i].id, counters[i].value, drain->last_time);
	return result ? result : record_batch_flush(&drain->batch);
}

/* Whether no handler uses that set any more. */
static bool handlers_are_done(struct drain *drain, uint32_t set)
{
	uint64_t begin = drain->host->clock(drain->host);

	for (uint32_t i = 0; i < drain->processor_count; i++) {
		while (__atomic_load_n(&drain->processors[i].active[set], __ATOMIC_ACQUIRE)) {
			if (drain->host->clock(drain->host) - begin > HANDLER_WAIT)
				return false;
		}
	}
	return true;
}

/* The time to the next turn, by how much this one found. */
static void period_adapt(struct drain *drain)
{
	if (drain->launches.count > drain->map_size / 4 || drain->stacks.count > drain->map_size / 8)
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
	uint32_t *active_set = &drain->skeleton->bss->active_set;
	int result = 0;

	if (!drain->set_pending) {
		/* What ended before the change: everything about it is in the set that is drained now. */
		result = drain_events(drain);
		if (result)
			return result;
		drain->end_mark = drain->end_count;
		__atomic_store_n(active_set, !*active_set, __ATOMIC_SEQ_CST);
		atomic_thread_fence(memory_order_seq_cst);
		drain->set_pending = true;
	}
	/* A task that was preempted in its handler keeps the set busy: it is drained in a later turn. */
	if (!handlers_are_done(drain, !*active_set))
		return 0;
	drain->set_pending = false;
	/* Modules of the kernels in the set were announced before they were launched. */
	result = drain_events(drain);
	if (result == 0)
		result = set_emit(drain, !*active_set);
	if (result == 0)
		result = ends_apply(drain, drain->end_mark);
	drain->end_mark = 0;
	period_adapt(drain);
	image_cache_expire(&drain->objects.images, drain->host->clock(drain->host));
	return result ? result : totals_emit(drain);
}

int drain_finish(struct drain *drain)
{
	uint32_t *active_set = &drain->skeleton->bss->active_set;
	uint32_t last = *active_set & 1;

	/* Taking the probes away takes a tenth of a second for each: instead the handlers do nothing from here on. */
	__atomic_store_n(active_set, HANDLERS_OFF, __ATOMIC_SEQ_CST);
	atomic_thread_fence(memory_order_seq_cst);
	bool done = true;
	for (uint32_t i = 0; i < STOP_WAITS && !(done = handlers_are_done(drain, 0) && handlers_are_done(drain, 1));
	     i++)
		usleep(STOP_WAIT);
	int result = done ? 0 : drain->host->fail(drain->host, ETIMEDOUT, "a BPF program does not end");
	if (result == 0)
		result = drain_events(drain);
	if (result == 0)
		result = set_emit(drain, !last);
	if (result == 0)
		result = set_emit(drain, last);
	if (result == 0)
		result = ends_apply(drain, drain->end_count);
	return result ? result : totals_emit(drain);
}
