// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * BPF programs of off-cpu. The stacks of a thread are taken when it leaves the CPU, because its memory cannot be read
 * when it comes back. Whether its wait is long enough to be recorded is not known by then: stacks of waits that are
 * expected to be short, by earlier ones from the same place, are taken now and then.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "off-cpu.h"
#include "bpf/map.bpf.h"
#include "bpf/targets.bpf.h"

#define STACK_BUFFERS 4
#define BUFFER_USER 0u
#define BUFFER_KERNEL 1u
#define BUFFER_WAKER_USER 2u
#define BUFFER_WAKER_KERNEL 3u
#include "bpf/stack_reader.bpf.h"
#include "task.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define UINT_MAX 0xffffffffu
/* 1 in 8, of 2^32. */
#define LEAST_CHANCE 0x20000000u
/* Of the Linux kernel's stack: this program, and what calls it. */
#define PROGRAM_FRAMES 0u

const volatile bool take_user = true;
const volatile bool take_kernel = true;
const volatile bool take_ready = true;
const volatile bool take_waker = false;
const volatile bool use_tables = true;
const volatile bool sample_short = true;
__u64 minimum = 1000000; /* ns, up to 2^32; user space changes it at any time, but never to or from 0 */
/*
 * 2^32 times the least probability with which a wait of a quiet thread is handled, less 1; UINT_MAX: no thread is
 * quiet. User space changes it at any time.
 */
__u32 quiet_chance = 0xffffffffu;
const volatile __u64 slot_width = 0;   /* ns; 0: waits are not separated by time */
const volatile __u64 window_share = 0; /* ns of OFF_CPU_WINDOW */

/* The set of maps that is written to; user space drains the other set. */
__u32 active_set = 0;

BPF_MAP(waits_0, HASH, struct off_cpu_key, struct off_cpu_sum, 1);
BPF_MAP(waits_1, HASH, struct off_cpu_key, struct off_cpu_sum, 1);
STACKS_MAP(stacks_0);
STACKS_MAP(stacks_1);
BPF_MAP(threads, HASH, __u32, struct off_cpu_thread, 1);
BPF_MAPPED_ARRAY(processors, struct off_cpu_processor, 1);

struct off_cpu_quiet quiet_threads[OFF_CPU_QUIET_THREADS] = {};

/* A thread that is new: too large for the stack of a program. */
BPF_MAP(new_threads, PERCPU_ARRAY, __u32, struct off_cpu_thread, 1);

static __always_inline struct off_cpu_processor *processor_get(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&processors, &cpu);
}

static __always_inline void time_add(struct off_cpu_processor *processor, __u64 begin)
{
	__u64 now = bpf_ktime_get_ns(), time = now - begin;
	processor->handler_time += time;
	if (now - processor->window_begin > OFF_CPU_WINDOW) {
		processor->window_begin = now;
		processor->window_time = 0;
	}
	processor->window_time += time;
}

/* Returns whether the programs have used more than this multiple of their share of the CPU. */
static __always_inline bool is_over_share(const struct off_cpu_processor *processor, __u64 times)
{
	return window_share && processor->window_time > times * window_share;
}

/*
 * Returns the value to record for a time. chance: the probability with which its stacks were taken. Short times are
 * chosen with a probability in proportion to their length, and count as the minimum, so that the expected sum is their
 * sum. The chance is a factor of that probability.
 */
static __always_inline __u64 value_choose(__u64 time, __u32 chance, struct off_cpu_processor *processor)
{
	if (!time || time >= minimum)
		return time;
	__u64 wanted = (time << 32) / minimum, had = (__u64)chance + 1;
	if (sample_short && wanted >= had && had) {
		processor->short_sampled++;
		return (time << 32) / had;
	}
	if (sample_short && bpf_get_prandom_u32() < (wanted << 32) / had) {
		processor->short_sampled++;
		return minimum;
	}
	processor->short_skipped++;
	return 0;
}

static __always_inline void sum_add(struct off_cpu_sum *sum, __u64 begin, __u64 end, __u64 value)
{
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->value, value);
	/* Two CPUs may race here: user space orders first and last. */
	if (begin < sum->first_time)
		sum->first_time = begin;
	if (end > sum->last_time)
		sum->last_time = end;
}

/* Adds a time to the sum of its key. */
static __always_inline void wait_add(struct off_cpu_key *key, __u64 begin, __u64 end, __u64 value,
				     struct off_cpu_processor *processor)
{
	__u32 set = *(volatile __u32 *)&active_set;
	void *waits = set ? (void *)&waits_1 : (void *)&waits_0;
	key->slot = slot_width ? end / slot_width : 0;
	struct off_cpu_sum *sum = bpf_map_lookup_elem(waits, key);
	if (!sum && span_drop(key->span, set, &processor->stacks))
		sum = bpf_map_lookup_elem(waits, key);
	if (sum) {
		sum_add(sum, begin, end, value);
		return;
	}
	struct off_cpu_sum first = { .count = 1, .value = value, .first_time = begin, .last_time = end };
	long error = bpf_map_update_elem(waits, key, &first, BPF_NOEXIST);
	if (error == -EEXIST && (sum = bpf_map_lookup_elem(waits, key))) {
		sum_add(sum, begin, end, value);
	} else if (error) {
		processor->value_lost += value;
		*(error == -E2BIG ? &processor->waits_full : &processor->waits_busy) += 1;
	}
}

static __always_inline void *stacks_of(__u32 set)
{
	return set ? (void *)&stacks_1 : (void *)&stacks_0;
}

/* Sets the span of the running task in its key. Global, as unwind_stack(): the verifier checks it only once. */
__attribute__((noinline)) int span_set(struct off_cpu_key *key)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct off_cpu_processor *processor = processor_get();
	if (key && processor && has_user_stack(task))
		thread_span_take((struct thread_memory){ task, .is_running = true }, key->process, key->execution,
				 &processor->stacks.spans, key->span);
	return 0;
}

/* As in cpu-stack: by tables, and until there are any, by frame pointers. */
static __always_inline __u64 user_stack_take(void *context, struct task_struct *task, struct stack_addresses *stack,
					     const struct unwind_registers *registers, struct off_cpu_key *key,
					     struct off_cpu_processor *processor)
{
	if (use_tables && !registers->pc) {
		key->flags |= STACK_NO_TABLE;
	} else if (use_tables) {
		__u32 end;
		__u64 hash = stack_unwind(stack, BUFFER_USER, task->tgid, task->self_exec_id, registers,
					  &processor->stacks, &end);
		key->flags |= unwind_end_flag(end);
		if (hash)
			return hash;
	}
	return stack_walk(context, true, stack, BUFFER_USER, BPF_F_USER_STACK, STACK_USER_MISSING, &key->flags);
}

/* Sets the stacks in the key. */
static __always_inline void stacks_take(void *context, struct task_struct *task,
					const struct unwind_registers *registers, struct off_cpu_key *key,
					struct off_cpu_processor *processor)
{
	__u32 user_element = BUFFER_USER, kernel_element = BUFFER_KERNEL;
	void *stacks = stacks_of(*(volatile __u32 *)&active_set);
	struct stack_addresses *user = bpf_map_lookup_elem(&scratch, &user_element);
	struct stack_addresses *kernel = bpf_map_lookup_elem(&scratch, &kernel_element);
	if (!user || !kernel)
		return;
	if (take_user && has_user_stack(task)) {
		__u64 hash = user_stack_take(context, task, user, registers, key, processor);
		key->user_stack = stack_keep(stacks, user, hash, STACK_USER_MISSING, &key->flags, &processor->stacks);
	}
	if (take_kernel) {
		__u64 hash = stack_walk(context, true, kernel, BUFFER_KERNEL, PROGRAM_FRAMES, STACK_KERNEL_MISSING,
					&key->flags);
		key->kernel_stack =
			stack_keep(stacks, kernel, hash, STACK_KERNEL_MISSING, &key->flags, &processor->stacks);
	}
}

/*
 * Returns the chance for the stacks of a wait at a site, as in struct off_cpu_thread: less than 1 if the longest one of
 * late was shorter than the minimum.
 */
static __always_inline __u32 chance_of(struct off_cpu_thread *thread)
{
	const struct off_cpu_site *site = &thread->sites[thread->site % OFF_CPU_SITES];
	__u64 time = site->time * 1000ull;
	if (site->id != thread->site || time >= minimum)
		return UINT_MAX;
	__u64 chance = (time << 32) / minimum;
	return chance < LEAST_CHANCE ? LEAST_CHANCE : (__u32)chance;
}

static __always_inline void site_learn(struct off_cpu_thread *thread, __u64 time)
{
	struct off_cpu_site *site = &thread->sites[thread->site % OFF_CPU_SITES];
	__u64 now = time / 1000, before = site->id == thread->site ? site->time : 0;
	before -= before / 8;
	now = now > before ? now : before;
	site->id = thread->site;
	site->time = now < UINT_MAX ? now : UINT_MAX;
}

static __always_inline __u32 site_of(const struct unwind_registers *registers)
{
	__u64 site = hash_add(hash_add(hash_seed[0], registers->pc), registers->sp);
	return site ? site : 1;
}

/* Returns the element of a thread. It is quiet if the element is its own. */
static __always_inline struct off_cpu_quiet *quiet_of(__u32 id)
{
	return &quiet_threads[id % OFF_CPU_QUIET_THREADS];
}

/* After a wait of the thread: whether it is quiet from now on. */
static __always_inline void quiet_update(__u32 id, const struct off_cpu_thread *thread)
{
	struct off_cpu_quiet *quiet = quiet_of(id);
	__u32 longest = 0, least = *(volatile __u32 *)&quiet_chance;
	if (least == UINT_MAX)
		return;
#pragma unroll
	for (__u32 i = 0; i < OFF_CPU_SITES; i++)
		longest = thread->sites[i].time > longest ? thread->sites[i].time : longest;
	__u64 time = longest * 1000ull, needed = (time << 32) / minimum;
	if (time >= minimum && quiet->thread == id)
		quiet->thread = 0;
	if (time >= minimum || (quiet->thread != id && __sync_val_compare_and_swap(&quiet->thread, 0, id)))
		return;
	quiet->chance = needed > least ? needed : least;
}

/* A wait that was passed is handled after all. */
static __always_inline void quiet_resume(struct off_cpu_quiet *quiet, struct task_struct *task,
					 struct off_cpu_thread *thread)
{
	struct unwind_registers registers = {};
	if (!(task->flags & PF_KTHREAD) && !unwind_registers_of_entry(&registers, task))
		registers.pc = 0;
	thread->site = site_of(&registers);
	__builtin_memset(&thread->key, 0, sizeof thread->key);
	names_set(&thread->key, task);
	thread->key.flags = OFF_CPU_NOT_TAKEN;
	thread->key.state = quiet->state;
	thread->wait = 0;
	thread->ran = quiet->ran;
	thread->woken = quiet->woken;
	thread->start = quiet->left;
}

/* A wait that was expected to be short was long: the Linux kernel's stack is still there. */
static __always_inline void kernel_stack_take(struct task_struct *task, struct off_cpu_thread *thread,
					      struct off_cpu_processor *processor)
{
	__u32 element = BUFFER_KERNEL;
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
	processor->stacks_skipped++;
	if (!stack || !take_kernel)
		return;
	long size = bpf_get_task_stack(task, stack->addresses, STACK_DEPTH_MAX * sizeof(__u64), 0);
	stack->depth = size > 0 ? (__u64)size / sizeof(__u64) : 0;
	thread->key.kernel_stack = stack_keep(stacks_of(*(volatile __u32 *)&active_set), stack,
					      size > 0 ? stack_hash_by_loop(BUFFER_KERNEL) : 0, STACK_KERNEL_MISSING,
					      &thread->key.flags, &processor->stacks);
}

static __always_inline void time_drop(struct off_cpu_dropped *dropped, __u64 time)
{
	if (!time || (time < minimum && !sample_short))
		return;
	dropped->count++;
	dropped->value += time;
}

/*
 * The task has the CPU back since now. has_stack: its stack in the Linux kernel is still that of the wait. User space
 * changes active_set and then waits until active is 0: from then on no program uses the other set. The exchange is a
 * full barrier: active is visible before active_set is read.
 */
static __always_inline void wait_end(struct task_struct *task, struct off_cpu_thread *thread, __u64 now, bool has_stack,
				     struct off_cpu_processor *processor)
{
	__u64 start = thread->start, woken = thread->woken ? thread->woken : now, wait = thread->wait, ready = 0;
	bool is_taken = !(thread->key.flags & OFF_CPU_NOT_TAKEN);
	thread->start = 0;
	processor->wakeups_unmatched += !thread->woken;
	if (thread->key.flags & OFF_CPU_DROPPED) {
		time_drop(&processor->dropped, woken - start);
		if (take_ready)
			time_drop(&processor->dropped_ready, now - woken);
		return;
	}
	site_learn(thread, now - start);
	quiet_update(task->pid, thread);
	/* With its waker, the wait has been chosen at the wake-up. */
	if ((!take_waker || !thread->woken) && (is_taken || woken - start >= minimum))
		wait = value_choose(woken - start, thread->chance, processor);
	if (take_ready && (is_taken || now - woken >= minimum))
		ready = value_choose(now - woken, thread->chance, processor);
	processor->short_skipped += !is_taken && !wait && !ready;
	if (!wait && !ready)
		return;
	__sync_lock_test_and_set(&processor->active, 1);
	processor->stacks_refused += !!(thread->key.flags & OFF_CPU_OVER_SHARE);
	if (!is_taken && has_stack)
		kernel_stack_take(task, thread, processor);
	else if (!is_taken)
		thread->key.flags |= STACK_KERNEL_MISSING;
	if (wait)
		wait_add(&thread->key, start, woken, wait, processor);
	if (ready) {
		if (thread->key.state != OFF_CPU_PREEMPTED)
			thread->key.state = OFF_CPU_WOKEN;
		thread->key.waker = 0;
		thread->key.waker_user = thread->key.waker_kernel = 0;
		__builtin_memset(thread->key.waker_name, 0, sizeof thread->key.waker_name);
		wait_add(&thread->key, woken, now, ready, processor);
	}
	__sync_lock_test_and_set(&processor->active, 0);
}

/* Returns false for a wait that was passed. */
static __always_inline bool thread_came(struct task_struct *task, __u64 now, struct off_cpu_processor *processor)
{
	__u32 id = task->pid;
	struct off_cpu_quiet *quiet = quiet_of(id);
	__u64 left = quiet->thread == id ? quiet->left : 0;
	if (left && now - left < minimum) {
		quiet->left = 0;
		processor->short_skipped++;
		return false;
	}
	struct off_cpu_thread *thread = bpf_map_lookup_elem(&threads, &id);
	if (left && thread)
		quiet_resume(quiet, task, thread);
	if (left)
		quiet->left = 0;
	if (thread && thread->start)
		wait_end(task, thread, now, true, processor);
	return true;
}

/*
 * The task leaves the CPU, but no tracepoint reported its arrival: virtual machines have threads from which Linux
 * switches without one. The time of arrival is derived from the time that the task has run since.
 */
static __always_inline void thread_came_unseen(struct task_struct *task, struct off_cpu_thread *thread, __u64 now,
					       struct off_cpu_processor *processor)
{
	__u64 ran = task->se.sum_exec_runtime - thread->ran, begin = thread->woken ? thread->woken : thread->start;
	processor->switches_unseen++;
	wait_end(task, thread, ran < now - begin ? now - ran : begin, false, processor);
}

/* The task has left the CPU. Returns false for a wait that is passed. */
static __always_inline bool thread_left(void *context, struct task_struct *task, bool preempted, __u32 state, __u64 now,
					struct off_cpu_processor *processor)
{
	__u32 id = task->pid, zero = 0, handled = UINT_MAX;
	bool is_ready = preempted || state == TASK_RUNNING;
	struct off_cpu_quiet *quiet = quiet_of(id);
	bool is_quiet = quiet->thread == id;
	if (is_quiet && !quiet->left && !(state & TASK_DEAD) && *(volatile __u32 *)&quiet_chance != UINT_MAX) {
		handled = quiet->chance;
		if (bpf_get_prandom_u32() > handled) {
			quiet->state = is_ready ? OFF_CPU_PREEMPTED : state_of(state);
			quiet->ran = task->se.sum_exec_runtime;
			quiet->woken = is_ready ? now : 0;
			quiet->left = now;
			processor->switches++;
			return false;
		}
	}
	struct off_cpu_thread *thread = bpf_map_lookup_elem(&threads, &id);
	if (is_quiet && quiet->left) {
		if (thread)
			quiet_resume(quiet, task, thread);
		quiet->left = 0;
	}
	if (thread && thread->start)
		thread_came_unseen(task, thread, now, processor);
	if (state & TASK_DEAD) {
		if (is_quiet)
			quiet->thread = 0;
		if (thread)
			bpf_map_delete_elem(&threads, &id);
		return true;
	}
	if (!thread) {
		struct off_cpu_thread *fresh = bpf_map_lookup_elem(&new_threads, &zero);
		if (!fresh || bpf_map_update_elem(&threads, &id, fresh, BPF_ANY) ||
		    !(thread = bpf_map_lookup_elem(&threads, &id))) {
			processor->threads_full++;
			return true;
		}
	}
	thread->ran = task->se.sum_exec_runtime;
	if (is_over_share(processor, 2)) {
		thread->key.flags = OFF_CPU_DROPPED;
		thread->key.state = is_ready ? OFF_CPU_PREEMPTED : state_of(state);
		thread->woken = is_ready ? now : 0;
		thread->start = now;
		return true;
	}
	processor->switches++;
	struct unwind_registers registers = {};
	if (!(task->flags & PF_KTHREAD) && !unwind_registers_of_entry(&registers, task))
		registers.pc = 0;
	thread->site = site_of(&registers);
	__u32 chance = handled == UINT_MAX ? chance_of(thread) : UINT_MAX;
	thread->chance = handled == UINT_MAX ? chance : handled;
	thread->wait = 0;
	__builtin_memset(&thread->key, 0, sizeof thread->key);
	names_set(&thread->key, task);
	thread->key.state = is_ready ? OFF_CPU_PREEMPTED : state_of(state);
	/* Of all waits: a short one that turns out to be long has its span. */
	bool is_over = is_over_share(processor, 1);
	if (take_spans && !is_over)
		span_set(&thread->key);
	if (is_over) {
		thread->key.flags = OFF_CPU_OVER_SHARE;
		thread->chance = handled;
	} else if (chance != UINT_MAX && bpf_get_prandom_u32() > chance) {
		thread->key.flags = OFF_CPU_NOT_TAKEN;
	} else {
		__sync_lock_test_and_set(&processor->active, 1);
		driver_set(&thread->key, task);
		stacks_take(context, task, &registers, &thread->key, processor);
		__sync_lock_test_and_set(&processor->active, 0);
	}
	thread->woken = is_ready ? now : 0;
	thread->start = now;
	return true;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_cpu_switch, bool preempted, struct task_struct *from, struct task_struct *to, unsigned int state)
{
	struct off_cpu_processor *processor = processor_get();
	if (!processor)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	bool is_handled = is_wanted(from) && thread_left(ctx, from, preempted, state, now, processor);
	is_handled |= to->pid && thread_came(to, now, processor);
	if (is_handled) /* reading the clock again would cost as much as the rest */
		time_add(processor, now);
	return 0;
}

/* The stacks of the thread that wakes another one; in an interrupt, those of the thread that was interrupted. */
static __always_inline void waker_set(void *context, struct off_cpu_key *key, struct off_cpu_processor *processor)
{
	__u32 flags = 0, user_element = BUFFER_WAKER_USER, kernel_element = BUFFER_WAKER_KERNEL;
	void *stacks = stacks_of(*(volatile __u32 *)&active_set);
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_addresses *user = bpf_map_lookup_elem(&scratch, &user_element);
	struct stack_addresses *kernel = bpf_map_lookup_elem(&scratch, &kernel_element);
	if (!user || !kernel)
		return;
	key->waker = task->tgid;
	bpf_probe_read_kernel(key->waker_name, sizeof key->waker_name, &task->comm);
	if (has_user_stack(task) && use_tables) {
		struct unwind_registers registers = {};
		__u64 hash = 0;
		if (unwind_registers_of_entry(&registers, task) &&
		    unwind_stack(BUFFER_WAKER_USER, task->tgid, task->self_exec_id, &registers, &hash) ==
			    UNWIND_UNKNOWN)
			unwind_ask(task->tgid, task->self_exec_id);
		key->waker_user = stack_keep(stacks, user, hash, 0, &flags, &processor->stacks);
	}
	__u64 hash = stack_walk(context, true, kernel, BUFFER_WAKER_KERNEL, PROGRAM_FRAMES, 0, &flags);
	key->waker_kernel = stack_keep(stacks, kernel, hash, 0, &flags, &processor->stacks);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(off_cpu_waking, struct task_struct *task)
{
	struct off_cpu_processor *processor = processor_get();
	__u32 id = task->pid;
	struct off_cpu_quiet *quiet = quiet_of(id);
	if (quiet->thread == id && quiet->left) {
		if (!quiet->woken)
			quiet->woken = bpf_ktime_get_ns();
		return 0;
	}
	struct off_cpu_thread *thread = bpf_map_lookup_elem(&threads, &id);
	if (!processor || !thread || !thread->start || thread->woken)
		return 0;
	__u64 now = bpf_ktime_get_ns(), time = now - thread->start;
	if (take_waker && !(thread->key.flags & OFF_CPU_DROPPED) &&
	    (!(thread->key.flags & OFF_CPU_NOT_TAKEN) || time >= minimum)) {
		thread->wait = value_choose(time, thread->chance, processor);
		if (thread->wait && !is_over_share(processor, 1)) {
			__sync_lock_test_and_set(&processor->active, 1);
			waker_set(ctx, &thread->key, processor);
			__sync_lock_test_and_set(&processor->active, 0);
		}
	}
	thread->woken = now;
	time_add(processor, now);
	return 0;
}

#include "sleepers.bpf.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	targets_follow(parent, child);
	return 0;
}
