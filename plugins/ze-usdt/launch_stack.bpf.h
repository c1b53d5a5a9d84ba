/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The user stack of a launch. For ze-usdt.bpf.c only. */
#pragma once

#define LAUNCH_ARGUMENTS 7

struct launch {
	__u64 arguments[LAUNCH_ARGUMENTS];
	__u64 argument_count;
	__u64 now;
	struct task_struct *task;
	__u32 cpu;  /* at the start: its counters and slots are used */
	__u32 cell; /* 0: none */
};

/* The included tracer fires the probe with a chain of frames; others with the registers of the runtime. */
static __always_inline bool launch_has_chain(const struct launch *launch)
{
	return launch->argument_count > 5;
}

/* A hash unique to the process, for a stack id that the tracer provides; 0 without one. */
static __always_inline __u64 tracer_stack_hash(bool use_tables, const struct launch *launch,
					       const struct ze_process *process)
{
	/* The same native stack can have other Python frames. */
	if (!launch->arguments[6] || (use_tables && python_is_known(process->id)))
		return 0;
	__u64 hash = hash_add(hash_add(hash_add(hash_seed[0], launch->arguments[6]), process->program), process->id);
	return hash ? hash : 1;
}

/* Returns the stack's hash; 0 without a stack, or if frame pointers may show more of it. */
static __always_inline __u64 launch_stack_unwind(struct pt_regs *context, const struct launch *launch,
						 struct stack_addresses *stack, __u32 element,
						 struct ze_processor *processor)
{
	struct unwind_registers registers = {};
	if (!unwind_registers_get(&registers, context, launch->task))
		return 0;
	__u32 process = launch->task->tgid, end;
	__u64 execution = launch->task->self_exec_id, hash = 0;
	if (launch_has_chain(launch)) {
		end = unwind_chain(element, &registers, &hash);
		/* Whether it runs Python, and where its threads keep their span, is known with its tables. */
		if ((take_python || take_spans) && !bpf_map_lookup_elem(&unwind_processes, &process))
			unwind_ask(process, execution);
	} else {
		end = unwind_stack(element, process, execution, &registers, &hash);
	}
	return stack_finish(stack, element, process, execution, end, hash, &processor->stacks);
}

/*
 * Stores the launch's stack, of this element of scratch, in the map and returns its hash, or 0. tracer_hash:
 * tracer_stack_hash().
 */
static __always_inline __u64 launch_stack(struct pt_regs *context, bool use_tables, const struct launch *launch,
					  __u64 tracer_hash, void *stacks, struct stack_addresses *stack, __u32 element,
					  struct ze_processor *processor)
{
	/* The first address is the probe site: our tracer's is skipped, the runtime's is a frame of interest. */
	__u64 kind = BPF_F_USER_STACK | (5 - launch->argument_count) >> 63; /* 1 from six arguments on */
	__u32 flags = 0;

	/* Walking the stack is most of the overhead of a launch. */
	if (tracer_hash && bpf_map_lookup_elem(stacks, &tracer_hash))
		return tracer_hash;
	__u64 hash = use_tables ? launch_stack_unwind(context, launch, stack, element, processor) : 0;
	if (!hash)
		hash = stack_walk(context, use_tables, stack, element, kind, STACK_USER_MISSING, &flags);
	if (!hash)
		sum_add(&processor->stacks.missing, 1);
	else if (tracer_hash)
		hash = tracer_hash;
	return stack_keep(stacks, stack, hash, STACK_USER_MISSING, &flags, &processor->stacks);
}
