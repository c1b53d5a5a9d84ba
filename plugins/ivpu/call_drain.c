/* SPDX-License-Identifier: Apache-2.0 */
/* See call_drain.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "call_drain.h"
#include "bpf/stack_index.h"
#include "records/losses.h"
#include "ivpu.bpf.skel.h"

#define KERNEL_TIME_COUNTER 1u
/* Limit on calls read from the ring buffer at once, so that other work is not starved. */
#define TAKEN_MAX 65536u

enum lost_reason {
	LOST_INTERRUPTED,
	LOST_UNWATCHED,
	LOST_THREADS,
	LOST_DEEP,
	LOST_RETURN,
	LOST_BEGIN,
	LOST_FULL,
	LOST_BUSY,
	LOST_RING,
	LOST_IN_FLIGHT,
	LOST_STACKS,
	LOST_GRAPHS,
	LOST_SIZES
};

static const char *const reasons[CALL_DRAIN_REASONS] = {
	[LOST_INTERRUPTED] = "calls: came while a BPF program ran on their CPU",
	[LOST_UNWATCHED] = "calls: no room in the kernel to watch their return",
	[LOST_THREADS] = "calls: too many threads in the driver",
	[LOST_DEEP] = "calls: nested too deep",
	[LOST_RETURN] = "calls: return not seen",
	[LOST_BEGIN] = "calls: begin not seen",
	[LOST_FULL] = "calls: map of counts full",
	[LOST_BUSY] = "calls: map of counts busy",
	[LOST_RING] = "calls: ring buffer full",
	[LOST_IN_FLIGHT] = "calls: still in flight at the end",
	[LOST_STACKS] = "stacks of programs: no room",
	[LOST_GRAPHS] = "tables of functions of graphs: no room, or not in memory",
	[LOST_SIZES] = "sizes of buffers: too many contexts",
};

static int out_of_memory(const struct call_drain *counts)
{
	return counts->host->fail(counts->host, ENOMEM, "out of memory");
}

static int event_take(void *context, void *data, size_t size);

/* Edge-triggered: readable once per wake-up. libbpf's own epoll descriptor stays readable until the ring is empty. */
static int ring_wake_open(struct call_drain *counts)
{
	int ring = bpf_map__fd(counts->probes->skeleton->maps.calls_ring);
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	counts->ring_wake = epoll_create1(EPOLL_CLOEXEC);
	if (counts->ring_wake < 0 || epoll_ctl(counts->ring_wake, EPOLL_CTL_ADD, ring, &event))
		return counts->host->fail(counts->host, errno, "cannot poll the BPF ring buffer: %s", strerror(errno));
	return 0;
}

int call_drain_init(struct call_drain *counts, const struct iaprof_host *host, const struct probes *probes,
		    call_drain_callback *callback, void *callback_context)
{
	const struct bpf_map *processors = probes->skeleton->maps.processors;

	*counts = (struct call_drain){ .host = host,
				       .probes = probes,
				       .callback = callback,
				       .callback_context = callback_context,
				       .ring_wake = -1 };
	int result = cpu_table_map(&counts->cpus, host, processors);
	if (result)
		return result;
	bool has_nodes = call_tree_init(&counts->nodes, &counts->records, probes->list,
					bpf_map__fd(probes->skeleton->maps.nodes));
	counts->stack = malloc(STACK_ROOM);
	if (!counts->stack || !has_nodes)
		return out_of_memory(counts);
	if (probes->skeleton->rodata->each_call) {
		counts->ring =
			ring_buffer__new(bpf_map__fd(probes->skeleton->maps.calls_ring), event_take, counts, NULL);
		if (!counts->ring)
			return host->fail(host, errno, "cannot map the BPF ring buffer: %s", strerror(errno));
		result = ring_wake_open(counts);
		if (result)
			return result;
	}
	return call_records_init(&counts->records, host);
}

void call_drain_free(struct call_drain *counts)
{
	if (!counts->host)
		return;
	cpu_table_unmap(&counts->cpus);
	ring_buffer__free(counts->ring);
	if (counts->ring_wake >= 0)
		close(counts->ring_wake);
	map_table_free(&counts->table);
	call_tree_free(&counts->nodes);
	free(counts->stack);
	call_records_free(&counts->records);
	*counts = (struct call_drain){ 0 };
}

int call_drain_begin(struct call_drain *counts)
{
	counts->last_time = counts->host->clock(counts->host);
	const struct record_counter counter = { .id = KERNEL_TIME_COUNTER,
						.name = "kernel-side-time",
						.unit = "nanoseconds" };
	return record_batch_declare_counter(&counts->records.batch, &counter, counts->last_time);
}

/* Returns the id of the stack that the calls have in common, or 0 if there is none or the kernel has evicted it. */
static uint32_t stack_id(struct call_drain *counts, const struct ivpu_key *key)
{
	const struct ivpu_bpf *skeleton = counts->probes->skeleton;
	struct stack_addresses *stack = counts->stack;
	uint32_t slot = key->stack & (CALL_DRAIN_STACKS - 1);

	if (!key->stack)
		return 0;
	if (counts->stack_ids[slot].hash == key->stack && counts->stack_ids[slot].process == key->process)
		return counts->stack_ids[slot].id;
	if (!stack_read(bpf_map__fd(skeleton->maps.stacks), key->stack, stack)) {
		counts->stacks_gone++;
		return 0;
	}
	python_stacks_read(&counts->probes->stacks->python);
	uint32_t flags = STACK_TRUNCATED; /* aligned at the leaf, as a call */
	uint32_t id =
		stack_reader_intern(counts->probes->stacks, key->process, 0, &flags, stack->addresses, stack->depth);
	counts->stack_ids[slot].hash = id ? key->stack : 0;
	counts->stack_ids[slot].process = key->process;
	counts->stack_ids[slot].id = id;
	return id;
}

/* thread: 0 and NULL for calls of any thread. */
static int count_send(struct call_drain *counts, const struct ivpu_key *key, const struct ivpu_count *count,
		      uint32_t thread, const char *thread_name)
{
	/* Two CPUs may have updated a count at once, leaving the times in either order. */
	uint64_t first = count->first_time < count->last_time ? count->first_time : count->last_time;
	uint64_t last = count->first_time < count->last_time ? count->last_time : count->first_time;
	uint32_t node = 0;

	if (!call_tree_id(&counts->nodes, key->node, first, &node))
		return out_of_memory(counts);
	if (!node)
		return 0;
	struct calls calls = {
		.node = node,
		.pid = key->process,
		.context = key->context,
		.tid = thread,
		.thread_name = thread_name,
		.user_stack = stack_id(counts, key),
		.count = count->count,
		.duration = count->duration,
		.self_duration = count->self_duration,
		.first_time = first,
		.last_time = last,
		.result = (int64_t)count->result,
	};
	uint32_t index = key->node & (IVPU_FUNCTIONS_MAX - 1);
	if (index < counts->probes->list->count)
		counts->callback(counts->callback_context, index, &calls, call_tree_place(&counts->nodes, node));
	return call_records_add(&counts->records, &calls);
}

/* A negative result ends ring_buffer__consume() after this call. */
static int event_take(void *context, void *data, size_t size)
{
	struct call_drain *counts = context;
	const struct ivpu_call_event *event = data;

	if (size < sizeof *event)
		return 0;
	const struct ivpu_count count = {
		.count = 1,
		.duration = event->duration,
		.self_duration = event->self_duration,
		.first_time = event->begin,
		.last_time = event->begin,
		.result = event->result,
	};
	char name[IVPU_NAME_SIZE + 1] = "";
	memcpy(name, event->name, sizeof event->name);
	counts->error = count_send(counts, &event->key, &count, event->thread, name);
	if (counts->error)
		return counts->error;
	return ++counts->taken == TAKEN_MAX ? -EAGAIN : 0;
}

int call_drain_events(struct call_drain *counts)
{
	if (!counts->ring)
		return 0;
	struct epoll_event woken;
	counts->taken = 0;
	counts->error = 0;
	epoll_wait(counts->ring_wake, &woken, 1, 0);
	ring_buffer__consume(counts->ring);
	return counts->error || !counts->taken ? counts->error : call_records_flush(&counts->records);
}

int call_drain_descriptor(const struct call_drain *counts)
{
	return counts->ring ? counts->ring_wake : -1;
}

static struct ivpu_processor totals_read(const struct call_drain *counts)
{
	struct ivpu_processor sum;

	cpu_table_sum(&counts->cpus, &sum);
	return sum;
}

static int set_drain(struct call_drain *counts, uint32_t set)
{
	const struct iaprof_host *host = counts->host;
	const struct ivpu_bpf *skeleton = counts->probes->skeleton;
	uint64_t calls = totals_read(counts).calls;

	/* BPF programs do not run on this CPU while a map is iterated, so this is done only if there are new calls. */
	if (counts->ring || calls == counts->drained_calls[set])
		return 0;
	int result = map_table_drain(&counts->table, set ? skeleton->maps.counts_1 : skeleton->maps.counts_0);
	if (result == -ENOMEM)
		return out_of_memory(counts);
	if (result)
		return host->fail(host, result, "cannot read the BPF maps: %s", strerror(-result));
	counts->drained_calls[set] = calls;
	const struct ivpu_key *keys = (const void *)counts->table.keys;
	const struct ivpu_count *values = (const void *)counts->table.values;
	for (uint32_t i = 0; result == 0 && i < counts->table.count; i++)
		result = count_send(counts, &keys[i], &values[i], 0, NULL);
	return result;
}

static void loss_report(struct call_drain *counts, enum lost_reason reason, uint64_t total)
{
	/* The other reasons are about calls; calls whose stack is lost are counted. */
	bool is_of_calls = reason != LOST_STACKS && reason != LOST_GRAPHS && reason != LOST_SIZES;

	losses_report(counts->host, reasons[reason], counts->last_time, total, &counts->lost[reason],
		      is_of_calls ? counts->records.count_type : 0);
}

/*
 * Deletes threads without calls in flight from their map when it may be half full, or was full. A thread that is just
 * making a call loses that call, which is counted as lost.
 */
static void threads_make_room(struct call_drain *counts, uint64_t added, uint64_t full)
{
	int threads = bpf_map__fd(counts->probes->skeleton->maps.threads);
	uint32_t limit = bpf_map__max_entries(counts->probes->skeleton->maps.threads), key, next;

	if (added - counts->threads_added < limit / 2 && full == counts->lost[LOST_THREADS])
		return;
	counts->threads_added = added;
	bool more = bpf_map_get_next_key(threads, NULL, &next) == 0;
	for (uint32_t i = 0; more && i < limit; i++) {
		struct ivpu_calls calls;
		key = next;
		more = bpf_map_get_next_key(threads, &key, &next) == 0;
		if (bpf_map_lookup_elem(threads, &key, &calls) == 0 && !calls.depth)
			bpf_map_delete_elem(threads, &key);
	}
}

/* Reports losses and counters since the last call. */
static int totals_send(struct call_drain *counts)
{
	const struct ivpu_processor sum = totals_read(counts);
	struct probes_missed missed = probes_missed(counts->probes);
	loss_report(counts, LOST_INTERRUPTED, missed.interrupted);
	loss_report(counts, LOST_UNWATCHED, missed.unwatched);
	threads_make_room(counts, sum.threads_added, sum.threads_full);
	loss_report(counts, LOST_THREADS, sum.threads_full);
	loss_report(counts, LOST_DEEP, sum.too_deep);
	loss_report(counts, LOST_RETURN, sum.returns_missed);
	loss_report(counts, LOST_BEGIN, sum.returns_unknown);
	loss_report(counts, LOST_FULL, sum.counts_full);
	loss_report(counts, LOST_BUSY, sum.counts_busy);
	loss_report(counts, LOST_RING, sum.ring_full);
	loss_report(counts, LOST_GRAPHS, sum.graphs_lost);
	loss_report(counts, LOST_SIZES, sum.sizes_lost);
	loss_report(counts, LOST_STACKS, sum.stacks.lost + counts->stacks_gone);
	if (sum.nodes_full && !counts->warned) {
		counts->warned = true;
		counts->host->log(counts->host, IAPROF_LOG_WARNING,
				  "too many distinct call paths: some calls are shown below [other calls]");
	}
	counts->calls = sum.calls;
	counts->stacks = sum.stacks;
	counts->handler_time = sum.handler_time * IVPU_TIMED_EVENTS;
	counts->last_time = counts->host->clock(counts->host);
	memset(counts->stack_ids, 0, sizeof counts->stack_ids);
	int result = record_batch_set_counter(&counts->records.batch, KERNEL_TIME_COUNTER, (double)counts->handler_time,
					      counts->last_time);
	return result ? result : call_records_flush(&counts->records);
}

int call_drain_turn(struct call_drain *counts)
{
	uint32_t *active_set = &counts->probes->skeleton->bss->active_set;

	/* A preempted virtual CPU keeps its handler active: the map is drained in the next turn. */
	if (!cpu_table_switch_set(&counts->cpus, offsetof(struct ivpu_processor, active), active_set,
				  &counts->set_pending))
		return 0;
	int result = set_drain(counts, !*active_set);
	return result ? result : totals_send(counts);
}

/* Counts calls whose return will not be traced. */
static uint64_t calls_in_flight(const struct call_drain *counts)
{
	const struct ivpu_bpf *skeleton = counts->probes->skeleton;
	int threads = bpf_map__fd(skeleton->maps.threads);
	uint64_t sum = 0;
	uint32_t key = 0;

	/* A program that is still running may delete a key, which restarts the iteration: the loop is bounded. */
	for (uint32_t i = 0; i < bpf_map__max_entries(skeleton->maps.threads); i++) {
		struct ivpu_calls calls;
		if (bpf_map_get_next_key(threads, i ? &key : NULL, &key))
			break;
		if (bpf_map_lookup_elem(threads, &key, &calls) == 0)
			sum += calls.depth;
	}
	return sum;
}

uint64_t call_drain_buffer_bytes(const struct call_drain *counts)
{
	return totals_read(counts).buffer_bytes;
}

int call_drain_finish(struct call_drain *counts)
{
	uint32_t active_set = counts->probes->skeleton->bss->active_set;

	counts->set_pending = false;
	/* A program may be preempted while its link is destroyed. */
	cpu_table_wait_idle(&counts->cpus, offsetof(struct ivpu_processor, active));
	int result = set_drain(counts, !active_set);
	if (result == 0)
		result = set_drain(counts, active_set);
	/* No more calls arrive. */
	do {
		if (result == 0)
			result = call_drain_events(counts);
	} while (result == 0 && counts->taken);
	loss_report(counts, LOST_IN_FLIGHT, calls_in_flight(counts));
	return result ? result : totals_send(counts);
}
