// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Runs when a thread of the target enters an observed function: reports the thread and, once it is
 * traced, stops it there with a signal that has no effect of its own and that only the tracing thread sees.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/map.bpf.h"
#include <bpf/bpf_core_read.h>
#include "caller.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define BIT(signal) (1ull << ((signal)-1))
#define SIGURG 23
#define SIGWINCH 28

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sigset___64 {
	unsigned long sig[1];
};
struct task_struct {
	struct sigset___64 blocked;
};
#pragma clang attribute pop

const volatile __u32 target_process = 0;
volatile bool enough = false; /* stop no more threads */

BPF_MAP(callers, HASH, __u32, struct caller, CALLERS_MAX);

BPF_RING(events, 16384);

static void event_send(__u32 thread, __u32 state)
{
	struct caller_event event = { .thread = thread, .state = state };

	bpf_ringbuf_output(&events, &event, sizeof event, BPF_RB_FORCE_WAKEUP);
}

/* Returns a signal that is ignored by default and not blocked by this thread, or 0. */
static __u32 signal_choose(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	unsigned long blocked = BPF_CORE_READ(task, blocked.sig[0]);

	return !(blocked & BIT(SIGURG)) ? SIGURG : !(blocked & BIT(SIGWINCH)) ? SIGWINCH : 0;
}

SEC("uprobe")
int function_entered(struct pt_regs *context)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 thread = (__u32)id;

	if (enough || id >> 32 != target_process)
		return 0;
	struct caller *caller = bpf_map_lookup_elem(&callers, &thread);
	if (!caller) {
		struct caller first = { .state = CALLER_SEEN };
		if (bpf_map_update_elem(&callers, &thread, &first, BPF_NOEXIST) == 0)
			event_send(thread, CALLER_SEEN);
		return 0;
	}
	if (caller->state != CALLER_ARMED)
		return 0;
	__u32 signal = signal_choose();
	if (!signal) {
		if (!caller->signal)
			event_send(thread, CALLER_DEAF);
		caller->signal = SIGNAL_NONE;
		return 0;
	}
	caller->address = PT_REGS_IP(context);
	caller->signal = signal;
	caller->state = CALLER_FIRED;
	if (bpf_send_signal_thread(signal) == 0)
		event_send(thread, CALLER_FIRED);
	else
		caller->state = CALLER_ARMED;
	return 0;
}
