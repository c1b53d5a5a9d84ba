// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Tracks which processes run jobs on which device, with the tracepoints of the Linux kernel's DRM scheduler: a job is
 * queued by a thread of its process, started by a kernel worker, and completed in an interrupt. For the attribution of
 * samples there is one number per process and device (scheduler_event.h); in addition, each completed job is sent if
 * record_jobs is set. Raw tracepoints are used because others run no program in an interrupt that arrives while any BPF
 * program runs on the CPU, and so miss job completions (trace_call_bpf() in kernel/trace/bpf_trace.c).
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/gpu_job.bpf.h"
#include "scheduler_event.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct scheduler_totals totals = { 0 };
const volatile bool record_jobs = false;
/* Devices of which not all jobs are known; set by user space. */
bool jobs_unknown[SCHEDULER_DEVICES] = { 0 };

struct stream_polls stream_polls[SCHEDULER_STREAMS] = { 0 };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SCHEDULER_DEVICES);
	__uint(key_size, SCHEDULER_DEVICE_SIZE);
	__type(value, __u32);
} devices SEC(".maps");

/*
 * The end of a queue is not reported: user space deletes queues of processes that exited and queues that were not used
 * for a long time. LRU eviction of a queue with a running job would leave its process busy forever.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SCHEDULER_QUEUES);
	__type(key, __u64);
	__type(value, struct scheduler_queue);
} queues SEC(".maps");

/* User space deletes the entries of exited processes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct scheduler_process);
	__type(value, __u64);
} busy SEC(".maps");

/* LRU: an entry remains if the end of its job is missed. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SCHEDULER_JOBS);
	__type(key, struct scheduler_job_key);
	__type(value, struct scheduler_job);
} jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SCHEDULER_JOB_RING);
} ended_jobs SEC(".maps");

/* Two tasks, or a task and an interrupt, rarely update the same number at once. */
#define ATTEMPTS 64

static __always_inline void add_to_sum(__u64 *sum, __u64 value)
{
	__sync_fetch_and_add(sum, value);
}

static __always_inline void state_change(const struct scheduler_process *process, bool begins, __u64 now)
{
	__u64 *state = bpf_map_lookup_elem(&busy, process);
	if (!state && begins) {
		__u64 none = 0;
		bpf_map_update_elem(&busy, process, &none, BPF_NOEXIST);
		state = bpf_map_lookup_elem(&busy, process);
	}
	if (!state) {
		if (begins) /* otherwise, the process has exited and its entry was deleted */
			add_to_sum(&totals.lost, 1);
		return;
	}
	for (int i = 0; i < ATTEMPTS; i++) {
		__u64 before = *(volatile __u64 *)state;
		__u64 running = before & SCHEDULER_RUNNING_MASK;
		__u64 after = begins ? before + 1 : before - 1;
		if (begins ? running == SCHEDULER_RUNNING_MASK : running == 0)
			break;
		if (begins && running == 0)
			after -= now << SCHEDULER_RUNNING_BITS;
		if (!begins && running == 1)
			after += now << SCHEDULER_RUNNING_BITS;
		if (__sync_val_compare_and_swap(state, before, after) == before)
			return;
	}
	add_to_sum(&totals.lost, 1);
}

/*
 * Handles the start or end of a queue's job. The queue is busy from the start of its first job to the end of its last.
 * Returns false for a job that was queued before the queue was known.
 */
static __always_inline bool queue_advance(struct scheduler_queue *queue, __u32 seqno, bool begins, __u64 now)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		__u64 before = *(volatile __u64 *)&queue->progress;
		__u32 known = begins ? before >> 32 : before;
		if ((__s32)(seqno - known) <= 0)
			return false;
		__u64 after = begins ? (__u64)seqno << 32 | (__u32)before : (before >> 32 << 32) | seqno;
		if (__sync_val_compare_and_swap(&queue->progress, before, after) != before)
			continue;
		if (scheduler_queue_is_idle(before) != scheduler_queue_is_idle(after))
			state_change(&queue->process, begins, now);
		return true;
	}
	add_to_sum(&totals.lost, 1);
	return true;
}

static __always_inline struct scheduler_job_key job_key(const struct drm_sched_fence *fence)
{
	return (struct scheduler_job_key){ .context = BPF_CORE_READ(fence, finished.context),
					   .seqno = BPF_CORE_READ(fence, finished.seqno) };
}

static __always_inline void job_note(const struct drm_sched_fence *fence, __u32 device, __u64 now)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct scheduler_job job = { .process = { .device = device, .pid = thread >> 32 },
				     .key = job_key(fence),
				     .submitted = now,
				     .thread = (__u32)thread,
				     .engine = fence_is_render(fence) ? SCHEDULER_ENGINE_RENDER
								      : SCHEDULER_ENGINE_COMPUTE };

	if (device < SCHEDULER_DEVICES && !jobs_unknown[device])
		bpf_map_update_elem(&jobs, &job.key, &job, BPF_ANY);
}

static __always_inline void job_advance(struct scheduler_queue *queue, const struct drm_sched_fence *fence, bool begins,
					__u64 now)
{
	__u32 device = queue->process.device;
	if (device >= SCHEDULER_DEVICES || jobs_unknown[device])
		return;
	struct scheduler_job_key key = job_key(fence);
	struct scheduler_job *job = bpf_map_lookup_elem(&jobs, &key);

	if (job && begins) {
		job->queued = now;
		return;
	}
	if (begins)
		return; /* counted at its end */
	if (job) {
		const struct dma_fence *parent = BPF_CORE_READ(fence, parent);
		job->started = job->queued > queue->ended ? job->queued : queue->ended;
		job->ended = queue->ended = parent ? now : 0;
		job->error = parent ? BPF_CORE_READ(parent, error) : 0;
	}
	if (!job || bpf_ringbuf_output(&ended_jobs, job, sizeof *job, BPF_RB_NO_WAKEUP))
		add_to_sum(&totals.jobs_lost, 1);
	bpf_map_delete_elem(&jobs, &key);
}

/* Returns the sampled device that a fence's job runs on, or NULL for other devices and engines. */
static __always_inline const __u32 *device_find(const struct drm_sched_fence *fence)
{
	char address[SCHEDULER_DEVICE_SIZE] = { 0 };

	bpf_probe_read_kernel_str(address, sizeof address, BPF_CORE_READ(fence, sched, dev, kobj.name));
	return fence_is_other(fence) ? NULL : bpf_map_lookup_elem(&devices, address);
}

SEC("raw_tp")
int job_queue(struct bpf_raw_tracepoint_args *arguments)
{
	__u64 now = bpf_ktime_get_ns();
	const struct drm_sched_job *job = (const void *)arguments->args[0];
	const struct drm_sched_fence *fence = BPF_CORE_READ(job, s_fence);
	__u64 context = BPF_CORE_READ(fence, finished.context);
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	struct scheduler_queue *known = bpf_map_lookup_elem(&queues, &context);

	if (known && known->process.pid == process) {
		known->time = now;
		add_to_sum(&totals.jobs, 1);
		if (record_jobs)
			job_note(fence, known->process.device, now);
	} else {
		const __u32 *device = device_find(fence);
		if (!device)
			return 0;
		/* All earlier jobs have ended: they belonged to the queue's previous process or were missed. */
		__u32 before = (__u32)BPF_CORE_READ(fence, finished.seqno) - 1;
		struct scheduler_queue queue = { .process = { .device = *device, .pid = process },
						 .time = now,
						 .progress = (__u64)before << 32 | before };
		if (known && !scheduler_queue_is_idle(known->progress))
			state_change(&known->process, false, now);
		add_to_sum(&totals.jobs, 1);
		if (bpf_map_update_elem(&queues, &context, &queue, BPF_ANY))
			add_to_sum(&totals.lost, 1);
		else if (record_jobs)
			job_note(fence, *device, now);
	}
	add_to_sum(&totals.handler_time, bpf_ktime_get_ns() - now);
	return 0;
}

static __always_inline void fence_advance(const struct drm_sched_fence *fence, bool begins)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 context = BPF_CORE_READ(fence, finished.context);
	struct scheduler_queue *queue = bpf_map_lookup_elem(&queues, &context);

	if (!queue) /* another device's queue */
		return;
	if (queue_advance(queue, (__u32)BPF_CORE_READ(fence, finished.seqno), begins, now) && record_jobs)
		job_advance(queue, fence, begins, now);
	add_to_sum(&totals.handler_time, bpf_ktime_get_ns() - now);
}

SEC("raw_tp")
int job_run(struct bpf_raw_tracepoint_args *arguments)
{
	const struct drm_sched_job *job = (const void *)arguments->args[0];

	fence_advance(BPF_CORE_READ(job, s_fence), true);
	return 0;
}

SEC("raw_tp")
int job_done(struct bpf_raw_tracepoint_args *arguments)
{
	fence_advance((const void *)arguments->args[0], false);
	return 0;
}

/*
 * eu_stall_data_buf_poll_work_fn(work) of drivers/gpu/drm/xe/xe_eu_stall.c, which makes the rows of a stream readable.
 * Should two new streams use the same entry, the next poll of the one that lost it finds another.
 */
SEC("kprobe")
int BPF_KPROBE(stream_polled, __u64 work)
{
	for (__u32 i = 0; i < SCHEDULER_STREAMS; i++) {
		struct stream_polls *polls = &stream_polls[i];
		if (polls->work && polls->work != work)
			continue;
		if (!polls->work) {
			polls->work = work;
			polls->last = 0;
		}
		polls->before = polls->last;
		polls->last = bpf_ktime_get_ns();
		break;
	}
	return 0;
}
