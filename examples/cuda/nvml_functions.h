/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVML that gpu_counters.c uses, declared by hand: it is opened at run time, whatever its version.
 * cupti_layout.c compares this with nvml.h where that is installed.
 */
#pragma once

#include <stdint.h>

typedef struct nvml_device_opaque *nvml_device; /* nvmlDevice_t */

enum { NVML_OK = 0, NVML_NOT_SUPPORTED = 3 };
enum { NVML_SM_CLOCK = 1, NVML_MEMORY_CLOCK = 2 }; /* nvmlClockType_t */

/* nvmlClocksEventReason..., before CUDA 12.2 nvmlClocksThrottleReason...: what keeps clocks down. */
#define NVML_POWER_CAP UINT64_C(0x4)
#define NVML_HARDWARE_SLOWDOWN UINT64_C(0x8)
#define NVML_THERMAL_SLOWDOWN UINT64_C(0x20)
#define NVML_HARDWARE_THERMAL_SLOWDOWN UINT64_C(0x40)
#define NVML_POWER_BRAKE UINT64_C(0x80)

struct nvml_memory { /* nvmlMemory_t */
	uint64_t total, free, used;
};

struct nvml_utilization { /* nvmlUtilization_t: percent of the last sample period, 1/6 to 1 s */
	uint32_t gpu, memory;
};

/* The functions, in the order of NVML_FUNCTION_NAMES. */
struct nvml_functions {
	int (*init)(void);
	int (*device)(const char *address, nvml_device *device);
	int (*power)(nvml_device device, uint32_t *milliwatts);
	int (*clock)(nvml_device device, uint32_t type, uint32_t *megahertz);
	int (*memory)(nvml_device device, struct nvml_memory *memory);
	int (*utilization)(nvml_device device, struct nvml_utilization *utilization);
	int (*clock_reasons)(nvml_device device, unsigned long long *reasons);
};
#define NVML_FUNCTION_NAMES                                                                                            \
	"nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo",        \
		"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetCurrentClocksEventReasons"
/* Of the last function, before CUDA 12.2. */
#define NVML_EARLY_CLOCK_REASONS "nvmlDeviceGetCurrentClocksThrottleReasons"
