/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Jobs of the Linux kernel's DRM scheduler in BPF programs: the fields that are read, and whether the engine executes
 * instructions on Xe-cores. The structs are described by the BTF of module gpu_sched, without which a program that uses
 * them cannot be loaded.
 */
#ifndef IAPROF_LIB_BPF_GPU_JOB_BPF_H
#define IAPROF_LIB_BPF_GPU_JOB_BPF_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kobject {
	const char *name;
};
struct device {
	struct kobject kobj;
};
struct drm_gpu_scheduler {
	const char *name;
	struct device *dev;
};
struct dma_fence {
	__u64 context;
	__u64 seqno;
};
struct drm_sched_fence {
	struct dma_fence finished;
	struct drm_gpu_scheduler *sched;
};
struct drm_sched_job {
	struct drm_sched_fence *s_fence;
};
#pragma clang attribute pop

/*
 * Returns true if a fence's job is for an engine that executes no instructions on Xe-cores: copy, video or security.
 * The scheduler is named after its queue, whose name begins with the engine's (xe_exec_queue_assign_name() in
 * drivers/gpu/drm/xe/xe_exec_queue.c).
 */
static __always_inline bool fence_is_other(const struct drm_sched_fence *fence)
{
	char ring[4] = { 0 };

	bpf_probe_read_kernel_str(ring, sizeof ring, BPF_CORE_READ(fence, sched, name));
	__u32 begin = (__u32)ring[0] << 16 | (__u32)ring[1] << 8 | (__u32)ring[2];
	return begin == ('b' << 16 | 'c' << 8 | 's') || begin == ('v' << 16 | 'c' << 8 | 's') ||
	       begin == ('v' << 16 | 'e' << 8 | 'c') || begin == ('g' << 16 | 's' << 8 | 'c');
}

#endif
