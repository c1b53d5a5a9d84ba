/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the xe driver's interface that a profiler uses (include/uapi/drm/xe_drm.h, Linux 7.2), written by hand:
 * the <drm/xe_drm.h> of Debian 12's libdrm does not exist, that of its kernels has no EU stall sampling. Sizes, offsets
 * and numbers are asserted below, so that a slip in a declaration cannot pass.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

struct drm_version {
	int version_major, version_minor, version_patchlevel;
	size_t name_length;
	char *name;
	size_t date_length;
	char *date;
	size_t description_length;
	char *description;
};

struct xe_device_query {
	uint64_t extensions;
	uint32_t query;
	uint32_t size;
	uint64_t data;
	uint64_t reserved[2];
};

enum {
	XE_QUERY_ENGINES = 0,
	XE_QUERY_MEM_REGIONS = 1,
	XE_QUERY_CONFIG = 2,
	XE_QUERY_GT_LIST = 3,
	XE_QUERY_GT_TOPOLOGY = 5,
	XE_QUERY_ENGINE_CYCLES = 6,
	XE_QUERY_EU_STALL = 10,
};

struct xe_query_config {
	uint32_t num_params;
	uint32_t pad;
	uint64_t info[];
};

struct xe_gt_description {
	uint16_t type; /* 0 main, 1 media */
	uint16_t tile_id;
	uint16_t gt_id;
	uint16_t pad[3];
	uint32_t reference_clock;
	uint64_t near_mem_regions;
	uint64_t far_mem_regions;
	uint16_t ip_ver_major, ip_ver_minor, ip_ver_rev, pad2;
	uint64_t reserved[7];
};

struct xe_query_gt_list {
	uint32_t num_gt;
	uint32_t pad;
	struct xe_gt_description gt_list[];
};

enum { XE_TOPOLOGY_DSS_GEOMETRY = 1, XE_TOPOLOGY_DSS_COMPUTE = 2 };

struct xe_query_topology_mask {
	uint16_t gt_id;
	uint16_t type;
	uint32_t num_bytes;
	uint8_t mask[];
};

struct xe_engine_class_instance {
	uint16_t engine_class, engine_instance, gt_id, pad;
};

struct xe_engine {
	struct xe_engine_class_instance instance;
	uint64_t reserved[3];
};

struct xe_query_engines {
	uint32_t num_engines;
	uint32_t pad;
	struct xe_engine engines[];
};

struct xe_query_engine_cycles {
	struct xe_engine_class_instance eci;
	int32_t clockid;
	uint32_t width;
	uint64_t engine_cycles;
	uint64_t cpu_timestamp;
	uint64_t cpu_delta;
};

struct xe_query_eu_stall {
	uint64_t extensions;
	uint64_t capabilities;
	uint64_t record_size;
	uint64_t per_xecore_buf_size;
	uint64_t reserved[5];
	uint64_t num_sampling_rates;
	uint64_t sampling_rates[];
};

struct xe_observation_param {
	uint64_t extensions;
	uint64_t observation_type; /* 0 OA, 1 EU stall */
	uint64_t observation_op;   /* 0 open a stream */
	uint64_t param;
};

struct xe_user_extension {
	uint64_t next_extension;
	uint32_t name;
	uint32_t pad;
};

struct xe_ext_set_property {
	struct xe_user_extension base;
	uint32_t property;
	uint32_t pad;
	uint64_t value;
	uint64_t reserved[2];
};

enum { XE_EU_STALL_GT_ID = 1, XE_EU_STALL_SAMPLE_RATE = 2, XE_EU_STALL_WAIT_NUM_REPORTS = 3 };

struct xe_gem_create {
	uint64_t extensions;
	uint64_t size;
	uint32_t placement;
	uint32_t flags;
	uint32_t vm_id;
	uint32_t handle;
	uint16_t cpu_caching;
	uint16_t pad[3];
	uint64_t reserved[2];
};

struct xe_vm_create {
	uint64_t extensions;
	uint32_t flags;
	uint32_t vm_id;
	uint64_t reserved[2];
};

struct xe_vm_destroy {
	uint32_t vm_id;
	uint32_t pad;
	uint64_t reserved[2];
};

struct xe_vm_bind_op {
	uint64_t extensions;
	uint32_t obj;
	uint16_t pat_index;
	uint16_t pad;
	uint64_t obj_offset;
	uint64_t range;
	uint64_t addr;
	uint32_t op; /* 0 map, 1 unmap */
	uint32_t flags;
	uint32_t prefetch_mem_region_instance;
	uint32_t pad2;
	uint64_t reserved[3];
};

struct xe_vm_bind {
	uint64_t extensions;
	uint32_t vm_id;
	uint32_t exec_queue_id;
	uint32_t pad;
	uint32_t num_binds;
	union {
		struct xe_vm_bind_op bind;
		uint64_t vector_of_binds;
	};
	uint32_t pad2;
	uint32_t num_syncs;
	uint64_t syncs;
	uint64_t reserved[2];
};

struct xe_exec_queue_create {
	uint64_t extensions;
	uint16_t width;
	uint16_t num_placements;
	uint32_t vm_id;
	uint32_t flags;
	uint32_t exec_queue_id;
	uint64_t instances; /* struct xe_engine_class_instance, width * num_placements of them */
	uint64_t reserved[2];
};

struct xe_exec_queue_destroy {
	uint32_t exec_queue_id;
	uint32_t pad;
	uint64_t reserved[2];
};

enum { XE_ENGINE_CLASS_RENDER = 0, XE_ENGINE_CLASS_COPY = 1, XE_ENGINE_CLASS_COMPUTE = 4 };

struct xe_sync {
	uint64_t extensions;
	uint32_t type;  /* 0 a sync object */
	uint32_t flags; /* 1 signal it */
	uint32_t handle;
	uint32_t pad;
	uint64_t timeline_value;
	uint64_t reserved[2];
};

struct xe_exec {
	uint64_t extensions;
	uint32_t exec_queue_id;
	uint32_t num_syncs;
	uint64_t syncs;
	uint64_t address;
	uint16_t num_batch_buffer;
	uint16_t pad[3];
	uint64_t reserved[2];
};

/* include/uapi/drm/drm.h */
struct drm_syncobj_create {
	uint32_t handle;
	uint32_t flags;
};

struct drm_syncobj_wait {
	uint64_t handles;
	int64_t timeout_nsec; /* absolute, CLOCK_MONOTONIC */
	uint32_t count_handles;
	uint32_t flags;
	uint32_t first_signaled;
	uint32_t pad;
	uint64_t deadline_nsec;
};

#define DRM_IOCTL_VERSION _IOWR('d', 0x00, struct drm_version)
#define XE_IOCTL_DEVICE_QUERY _IOWR('d', 0x40, struct xe_device_query)
#define XE_IOCTL_GEM_CREATE _IOWR('d', 0x41, struct xe_gem_create)
#define XE_IOCTL_VM_CREATE _IOWR('d', 0x43, struct xe_vm_create)
#define XE_IOCTL_VM_DESTROY _IOW('d', 0x44, struct xe_vm_destroy)
#define XE_IOCTL_VM_BIND _IOW('d', 0x45, struct xe_vm_bind)
#define XE_IOCTL_EXEC_QUEUE_CREATE _IOWR('d', 0x46, struct xe_exec_queue_create)
#define XE_IOCTL_EXEC_QUEUE_DESTROY _IOW('d', 0x47, struct xe_exec_queue_destroy)
#define XE_IOCTL_EXEC _IOW('d', 0x49, struct xe_exec)
#define DRM_IOCTL_SYNCOBJ_CREATE _IOWR('d', 0xbf, struct drm_syncobj_create)
#define DRM_IOCTL_SYNCOBJ_WAIT _IOWR('d', 0xc3, struct drm_syncobj_wait)
#define XE_IOCTL_OBSERVATION _IOW('d', 0x4b, struct xe_observation_param)
#define XE_STREAM_ENABLE _IO('i', 0)
#define XE_STREAM_DISABLE _IO('i', 1)

#define XE_AT(type, member, offset) static_assert(offsetof(struct type, member) == (offset), #type "." #member)

static_assert(DRM_IOCTL_VERSION == 0xc0406400, "DRM_IOCTL_VERSION");
static_assert(XE_IOCTL_DEVICE_QUERY == 0xc0286440, "DEVICE_QUERY");
static_assert(XE_IOCTL_GEM_CREATE == 0xc0386441, "GEM_CREATE");
static_assert(XE_IOCTL_VM_CREATE == 0xc0206443, "VM_CREATE");
static_assert(XE_IOCTL_VM_DESTROY == 0x40186444, "VM_DESTROY");
static_assert(XE_IOCTL_VM_BIND == 0x40886445, "VM_BIND");
static_assert(XE_IOCTL_EXEC_QUEUE_CREATE == 0xc0306446, "EXEC_QUEUE_CREATE");
static_assert(XE_IOCTL_EXEC_QUEUE_DESTROY == 0x40186447, "EXEC_QUEUE_DESTROY");
static_assert(XE_IOCTL_EXEC == 0x40386449, "EXEC");
static_assert(XE_IOCTL_OBSERVATION == 0x4020644b, "OBSERVATION");
static_assert(XE_STREAM_ENABLE == 0x6900 && XE_STREAM_DISABLE == 0x6901, "ENABLE, DISABLE");
static_assert(sizeof(struct xe_device_query) == 40, "xe_device_query");
XE_AT(xe_device_query, query, 8);
XE_AT(xe_device_query, size, 12);
XE_AT(xe_device_query, data, 16);
XE_AT(xe_device_query, reserved, 24);
static_assert(sizeof(struct xe_query_config) == 8, "xe_query_config");
static_assert(sizeof(struct xe_gt_description) == 96, "xe_gt_description");
XE_AT(xe_gt_description, gt_id, 4);
XE_AT(xe_gt_description, reference_clock, 12);
XE_AT(xe_gt_description, near_mem_regions, 16);
XE_AT(xe_gt_description, far_mem_regions, 24);
XE_AT(xe_gt_description, ip_ver_major, 32);
XE_AT(xe_gt_description, reserved, 40);
XE_AT(xe_query_gt_list, gt_list, 8);
static_assert(sizeof(struct xe_query_topology_mask) == 8, "xe_query_topology_mask");
XE_AT(xe_query_topology_mask, num_bytes, 4);
static_assert(sizeof(struct xe_engine) == 32, "xe_engine");
XE_AT(xe_query_engines, engines, 8);
static_assert(sizeof(struct xe_query_engine_cycles) == 40, "xe_query_engine_cycles");
XE_AT(xe_query_engine_cycles, clockid, 8);
XE_AT(xe_query_engine_cycles, engine_cycles, 16);
XE_AT(xe_query_engine_cycles, cpu_delta, 32);
static_assert(sizeof(struct xe_query_eu_stall) == 80, "xe_query_eu_stall");
XE_AT(xe_query_eu_stall, record_size, 16);
XE_AT(xe_query_eu_stall, per_xecore_buf_size, 24);
XE_AT(xe_query_eu_stall, num_sampling_rates, 72);
static_assert(sizeof(struct xe_observation_param) == 32, "xe_observation_param");
static_assert(sizeof(struct xe_user_extension) == 16, "xe_user_extension");
static_assert(sizeof(struct xe_ext_set_property) == 48, "xe_ext_set_property");
XE_AT(xe_ext_set_property, property, 16);
XE_AT(xe_ext_set_property, value, 24);
static_assert(sizeof(struct xe_gem_create) == 56, "xe_gem_create");
XE_AT(xe_gem_create, cpu_caching, 32);
static_assert(sizeof(struct xe_vm_create) == 32, "xe_vm_create");
static_assert(sizeof(struct xe_vm_destroy) == 24, "xe_vm_destroy");
static_assert(sizeof(struct xe_vm_bind_op) == 80, "xe_vm_bind_op");
XE_AT(xe_vm_bind_op, obj_offset, 16);
XE_AT(xe_vm_bind_op, addr, 32);
XE_AT(xe_vm_bind_op, reserved, 56);
static_assert(sizeof(struct xe_vm_bind) == 136, "xe_vm_bind");
XE_AT(xe_vm_bind, num_binds, 20);
XE_AT(xe_vm_bind, bind, 24);
XE_AT(xe_vm_bind, num_syncs, 108);
XE_AT(xe_vm_bind, reserved, 120);
XE_AT(xe_exec_queue_create, exec_queue_id, 20);
XE_AT(xe_exec_queue_create, instances, 24);
XE_AT(xe_exec, address, 24);
XE_AT(xe_exec, num_batch_buffer, 32);
static_assert(sizeof(struct xe_sync) == 48, "xe_sync");
XE_AT(xe_sync, timeline_value, 24);
