/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between the kernels that the double is built for (6.12 and newer), and nothing else. */
#pragma once

#include <linux/hrtimer.h>
#include <linux/version.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/gpu_scheduler.h>
#include <uapi/drm/xe_drm.h>

/* struct drm_driver.date is gone since 6.14. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define XE_DRIVER_DATE .date = "20201103",
#else
#define XE_DRIVER_DATE
#endif

/* include/uapi/drm/xe_drm.h has EU stall sampling and the status of PXP since 6.15. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define DRM_XE_DEVICE_QUERY_PXP_STATUS 9
#define DRM_XE_DEVICE_QUERY_EU_STALL 10
#define DRM_XE_OBSERVATION_TYPE_EU_STALL 1
#define DRM_XE_EU_STALL_EXTENSION_SET_PROPERTY 0
#define DRM_XE_EU_STALL_PROP_GT_ID 1
#define DRM_XE_EU_STALL_PROP_SAMPLE_RATE 2
#define DRM_XE_EU_STALL_PROP_WAIT_NUM_REPORTS 3
#define DRM_XE_EU_STALL_CAPS_BASE (1 << 0)
#define DRM_XE_QUERY_CONFIG_FLAG_HAS_LOW_LATENCY (1 << 1)

struct drm_xe_query_eu_stall {
	__u64 extensions;
	__u64 capabilities;
	__u64 record_size;
	__u64 per_xecore_buf_size;
	__u64 reserved[5];
	__u64 num_sampling_rates;
	__u64 sampling_rates[];
};
#endif

/* Since 6.15; the name of the flag, too. */
#define XE_EXEC_QUEUE_LOW_LATENCY_HINT (1 << 0)

/* hrtimer_setup() is there since 6.13, and hrtimer_init() gone since 6.15. */
static inline void xe_hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *timer))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = function;
#else
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#endif
}

/* A scheduler that runs one job at a time and waits for it for ever. Its arguments are a struct since 6.15. */
static inline int xe_drm_sched_init(struct drm_gpu_scheduler *scheduler, const struct drm_sched_backend_ops *ops,
				    const char *name, struct device *dev)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	return drm_sched_init(scheduler, ops, NULL, 1, 1, 0, MAX_SCHEDULE_TIMEOUT, NULL, NULL, name, dev);
#else
	const struct drm_sched_init_args args = {
		.ops = ops, .num_rqs = 1, .credit_limit = 1, .timeout = MAX_SCHEDULE_TIMEOUT, .name = name, .dev = dev
	};

	return drm_sched_init(scheduler, &args);
#endif
}

/* Jobs know their client since 6.17. */
static inline int xe_drm_sched_job_init(struct drm_sched_job *job, struct drm_sched_entity *entity, void *owner,
					struct drm_file *file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	return drm_sched_job_init(job, entity, 1, owner);
#else
	return drm_sched_job_init(job, entity, 1, owner, file->client_id);
#endif
}
