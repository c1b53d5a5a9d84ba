/* SPDX-License-Identifier: Apache-2.0 */
/* See counts.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <iaprof/record.h>
#include "counts.h"
#include "ivpu.bpf.skel.h"

/* How long a turn waits for handlers that still use the map to be drained; one runs for a few microseconds. */
#define HANDLER_WAIT 200000u /* ns */

#define KERNEL_TIME_COUNTER 1u
/* The most calls that are taken one by one before something else has its turn. */
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
	LOST_GRAPHS
};

static const char *const reasons[COUNTS_REASONS] = {
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
};

static int out_of_memory(const struct counts *counts)
{
	return counts->host->fail(counts->host, ENOMEM, "out of memory");
}

static size_t processors_size(const struct counts *counts)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = counts->processor_count * sizeof *counts->processors;

	return (size + page - 1) / page * page;
}

static int event_take(void *context, void *data, size_t size);

/* Readable once for each time that the programs wake user space; libbpf's own one is as long as there is anything. */
static int ring_wake_open(struct counts *counts)
{
	int ring = bpf_map__fd(counts->probes->skeleton->maps.calls_ring);
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	counts->ring_wake = epoll_create1(EPOLL_CLOEXEC);
	if (counts->ring_wake < 0 || epoll_ctl(counts->ring_wake, EPOLL_CTL_ADD, ring, &event))
		return counts->host->fail(counts->host, errno, "watch the BPF programs' ring buffer: %s",
					  strerror(errno));
	return 0;
}

int counts_init(struct counts *counts, const struct iaprof_host *host, const struct probes *probes, counts_told *told,
		void *told_context)
{
	const struct bpf_map *processors = probes->skeleton->maps.processors;

	*counts = (struct counts){
		.host = host, .probes = probes, .told = told, .told_context = told_context, .ring_wake = -1
	};
	counts->processor_count = bpf_map__max_entries(processors);
	void *mapped = mmap(NULL, processors_size(counts), PROT_READ, MAP_SHARED, bpf_map__fd(processors), 0);
	if (mapped == MAP_FAILED)
		return host->fail(host, errno, "map the BPF programs' counters: %s", strerror(errno));
	counts->processors = mapped;
	counts->table.key_size = sizeof(struct ivpu_key);
	counts->table.value_size = sizeof(struct ivpu_count);
	known_nodes_init(&counts->nodes, &counts->records, probes->list, bpf_map__fd(probes->skeleton->maps.nodes));
	counts->stack = calloc(1, bpf_map__value_size(probes->skeleton->maps.stacks));
	if (!counts->stack)
		return out_of_memory(counts);
	if (probes->skeleton->rodata->each_call) {
		counts->ring =
			ring_buffer__new(bpf_map__fd(probes->skeleton->maps.calls_ring), event_take, counts, NULL);
		if (!counts->ring)
			return host->fail(host, errno, "map the BPF programs' ring buffer: %s", strerror(errno));
		int result = ring_wake_open(counts);
		if (result)
			return result;
	}
	return call_records_init(&counts->records, host);
}

void counts_free(struct counts *counts)
{
	if (!counts->host)
		return;
	if (counts->processors)
		munmap((void *)counts->processors, processors_size(counts));
	ring_buffer__free(counts->ring);
	if (counts->ring_wake >= 0)
		close(counts->ring_wake);
	map_table_free(&counts->table);
	known_nodes_free(&counts->nodes);
	free(counts->stack);
	call_records_free(&counts->records);
	*counts = (struct counts){ 0 };
}

int counts_begin(struct counts *counts)
{
	counts->last_time = counts->host->clock(counts->host);
	return record_batch_declare_counter(&counts->records.batch, KERNEL_TIME_COUNTER, "kernel-side-time",
					    "nanoseconds", counts->last_time);
}

/* The id of the stack that calls have in common; 0: none, or the kernel has none any more. */
static uint32_t stack_id(struct counts *counts, const struct ivpu_key *key)
{
	const struct ivpu_bpf *skeleton = counts->probes->skeleton;
	const struct iaprof_host *host = counts->host;
	struct stack_addresses *stack = counts->stack;
	uint32_t slot = key->stack & (COUNTS_STACKS - 1);

	if (!key->stack)
		return 0;
	if (counts->stack_ids[slot].hash == key->stack && counts->stack_ids[slot].process == key->process)
		return counts->stack_ids[slot].id;
	if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.stacks), &key->stack, stack) || !stack->depth ||
	    stack->depth > skeleton->rodata->stack_depth) {
		counts->stacks_gone++;
		return 0;
	}
	uint32_t id = host->intern_stack(host, key->process, (const uint64_t *)stack->addresses, stack->depth);
	counts->stack_ids[slot].hash = id ? key->stack : 0;
	counts->stack_ids[slot].process = key->process;
	counts->stack_ids[slot].id = id;
	return id;
}

static int count_send(struct counts *counts, const struct ivpu_key *key, const struct ivpu_count *count,
		      uint32_t thread)
{
	/* Two CPUs that add to the same count leave the times of either. */
	uint64_t first = count->first_time < count->last_time ? count->first_time : count->last_time;
	uint64_t last = count->first_time < count->last_time ? count->last_time : count->first_time;
	uint32_t node = 0;

	if (!known_nodes_id(&counts->nodes, key->node, first, &node))
		return out_of_memory(counts);
	if (!node)
		return 0;
	struct calls calls = {
		.node = node,
		.pid = key->process,
		.tid = thread,
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
		counts->told(counts->told_context, index, &calls, known_nodes_is_in_boot(&counts->nodes, node));
	return call_records_add(&counts->records, &calls);
}

/* A negative result ends ring_buffer__consume() after this call. */
static int event_take(void *context, void *data, size_t size)
{
	struct counts *counts = context;
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
	counts->error = count_send(counts, &event->key, &count, event->thread);
	if (counts->error)
		return counts->error;
	return ++counts->taken == TAKEN_MAX ? -EAGAIN : 0;
}

int counts_take(struct counts *counts)
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

int counts_descriptor(const struct counts *counts)
{
	return counts->ring ? counts->ring_wake : -1;
}

static uint64_t load(const __u64 *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static uint64_t calls_now(const struct counts *counts)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < counts->processor_count; i++)
		calls += load(&counts->processors[i].calls);
	return calls;
}

uint64_t counts_buffer_bytes(const struct counts *counts)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < counts->processor_count; i++)
		bytes += load(&counts->processors[i].buffer_bytes);
	return bytes;
}

static int set_drain(struct counts *counts, uint32_t set)
{
	const struct iaprof_host *host = counts->host;
	const struct ivpu_bpf *skeleton = counts->probes->skeleton;
	uint64_t calls = calls_now(counts);

	/* While a map is looked through, no program runs on this CPU: not without need. */
	if (counts->ring || calls == counts->drained_calls[set])
		return 0;
	int result =
		map_table_drain(&counts->table, bpf_map__fd(set ? skeleton->maps.counts_1 : skeleton->maps.counts_0));
	if (result == -ENOMEM)
		return out_of_memory(counts);
	if (result)
		return host->fail(host, result, "read the BPF programs' maps: %s", strerror(-result));
	counts->drained_calls[set] = calls;
	const struct ivpu_key *keys = (const void *)counts->table.keys;
	const struct ivpu_count *values = (const void *)counts->table.values;
	for (uint32_t i = 0; result == 0 && i < counts->table.count; i++)
		result = count_send(counts, &keys[i], &values[i], 0);
	return result;
}

static void loss_report(struct counts *counts, enum lost_reason reason, uint64_t total)
{
	const struct iaprof_host *host = counts->host;
	uint64_t count = total - counts->lost[reason];

	/* Calls whose stack is lost are there. */
	bool is_of_calls = reason != LOST_STACKS && reason != LOST_GRAPHS;
	if (count)
		host->lost(host, reasons[reason], counts->last_time, count,
			   is_of_calls ? counts->records.count_type : 0, is_of_calls ? count : 0);
	counts->lost[reason] = total;
}

/*
 * Takes the threads without calls in flight out of their map when it may be half full, or was full. One of them that
 * just makes a call loses that call, which is told.
 */
static void threads_make_room(struct counts *counts, uint64_t added, uint64_t full)
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

/* The losses and the counter since the last time. */
static int totals_send(struct counts *counts)
{
	struct ivpu_processor sum = { 0 };

	for (uint32_t i = 0; i < counts->processor_count; i++) {
		const struct ivpu_processor *processor = &counts->processors[i];
		sum.calls += load(&processor->calls);
		sum.threads_full += load(&processor->threads_full);
		sum.too_deep += load(&processor->too_deep);
		sum.returns_missed += load(&processor->returns_missed);
		sum.returns_unknown += load(&processor->returns_unknown);
		sum.counts_full += load(&processor->counts_full);
		sum.counts_busy += load(&processor->counts_busy);
		sum.ring_full += load(&processor->ring_full);
		sum.graphs_lost += load(&processor->graphs_lost);
		sum.threads_added += load(&processor->threads_added);
		sum.stacks_lost += load(&processor->stacks_lost);
		sum.nodes_full += load(&processor->nodes_full);
		sum.handler_time += load(&processor->handler_time);
	}
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
	loss_report(counts, LOST_STACKS, sum.stacks_lost + counts->stacks_gone);
	if (sum.nodes_full && !counts->warned) {
		counts->warned = true;
		counts->host->log(counts->host, IAPROF_LOG_WARNING,
				  "calls are nested in more ways than there is room for: some are shown below "
				  "[other calls]");
	}
	counts->calls = sum.calls;
	counts->handler_time = sum.handler_time * IVPU_TIMED_EVENTS;
	counts->last_time = counts->host->clock(counts->host);
	memset(counts->stack_ids, 0, sizeof counts->stack_ids);
	int result = record_batch_set_counter(&counts->records.batch, KERNEL_TIME_COUNTER, counts->handler_time,
					      counts->last_time);
	return result ? result : call_records_flush(&counts->records);
}

/* Whether every handler has seen the change of active_set. */
static bool handlers_are_done(const struct counts *counts)
{
	uint64_t begin = counts->host->clock(counts->host);

	for (uint32_t i = 0; i < counts->processor_count; i++) {
		while (__atomic_load_n(&counts->processors[i].active, __ATOMIC_ACQUIRE)) {
			if (counts->host->clock(counts->host) - begin > HANDLER_WAIT)
				return false;
		}
	}
	return true;
}

int counts_drain(struct counts *counts)
{
	uint32_t *active_set = &counts->probes->skeleton->bss->active_set;

	if (!counts->set_pending) {
		__atomic_store_n(active_set, !*active_set, __ATOMIC_SEQ_CST);
		atomic_thread_fence(memory_order_seq_cst);
		counts->set_pending = true;
	}
	/* A virtual CPU that does not run right now keeps its handler busy: the map is drained in the next turn. */
	if (!handlers_are_done(counts))
		return 0;
	counts->set_pending = false;
	int result = set_drain(counts, !*active_set);
	return result ? result : totals_send(counts);
}

/* Calls that nobody will see return. */
static uint64_t calls_in_flight(const struct counts *counts)
{
	const struct ivpu_bpf *skeleton = counts->probes->skeleton;
	int threads = bpf_map__fd(skeleton->maps.threads);
	uint64_t sum = 0;
	uint32_t key = 0;

	/* A program that is still running may take one out: then the rest is begun anew, but not for ever. */
	for (uint32_t i = 0; i < bpf_map__max_entries(skeleton->maps.threads); i++) {
		struct ivpu_calls calls;
		if (bpf_map_get_next_key(threads, i ? &key : NULL, &key))
			break;
		if (bpf_map_lookup_elem(threads, &key, &calls) == 0)
			sum += calls.depth;
	}
	return sum;
}

int counts_finish(struct counts *counts)
{
	uint32_t active_set = counts->probes->skeleton->bss->active_set;

	counts->set_pending = false;
	/* A program may be preempted while its link goes. */
	handlers_are_done(counts);
	int result = set_drain(counts, !active_set);
	if (result == 0)
		result = set_drain(counts, active_set);
	/* Nothing comes any more. */
	do {
		if (result == 0)
			result = counts_take(counts);
	} while (result == 0 && counts->taken);
	loss_report(counts, LOST_IN_FLIGHT, calls_in_flight(counts));
	return result ? result : totals_send(counts);
}
