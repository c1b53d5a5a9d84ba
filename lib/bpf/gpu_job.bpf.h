/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Jobs of the Linux kernel's DRM scheduler in BPF programs: the fields that are read, and whether the engine executes
 * instructions on Xe-cores. The structs are described by the BTF of module gpu_sched, without which a program that uses
 * them cannot be loaded.
 */
#pragma once

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
	int error;
};
struct drm_sched_fence {
	struct dma_fence finished;
	struct dma_fence *parent; /* the device's fence; NULL: the driver does not report the end of the job */
	struct drm_gpu_scheduler *sched;
};
struct drm_sched_job {
	struct drm_sched_fence *s_fence;
};
#pragma clang attribute pop

/* Returns the first three letters of the name of a fence's engine, the first in the highest byte. */
static __always_inline __u32 fence_engine(const struct drm_sched_fence *fence)
{
	char ring[4] = { 0 };

	bpf_probe_read_kernel_str(ring, sizeof ring, BPF_CORE_READ(fence, sched, name));
	return (__u32)ring[0] << 16 | (__u32)ring[1] << 8 | (__u32)ring[2];
}

/*
 * Returns true if a fence's job is for an engine that executes no instructions on Xe-cores: copy, video or security.
 * The scheduler is named after its queue, whose name begins with the engine's (xe_exec_queue_assign_name() in
 * drivers/gpu/drm/xe/xe_exec_queue.c).
 */
static __always_inline bool fence_is_other(const struct drm_sched_fence *fence)
{
	__u32 begin = fence_engine(fence);

	return begin == ('b' << 16 | 'c' << 8 | 's') || begin == ('v' << 16 | 'c' << 8 | 's') ||
	       begin == ('v' << 16 | 'e' << 8 | 'c') || begin == ('g' << 16 | 's' << 8 | 'c');
}

/* Returns whether a fence's job is for the render engine. */
static __always_inline bool fence_is_render(const struct drm_sched_fence *fence)
{
	return fence_engine(fence) == ('r' << 16 | 'c' << 8 | 's');
}
