/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu.h. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include "gpu.h"
#include "machine.h"

static bool driver_is_intels(const char *node)
{
	char path[320], driver[64];

	snprintf(path, sizeof path, "/sys/class/drm/%s/device/driver", node);
	return link_name(path, driver, sizeof driver) && (strcmp(driver, "xe") == 0 || strcmp(driver, "i915") == 0);
}

bool level_zero_gpu_is_there(void)
{
	bool found = false;
	DIR *folder = opendir("/sys/class/drm");

	if (!folder)
		return false;
	for (const struct dirent *entry; !found && (entry = readdir(folder));)
		found = strncmp(entry->d_name, "renderD", 7) == 0 && driver_is_intels(entry->d_name);
	closedir(folder);
	return found;
}
