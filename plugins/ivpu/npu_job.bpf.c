// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Traces NPU jobs from submission to completion: with the tracepoint vpu:job, where a job is one event, or with the
 * driver's functions, where submissions and completions are separate events that user space matches.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "job_shared.h"
#include "bpf/map.bpf.h"
#include "bpf/targets.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int tgid;
};
#pragma clang attribute pop

/* Which of the two methods is used. */
const volatile bool from_functions = false;
/* Field offsets of vpu:job. */
const volatile __u32 offset_event = 8, offset_context = 16, offset_engine = 20, offset_id = 24;
/* Offsets in the Linux kernel's structs, for the raw tracepoint. */
const volatile struct job_offsets job_offsets = { 0 };

struct job_totals totals = { 0 };

struct submission {
	__u64 time;
	__u32 context;
	__u32 engine;
	__u32 queue;
};

/*
 * By thread. A submission that fails after the tracepoint's "create" leaves its entry behind: LRU eviction makes room.
 */
BPF_MAP(submissions, LRU_HASH, __u32, struct submission, JOB_THREADS_MAX);

/*
 * Jobs in flight, by number. An entry with an end time is not a job: its completion was traced before its "submit",
 * which the driver traces after the device has the job.
 */
BPF_MAP(jobs, HASH, __u32, struct job_event, JOBS_MAX);

/* Threads of the driver's work queues that abort jobs. */
BPF_MAP(aborting, HASH, __u32, __u32, 256);

BPF_RING(events, JOB_RING_SIZE);

static __always_inline void increment(__u64 *sum)
{
	__sync_fetch_and_add(sum, 1);
}

/* Does not wake up user space, which polls often enough. */
static __always_inline void event_send(const struct job_event *event)
{
	if (bpf_ringbuf_output(&events, (void *)event, sizeof *event, BPF_RB_NO_WAKEUP))
		increment(&totals.ring_full);
}

static __always_inline __u32 target_flag(__u32 pid)
{
	return !only_targets || process_is_target(pid) ? JOB_IS_TARGET : 0;
}

static __always_inline __u32 aborted_flag(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	return bpf_map_lookup_elem(&aborting, &tid) ? JOB_IS_ABORTED : 0;
}

static __always_inline void submission_begin(__u32 context, __u32 engine, __u32 queue)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct submission submission = {
		.time = bpf_ktime_get_ns(), .context = context, .engine = engine, .queue = queue
	};
	if (from_functions && bpf_map_lookup_elem(&submissions, &tid))
		increment(&totals.unreturned);
	bpf_map_update_elem(&submissions, &tid, &submission, BPF_ANY);
}

static __always_inline void job_end_send(__u32 id, struct job_event *job, __u64 ended, __u32 flags)
{
	struct job_event event = *job;
	event.ended = ended;
	event.flags |= flags;
	bpf_map_delete_elem(&jobs, &id);
	event_send(&event);
}

/* Called on the submitting thread. */
static __always_inline void job_submitted(__u32 context, __u32 engine, __u32 id, __u32 queue)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)thread;
	struct job_event job = {
		.type = JOB_EVENT_JOB,
		.flags = target_flag(thread >> 32),
		.id = id,
		.context = context,
		.engine = engine,
		.pid = thread >> 32,
		.tid = tid,
		.queue = queue,
		.queued = bpf_ktime_get_ns(),
	};
	bpf_get_current_comm(job.name, sizeof job.name);
	const struct submission *submission = bpf_map_lookup_elem(&submissions, &tid);
	job.submitted = submission && submission->context == context ? submission->time : job.queued;
	bpf_map_delete_elem(&submissions, &tid);

	for (int i = 0; i < 2; i++) {
		long result = bpf_map_update_elem(&jobs, &id, &job, BPF_NOEXIST);
		if (result == 0) {
			job.type = JOB_EVENT_BEGIN;
			event_send(&job);
			return;
		}
		struct job_event *other = result == -EEXIST ? bpf_map_lookup_elem(&jobs, &id) : NULL;
		if (other && other->ended >= job.submitted) {
			struct job_event begin = job;
			begin.type = JOB_EVENT_BEGIN;
			event_send(&begin);
			job_end_send(id, &job, other->ended, other->flags);
			return;
		}
		if (other && !other->ended)
			increment(&totals.unended);
		bpf_map_delete_elem(&jobs, &id);
	}
	increment(&totals.map_full);
}

static __always_inline void job_ended(__u32 context, __u32 id, __u32 flags)
{
	struct job_event end = { .context = context, .id = id, .flags = flags, .ended = bpf_ktime_get_ns() };

	for (int i = 0; i < 2; i++) {
		struct job_event *job = bpf_map_lookup_elem(&jobs, &id);
		if (job && !job->ended) {
			job_end_send(id, job, end.ended, flags);
			return;
		}
		/* Submitted a moment ago, or before the run, in which case the entry is unused. */
		if (bpf_map_update_elem(&jobs, &id, &end, job ? BPF_ANY : BPF_NOEXIST) != -EEXIST)
			return;
	}
}

static __always_inline __u32 field_read(const void *record, __u32 offset)
{
	__u32 value = 0;
	bpf_probe_read_kernel(&value, sizeof value, record + offset);
	return value;
}

static __always_inline void job_traced(const char *name, __u32 context, __u32 engine, __u32 id, __u32 queue)
{
	char text[8] = "";

	bpf_probe_read_kernel_str(text, sizeof text, name);
	if (text[0] == 'c' && text[1] == 'r')
		submission_begin(context, engine, 0);
	else if (text[0] == 's' && text[1] == 'u')
		job_submitted(context, engine, id, queue);
	else if (text[0] == 'd' && text[1] == 'o')
		job_ended(context, id, aborted_flag());
	else if (text[0] == 'a' && text[1] == 'b')
		job_ended(context, id, JOB_IS_ABORTED);
}

/*
 * The event's name is a pointer into the module. drivers/accel/ivpu/ivpu_job.c, Linux 6.13: "create" in
 * ivpu_job_create(), before the job has a number, "submit" in ivpu_job_submit(), "done" in
 * ivpu_job_signal_and_destroy().
 */
SEC("tracepoint")
int job_trace(void *record)
{
	const char *name = NULL;

	bpf_probe_read_kernel(&name, sizeof name, record + offset_event);
	job_traced(name, field_read(record, offset_context), field_read(record, offset_engine),
		   field_read(record, offset_id), 0);
	return 0;
}

/*
 * The same with the tracepoint's arguments: const char *event, struct ivpu_job *job. The Linux kernel runs it also
 * where it interrupts other BPF programs or system calls on BPF maps, in which it does not run job_trace.
 */
SEC("raw_tp")
int job_trace_raw(struct bpf_raw_tracepoint_args *arguments)
{
	const void *job = (const void *)arguments->args[1], *owner = NULL;

	bpf_probe_read_kernel(&owner, sizeof owner, job + job_offsets.owner);
	job_traced((const char *)arguments->args[0], field_read(owner, job_offsets.context),
		   field_read(job, job_offsets.engine), field_read(job, job_offsets.id),
		   job_offsets.queue ? field_read(job, job_offsets.queue) : 0);
	return 0;
}

/* ivpu_job_signal_and_destroy(vdev, job_id, job_status), or ivpu_job_signal(), before it traces "done". */
SEC("kprobe")
int BPF_KPROBE(job_signal, void *device, __u32 id, __u32 status)
{
	if (!from_functions) {
		struct job_event *job = bpf_map_lookup_elem(&jobs, &id);
		if (job && !job->ended)
			job->status = status;
		return 0;
	}
	/* Bits 31:8 are the context number, which is at least 2, minus 1 (ivpu_job_submit() of Linux 6.8 to 6.12). */
	struct job_event end = { .type = JOB_EVENT_END,
				 .flags = aborted_flag(),
				 .id = id,
				 .context = id >> 8 ? (id >> 8) + 1 : 0,
				 .status = status,
				 .ended = bpf_ktime_get_ns() };
	event_send(&end);
	return 0;
}

/* Functions that complete one job without identifying it. */
SEC("kprobe")
int job_over(struct pt_regs *registers)
{
	struct job_event end = { .type = JOB_EVENT_END, .flags = aborted_flag(), .ended = bpf_ktime_get_ns() };
	event_send(&end);
	return 0;
}

/* data: struct drm_ivpu_submit, with the engine at offset 12 (include/uapi/drm/ivpu_accel.h). */
SEC("kprobe")
int BPF_KPROBE(submit_begin, void *device, const void *data)
{
	submission_begin(0, field_read(data, 12), 0);
	return 0;
}

/* data: struct drm_ivpu_cmdq_submit, with the queue at offset 12. Queues belong to the compute engine. */
SEC("kprobe")
int BPF_KPROBE(queue_submit_begin, void *device, const void *data)
{
	submission_begin(0, 0, field_read(data, 12));
	return 0;
}

SEC("kretprobe")
int BPF_KRETPROBE(submit_end, int result)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)thread;
	const struct submission *submission = bpf_map_lookup_elem(&submissions, &tid);
	if (!submission)
		return 0;

	struct job_event job = {
		.type = JOB_EVENT_SUBMIT,
		.flags = target_flag(thread >> 32),
		.engine = submission->engine,
		.queue = submission->queue,
		.pid = thread >> 32,
		.tid = tid,
		.submitted = submission->time,
		.queued = bpf_ktime_get_ns(),
	};
	bpf_get_current_comm(job.name, sizeof job.name);
	bpf_map_delete_elem(&submissions, &tid);
	if (result == 0)
		event_send(&job);
	return 0;
}

SEC("kprobe")
int abort_begin(struct pt_regs *registers)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), one = 1;
	bpf_map_update_elem(&aborting, &tid, &one, BPF_ANY);
	return 0;
}

SEC("kretprobe")
int abort_end(struct pt_regs *registers)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&aborting, &tid);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	targets_follow(parent, child);
	return 0;
}
