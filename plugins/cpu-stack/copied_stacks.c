/* SPDX-License-Identifier: Apache-2.0 */
/* See copied_stacks.h. */
#include "copied_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "bpf/support.h"
#include "bpf/unwind_copy.h"
#include "cpu-stack.h"
#include "cpu-stack.bpf.skel.h"

/* Maximum time to hold a sample. The core forgets ended processes after 3 s, and stacks after 5 s. */
#define HOLD_TIME UINT64_C(4000000000)
#define HOLD_TIME_ENDED UINT64_C(1500000000)
/* Maximum time to wait for the sample of a copy. */
#define SAMPLE_TIME UINT64_C(6000000000)
#define BYTES_MAX (UINT64_C(32) << 20)
#define COUNT_MAX 16384u
/* Ring buffer for each CPU, and in total: for the copies of a third of a second, or those of 99 Hz. */
#define RING_SIZE_MIN (256u << 10)
#define RING_SIZE_CPU (1u << 20)
#define RING_SIZE_MAX (32u << 20)

static uint32_t ring_size(uint32_t processor_count, uint64_t frequency)
{
	uint64_t wanted = frequency / 3 * sizeof(struct unwind_copy);
	uint32_t size = bpf_ring_size(wanted, RING_SIZE_MIN, RING_SIZE_CPU);
	return bpf_ring_size((uint64_t)size * processor_count, size, RING_SIZE_MAX);
}

int copied_stacks_set_sizes(const struct iaprof_host *host, struct cpu_stack_bpf *skeleton, uint32_t processor_count,
			    uint64_t frequency, bool use_tables)
{
	uint32_t size = use_tables ? ring_size(processor_count, frequency) : (uint32_t)sysconf(_SC_PAGESIZE);
	const struct bpf_map_size sizes[] = {
		{ skeleton->maps.copies, size, 0 },
		{ skeleton->maps.copy_buffers, use_tables ? processor_count : 1, 0 },
		{ skeleton->maps.copy_budgets, use_tables ? CPU_STACK_COPY_BUDGETS : 1, 0 },
	};
	return bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof *sizes);
}

static void drop_copy(struct copied_stacks *stacks, struct copied_stack *held)
{
	unwind_copy_drop(held->copy);
	stacks->bytes -= held->copy ? held->bytes : 0;
	held->copy = NULL;
}

static void drop(struct copied_stacks *stacks, struct copied_stack *held)
{
	drop_copy(stacks, held);
	stacks->bytes -= (held->addresses.capacity + held->python.capacity) * sizeof(uint64_t);
	array_free(&held->addresses);
	array_free(&held->python);
}

/* Keeps a copy. Returns false if there is no memory. */
static bool keep_copy(struct copied_stacks *stacks, const struct unwind_copy *copy, size_t size)
{
	struct copied_stack held = { .key = copy->id,
				     .time = copy->time,
				     .execution = copy->execution,
				     .process = copy->process,
				     .bytes = size };
	if (stacks->bytes + size > BYTES_MAX || stacks->held.count >= COUNT_MAX)
		return false;
	held.copy = unwind_copy_keep(copy, size);
	if (!held.copy || keyed_array_add(&stacks->held, &held) == POSITION_NONE) {
		unwind_copy_drop(held.copy);
		return false;
	}
	stacks->bytes += size;
	return true;
}

/* Keeps elements of a stack in an empty array; false if there is no memory. */
#define KEEP_ELEMENTS(stacks, array, elements, number)                                                                 \
	((stacks)->bytes + (number) * sizeof(uint64_t) <= BYTES_MAX && array_reserve((array), (number)) &&             \
	 ((stacks)->bytes += (array)->capacity * sizeof(uint64_t),                                                     \
	  memcpy((array)->items, (elements), (number) * sizeof(uint64_t)), (array)->count = (number), true))

/* Unwinds a copy if its tables are ready. */
static void try_copy(struct copied_stacks *stacks, struct copied_stack *held)
{
	uint64_t addresses[IAPROF_STACK_DEPTH_MAX];
	uint32_t depth;
	uint32_t end = unwind_copy_walk(stacks->unwinder, held->copy, addresses, IAPROF_STACK_DEPTH_MAX, &depth);
	if (end == UNWIND_UNKNOWN)
		return;
	drop_copy(stacks, held);
	if (!KEEP_ELEMENTS(stacks, &held->addresses, addresses, depth)) {
		stacks->refused++;
		return;
	}
	held->flags = unwind_end_flag(end);
	*(end == UNWIND_COMPLETE ? &stacks->unwound : &stacks->ended) += 1;
}

static int take_copy(void *context, void *data, size_t size)
{
	struct copied_stacks *stacks = context;
	const struct unwind_copy *copy = data;
	if (size < offsetof(struct unwind_copy, bytes) ||
	    size - offsetof(struct unwind_copy, bytes) < copy->size * UNWIND_COPY_PAGE)
		return 0;
	if (keep_copy(stacks, copy, size))
		try_copy(stacks, &stacks->held.items[stacks->held.count - 1]);
	else
		stacks->refused++;
	return 0;
}

int copied_stacks_open(struct copied_stacks *stacks, const struct iaprof_host *host, const struct unwinder *unwinder,
		       struct python_stacks *python, struct cpu_stack_bpf *skeleton, iaprof_on_fd *on_copy)
{
	stacks->host = host;
	stacks->unwinder = unwinder;
	stacks->python = python;
	struct bpf_log log = bpf_log_begin(host);
	stacks->ring = ring_buffer__new(bpf_map__fd(skeleton->maps.copies), take_copy, stacks, NULL);
	int result = stacks->ring ? 0 : -errno;
	bpf_log_end(&log);
	if (!result)
		result = host->on_fd(host, ring_buffer__epoll_fd(stacks->ring), EPOLLIN, on_copy);
	return result ? host->fail(host, result, "cannot unwind copies of stacks: %s", strerror(-result)) : 0;
}

void copied_stacks_free(struct copied_stacks *stacks)
{
	ring_buffer__free(stacks->ring);
	for (size_t i = 0; i < stacks->held.count; i++)
		drop(stacks, &stacks->held.items[i]);
	keyed_array_free(&stacks->held);
}

void copied_stacks_read(struct copied_stacks *stacks)
{
	if (stacks->ring)
		ring_buffer__consume(stacks->ring);
}

void copied_stacks_retry(struct copied_stacks *stacks, uint32_t process)
{
	for (size_t i = 0; i < stacks->held.count; i++) {
		struct copied_stack *held = &stacks->held.items[i];
		if (held->process == process && held->copy)
			try_copy(stacks, held);
	}
}

bool copied_stacks_hold(struct copied_stacks *stacks, uint64_t copy, const struct iaprof_record_sample *sample,
			const struct stack_addresses *stack)
{
	struct copied_stack *held = keyed_array_get(&stacks->held, &copy);
	if (!held)
		return false;
	size_t native = 0, depth = stack ? stack->depth : 0;
	while (native < depth && !(stack->addresses[native] & PYTHON_FRAME))
		native++;
	if (native < depth && !KEEP_ELEMENTS(stacks, &held->python, stack->addresses + native, depth - native))
		stacks->refused++;
	held->sample = *sample;
	held->has_sample = true;
	return true;
}

/* Returns the id of the unwound stack with the Python frames of the sample, or 0. */
static uint32_t intern_held(const struct copied_stacks *stacks, struct copied_stack *held)
{
	const struct iaprof_host *host = stacks->host;
	size_t native = held->addresses.count;
	if (!native || !stacks->python->ring)
		return native ? host->intern_stack(host, held->process, held->addresses.items, native) : 0;
	uint64_t elements[IAPROF_STACK_DEPTH_MAX + STACK_DEPTH_MAX];
	memcpy(elements, held->addresses.items, native * sizeof *elements);
	if (held->python.count)
		memcpy(elements + native, held->python.items, held->python.count * sizeof *elements);
	return python_stacks_intern(stacks->python, held->process, held->execution, &held->flags, elements,
				    (uint32_t)(native + held->python.count));
}

/* Sends a sample, with the stack of its copy if that was unwound. */
static int emit(const struct copied_stacks *stacks, struct copied_stack *held, struct record_batch *batch)
{
	uint32_t stack = intern_held(stacks, held);
	if (stack) {
		held->sample.user_stack = stack;
		held->sample.flags &= ~(uint32_t)(IAPROF_SAMPLE_USER_STACK_MISSING | IAPROF_SAMPLE_NO_UNWIND_TABLE);
		held->sample.flags |= held->flags;
	}
	return record_batch_append(batch, &held->sample.header);
}

static bool is_over(const struct copied_stack *held, uint64_t now)
{
	uint64_t age = now - held->time;
	if (!held->has_sample)
		return age > SAMPLE_TIME;
	return age > HOLD_TIME || (age > HOLD_TIME_ENDED && kill((pid_t)held->process, 0) && errno == ESRCH);
}

int copied_stacks_emit(struct copied_stacks *stacks, struct record_batch *batch, bool all)
{
	int result = 0;
	uint64_t now = stacks->host ? stacks->host->clock(stacks->host) : 0;
	/* Backwards, because the last item replaces a removed one. */
	for (size_t i = stacks->held.count; i-- > 0 && !result;) {
		struct copied_stack *held = &stacks->held.items[i];
		bool is_ready = held->has_sample && !held->copy;
		if (!is_ready && !all && !is_over(held, now))
			continue;
		stacks->late += held->copy != NULL;
		result = held->has_sample ? emit(stacks, held, batch) : 0;
		drop(stacks, held);
		keyed_array_remove(&stacks->held, (uint32_t)i);
	}
	return result;
}
