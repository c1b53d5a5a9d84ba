/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvidia-ml.so.1 of the stand-in: one GPU, whose power is 100 W more at each reading. With STAND_IN_NVML=MODE in the
 * environment of iaprof, it fails: init, device, power (each second reading), clock (not supported), or hang (in the
 * second reading). It lacks nvmlDeviceGetCurrentClocksEventReasons(), as versions before CUDA 12.2 do.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvml_functions.h"

#define EXPORT __attribute__((visibility("default")))
#define UNKNOWN 999

static int fails(const char *what)
{
	const char *wanted = getenv("STAND_IN_NVML");
	return wanted && strcmp(wanted, what) == 0;
}

EXPORT int nvmlInit_v2(void)
{
	return fails("init") ? UNKNOWN : NVML_OK;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvml_device *device)
{
	static char gpu;
	*device = (nvml_device)&gpu;
	return fails("device") || strcmp(address, "0000:3b:00.0") != 0 ? UNKNOWN : NVML_OK;
}

EXPORT int nvmlDeviceGetPowerUsage(nvml_device device, uint32_t *milliwatts)
{
	static uint32_t count;
	(void)device;
	*milliwatts = 100000 * ++count;
	return fails("power") && count % 2 ? UNKNOWN : NVML_OK;
}

EXPORT int nvmlDeviceGetClockInfo(nvml_device device, uint32_t type, uint32_t *megahertz)
{
	(void)device;
	*megahertz = type == NVML_SM_CLOCK ? 1980 : 3201;
	return fails("clock") ? NVML_NOT_SUPPORTED : NVML_OK;
}

EXPORT int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
	static uint32_t count;
	(void)device;
	while (count++ && fails("hang"))
		sleep(1);
	*memory = (struct nvml_memory){ .total = 1 << 30, .free = (1 << 30) - 4096, .used = 4096 };
	return NVML_OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *utilization)
{
	(void)device;
	*utilization = (struct nvml_utilization){ .gpu = 75, .memory = 20 };
	return NVML_OK;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *reasons)
{
	(void)device;
	*reasons = NVML_POWER_BRAKE | NVML_THERMAL_SLOWDOWN | 0x100;
	return NVML_OK;
}
