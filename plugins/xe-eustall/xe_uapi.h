/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the xe driver's interface that iaprof uses (include/uapi/drm/xe_drm.h and drm.h, Linux 7.0), declared
 * here because the headers of many distributions, such as Debian 12, are older than EU stall sampling. Names and
 * layouts are the kernel's, apart from the prefix.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

struct xe_drm_version {
	int major, minor, patch_level;
	size_t name_length;
	char *name;
	size_t date_length;
	char *date;
	size_t description_length;
	char *description;
};

struct xe_device_query {
	uint64_t extensions;
	uint32_t query; /* enum xe_query */
	uint32_t size;  /* 0: the kernel writes the required size; otherwise it must be the exact size */
	uint64_t data;
	uint64_t reserved[2];
};

enum xe_query {
	XE_QUERY_CONFIG = 2,
	XE_QUERY_GT_LIST = 3,
	XE_QUERY_GT_TOPOLOGY = 5,
	XE_QUERY_EU_STALL = 10 /* since 6.15: EINVAL before; ENODEV if the GPU does not support it */
};

/* Followed by num_params 64-bit values; the first holds the PCI device id in bits 0 to 15. */
struct xe_query_config {
	uint32_t num_params;
	uint32_t pad;
};
#define XE_CONFIG_DEVICE_ID 0u

struct xe_gt {
	uint16_t type; /* enum xe_gt_type */
	uint16_t tile_id;
	uint16_t gt_id;
	uint16_t pad[3];
	uint32_t reference_clock; /* Hz */
	uint64_t near_mem_regions;
	uint64_t far_mem_regions;
	uint16_t ip_ver_major; /* graphics IP version; 0 on PVC and DG2, which do not report it */
	uint16_t ip_ver_minor;
	uint16_t ip_ver_rev;
	uint16_t pad2;
	uint64_t reserved[7];
};
enum xe_gt_type { XE_GT_MAIN = 0, XE_GT_MEDIA = 1 };

/* Followed by num_gt of struct xe_gt. */
struct xe_query_gt_list {
	uint32_t num_gt;
	uint32_t pad;
};

/* A sequence of these, each followed by num_bytes bytes. */
struct xe_query_topology_mask {
	uint16_t gt_id;
	uint16_t type; /* enum xe_topology; others are ignored */
	uint32_t num_bytes;
};
/* Masks of Xe-cores, "dual subslices" in the driver's words. */
enum xe_topology { XE_TOPOLOGY_GEOMETRY = 1, XE_TOPOLOGY_COMPUTE = 2 };

/* Followed by num_sampling_rates 64-bit values. */
struct xe_query_eu_stall {
	uint64_t extensions;
	uint64_t capabilities;
	uint64_t record_size;
	uint64_t per_xecore_buf_size;
	uint64_t reserved[5];
	uint64_t num_sampling_rates;
};

struct xe_observation_param {
	uint64_t extensions;
	uint64_t observation_type; /* XE_OBSERVATION_EU_STALL */
	uint64_t observation_op;   /* XE_OBSERVATION_STREAM_OPEN */
	uint64_t param;            /* address of the first struct xe_set_property */
};
#define XE_OBSERVATION_EU_STALL 1
#define XE_OBSERVATION_STREAM_OPEN 0

struct xe_set_property {
	uint64_t next_extension; /* address of the next one, 0 if none */
	uint32_t name;           /* 0 */
	uint32_t pad;
	uint32_t property; /* enum xe_eu_stall_property */
	uint32_t pad2;
	uint64_t value;
	uint64_t reserved[2];
};
/* There is no property 0: kernels without commit 5bf763e908bf (December 2025) jump to address 0 for it. */
enum xe_eu_stall_property {
	XE_EU_STALL_GT_ID = 1,
	XE_EU_STALL_SAMPLE_RATE = 2, /* GPU cycles */
	XE_EU_STALL_WAIT_NUM_REPORTS = 3
};

#define XE_IOCTL_DRM_VERSION _IOWR('d', 0x00, struct xe_drm_version)
#define XE_IOCTL_DEVICE_QUERY _IOWR('d', 0x40, struct xe_device_query)
#define XE_IOCTL_OBSERVATION _IOW('d', 0x4b, struct xe_observation_param)
#define XE_IOCTL_STREAM_ENABLE _IO('i', 0)
#define XE_IOCTL_STREAM_DISABLE _IO('i', 1)

_Static_assert(XE_IOCTL_DEVICE_QUERY == 0xc0286440, "DRM_IOCTL_XE_DEVICE_QUERY");
_Static_assert(XE_IOCTL_OBSERVATION == 0x4020644b, "DRM_IOCTL_XE_OBSERVATION");
_Static_assert(sizeof(struct xe_gt) == 96 && offsetof(struct xe_gt, ip_ver_major) == 32, "struct drm_xe_gt");
_Static_assert(sizeof(struct xe_query_eu_stall) == 80, "struct drm_xe_query_eu_stall");
_Static_assert(sizeof(struct xe_set_property) == 48, "struct drm_xe_ext_set_property");
