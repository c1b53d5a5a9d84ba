/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NPU's ioctls, as include/uapi/drm/ivpu_accel.h and drm.h of Linux 7.2 have them: numbers, offsets and sizes.
 * Written here because a machine's own headers may be older or absent; every size is asserted.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

struct npu_version {
	int32_t major, minor, patch;
	uint64_t name_length, name, date_length, date, description_length, description;
};

struct npu_gem_close {
	uint32_t handle, pad;
};

struct npu_param {
	uint32_t param, index;
	uint64_t value;
};

struct npu_bo_create {
	uint64_t size;
	uint32_t flags, handle;
	uint64_t vpu_addr;
};

struct npu_bo_from_user {
	uint64_t user_ptr, size;
	uint32_t flags, handle;
	uint64_t vpu_addr;
};

struct npu_bo_info {
	uint32_t handle, flags;
	uint64_t vpu_addr, mmap_offset, size;
};

struct npu_submit {
	uint64_t buffers_ptr;
	uint32_t buffer_count, engine, flags, commands_offset, priority;
};

struct npu_queue_submit {
	uint64_t buffers_ptr;
	uint32_t buffer_count, cmdq_id, flags, commands_offset, preempt_buffer_index, reserved;
};

struct npu_bo_wait {
	uint32_t handle, flags;
	int64_t timeout_ns; /* absolute, CLOCK_MONOTONIC */
	uint32_t job_status, pad;
};

struct npu_streamer_start {
	uint64_t metric_group_mask, sampling_period_ns;
	uint32_t read_period_samples, sample_size, max_data_size;
};

struct npu_streamer_get_data {
	uint64_t metric_group_mask, buffer_ptr, buffer_size, data_size;
};

struct npu_streamer_stop {
	uint64_t metric_group_mask;
};

struct npu_queue_create {
	uint32_t cmdq_id, priority, flags;
};

struct npu_queue_destroy {
	uint32_t cmdq_id;
};

#define NPU_IOCTL_VERSION _IOWR('d', 0x00, struct npu_version)
#define NPU_IOCTL_GEM_CLOSE _IOW('d', 0x09, struct npu_gem_close)
#define NPU_IOCTL_GET_PARAM _IOWR('d', 0x40, struct npu_param)
#define NPU_IOCTL_SET_PARAM _IOW('d', 0x41, struct npu_param)
#define NPU_IOCTL_BO_CREATE _IOWR('d', 0x42, struct npu_bo_create)
#define NPU_IOCTL_BO_INFO _IOWR('d', 0x43, struct npu_bo_info)
#define NPU_IOCTL_SUBMIT _IOW('d', 0x45, struct npu_submit)
#define NPU_IOCTL_BO_WAIT _IOWR('d', 0x46, struct npu_bo_wait)
#define NPU_IOCTL_STREAMER_START _IOWR('d', 0x47, struct npu_streamer_start)
#define NPU_IOCTL_STREAMER_STOP _IOW('d', 0x48, struct npu_streamer_stop)
#define NPU_IOCTL_STREAMER_GET_DATA _IOWR('d', 0x49, struct npu_streamer_get_data)
#define NPU_IOCTL_STREAMER_GET_INFO _IOWR('d', 0x4a, struct npu_streamer_get_data)
#define NPU_IOCTL_QUEUE_CREATE _IOWR('d', 0x4b, struct npu_queue_create)
#define NPU_IOCTL_QUEUE_DESTROY _IOW('d', 0x4c, struct npu_queue_destroy)
#define NPU_IOCTL_QUEUE_SUBMIT _IOW('d', 0x4d, struct npu_queue_submit)
#define NPU_IOCTL_BO_FROM_USER _IOWR('d', 0x4e, struct npu_bo_from_user)

static_assert(NPU_IOCTL_VERSION == 0xc0406400, "DRM_IOCTL_VERSION");
static_assert(NPU_IOCTL_GET_PARAM == 0xc0106440, "DRM_IOCTL_IVPU_GET_PARAM");
static_assert(NPU_IOCTL_SET_PARAM == 0x40106441, "DRM_IOCTL_IVPU_SET_PARAM");
static_assert(NPU_IOCTL_BO_CREATE == 0xc0186442, "DRM_IOCTL_IVPU_BO_CREATE");
static_assert(NPU_IOCTL_BO_INFO == 0xc0206443, "DRM_IOCTL_IVPU_BO_INFO");
static_assert(NPU_IOCTL_SUBMIT == 0x40206445, "DRM_IOCTL_IVPU_SUBMIT");
static_assert(NPU_IOCTL_BO_WAIT == 0xc0186446, "DRM_IOCTL_IVPU_BO_WAIT");
static_assert(NPU_IOCTL_STREAMER_START == 0xc0206447, "DRM_IOCTL_IVPU_METRIC_STREAMER_START");
static_assert(NPU_IOCTL_STREAMER_STOP == 0x40086448, "DRM_IOCTL_IVPU_METRIC_STREAMER_STOP");
static_assert(NPU_IOCTL_STREAMER_GET_DATA == 0xc0206449, "DRM_IOCTL_IVPU_METRIC_STREAMER_GET_DATA");
static_assert(NPU_IOCTL_STREAMER_GET_INFO == 0xc020644a, "DRM_IOCTL_IVPU_METRIC_STREAMER_GET_INFO");
static_assert(NPU_IOCTL_QUEUE_CREATE == 0xc00c644b, "DRM_IOCTL_IVPU_CMDQ_CREATE");
static_assert(NPU_IOCTL_QUEUE_DESTROY == 0x4004644c, "DRM_IOCTL_IVPU_CMDQ_DESTROY");
static_assert(NPU_IOCTL_QUEUE_SUBMIT == 0x4020644d, "DRM_IOCTL_IVPU_CMDQ_SUBMIT");
static_assert(NPU_IOCTL_BO_FROM_USER == 0xc020644e, "DRM_IOCTL_IVPU_BO_CREATE_FROM_USERPTR");
static_assert(offsetof(struct npu_submit, priority) == 24, "drm_ivpu_submit.priority");
static_assert(offsetof(struct npu_submit, commands_offset) == 20, "drm_ivpu_submit.commands_offset");
static_assert(offsetof(struct npu_queue_submit, preempt_buffer_index) == 24, "drm_ivpu_cmdq_submit");
static_assert(offsetof(struct npu_bo_wait, timeout_ns) == 8, "drm_ivpu_bo_wait.timeout_ns");
static_assert(offsetof(struct npu_bo_wait, job_status) == 16, "drm_ivpu_bo_wait.job_status");
