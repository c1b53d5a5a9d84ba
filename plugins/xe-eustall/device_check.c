/* SPDX-License-Identifier: Apache-2.0 */
/* See device_check.h. */
#include "device_check.h"
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "device.h"
#include "records/listening_host.h"
#include "base/cleanup.h"
#include "base/machine.h"
#include "platform.h"
#include "stream.h"

#define GRAPHICS "/sys/class/drm"
#define INTEL 0x8086u

static uint32_t hexadecimal_read(const char *node, const char *file)
{
	char path[PATH_MAX], text[32];
	snprintf(path, sizeof path, GRAPHICS "/%s/device/%s", node, file);
	line_read(path, text, sizeof text);
	return (uint32_t)strtoul(text, NULL, 16);
}

static bool xe_device_check(const struct iaprof_host *host, const char *address, const char *item)
{
	struct listening_host listener;
	struct devices devices;
	listening_host_init(&listener, host);
	if (devices_open(&devices, &listener.host, address, IAPROF_LOG_DEBUG)) {
		host->check_item(host, IAPROF_CHECK_LIMITED, item, "%s", listener.text);
		return false;
	}
	const struct device *device = &devices.items[0];
	uint32_t gts = 0, xe_cores = 0;
	for (size_t i = 0; i < device->gts.count; i++)
		if (device->gts.gts[i].main && device->gts.gts[i].xe_cores) {
			gts++;
			xe_cores += device->gts.gts[i].xe_cores;
		}
	host->check_item(host, IAPROF_CHECK_GOOD, item, "%s supports EU stall sampling, %u Xe-cores in %u GT%s",
			 device->name, xe_cores, gts, gts == 1 ? "" : "s");
	devices_close(&devices);
	return true;
}

/* Checks whether a GPU can be sampled. */
static bool device_check(const struct iaprof_host *host, const char *node)
{
	char path[PATH_MAX], address[64], driver[64], name[64], item[80];
	snprintf(path, sizeof path, GRAPHICS "/%s/device", node);
	link_name(path, address, sizeof address);
	snprintf(path, sizeof path, GRAPHICS "/%s/device/driver", node);
	link_name(path, driver, sizeof driver);
	snprintf(item, sizeof item, "GPU at %s", address);
	if (!strcmp(driver, "xe"))
		return xe_device_check(host, address, item);
	if (hexadecimal_read(node, "vendor") != INTEL)
		return false;
	uint16_t device_id = (uint16_t)hexadecimal_read(node, "device");
	platform_name(device_id, name, sizeof name);
	/* The only generation that supports EU stall sampling and also works with i915. */
	if (platform_row_layout(device_id, 0))
		host->check_item(host, IAPROF_CHECK_LIMITED, item,
				 "%s supports EU stall sampling with driver xe, but has driver %s (boot with "
				 "i915.force_probe=!%04x xe.force_probe=%04x)",
				 name, driver[0] ? driver : "none", device_id, device_id);
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, item,
				 "%s with driver %s has no EU stall sampling: " PLATFORMS_WITH_EU_STALLS, name,
				 driver[0] ? driver : "none");
	return false;
}

static bool gpus_check(const struct iaprof_host *host, const char *wanted)
{
	struct listening_host listener;
	struct devices devices;
	listening_host_init(&listener, host);
	if (wanted) {
		if (devices_open(&devices, &listener.host, wanted, IAPROF_LOG_DEBUG)) {
			host->check_item(host, IAPROF_CHECK_MISSING, "GPU", "%s", listener.text);
			return false;
		}
		char item[80];
		snprintf(item, sizeof item, "GPU at %s", devices.items[0].address);
		char address[sizeof devices.items[0].address];
		memcpy(address, devices.items[0].address, sizeof address);
		devices_close(&devices);
		return xe_device_check(host, address, item);
	}
	CLEANUP_CLOSEDIR DIR *folder = opendir(GRAPHICS);
	size_t found = 0;
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (!strncmp(entry->d_name, "renderD", 7))
			found += device_check(host, entry->d_name);
	if (!found)
		host->check_item(host, IAPROF_CHECK_MISSING, "GPU with EU stalls",
				 "no GPU found (lspci -k lists GPUs and drivers; in a container, pass /dev/dri)");
	return found > 0;
}

static void kernel_check(const struct iaprof_host *host, bool has_gpu)
{
	struct utsname kernel = { 0 };
	uname(&kernel);
	if (kernel_release_is_at_least(kernel.release, 6, 15))
		host->check_item(host, IAPROF_CHECK_GOOD, "Linux kernel", "%s (6.15 or newer)", kernel.release);
	else if (has_gpu)
		host->check_item(host, IAPROF_CHECK_GOOD, "Linux kernel", "%s, with a backported driver",
				 kernel.release);
	else
		host->check_item(host, IAPROF_CHECK_MISSING, "Linux kernel",
				 "%s does not support EU stall sampling (requires 6.15)", kernel.release);
}

static void driver_check(const struct iaprof_host *host)
{
	if (access("/sys/module/xe", F_OK))
		host->check_item(host, IAPROF_CHECK_MISSING, "driver xe",
				 "not loaded (modprobe xe; dmesg shows why it did not bind)");
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "driver xe", "loaded");
}

/* Its tracepoints report GPU use by process. If it is a module, it has its own BTF and state. */
static void scheduler_check(const struct iaprof_host *host)
{
	bool is_module = !access("/sys/module/gpu_sched/initstate", F_OK);

	if (access("/sys/module/gpu_sched", F_OK))
		host->check_item(host, IAPROF_CHECK_LIMITED, "GPU scheduler",
				 "module gpu_sched is not loaded, so GPU use by process is known from usage statistics "
				 "only (the xe driver loads it)");
	else if (access(is_module ? "/sys/kernel/btf/gpu_sched" : "/sys/kernel/btf/vmlinux", R_OK))
		host->check_item(host, IAPROF_CHECK_LIMITED, "GPU scheduler",
				 "no BTF in /sys/kernel/btf/%s, so GPU use by process is known from usage statistics "
				 "only (requires CONFIG_DEBUG_INFO_BTF%s=y)",
				 is_module ? "gpu_sched" : "vmlinux", is_module ? "_MODULES" : "");
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "GPU scheduler", "gpu_sched, with BTF");
}

static void rights_check(const struct iaprof_host *host)
{
	struct listening_host listener;
	listening_host_init(&listener, host);
	if (device_rights_check(&listener.host))
		host->check_item(host, IAPROF_CHECK_MISSING, "right to sample", "%s", listener.text);
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "right to sample",
				 "CAP_PERFMON, or dev.xe.observation_paranoid is 0");
}

/* Opening a stream as a test would take it away from another process. */
static void streams_check(const struct iaprof_host *host)
{
	char owner[256] = "";
	stream_owner_describe(-1, owner, sizeof owner);
	if (!strncmp(owner, "process ", strlen("process ")))
		host->check_item(host, IAPROF_CHECK_LIMITED, "streams",
				 "%s uses EU stall streams, and each GT has only one (end the process if it is not "
				 "part of this profile)",
				 owner);
}

void devices_check(const struct iaprof_host *host, const char *wanted)
{
	bool has_gpu = gpus_check(host, wanted);
	kernel_check(host, has_gpu);
	driver_check(host);
	scheduler_check(host);
	rights_check(host);
	streams_check(host);
}
