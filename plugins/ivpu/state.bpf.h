/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The maps of ivpu's BPF programs, the context that a program runs in, and its calls in flight. Included by one program
 * of the object.
 */
#pragma once

/* include/linux/preempt.h: the kernel's preemption counter, per CPU on x86. */
#define PREEMPT_SOFTIRQ (1u << 8) /* a softirq is served; higher bits: softirqs are disabled */
#define PREEMPT_HARD_INTERRUPT (0xfu << 16)
#define PREEMPT_NMI (0xfu << 20)

/* THREAD_SIZE and IRQ_STACK_SIZE of x86, arch/x86/include/asm/page_64_types.h: frames further apart are not nested. */
#define STACK_SIZE (16u * 1024)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int tgid;
	__u64 self_exec_id;
};
/* arch/x86/include/asm/current.h, Linux 6.2 to 6.14 */
struct pcpu_hot {
	int preempt_count;
};
#pragma clang attribute pop

extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

const volatile bool session = false;
const volatile bool take_stacks = false;
const volatile bool use_tables = false; /* user stacks are unwound by tables, not by frame pointers alone */
const volatile bool each_call =
	false; /* calls are sent individually through the ring buffer instead of being aggregated */
const volatile __u64 ring_size = 0;

/* The map of counts that is written to; user space drains the other one. */
__u32 active_set = 0;

/* Initial value of a thread's calls. */
const struct ivpu_calls no_calls = { 0 };

/* User space sets the sizes. */
BPF_MAP(counts_0, HASH, struct ivpu_key, struct ivpu_count, 1);
BPF_MAP(counts_1, HASH, struct ivpu_key, struct ivpu_count, 1);

/* struct ivpu_call_event; user space sets the size. */
BPF_RING(calls_ring, 4096);

/* The parent of each node. Never emptied: the driver has a few hundred call paths. */
BPF_MAP(nodes, HASH, __u64, __u64, 16384);

/*
 * By thread id; idle tasks by CPU. A thread's entry stays until the thread exits, because adding it anew for each call
 * costs more than the rest; when the map is full, user space deletes entries without calls.
 */
BPF_MAP(threads, HASH, __u32, struct ivpu_calls, 2048);

/* User space sets max_entries. Stacks that were not used for long are evicted. */
BPF_MAP(stacks, LRU_HASH, __u64, struct stack_piece, 1);

BPF_MAP(interrupts, PERCPU_ARRAY, __u32, struct ivpu_calls, IVPU_INTERRUPTS);
BPF_MAPPED_ARRAY(histograms, struct ivpu_histogram, 1);
BPF_MAPPED_ARRAY(processors, struct ivpu_processor, 1);

/*
 * Processes that have the NPU open, by process id: those that called the driver, and those that user space found. Level
 * Zero calls of others are not recorded: they are about GPUs.
 */
BPF_MAP(npu_users, LRU_HASH, __u32, __u8, 4096);

/* Bytes of buffers that programs allocated, by IVPU_CONTEXT_KEY. */
BPF_MAP(buffer_sizes, HASH, __u64, __u64, 4096);

/* Counts of entries, by IVPU_ENTRY_KEY. User space sets the size. */
BPF_MAP(entries, PERCPU_HASH, __u64, __u64, 1);

/* The context that a program runs in. */
struct place {
	struct ivpu_processor *processor;
	__u32 cpu;       /* at the start: its counters and slots are used */
	__u32 process;   /* 0 in an interrupt */
	__u32 thread;    /* key in threads */
	__s32 interrupt; /* enum ivpu_interrupt; -1: none */
};

static __always_inline __u32 preempt_count(void)
{
	if (&__preempt_count)
		return *(const volatile int *)bpf_this_cpu_ptr(&__preempt_count);
	if (&pcpu_hot)
		return ((const struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	return 0;
}

#define PREEMPT_INTERRUPT (PREEMPT_NMI | PREEMPT_HARD_INTERRUPT | PREEMPT_SOFTIRQ)

/* Returns the process, 0 in an interrupt. */
static __always_inline __u32 process_here(void)
{
	return preempt_count() & PREEMPT_INTERRUPT ? 0 : bpf_get_current_pid_tgid() >> 32;
}

/* Checked before anything else, so that a program that is not profiled pays little. */
static __always_inline bool is_left_out(void)
{
	__u32 process = only_targets ? process_here() : 0;

	return process && !process_is_target(process);
}

static __always_inline bool place_find(struct place *place)
{
	__u32 cpu = bpf_get_smp_processor_id(), preempted = preempt_count();
	__u64 id = bpf_get_current_pid_tgid();

	place->processor = bpf_map_lookup_elem(&processors, &cpu);
	place->cpu = cpu;
	place->thread = (__u32)id ? (__u32)id : 0x80000000u | cpu;
	place->interrupt = preempted & PREEMPT_NMI              ? IVPU_NMI
			   : preempted & PREEMPT_HARD_INTERRUPT ? IVPU_HARD_INTERRUPT
			   : preempted & PREEMPT_SOFTIRQ        ? IVPU_SOFTIRQ
								: -1;
	place->process = place->interrupt < 0 ? id >> 32 : 0;
	return place->processor;
}

static __always_inline bool place_is_watched(const struct place *place)
{
	return !only_targets || place->interrupt >= 0 || process_is_target(place->process);
}

static __always_inline struct ivpu_calls *calls_of(const struct place *place)
{
	__u32 element = place->interrupt;

	return place->interrupt < 0 ? bpf_map_lookup_elem(&threads, &place->thread)
				    : bpf_map_lookup_elem(&interrupts, &element);
}

static __always_inline void user_add(const struct place *place, struct ivpu_calls *calls)
{
	__u8 one = 1;

	if (calls->is_user || place->interrupt >= 0)
		return;
	calls->is_user = !bpf_map_update_elem(&npu_users, &place->process, &one, BPF_ANY);
}

static __always_inline bool is_user(const struct place *place, const struct ivpu_calls *calls)
{
	return calls->is_user || bpf_map_lookup_elem(&npu_users, &place->process);
}

static __always_inline struct ivpu_frame *frame_at(struct ivpu_calls *calls, __u32 index)
{
	return &calls->frames[index & (IVPU_FRAMES - 1)];
}

static __always_inline __u64 parent_of(const struct place *place, struct ivpu_calls *calls, __u32 index)
{
	if (index)
		return frame_at(calls, index - 1)->node;
	return place->interrupt < 0 ? IVPU_ROOT_TASK : IVPU_ROOT_INTERRUPT;
}
