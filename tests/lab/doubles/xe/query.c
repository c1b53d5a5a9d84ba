// SPDX-License-Identifier: GPL-2.0-only
/* The DEVICE_QUERY ioctl (xe_query.c, Linux 7.2): each query builds its answer, one function negotiates the size. */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include "device.h"

#define VRAM_SIZE (12ull << 30)

/* Size 0 asks for the size; any other size but the right one is refused. Returns 1 when the answer is wanted. */
static int query_wanted(struct drm_xe_device_query *query, size_t size)
{
	if (query->size == 0) {
		query->size = size;
		return 0;
	}
	return query->size == size ? 1 : -EINVAL;
}

static int query_answer(struct drm_xe_device_query *query, const void *answer, size_t size)
{
	return copy_to_user(u64_to_user_ptr(query->data), answer, size) ? -EFAULT : 0;
}

static unsigned int gt_count(const struct xe_device *xe)
{
	unsigned int count = 0;

	for (int i = 0; i < XE_MAX_GT; i++)
		count += xe->gt[i].config.present;
	return count;
}

static unsigned int tile_count(const struct xe_device *xe)
{
	unsigned int count = 0;

	for (int i = 0; i < XE_MAX_GT; i++)
		if (xe->gt[i].config.present && xe->gt[i].config.tile >= count)
			count = xe->gt[i].config.tile + 1;
	return count;
}

/* Render (not on PVC), copy and compute engines in a main GT; video engines in a media GT. */
static unsigned int gt_engines(const struct xe_device *xe, u16 id, struct drm_xe_engine *engines)
{
	static const u16 main_classes[] = { DRM_XE_ENGINE_CLASS_RENDER, DRM_XE_ENGINE_CLASS_COPY,
					    DRM_XE_ENGINE_CLASS_COMPUTE };
	static const u16 media_classes[] = { DRM_XE_ENGINE_CLASS_VIDEO_DECODE, DRM_XE_ENGINE_CLASS_VIDEO_ENHANCE };
	bool media = xe->gt[id].config.media;
	const u16 *classes = media ? media_classes : main_classes;
	unsigned int count = 0;

	for (size_t i = 0; i < (media ? ARRAY_SIZE(media_classes) : ARRAY_SIZE(main_classes)); i++) {
		if (xe->platform.pvc && classes[i] == DRM_XE_ENGINE_CLASS_RENDER)
			continue;
		engines[count++].instance =
			(struct drm_xe_engine_class_instance){ .engine_class = classes[i], .gt_id = id };
	}
	return count;
}

static int query_engines(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct {
		struct drm_xe_query_engines head;
		struct drm_xe_engine engines[XE_MAX_GT * 3];
	} *answer = kzalloc(sizeof(*answer), GFP_KERNEL);
	size_t size;
	int ret;

	if (!answer)
		return -ENOMEM;
	for (int i = 0; i < XE_MAX_GT; i++)
		if (xe->gt[i].config.present)
			answer->head.num_engines += gt_engines(xe, i, &answer->engines[answer->head.num_engines]);
	size = sizeof(answer->head) + answer->head.num_engines * sizeof(struct drm_xe_engine);
	ret = query_wanted(query, size);
	if (ret > 0)
		ret = query_answer(query, answer, size);
	kfree(answer);
	return ret;
}

static int query_mem_regions(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct {
		struct drm_xe_query_mem_regions head;
		struct drm_xe_mem_region regions[1 + XE_MAX_GT];
	} answer = { .head.num_mem_regions = 1 };
	unsigned int tiles = xe->platform.discrete ? tile_count(xe) : 0;
	size_t size;
	int ret;

	answer.regions[0].mem_class = DRM_XE_MEM_REGION_CLASS_SYSMEM;
	answer.regions[0].min_page_size = PAGE_SIZE;
	answer.regions[0].total_size = (u64)totalram_pages() << PAGE_SHIFT;
	for (unsigned int tile = 0; tile < tiles; tile++) {
		struct drm_xe_mem_region *region = &answer.regions[answer.head.num_mem_regions];

		region->mem_class = DRM_XE_MEM_REGION_CLASS_VRAM;
		region->instance = answer.head.num_mem_regions++;
		region->min_page_size = SZ_64K;
		region->total_size = VRAM_SIZE;
		region->cpu_visible_size = VRAM_SIZE;
	}
	size = sizeof(answer.head) + answer.head.num_mem_regions * sizeof(answer.regions[0]);
	ret = query_wanted(query, size);
	if (ret > 0)
		/* ENOSPC, not EFAULT: so in the real driver. */
		ret = query_answer(query, &answer, size) ? -ENOSPC : 0;
	return ret;
}

static int query_config(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct {
		struct drm_xe_query_config head;
		u64 info[DRM_XE_QUERY_CONFIG_MAX_EXEC_QUEUE_PRIORITY + 1];
	} answer = { .head.num_params = ARRAY_SIZE(answer.info) };
	int ret = query_wanted(query, sizeof(answer));

	if (ret <= 0)
		return ret;
	answer.info[DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID] = xe->platform.device_id | xe->platform.revision << 16;
	if (xe->platform.discrete)
		answer.info[DRM_XE_QUERY_CONFIG_FLAGS] |= DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM;
	if (xe->platform.kernel >= XE_KERNEL(6, 15))
		answer.info[DRM_XE_QUERY_CONFIG_FLAGS] |= DRM_XE_QUERY_CONFIG_FLAG_HAS_LOW_LATENCY;
	answer.info[DRM_XE_QUERY_CONFIG_MIN_ALIGNMENT] = xe->platform.discrete ? SZ_64K : SZ_4K;
	answer.info[DRM_XE_QUERY_CONFIG_VA_BITS] = xe->platform.pvc || xe->platform.graphics_version >= 3500 ? 57 : 48;
	answer.info[DRM_XE_QUERY_CONFIG_MAX_EXEC_QUEUE_PRIORITY] = capable(CAP_SYS_NICE) ? 2 : 1;
	return query_answer(query, &answer, sizeof(answer));
}

static void describe_gt(const struct xe_device *xe, u16 id, struct drm_xe_gt *gt)
{
	const struct xe_gt_config *config = &xe->gt[id].config;
	u64 all_regions = 1 | (xe->platform.discrete ? ((1ull << tile_count(xe)) - 1) << 1 : 0);
	u16 version = config->media ? xe->platform.media_version : xe->platform.graphics_version;

	gt->type = config->media ? DRM_XE_QUERY_GT_TYPE_MEDIA : DRM_XE_QUERY_GT_TYPE_MAIN;
	gt->tile_id = config->tile;
	gt->gt_id = id;
	gt->reference_clock = xe->platform.reference_clock;
	gt->near_mem_regions = xe->platform.discrete ? 2ull << config->tile : 1;
	gt->far_mem_regions = all_regions ^ gt->near_mem_regions;
	if (xe->platform.reports_version) {
		gt->ip_ver_major = version / 100;
		gt->ip_ver_minor = version % 100;
		gt->ip_ver_rev = xe->platform.graphics_revision;
	}
}

static int query_gt_list(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct {
		struct drm_xe_query_gt_list head;
		struct drm_xe_gt list[XE_MAX_GT];
	} answer = {};
	size_t size = sizeof(answer.head) + gt_count(xe) * sizeof(struct drm_xe_gt);
	int ret = query_wanted(query, size);

	if (ret <= 0)
		return ret;
	for (int i = 0; i < XE_MAX_GT; i++)
		if (xe->gt[i].config.present)
			describe_gt(xe, i, &answer.list[answer.head.num_gt++]);
	return query_answer(query, &answer, size);
}

/* The table comes from the firmware; here it is empty, as with a firmware that has none. */
static int query_hwconfig(struct xe_device *xe, struct drm_xe_device_query *query)
{
	int ret = query_wanted(query, 0);

	return ret > 0 ? 0 : ret;
}

struct topology_writer {
	u8 bytes[XE_MAX_GT * 4 *
		 (sizeof(struct drm_xe_query_topology_mask) + BITS_TO_LONGS(XE_MAX_CORES) * sizeof(long))];
	size_t size;
};

static void topology_add(struct topology_writer *writer, u16 gt_id, u16 type, const void *mask, u32 mask_size)
{
	struct drm_xe_query_topology_mask head = { .gt_id = gt_id, .type = type, .num_bytes = mask_size };

	memcpy(writer->bytes + writer->size, &head, sizeof(head));
	memcpy(writer->bytes + writer->size + sizeof(head), mask, mask_size);
	writer->size += sizeof(head) + mask_size;
}

static int query_gt_topology(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct topology_writer *writer = kzalloc(sizeof(*writer), GFP_KERNEL);
	bool simd16 = xe->platform.pvc || xe->platform.graphics_version >= 2000;
	int ret;

	if (!writer)
		return -ENOMEM;
	for (int i = 0; i < XE_MAX_GT; i++) {
		const struct xe_gt_config *config = &xe->gt[i].config;
		unsigned long engines = config->media ? 0 : 0xff;
		unsigned long banks = config->media ? 0 : 0xffff;

		if (!config->present)
			continue;
		topology_add(writer, i, DRM_XE_TOPO_DSS_GEOMETRY, config->geometry, sizeof(config->geometry));
		topology_add(writer, i, DRM_XE_TOPO_DSS_COMPUTE, config->compute, sizeof(config->compute));
		/* A kernel that cannot know the banks leaves the mask out (Xe3 and media of version 30). */
		if (xe->platform.graphics_version < 3000)
			topology_add(writer, i, DRM_XE_TOPO_L3_BANK, &banks, sizeof(banks));
		topology_add(writer, i, simd16 ? DRM_XE_TOPO_SIMD16_EU_PER_DSS : DRM_XE_TOPO_EU_PER_DSS, &engines,
			     sizeof(engines));
	}
	ret = query_wanted(query, writer->size);
	if (ret > 0)
		ret = query_answer(query, writer->bytes, writer->size);
	kfree(writer);
	return ret;
}

static int read_clock(s32 clock, u64 *time)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
		*time = ktime_get_ns();
		return 0;
	case CLOCK_MONOTONIC_RAW:
		*time = ktime_get_raw_ns();
		return 0;
	case CLOCK_REALTIME:
		*time = ktime_get_real_ns();
		return 0;
	case CLOCK_BOOTTIME:
		*time = ktime_get_boottime_ns();
		return 0;
	case CLOCK_TAI:
		*time = ktime_get_clocktai_ns();
		return 0;
	default:
		return -EINVAL;
	}
}

static bool has_engine(struct xe_device *xe, const struct drm_xe_engine_class_instance *wanted)
{
	struct drm_xe_engine engines[3];
	unsigned int count;

	if (wanted->gt_id >= XE_MAX_GT || !xe->gt[wanted->gt_id].config.present)
		return false;
	count = gt_engines(xe, wanted->gt_id, engines);
	for (unsigned int i = 0; i < count; i++)
		if (engines[i].instance.engine_class == wanted->engine_class &&
		    engines[i].instance.engine_instance == wanted->engine_instance)
			return true;
	return false;
}

static int query_engine_cycles(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct drm_xe_query_engine_cycles answer;
	u64 before;
	int ret = query_wanted(query, sizeof(answer));

	if (ret <= 0)
		return ret;
	if (copy_from_user(&answer, u64_to_user_ptr(query->data), sizeof(answer)))
		return -EFAULT;
	if (read_clock(answer.clockid, &answer.cpu_timestamp) || !has_engine(xe, &answer.eci))
		return -EINVAL;
	before = local_clock();
	read_clock(answer.clockid, &answer.cpu_timestamp);
	answer.engine_cycles = mul_u64_u32_div(ktime_get_raw_ns(), xe->platform.reference_clock, NSEC_PER_SEC);
	answer.cpu_delta = local_clock() - before;
	answer.width = xe->platform.graphics_version >= 2000 ? 64 : 36;
	if (answer.width < 64)
		answer.engine_cycles &= (1ull << answer.width) - 1;
	return query_answer(query, &answer, sizeof(answer));
}

static int query_uc_fw_version(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct drm_xe_query_uc_fw_version answer;
	int ret = query_wanted(query, sizeof(answer));

	if (ret <= 0)
		return ret;
	if (copy_from_user(&answer, u64_to_user_ptr(query->data), sizeof(answer)))
		return -EFAULT;
	if (answer.pad || answer.pad2 || answer.reserved)
		return -EINVAL;
	if (answer.uc_type == XE_QUERY_UC_TYPE_HUC)
		return -ENODEV;
	if (answer.uc_type != XE_QUERY_UC_TYPE_GUC_SUBMISSION)
		return -EINVAL;
	answer.branch_ver = 0;
	answer.major_ver = 1;
	answer.minor_ver = 17;
	answer.patch_ver = 0;
	return query_answer(query, &answer, sizeof(answer));
}

static int query_oa_units(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct drm_xe_query_oa_units answer = {};
	int ret = query_wanted(query, sizeof(answer));

	return ret > 0 ? query_answer(query, &answer, sizeof(answer)) : ret;
}

/* The real driver asks for the status only once the size is agreed. */
static int query_pxp_status(struct xe_device *xe, struct drm_xe_device_query *query)
{
	int ret = query_wanted(query, 2 * sizeof(u32));

	return ret > 0 ? -ENODEV : ret;
}

static int query_eu_stall(struct xe_device *xe, struct drm_xe_device_query *query)
{
	struct {
		struct drm_xe_query_eu_stall head;
		u64 rates[7];
	} answer = {};
	int ret;

	if (!platform_row_layout(&xe->platform))
		return -ENODEV;
	ret = query_wanted(query, sizeof(answer));
	if (ret <= 0)
		return ret;
	answer.head.capabilities = DRM_XE_EU_STALL_CAPS_BASE;
	answer.head.record_size = XE_ROW_SIZE;
	answer.head.per_xecore_buf_size = XE_RING_SIZE;
	answer.head.num_sampling_rates = ARRAY_SIZE(answer.rates);
	for (size_t i = 0; i < ARRAY_SIZE(answer.rates); i++)
		answer.rates[i] = 251 * (i + 1);
	return query_answer(query, &answer, sizeof(answer));
}

static int (*const query_functions[])(struct xe_device *xe, struct drm_xe_device_query *query) = {
	[DRM_XE_DEVICE_QUERY_ENGINES] = query_engines,
	[DRM_XE_DEVICE_QUERY_MEM_REGIONS] = query_mem_regions,
	[DRM_XE_DEVICE_QUERY_CONFIG] = query_config,
	[DRM_XE_DEVICE_QUERY_GT_LIST] = query_gt_list,
	[DRM_XE_DEVICE_QUERY_HWCONFIG] = query_hwconfig,
	[DRM_XE_DEVICE_QUERY_GT_TOPOLOGY] = query_gt_topology,
	[DRM_XE_DEVICE_QUERY_ENGINE_CYCLES] = query_engine_cycles,
	[DRM_XE_DEVICE_QUERY_UC_FW_VERSION] = query_uc_fw_version,
	[DRM_XE_DEVICE_QUERY_OA_UNITS] = query_oa_units,
	/* from 6.15 on: */
	[DRM_XE_DEVICE_QUERY_PXP_STATUS] = query_pxp_status,
	[DRM_XE_DEVICE_QUERY_EU_STALL] = query_eu_stall,
};

noinline int xe_query_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct xe_device *xe = to_xe_device(dev);
	struct drm_xe_device_query *query = data;
	int ret;

	if (query->extensions || query->reserved[0] || query->reserved[1])
		return -EINVAL;
	down_read(&xe->config);
	if (query->query >=
	    (xe_kernel_has_eu_stall(&xe->platform) ? ARRAY_SIZE(query_functions) : DRM_XE_DEVICE_QUERY_PXP_STATUS))
		ret = -EINVAL;
	else
		ret = query_functions[query->query](xe, query);
	up_read(&xe->config);
	return ret;
}
