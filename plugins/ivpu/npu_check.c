/* SPDX-License-Identifier: Apache-2.0 */
/* See npu_check.h. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "npu/device.h"
#include "function_list.h"
#include "records/listening_host.h"
#include "base/cleanup.h"
#include "base/machine.h"
#include "npu_check.h"
#include "process/rights.h"
#include "bpf/support.h"

#define ACCELERATORS "/sys/class/accel"
#define MODULE "/sys/module/" NPU_DRIVER
#define DEBUG_FILES "/sys/kernel/debug/accel"
#define EVENTS "/sys/kernel/tracing/events/vpu"
#define EVENTS_OF_OLD "/sys/kernel/debug/tracing/events/vpu"

/* Finds an accelerator in /dev/accel with a different driver. */
static bool other_accelerator(char *text, size_t size)
{
	bool found = false;
	CLEANUP_CLOSEDIR DIR *folder = opendir(ACCELERATORS);
	for (const struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		char path[PATH_MAX], driver[64];
		snprintf(path, sizeof path, ACCELERATORS "/%s/device/driver", entry->d_name);
		if (strncmp(entry->d_name, "accel", strlen("accel")) || !link_name(path, driver, sizeof driver))
			continue;
		found = strcmp(driver, NPU_DRIVER) != 0;
		snprintf(text, size, "/dev/accel/%.32s has driver %s and is not an Intel NPU", entry->d_name, driver);
	}
	return found;
}

static size_t devices_check(const struct iaprof_host *host)
{
	struct npu npus[NPUS_MAX];
	size_t count = npus_find("/sys", npus);
	char other[160] = "";
	for (size_t i = 0; i < count; i++) {
		char item[64], path[64];
		snprintf(item, sizeof item, "NPU %.31s", npus[i].node);
		snprintf(path, sizeof path, "/dev/accel/%.31s", npus[i].node);
		host->check_item(host, IAPROF_CHECK_GOOD, item, "%s, PCI %04x:%04x at %s", npus[i].name, npus[i].vendor,
				 npus[i].device, npus[i].address);
		if (access(path, F_OK))
			host->check_item(
				host, IAPROF_CHECK_LIMITED, item,
				"%s does not exist, so programs cannot use it (in a container, pass /dev/accel)", path);
	}
	if (count)
		return count;
	other_accelerator(other, sizeof other);
	host->check_item(host, IAPROF_CHECK_MISSING, "NPU",
			 "no NPU found%s%s (lspci -nn -d 8086: lists accelerators; dmesg | grep vpu shows why the "
			 "driver did not bind)",
			 *other ? "; " : "", other);
	return 0;
}

static bool driver_check(const struct iaprof_host *host)
{
	struct utsname kernel = { 0 };
	uname(&kernel);
	if (access(MODULE, F_OK)) {
		host->check_item(host, IAPROF_CHECK_MISSING, "driver " NPU_DRIVER,
				 "not loaded (modprobe " NPU_DRIVER "; requires Linux 6.3, running %s)",
				 kernel.release);
		return false;
	}
	bool is_module = !access(MODULE "/initstate", F_OK);
	host->check_item(host, IAPROF_CHECK_GOOD, "driver " NPU_DRIVER, "%s of Linux %s",
			 is_module ? "loaded, the module" : "part", kernel.release);
	return true;
}

static void functions_check(const struct iaprof_host *host, const char *functions)
{
	struct listening_host listening;
	struct function_list list = { 0 };
	listening_host_init(&listening, host);
	int result = function_list_read(&list, &listening.host,
					&(struct function_list_wanted){ .module = NPU_DRIVER, .patterns = functions });
	if (result)
		host->check_item(host, IAPROF_CHECK_MISSING, "functions", "%s", listening.text);
	else
		host->check_item(host, list.only_symbols ? IAPROF_CHECK_LIMITED : IAPROF_CHECK_GOOD, "functions",
				 "%u of %u traceable driver functions%s", list.count, list.traceable,
				 list.only_symbols ? ", by symbol only, so some may not be traceable (mount -t tracefs "
						     "tracefs /sys/kernel/tracing)"
						   : "");
	function_list_free(&list);
}

/* Linux 6.13. Without the tracepoints, jobs are traced by functions, with less detail. */
static void tracepoints_check(const struct iaprof_host *host)
{
	if (!access(EVENTS, F_OK) || !access(EVENTS_OF_OLD, F_OK))
		host->check_item(host, IAPROF_CHECK_GOOD, "tracepoints", "vpu:job, vpu:jsm and vpu:pm");
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "tracepoints",
				 "none: jobs are traced by driver functions only (tracepoints require Linux 6.13)");
}

static void firmware_check(const struct iaprof_host *host)
{
	char text[128] = "", path[PATH_MAX];
	bool found = false;
	CLEANUP_CLOSEDIR DIR *folder = opendir(DEBUG_FILES);
	for (const struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		snprintf(path, sizeof path, DEBUG_FILES "/%s/fw_version", entry->d_name);
		found = !line_read(path, text, sizeof text) && *text;
	}
	if (found)
		host->check_item(host, IAPROF_CHECK_GOOD, "firmware", "%s", text);
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "firmware",
				 "cannot read the version (mount -t debugfs debugfs /sys/kernel/debug)");
}

static void rights_check(const struct iaprof_host *host)
{
	struct listening_host listening;
	listening_host_init(&listening, host);
	if (bpf_support_check(&listening.host))
		host->check_item(host, IAPROF_CHECK_MISSING, "BPF", "%s", listening.text);
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "BPF", "programs can be loaded");
}

void npu_check_all(const struct iaprof_host *host, const char *functions)
{
	size_t count = devices_check(host);
	bool is_loaded = driver_check(host);
	rights_check(host);
	rights_check_bpf(host);
	if (!is_loaded)
		return;
	functions_check(host, functions);
	tracepoints_check(host);
	if (count)
		firmware_check(host);
}
