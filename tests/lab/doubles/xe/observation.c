// SPDX-License-Identifier: GPL-2.0-only
/* The OBSERVATION ioctl and the sysctl dev.xe.observation_paranoid (xe_observation.c, Linux 7.2). */
#include <linux/capability.h>
#include <linux/sysctl.h>
#include "device.h"
#include "stream.h"

static u32 xe_observation_paranoid = 1;
static struct ctl_table_header *sysctl_header;

bool xe_observation_allowed(void)
{
	return !READ_ONCE(xe_observation_paranoid) || perfmon_capable();
}

/* Without OA units every operation of the OA type that exists is ENODEV (xe_oa.c: no oa->xe). */
static int xe_oa_ioctl(const struct drm_xe_observation_param *arg)
{
	switch (arg->observation_op) {
	case DRM_XE_OBSERVATION_OP_STREAM_OPEN:
	case DRM_XE_OBSERVATION_OP_ADD_CONFIG:
	case DRM_XE_OBSERVATION_OP_REMOVE_CONFIG:
		return -ENODEV;
	default:
		return -EINVAL;
	}
}

noinline int xe_observation_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	const struct drm_xe_observation_param *arg = data;
	struct xe_device *xe = to_xe_device(dev);

	if (arg->extensions)
		return -EINVAL;
	if (arg->observation_type == DRM_XE_OBSERVATION_TYPE_OA)
		return xe_oa_ioctl(arg);
	/* Before 6.15 the type did not exist. */
	if (arg->observation_type != DRM_XE_OBSERVATION_TYPE_EU_STALL || !xe_kernel_has_eu_stall(&xe->platform))
		return -EINVAL;
	if (arg->observation_op != DRM_XE_OBSERVATION_OP_STREAM_OPEN)
		return -EINVAL;
	return xe_eu_stall_stream_open(dev, arg->param, file);
}

static struct ctl_table observation_table[] = {
	{
		.procname = "observation_paranoid",
		.data = &xe_observation_paranoid,
		.maxlen = sizeof(xe_observation_paranoid),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	},
};

int xe_observation_sysctl_register(void)
{
	sysctl_header = register_sysctl("dev/xe", observation_table);
	return sysctl_header ? 0 : -ENOMEM;
}

void xe_observation_sysctl_unregister(void)
{
	unregister_sysctl_table(sysctl_header);
}
