/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The context, which is an open file of a process, that a thread's driver call works for. It is read from the arguments
 * of the thread's outermost driver call, and applies to all nested calls.
 */
#pragma once

const volatile struct ivpu_context_offsets context_offsets = { 0 };

/* Returns the context that an argument leads to, or 0. */
static __always_inline __u32 context_read(__u32 from, __u64 argument)
{
	bool is_buffer = from == IVPU_CONTEXT_OF_BUFFER;
	__u64 owner = 0;
	__u32 id = 0;

	if (!context_offsets.are_known || !argument)
		return 0;
	argument += is_buffer ? context_offsets.buffer : context_offsets.file;
	if (bpf_probe_read_kernel(&owner, sizeof owner, (const void *)argument) || !owner)
		return 0;
	owner += is_buffer ? context_offsets.of_context : context_offsets.of_file;
	return bpf_probe_read_kernel(&id, sizeof id, (const void *)owner) ? 0 : id;
}

/* Returns the argument of a traced function that leads to the context. context: of the BPF program. */
static __always_inline __u64 context_argument(void *context, __u32 from, bool is_trampoline)
{
	__u32 number = from == IVPU_CONTEXT_OF_SECOND ? 1 : from == IVPU_CONTEXT_OF_THIRD ? 2 : 0;
	__u64 argument = 0;

	if (is_trampoline) {
		bpf_get_func_arg(context, number, &argument);
		return argument;
	}
	__u64 first = PT_REGS_PARM1((struct pt_regs *)context), second = PT_REGS_PARM2((struct pt_regs *)context),
	      third = PT_REGS_PARM3((struct pt_regs *)context);
	/* Linux 6.12 refuses reads at a pointer computed from the context, into which the compiler merges branches. */
	barrier_var(first);
	barrier_var(second);
	barrier_var(third);
	return number == 1 ? second : number == 2 ? third : first;
}

/* Returns whether a call is the thread's outermost one in the driver. */
static __always_inline bool is_outermost(struct ivpu_calls *calls, __u32 index)
{
	return !index || pointer_is_programs(frame_at(calls, index - 1)->pointer);
}

/* Sets the context of an outermost driver call. In an interrupt, there is none. */
static __always_inline void context_enter(const struct place *place, struct ivpu_calls *calls, void *context,
					  __u64 cookie, bool is_trampoline)
{
	__u32 from = cookie >> 32;

	if (place->interrupt >= 0 || !is_outermost(calls, calls->depth))
		return;
	calls->argument = from ? context_argument(context, from, is_trampoline) : 0;
	calls->npu_context = from ? context_read(from, calls->argument) : 0;
}

/* The function that opens a file also creates its context. */
static __always_inline void context_return(struct ivpu_calls *calls, __u32 index, __u64 cookie)
{
	__u32 from = cookie >> 32;

	if (from == IVPU_CONTEXT_OF_SECOND && !calls->npu_context && is_outermost(calls, index))
		calls->npu_context = context_read(from, calls->argument);
}

/* Returns the context of a call, 0 if it is not known or the call is one of Level Zero. */
static __always_inline __u32 context_of(struct ivpu_calls *calls, __u32 index)
{
	return pointer_is_programs(frame_at(calls, index)->pointer) ? 0 : calls->npu_context;
}
