// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * ze-usdt's BPF programs: handlers of the probes in probes.h, which count launches by kernel and stack, and programs
 * that track processes. They run in tasks, which may be preempted by others on the same CPU.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
/* Distinct argument specifications; user space attaches to fewer files. */
#define BPF_USDT_MAX_SPEC_CNT 1024
#include <bpf/usdt.bpf.h>
#include "bpf/gpu_job.bpf.h"
#include "state.bpf.h"
#include "launch_stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void name_read(struct ze_kernel *kernel, const void *name)
{
	long size = bpf_probe_read_user_str(kernel->name, sizeof kernel->name, name);
	kernel->name_bytes = size > 0 && size <= (long)sizeof kernel->name ? size : 0;
}

/* The same; also hashes the name, including its unused part, which is easier on the verifier. */
static __always_inline __u64 name_read_hashed(struct ze_kernel *kernel, const void *name, __u64 hash)
{
	__builtin_memset(kernel->name, 0, sizeof kernel->name);
	name_read(kernel, name);
	for (__u32 i = 0; i < sizeof kernel->name; i += 8)
		hash = hash_add(hash, *(__u64 *)&kernel->name[i]);
	return hash;
}

/*
 * Returns the kernel's hash. The module number distinguishes it from an earlier kernel at the same address; without a
 * number, the name does, which is read.
 */
static __always_inline __u64 kernel_hash(struct ze_kernel *kernel, const void *name)
{
	__u64 hash = hash_add(hash_seed[0], kernel->process.program);
	hash = hash_add(hash, kernel->process.id);
	hash = hash_add(hash, kernel->instruction_base);
	hash = hash_add(hash, kernel->address);
	hash = hash_add(hash, kernel->size);
	hash = hash_add(hash, kernel->module);
	if (!kernel->module)
		hash = name_read_hashed(kernel, name, hash);
	return hash ? hash : 1;
}

/* Stores the kernel in the set's map if it is new. Returns false if there is no room. */
static __always_inline bool kernel_store(void *kernels, struct ze_kernel *kernel, const void *name, __u64 hash)
{
	if (bpf_map_lookup_elem(kernels, &hash))
		return true;
	if (kernel->module)
		name_read(kernel, name);
	process_note(kernel->process.id);
	long error = bpf_map_update_elem(kernels, &hash, kernel, BPF_NOEXIST);
	return !error || error == -EEXIST;
}

/*
 * Stores the stack of the thread's most recently queued job in the map and returns its hash, or 0. A job already
 * attributed to an earlier launch is skipped: this launch made no system call, or another thread made it.
 */
static __always_inline __u64 submission_stack(void *stacks, struct stack_addresses *stack,
					      struct ze_processor *processor)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();
	struct ze_submission *submission = bpf_map_lookup_elem(&submissions, &thread);
	if (!submission || submission->used)
		return 0;
	submission->used = 1;
	__u64 hash = submission->hash;
	if (bpf_map_lookup_elem(stacks, &hash))
		return hash;
	/* The part behind the addresses is stale and ignored. */
	bpf_probe_read_kernel(stack, sizeof stack->depth + submission_depth * sizeof(__u64), &submission->depth);
	__u32 flags = 0;
	return stack_keep(stacks, stack, hash, STACK_KERNEL_MISSING, &flags, &processor->stacks);
}

/*
 * These two have stack frames of their own: those of the programs for launches and of their callees take all of the 512
 * bytes that Linux 6.1 allows.
 */

/* Sends the key of the thread's launch, which was counted, if it is being timed. Returns false if there is no room. */
static __noinline bool timed_launch_send(__u64 now, const struct ze_launch_key *key)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();
	const __u64 *number = bpf_map_lookup_elem(&timed_launches, &thread);
	if (!number)
		return true;
	struct ze_timed_launch *event = bpf_ringbuf_reserve(&times, sizeof *event, 0);
	if (!event)
		return false;
	__builtin_memset(&event->time, 0, sizeof event->time);
	event->time.type = ZE_TIMED_LAUNCH;
	event->time.process = key->process;
	event->time.number = *number;
	event->time.begin = now;
	event->key = *key;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return true;
}

/* The thread's launch was handled, or left out. */
static __noinline int timed_launch_end(void)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&timed_launches, &thread);
	return 0;
}

static __always_inline void launch_record(struct pt_regs *context, bool use_tables, const struct launch *launch,
					  struct ze_processor *processor, __u32 set, __u32 slot)
{
	void *launches = set ? (void *)&launches_1 : (void *)&launches_0;
	void *kernels = set ? (void *)&kernels_1 : (void *)&kernels_0;
	void *stacks = set ? (void *)&stacks_1 : (void *)&stacks_0;
	__u32 place = launch->cpu * SCRATCH_SLOTS + slot;
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &place);
	struct ze_kernel *kernel = bpf_map_lookup_elem(&kernel_scratch, &place);
	if (!stack || !kernel)
		return;

	kernel->process = process_of(launch->task);
	kernel->first_time = launch->now;
	kernel->instruction_base = launch->arguments[0];
	kernel->address = launch->arguments[1];
	kernel->size = launch->arguments[2];
	kernel->module = launch->arguments[4];
	const void *name = (const void *)launch->arguments[3];
	struct ze_launch_key key = { .process = kernel->process,
				     .kernel = kernel_hash(kernel, name),
				     .list = launch->arguments[5],
				     .cell = launch->cell };
	if (!key.list) {
		key.thread = bpf_get_current_pid_tgid();
		bpf_get_current_comm(key.thread_name, sizeof key.thread_name);
		if (take_spans)
			span_set(key.span, processor);
	}
	__u64 tracer_hash = take_stacks ? tracer_stack_hash(use_tables, launch, &kernel->process) : 0;
	/* A launch with this key is in the set: so are its kernel and stack. */
	key.user_stack = tracer_hash;
	if ((tracer_hash || !take_stacks) && !(take_kernel && !key.list) &&
	    count_increase(launches, &key, launch->now)) {
		if (take_times && !timed_launch_send(launch->now, &key))
			sum_add(&processor->times_lost, 1);
		return;
	}

	if (!kernel_store(kernels, kernel, name, key.kernel)) {
		sum_add(&processor->launches_full, 1);
		return;
	}
	if (take_stacks)
		key.user_stack =
			launch_stack(context, use_tables, launch, tracer_hash, stacks, stack, place, processor);
	if (take_kernel && !key.list)
		key.kernel_stack = submission_stack(stacks, stack, processor);
	if (take_spans)
		span_limit(launches, &key, key.span, set, processor);
	long error = count_add(launches, &key, launch->now);
	if (error)
		sum_add(error == -E2BIG ? &processor->launches_full : &processor->launches_busy, 1);
	else if (take_times && !timed_launch_send(launch->now, &key))
		sum_add(&processor->times_lost, 1);
}

static __always_inline bool launch_read(struct pt_regs *context, struct launch *launch)
{
	/* libbpf looks up where each argument is: half of the time of the handler. */
	long cookie = bpf_usdt_cookie(context);
	if (cookie == ZE_COOKIE_REGISTERS || cookie == ZE_COOKIE_NEW_LAUNCH) {
		*launch = (struct launch){ .arguments = { context->rdi, context->rsi, context->rdx, context->rcx,
							  context->r8, context->r9, context->rax },
					   .argument_count = LAUNCH_ARGUMENTS,
					   .now = launch->now,
					   .task = launch->task,
					   .cpu = launch->cpu,
					   .cell = cookie == ZE_COOKIE_NEW_LAUNCH ? (__u32)context->r10 : 0 };
		return true;
	}
	int count = bpf_usdt_arg_cnt(context);
	if (count < 4)
		return false;
	launch->argument_count = count;
#pragma unroll
	for (int i = 0; i < LAUNCH_ARGUMENTS; i++) {
		/* Fails for missing arguments, and sets value to 0. */
		long value = 0;
		if (bpf_usdt_arg(context, i, &value) && i < 4)
			return false;
		launch->arguments[i] = value;
	}
	return true;
}

/* use_tables: user stacks are unwound by tables, not by frame pointers alone. */
static __always_inline int launch_handle(struct pt_regs *context, bool use_tables)
{
	struct launch launch = { .now = bpf_ktime_get_ns(),
				 .task = bpf_get_current_task_btf(),
				 .cpu = bpf_get_smp_processor_id() };
	struct ze_processor *processor = handler_begin(context, launch.cpu, ZE_MODULES_ONLY);
	if (!processor)
		return 0;
	if (task_is_filtered(launch.task)) {
		sum_add(&processor->launches_filtered, 1);
		return 0;
	}
	int set = set_acquire(processor);
	if (set < 0 && !run_is_on())
		return 0;
	sum_add(&processor->launches, 1);
	int slot = set < 0 ? -1 : slot_take(&processor->slots);
	if (!launch_read(context, &launch))
		sum_add(&processor->launches_bad, 1);
	else if (slot < 0)
		sum_add(&processor->launches_busy, 1);
	else
		launch_record(context, use_tables, &launch, processor, set, slot);
	if (slot >= 0)
		slot_give_back(&processor->slots, slot);
	if (set >= 0)
		set_release(processor, set);
	sum_add(&processor->handler_time, bpf_ktime_get_ns() - launch.now);
	return 0;
}

/* Only one of the two is loaded: the verifier also rejects unsupported code that is never executed. */
SEC("usdt")
int launch_kernel(struct pt_regs *context)
{
	launch_handle(context, false);
	return take_times ? timed_launch_end() : 0;
}

SEC("usdt")
int launch_kernel_by_tables(struct pt_regs *context)
{
	launch_handle(context, true);
	return take_times ? timed_launch_end() : 0;
}

static __always_inline __u64 execution_stack(struct ze_processor *processor, __u32 cpu, int set)
{
	int slot = slot_take(&processor->slots);
	if (slot < 0)
		return 0;
	__u32 place = cpu * SCRATCH_SLOTS + slot;
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &place);
	__u64 hash = 0;
	if (stack)
		hash = submission_stack(set ? (void *)&stacks_1 : (void *)&stacks_0, stack, processor);
	slot_give_back(&processor->slots, slot);
	return hash;
}

SEC("usdt")
int execute_list(struct pt_regs *context)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id(); /* at the start: its counters and slots are used */
	struct ze_processor *processor = handler_begin(context, cpu, ZE_MODULES_ONLY);
	if (!processor || task_is_filtered(task))
		return 0;

	int set = set_acquire(processor);
	if (set < 0 && !run_is_on())
		return 0;
	long list = 0, parent = 0, launches = 0;
	bool read = bpf_usdt_arg(context, 0, &list) == 0;
	if (bpf_usdt_arg_cnt(context) >= 3)
		read = read && bpf_usdt_arg(context, 1, &parent) == 0 && bpf_usdt_arg(context, 2, &launches) == 0;
	if (!parent)
		sum_add(&processor->executions, 1);
	if (set < 0 || !read) {
		sum_add(&processor->executions_lost, 1);
	} else {
		struct ze_execution_key key = {
			.process = process_of(task), .list = list, .parent = parent, .launches = launches
		};
		if (take_kernel && !parent)
			key.kernel_stack = execution_stack(processor, cpu, set);
		void *executions = set ? (void *)&executions_1 : (void *)&executions_0;
		if (take_spans && !parent) {
			span_set(key.span, processor);
			span_limit(executions, &key, key.span, set, processor);
		}
		if (count_add(executions, &key, now))
			sum_add(&processor->executions_lost, 1);
	}
	if (set >= 0)
		set_release(processor, set);
	sum_add(&processor->handler_time, bpf_ktime_get_ns() - now);
	return 0;
}

SEC("usdt")
int timed_launch(struct pt_regs *context)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();
	long number = 0;
	if (run_is_on() && bpf_usdt_arg(context, 0, &number) == 0)
		bpf_map_update_elem(&timed_launches, &thread, &number, BPF_ANY);
	return 0;
}

SEC("usdt")
int kernel_time(struct pt_regs *context)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct ze_processor *processor = handler_begin(context, bpf_get_smp_processor_id(), ZE_MODULES_ONLY);
	if (!processor || task_is_filtered(task))
		return 0;

	struct ze_time time = { .type = ZE_KERNEL_TIME, .process = process_of(task) };
	long number = 0, begin = 0, end = 0, device = 0;
	bool is_bad = bpf_usdt_arg(context, 0, &number) || bpf_usdt_arg(context, 1, &begin) ||
		      bpf_usdt_arg(context, 2, &end) || bpf_usdt_arg(context, 3, &device);
	time.number = number;
	time.begin = begin;
	time.end = end;
	time.device = device;
	if (is_bad || bpf_ringbuf_output(&times, &time, sizeof time, BPF_RB_NO_WAKEUP))
		sum_add(&processor->times_lost, 1);
	process_note(time.process.id);
	sum_add(&processor->handler_time, bpf_ktime_get_ns() - now);
	return 0;
}

SEC("usdt")
int compile_kernel(struct pt_regs *context)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct ze_processor *processor = handler_begin(context, bpf_get_smp_processor_id(), ZE_HANDLERS_OFF);
	if (!processor || task_is_filtered(task))
		return 0;

	sum_add(&processor->modules, 1);
	long path = 0, module = 0;
	int count = bpf_usdt_arg_cnt(context);
	bool bad = count < 1 || bpf_usdt_arg(context, 0, &path) || (count >= 2 && bpf_usdt_arg(context, 1, &module));
	struct ze_event_compile *compile = NULL;
	if (!bad)
		compile = bpf_ringbuf_reserve(&events, sizeof *compile, 0);
	if (!compile) {
		sum_add(&processor->modules_lost, 1);
	} else {
		compile->event.type = ZE_EVENT_COMPILE;
		compile->event.user = task->cred->fsuid.val;
		compile->event.time = now;
		compile->event.process = process_of(task);
		compile->event.module = module;
		compile->path_bytes = bpf_probe_read_user_str(compile->path, sizeof compile->path, (void *)path);
		process_note(compile->event.process.id);
		/*
		 * Tables are built until the first launch. The tracer, which reports the number, needs them for Python;
		 * the variable with the span is found with them.
		 */
		if (ask_early && (count < 2 || take_python || take_spans))
			unwind_ask(task->tgid, task->self_exec_id);
		/*
		 * The file may be deleted: wake up user space immediately, even if earlier events wait for its next
		 * turn.
		 */
		bpf_ringbuf_submit(compile, BPF_RB_FORCE_WAKEUP);
	}
	sum_add(&processor->handler_time, bpf_ktime_get_ns() - now);
	return 0;
}

/* Sends an event without a path; user space reads the ring buffer in each turn. */
static __always_inline bool event_send(const struct ze_event *event)
{
	return bpf_ringbuf_output(&events, (void *)event, sizeof *event, BPF_RB_NO_WAKEUP) == 0;
}

SEC("usdt")
int unload_module(struct pt_regs *context)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct ze_processor *processor = handler_begin(context, bpf_get_smp_processor_id(), ZE_HANDLERS_OFF);
	if (!processor || task_is_filtered(task))
		return 0;

	long module = 0;
	struct ze_event event = { .type = ZE_EVENT_UNLOAD, .time = now, .process = process_of(task) };
	bool read = bpf_usdt_arg(context, 0, &module) == 0;
	event.module = module;
	if (read && !module)
		sum_add(&processor->module_calls, 1);
	else if (!read || !event_send(&event))
		sum_add(&processor->unloads_lost, 1);
	sum_add(&processor->handler_time, bpf_ktime_get_ns() - now);
	return 0;
}

/* An area that no profiler reads: user space is woken up, because launches fire the probe until it does. */
SEC("usdt")
int share_counts(struct pt_regs *context)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct ze_processor *processor = handler_begin(context, bpf_get_smp_processor_id(), ZE_MODULES_ONLY);
	if (!processor || task_is_filtered(task))
		return 0;

	struct ze_event event = { .type = ZE_EVENT_COUNTS, .time = now, .process = process_of(task) };
	long area = 0;
	if (bpf_usdt_arg(context, 0, &area))
		return 0;
	event.area = area;
	process_note(event.process.id);
	bpf_ringbuf_output(&events, &event, sizeof event, BPF_RB_FORCE_WAKEUP);
	sum_add(&processor->handler_time, bpf_ktime_get_ns() - now);
	return 0;
}

/*
 * A job is queued on a GPU (tracepoint of the DRM scheduler), on the thread that made the system call. The driver's own
 * jobs, which move, clear and map memory on a copy engine, do not belong to launches.
 */
SEC("raw_tp")
int submit_job(struct bpf_raw_tracepoint_args *context)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct ze_processor *processor = processor_get(bpf_get_smp_processor_id());
	if (!processor || !run_is_on() || task_is_filtered(task))
		return 0;

	const struct drm_sched_job *job = (const void *)context->args[0];
	if (fence_is_other(BPF_CORE_READ(job, s_fence)))
		return 0;
	struct ze_submission submission = { .hash = hash_seed[0] };
	__u32 thread = task->pid;
	/* Skips this program and its caller, bpf_trace_run2(). */
	long size = bpf_get_stack(context, submission.addresses, submission_depth * sizeof(__u64), 2);
	if (size <= 0)
		return 0;
	submission.depth = (__u64)size / sizeof(__u64);
	for (__u32 i = 0; i < ZE_SUBMISSION_DEPTH; i++)
		submission.hash = hash_add(submission.hash, submission.addresses[i]);
	if (!submission.hash)
		submission.hash = 1;
	bpf_map_update_elem(&submissions, &thread, &submission, BPF_ANY);
	sum_add(&processor->handler_time, bpf_ktime_get_ns() - now);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int follow_exit(__u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 process = task->tgid;
	if (task->signal->live.counter != 0 || !bpf_map_lookup_elem(&processes, &process))
		return 0;

	bpf_map_delete_elem(&processes, &process);
	struct ze_event event = { .type = ZE_EVENT_EXIT, .time = bpf_ktime_get_ns(), .process = process_of(task) };
	struct ze_processor *processor = processor_get(bpf_get_smp_processor_id());
	if (!event_send(&event) && processor)
		sum_add(&processor->exits_lost, 1);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u64 begin = bpf_ktime_get_ns();
	targets_follow(parent, child);
	struct ze_processor *processor = processor_get(bpf_get_smp_processor_id());
	if (processor)
		sum_add(&processor->handler_time, bpf_ktime_get_ns() - begin);
	return 0;
}
