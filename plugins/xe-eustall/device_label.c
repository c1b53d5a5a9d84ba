/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of GTs: see device.h. */
#include <stdio.h>
#include <string.h>
#include "device.h"

void device_label(const struct devices *devices, const struct device *device, uint32_t gt, char *text, size_t size)
{
	size_t same = 0;

	for (size_t i = 0; i < devices->count; i++)
		same += !strcmp(devices->items[i].name, device->name);
	if (same > 1)
		snprintf(text, size, "%s GT %u at %s", device->name, gt, device->address);
	else
		snprintf(text, size, "%s GT %u", device->name, gt);
}
