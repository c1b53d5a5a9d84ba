/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between the kernels that the double is built for (6.12 and newer), and nothing else. */
#pragma once

#include <linux/hrtimer.h>
#include <linux/pm_runtime.h>
#include <linux/version.h>
#include <drm/drm_drv.h>
#include <uapi/drm/ivpu_accel.h>

/* struct drm_driver.date is gone since 6.14. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define NPU_DRIVER_DATE .date = "20230117",
#else
#define NPU_DRIVER_DATE
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* Work for any processor: system_unbound_wq has this name since 6.17. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define system_dfl_wq system_unbound_wq
#endif

/* include/uapi/drm/ivpu_accel.h has command queues since 6.15 and buffers from user memory since 6.19. */
#ifndef DRM_IVPU_CMDQ_CREATE
#define DRM_IVPU_CMDQ_CREATE 0x0b
#define DRM_IVPU_CMDQ_DESTROY 0x0c
#define DRM_IVPU_CMDQ_SUBMIT 0x0d
#define DRM_IVPU_CAP_MANAGE_CMDQ 3
#define DRM_IVPU_CMDQ_FLAG_TURBO 0x00000001

struct drm_ivpu_cmdq_create {
	__u32 cmdq_id;
	__u32 priority;
	__u32 flags;
};

struct drm_ivpu_cmdq_destroy {
	__u32 cmdq_id;
};

struct drm_ivpu_cmdq_submit {
	__u64 buffers_ptr;
	__u32 buffer_count;
	__u32 cmdq_id;
	__u32 flags;
	__u32 commands_offset;
	__u32 preempt_buffer_index;
	__u32 reserved;
};

#define DRM_IOCTL_IVPU_CMDQ_CREATE DRM_IOWR(DRM_COMMAND_BASE + DRM_IVPU_CMDQ_CREATE, struct drm_ivpu_cmdq_create)
#define DRM_IOCTL_IVPU_CMDQ_DESTROY DRM_IOW(DRM_COMMAND_BASE + DRM_IVPU_CMDQ_DESTROY, struct drm_ivpu_cmdq_destroy)
#define DRM_IOCTL_IVPU_CMDQ_SUBMIT DRM_IOW(DRM_COMMAND_BASE + DRM_IVPU_CMDQ_SUBMIT, struct drm_ivpu_cmdq_submit)
#endif

#ifndef DRM_IVPU_PARAM_PREEMPT_BUFFER_SIZE
#define DRM_IVPU_PARAM_PREEMPT_BUFFER_SIZE 14
#endif

#ifndef DRM_IVPU_BO_READ_ONLY
#define DRM_IVPU_BO_READ_ONLY 0x00000008
#endif

#ifndef DRM_IVPU_BO_CREATE_FROM_USERPTR
#define DRM_IVPU_BO_CREATE_FROM_USERPTR 0x0e
#define DRM_IVPU_CAP_BO_CREATE_FROM_USERPTR 4

struct drm_ivpu_bo_create_from_userptr {
	__u64 user_ptr;
	__u64 size;
	__u32 flags;
	__u32 handle;
	__u64 vpu_addr;
};

#define DRM_IOCTL_IVPU_BO_CREATE_FROM_USERPTR                                                                          \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_IVPU_BO_CREATE_FROM_USERPTR, struct drm_ivpu_bo_create_from_userptr)
#endif
