/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs shared by the BPF programs that trace NPU jobs and user space. */
#pragma once

#include <linux/types.h>

/* DRM_IVPU_JOB_STATUS_ABORTED, include/uapi/drm/ivpu_accel.h. */
#define JOB_STATUS_ABORTED 256u

/*
 * Job numbers: 256 in each of 64 contexts (JOB_ID_JOB_MASK in drivers/accel/ivpu/ivpu_job.h of Linux 6.12;
 * IVPU_USER_CONTEXT_MAX_SSID in ivpu_drv.h), the maximum number of jobs in flight.
 */
#define JOBS_MAX 16384u
/* Threads that are submitting. */
#define JOB_THREADS_MAX 4096u
/* TASK_COMM_LEN of the Linux kernel. */
#define JOB_NAME_SIZE 16u
/* Bytes of the ring buffer: 6,500 events between two reads. */
#define JOB_RING_SIZE (512u * 1024)

enum job_event_type {
	JOB_EVENT_JOB = 1,    /* tracepoint: a completed job */
	JOB_EVENT_SUBMIT = 2, /* functions: a submission; job number and end are unknown */
	JOB_EVENT_END = 3,    /* functions: a completion; the job is unknown */
	JOB_EVENT_BEGIN = 4   /* tracepoint: a submission, whose job follows when it has completed */
};

enum job_flag {
	JOB_IS_TARGET = 1u << 0,
	JOB_IS_ABORTED = 1u << 1 /* the driver aborted all jobs of a device or context */
};

/* Members that do not apply are 0. Times are CLOCK_MONOTONIC ns. */
struct job_event {
	__u32 type;  /* enum job_event_type */
	__u32 flags; /* enum job_flag */
	__u32 id;
	__u32 context;
	__u32 engine;
	__u32 status;
	__u32 pid;
	__u32 tid;
	__u32 queue; /* command queue; 0: not known */
	__u32 pad;
	__u64 submitted;
	__u64 queued;
	__u64 ended;
	char name[JOB_NAME_SIZE]; /* of the thread tid */
};

/* Offsets in the Linux kernel's structs, from the BTF of the module. */
struct job_offsets {
	__u32 owner;   /* ivpu_job.file_priv */
	__u32 context; /* ivpu_file_priv.ctx.id */
	__u32 engine;  /* ivpu_job.engine_idx */
	__u32 id;      /* ivpu_job.job_id */
	__u32 queue;   /* ivpu_job.cmdq_id; 0: the driver has none */
};

/* Monotonic counters. */
struct job_totals {
	__u64 ring_full;
	__u64 map_full;
	__u64 unreturned; /* functions: submissions whose return was not traced */
	__u64 unended;    /* jobs whose end was not traced: the number was reused */
};
