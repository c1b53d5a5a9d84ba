/* SPDX-License-Identifier: Apache-2.0 */
/* See device.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "device.h"
#include "machine.h"
#include "platform.h"
#include "xe_uapi.h"

#define NODES "/dev/dri"
/* An answer larger than this is none; the largest real one, the topology, has some hundred bytes. */
#define ANSWER_SIZE_MAX (1u << 20)

/* The PCI address of the device behind a DRM node, any of its nodes. */
static bool address_of_node(const struct stat *status, char *address, size_t size)
{
	char path[64];

	if (!S_ISCHR(status->st_mode))
		return false;
	snprintf(path, sizeof path, "/sys/dev/char/%u:%u/device", major(status->st_rdev), minor(status->st_rdev));
	return link_name(path, address, size);
}

/* Other drivers' nodes are not opened, if that can be helped: opening one may wake its device. */
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

/* The answer to a query, to be freed; NULL with errno. */
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

/* Asks and parses; *device is what parse() writes into. 0 or a negative errno. */
static int device_ask(struct device *device, uint32_t number,
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
	uint16_t device_id;

	if (query_parse_device_id(answer, size, &device_id))
		return -EINVAL;
	platform_name(device_id, device->name, sizeof device->name);
	for (size_t i = 0; i < device->gts.count; i++)
		if (device->gts.gts[i].main)
			device->layout = platform_row_layout(device_id, device->gts.gts[i].version_major);
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

/* Fills in what the driver says. Returns 0, or a negative errno and why the device cannot be sampled. */
static int device_look(struct device *device, char *problem, size_t size)
{
	int result = device_ask(device, XE_QUERY_GT_LIST, parse_gts);
	if (!result)
		result = device_ask(device, XE_QUERY_CONFIG, parse_config);
	if (!result)
		result = device_ask(device, XE_QUERY_GT_TOPOLOGY, parse_topology);
	if (!result) {
		result = device_ask(device, XE_QUERY_EU_STALL, parse_eu_stall);
		if (result == -ENODEV)
			return refuse(problem, size, ENODEV, device,
				      "it has no EU stall sampling: " PLATFORMS_WITH_EU_STALLS);
		if (result == -EINVAL) {
			struct utsname kernel = { 0 };
			char text[256];
			uname(&kernel);
			snprintf(text, sizeof text,
				 "the xe driver of this Linux kernel (%.64s) has no EU stall sampling: 6.15 or newer "
				 "is needed",
				 kernel.release);
			return refuse(problem, size, ENOSYS, device, text);
		}
	}
	if (result) {
		char text[128];
		snprintf(text, sizeof text, "the xe driver's query failed: %s", strerror(-result));
		return refuse(problem, size, -result, device, text);
	}
	if (!device->layout)
		return refuse(problem, size, ENODEV, device,
			      "this iaprof does not know the rows of this GPU: look for a newer one");
	for (size_t i = 0; i < device->gts.count; i++)
		if (device->gts.gts[i].main && device->gts.gts[i].xe_cores)
			return 0;
	return refuse(problem, size, ENODEV, device, "it has no Xe-cores");
}

struct search {
	const char *wanted;
	bool found; /* a device of the xe driver that is wanted */
	int error;  /* of the first one that cannot be sampled */
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
			 errno == EACCES ? ": run as root" : "");
		problem_note(search, errno, problem);
		return;
	}
	if (driver_is_xe(device->node)) {
		search->found = true;
		int result = device_look(device, problem, sizeof problem);
		if (!result) {
			devices->count++;
			return;
		}
		problem_note(search, -result, problem);
	}
	close(device->node);
}

/* In the order of their minor numbers, so that a machine's GPUs have the same order in each run. */
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
				  "device=%s: there is no such GPU with the xe driver: give a PCI address such as "
				  "0000:03:00.0 or a node such as " NODES "/renderD128",
				  wanted);
	return host->fail(host, ENODEV,
			  "there is no GPU with the xe driver (`lspci -k` tells the drivers); i915 has no EU stall "
			  "sampling");
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
	/* Asks for no more than the size of the answer. */
	struct xe_device_query query = { .query = XE_QUERY_CONFIG };

	return ioctl(device->node, XE_IOCTL_DEVICE_QUERY, &query) && errno == ENODEV;
}

static bool have_capability(unsigned number)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &head, data) && (data[number / 32].effective >> number % 32 & 1);
}

/* perfmon_capable() in the kernel: CAP_SYS_ADMIN is enough, too. CAP_PERFMON is newer than some headers. */
#define CAPABILITY_PERFMON 38u
#define CAPABILITY_SYS_ADMIN 21u

int device_rights_check(const struct iaprof_host *host)
{
	FILE *file = fopen("/proc/sys/dev/xe/observation_paranoid", "re");
	int paranoid = 1;

	if (file) {
		if (fscanf(file, "%d", &paranoid) != 1)
			paranoid = 1;
		fclose(file);
	}
	if (!paranoid || have_capability(CAPABILITY_PERFMON) || have_capability(CAPABILITY_SYS_ADMIN))
		return 0;
	return host->fail(host, EACCES, "%s", DEVICE_RIGHTS_MISSING);
}
