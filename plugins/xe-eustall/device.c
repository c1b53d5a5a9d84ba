/* SPDX-License-Identifier: Apache-2.0 */
/* See device.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "device.h"
#include "base/machine.h"
#include "platform.h"
#include "process/rights.h"
#include "xe_uapi.h"

#define NODES "/dev/dri"
/* Larger answers are rejected; the largest real one, the topology, has a few hundred bytes. */
#define ANSWER_SIZE_MAX (1u << 20)

/* Reads the PCI address of the device behind a DRM node. */
static bool address_of_node(const struct stat *status, char *address, size_t size)
{
	char path[64];

	if (!S_ISCHR(status->st_mode))
		return false;
	snprintf(path, sizeof path, "/sys/dev/char/%u:%u/device", major(status->st_rdev), minor(status->st_rdev));
	return link_name(path, address, size);
}

/* Avoids opening nodes of other drivers, which may wake their devices. */
static bool driver_may_be_xe(const struct stat *status)
{
	char path[64], driver[64];

	snprintf(path, sizeof path, "/sys/dev/char/%u:%u/device/driver", major(status->st_rdev),
		 minor(status->st_rdev));
	return !link_name(path, driver, sizeof driver) || !strcmp(driver, "xe");
}

static bool driver_is_xe(int node)
{
	char name[16] = { 0 };
	struct xe_drm_version version = { .name = name, .name_length = sizeof name - 1 };

	return !ioctl(node, XE_IOCTL_DRM_VERSION, &version) && !strcmp(name, "xe");
}

/* wanted: "0000:03:00.0", "03:00.0", or the path of any node of the device. */
static bool device_is_wanted(const char *address, const char *wanted)
{
	char other[32];
	struct stat status;

	if (!wanted || !strcasecmp(wanted, address))
		return true;
	if (!strncmp(address, "0000:", 5) && !strcasecmp(wanted, address + 5))
		return true;
	return strchr(wanted, '/') && !stat(wanted, &status) && address_of_node(&status, other, sizeof other) &&
	       !strcmp(other, address);
}

/* Returns the answer to a query, to be freed, or NULL with errno. */
static void *query_answer(int node, uint32_t number, size_t *size)
{
	struct xe_device_query query = { .query = number };

	if (ioctl(node, XE_IOCTL_DEVICE_QUERY, &query))
		return NULL;
	if (!query.size || query.size > ANSWER_SIZE_MAX) {
		errno = EPROTO;
		return NULL;
	}
	void *answer = calloc(1, query.size);
	if (!answer)
		return NULL;
	query.data = (uintptr_t)answer;
	*size = query.size;
	if (!ioctl(node, XE_IOCTL_DEVICE_QUERY, &query) && query.size <= *size)
		return answer;
	int error = errno ? errno : EPROTO;
	free(answer);
	errno = error;
	return NULL;
}

/* Sends a query and parses the answer into *device. Returns 0 or a negative errno. */
static int query_item(struct device *device, uint32_t number,
		      int (*parse)(struct device *device, const void *answer, size_t size))
{
	size_t size;
	void *answer = query_answer(device->node, number, &size);

	if (!answer)
		return -errno;
	int result = parse(device, answer, size);
	free(answer);
	return result ? -EPROTO : 0;
}

static int parse_config(struct device *device, const void *answer, size_t size)
{
	if (query_parse_device_id(answer, size, &device->device_id))
		return -EINVAL;
	platform_name(device->device_id, device->name, sizeof device->name);
	for (size_t i = 0; i < device->gts.count; i++)
		if (device->gts.gts[i].main)
			device->layout = platform_row_layout(device->device_id, device->gts.gts[i].version_major);
	return 0;
}

static int parse_gts(struct device *device, const void *answer, size_t size)
{
	return query_parse_gts(answer, size, &device->gts);
}

static int parse_topology(struct device *device, const void *answer, size_t size)
{
	return query_parse_topology(answer, size, &device->gts);
}

static int parse_eu_stall(struct device *device, const void *answer, size_t size)
{
	return query_parse_eu_stall(answer, size, &device->eu_stall);
}

static int refuse(char *problem, size_t size, int error, const struct device *device, const char *what)
{
	snprintf(problem, size, "%s at %s: %s", device->name[0] ? device->name : "GPU", device->address, what);
	return -error;
}

/* Names what a report needs: samples in an unknown layout would be decoded to wrong addresses and reasons. */
static int refuse_layout(char *problem, size_t size, const struct device *device)
{
	char text[192];
	const struct query_gt *gt = device->gts.gts;

	while (gt < device->gts.gts + device->gts.count && !gt->main)
		gt++;
	bool has_main = gt < device->gts.gts + device->gts.count;
	snprintf(text, sizeof text,
		 "unknown sample format of device %04x, graphics IP version %u.%u (requires a newer iaprof; please "
		 "report "
		 "both numbers)",
		 device->device_id, has_main ? gt->version_major : 0, has_main ? gt->version_minor : 0);
	return refuse(problem, size, ENODEV, device, text);
}

/* Queries the device. Returns 0, or a negative errno with the reason why the device cannot be sampled. */
static int device_query(struct device *device, char *problem, size_t size)
{
	int result = query_item(device, XE_QUERY_GT_LIST, parse_gts);
	if (!result)
		result = query_item(device, XE_QUERY_CONFIG, parse_config);
	if (!result)
		result = query_item(device, XE_QUERY_GT_TOPOLOGY, parse_topology);
	if (!result) {
		result = query_item(device, XE_QUERY_EU_STALL, parse_eu_stall);
		if (result == -ENODEV)
			return refuse(problem, size, ENODEV, device, "no EU stall sampling: " PLATFORMS_WITH_EU_STALLS);
		if (result == -EINVAL) {
			struct utsname kernel = { 0 };
			char text[256];
			uname(&kernel);
			snprintf(text, sizeof text,
				 "the xe driver of this Linux kernel (%.64s) does not support EU stall sampling "
				 "(requires 6.15)",
				 kernel.release);
			return refuse(problem, size, ENOSYS, device, text);
		}
	}
	if (result) {
		char text[128];
		snprintf(text, sizeof text, "query of the xe driver failed: %s", strerror(-result));
		return refuse(problem, size, -result, device, text);
	}
	if (!device->layout)
		return refuse_layout(problem, size, device);
	for (size_t i = 0; i < device->gts.count; i++)
		if (device->gts.gts[i].main && device->gts.gts[i].xe_cores)
			return 0;
	return refuse(problem, size, ENODEV, device, "the GPU has no Xe-cores");
}

struct search {
	const char *wanted;
	bool found; /* a requested device of the xe driver */
	int error;  /* error of the first device that cannot be sampled */
	char problem[512];
};

static void problem_note(struct search *search, int error, const char *text)
{
	if (!search->problem[0]) {
		search->error = error;
		snprintf(search->problem, sizeof search->problem, "%s", text);
	}
}

static void device_take(struct devices *devices, struct search *search, const char *path, const struct stat *status)
{
	struct device *device = &devices->items[devices->count];
	char problem[512];

	*device = (struct device){ 0 };
	if (!address_of_node(status, device->address, sizeof device->address))
		snprintf(device->address, sizeof device->address, "%.31s", strrchr(path, '/') + 1);
	if (!driver_may_be_xe(status) || !device_is_wanted(device->address, search->wanted))
		return;
	device->node = open(path, O_RDWR | O_CLOEXEC);
	if (device->node < 0) {
		snprintf(problem, sizeof problem, "%s: %s%s", path, strerror(errno),
			 errno == EACCES ? " (run as root)" : "");
		problem_note(search, errno, problem);
		return;
	}
	if (driver_is_xe(device->node)) {
		search->found = true;
		int result = device_query(device, problem, sizeof problem);
		if (!result) {
			devices->count++;
			return;
		}
		problem_note(search, -result, problem);
	}
	close(device->node);
}

/* By minor number, so that GPUs have the same order in each run. */
static int name_compare(const struct dirent **left, const struct dirent **right)
{
	return strverscmp((*left)->d_name, (*right)->d_name);
}

static int name_is_node(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "renderD", 7);
}

int devices_open(struct devices *devices, const struct iaprof_host *host, const char *wanted, int level)
{
	struct search search = { .wanted = wanted };
	struct dirent **entries = NULL;

	*devices = (struct devices){ .items = calloc(DEVICES_MAX, sizeof *devices->items) };
	if (!devices->items)
		return host->fail(host, ENOMEM, "out of memory");
	int count = scandir(NODES, &entries, name_is_node, name_compare);
	for (int i = 0; i < count; i++) {
		char path[sizeof NODES + 256 + 1];
		struct stat status;
		snprintf(path, sizeof path, NODES "/%s", entries[i]->d_name);
		if (devices->count < DEVICES_MAX && !stat(path, &status) && S_ISCHR(status.st_mode))
			device_take(devices, &search, path, &status);
		free(entries[i]);
	}
	free(entries);
	if (devices->count) {
		if (search.problem[0])
			host->log(host, level, "%s", search.problem);
		return 0;
	}
	devices_close(devices);
	if (search.problem[0])
		return host->fail(host, search.error, "%s", search.problem);
	if (wanted)
		return host->fail(host, ENODEV,
				  "device=%s: no such GPU with the xe driver (specify a PCI address such as "
				  "0000:03:00.0 or a node such as " NODES "/renderD128)",
				  wanted);
	return host->fail(
		host, ENODEV,
		"no GPU with the xe driver (`lspci -k` lists drivers; i915 does not support EU stall sampling)");
}

void devices_close(struct devices *devices)
{
	for (size_t i = 0; i < devices->count; i++)
		close(devices->items[i].node);
	free(devices->items);
	*devices = (struct devices){ 0 };
}

bool device_is_gone(const struct device *device)
{
	/* Requests only the size of the answer. */
	struct xe_device_query query = { .query = XE_QUERY_CONFIG };

	return ioctl(device->node, XE_IOCTL_DEVICE_QUERY, &query) && errno == ENODEV;
}

int device_rights_check(const struct iaprof_host *host)
{
	if (rights_setting("dev/xe/observation_paranoid") == 0 || rights_have(RIGHTS_PERFMON))
		return 0;
	return host->fail(host, EACCES, "%s", DEVICE_RIGHTS_MISSING);
}
