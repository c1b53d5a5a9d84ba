// SPDX-License-Identifier: GPL-2.0-only
/*
 * The metric streamer's ioctls: streams start and stop with the errors of drivers/accel/ivpu/ivpu_ms.c; the firmware of
 * the double has no counters, so there is never data.
 */
#include "play.h"

#define PERIOD_NS_MIN 1000000ULL /* MS_MIN_SAMPLE_PERIOD_NS */
#define GROUPS_ALL 0xffffffffULL
#define SAMPLE_SIZE 64

#define HANDLER(name, number, action)                                                                                  \
	int name(struct drm_device *dev, void *data, struct drm_file *file);                                           \
	noinline int name(struct drm_device *dev, void *data, struct drm_file *file)                                   \
	{                                                                                                              \
		struct double_player player;                                                                           \
		struct double_frame frame;                                                                             \
		int ret;                                                                                               \
                                                                                                                       \
		double_begin(&player, &frame, FUNCTION_##name, to_ivpu_device(dev));                                   \
		ret = action(file->driver_priv, data);                                                                 \
		if (!ret) {                                                                                            \
			double_choose(&frame, number);                                                                 \
			DOUBLE_CALLS(&frame);                                                                          \
		}                                                                                                      \
		double_end(&player, &frame);                                                                           \
		return ret;                                                                                            \
	}

static notrace int start(struct ivpu_file_priv *file_priv, struct drm_ivpu_metric_streamer_start *args)
{
	if (!args->metric_group_mask || args->metric_group_mask > GROUPS_ALL || !args->read_period_samples ||
	    args->sampling_period_ns < PERIOD_NS_MIN)
		return -EINVAL;
	if (cmpxchg(&file_priv->streams, 0, (u32)args->metric_group_mask))
		return -EALREADY;
	args->sample_size = SAMPLE_SIZE;
	args->max_data_size = SAMPLE_SIZE * min(args->read_period_samples, 1024U);
	return 0;
}

static notrace int stop(struct ivpu_file_priv *file_priv, struct drm_ivpu_metric_streamer_stop *args)
{
	u32 mask = args->metric_group_mask;

	if (!mask || cmpxchg(&file_priv->streams, mask, 0) != mask)
		return -EINVAL;
	return 0;
}

static notrace int get_data(struct ivpu_file_priv *file_priv, struct drm_ivpu_metric_streamer_get_data *args)
{
	if (!args->metric_group_mask || READ_ONCE(file_priv->streams) != args->metric_group_mask)
		return -EINVAL;
	args->data_size = 0;
	return 0;
}

static notrace int get_info(struct ivpu_file_priv *file_priv, struct drm_ivpu_metric_streamer_get_data *args)
{
	if (!args->metric_group_mask || args->metric_group_mask > GROUPS_ALL)
		return -EINVAL;
	args->data_size = 0;
	return 0;
}

HANDLER(ivpu_ms_start_ioctl, DRM_IVPU_METRIC_STREAMER_START, start)
HANDLER(ivpu_ms_stop_ioctl, DRM_IVPU_METRIC_STREAMER_STOP, stop)
HANDLER(ivpu_ms_get_data_ioctl, DRM_IVPU_METRIC_STREAMER_GET_DATA, get_data)
HANDLER(ivpu_ms_get_info_ioctl, DRM_IVPU_METRIC_STREAMER_GET_INFO, get_info)
