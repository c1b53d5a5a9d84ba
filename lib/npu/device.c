/* SPDX-License-Identifier: Apache-2.0 */
/* See device.h. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "npu/device.h"
#include "base/cleanup.h"
#include "base/machine.h"

#define INTEL 0x8086

/* drivers/accel/ivpu/ivpu_drv.h, Linux 7.0: PCI_DEVICE_ID_*. Products are named after Intel's processors. */
static const struct {
	uint16_t device;
	const char *product;
} products[] = {
	{ 0x7d1d, "Meteor Lake" },  { 0xad1d, "Arrow Lake" },   { 0x643e, "Lunar Lake" },
	{ 0xb03e, "Panther Lake" }, { 0xfd3e, "Wildcat Lake" }, { 0xd71d, "Nova Lake" },
};

int npu_read_text(const struct npu *npu, const char *file, char *text, size_t size)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", npu->folder, file);
	return line_read(path, text, size);
}

int npu_read_number(const struct npu *npu, const char *file, uint64_t *number)
{
	char text[32], *end;
	int result = npu_read_text(npu, file, text, sizeof text);
	if (result)
		return result;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		return -EINVAL;
	*number = value;
	return 0;
}

static void npu_name_set(struct npu *npu)
{
	uint64_t vendor = 0, device = 0;
	npu_read_number(npu, "vendor", &vendor);
	npu_read_number(npu, "device", &device);
	npu->vendor = (uint16_t)vendor;
	npu->device = (uint16_t)device;
	for (size_t i = 0; npu->vendor == INTEL && i < sizeof products / sizeof *products; i++)
		if (products[i].device == npu->device) {
			snprintf(npu->name, sizeof npu->name, "Intel NPU of %s", products[i].product);
			return;
		}
	snprintf(npu->name, sizeof npu->name, "NPU %04" PRIx16 ":%04" PRIx16, npu->vendor, npu->device);
}

size_t npus_find(const char *sysfs, struct npu npus[static NPUS_MAX])
{
	char path[PATH_MAX - 256], driver[sizeof NPU_DRIVER + 1];
	size_t count = 0;
	snprintf(path, sizeof path, "%s/class/accel", sysfs);
	CLEANUP_CLOSEDIR DIR *folder = opendir(path);
	for (struct dirent *entry; folder && count < NPUS_MAX && (entry = readdir(folder));) {
		struct npu *npu = &npus[count];
		char link[PATH_MAX];
		if (strncmp(entry->d_name, "accel", strlen("accel")) || strlen(entry->d_name) >= sizeof npu->node)
			continue;
		*npu = (struct npu){ 0 };
		snprintf(npu->node, sizeof npu->node, "%s", entry->d_name);
		int length = snprintf(npu->folder, sizeof npu->folder, "%s/%s/device", path, npu->node);
		if (length < 0 || (size_t)length >= sizeof npu->folder)
			continue;
		snprintf(link, sizeof link, "%s/driver", npu->folder);
		if (!link_name(link, driver, sizeof driver) || strcmp(driver, NPU_DRIVER))
			continue;
		link_name(npu->folder, npu->address, sizeof npu->address);
		npu_name_set(npu);
		count++;
	}
	return count;
}

bool npu_is_at(const char *sysfs, const char *address)
{
	static const char *const classes[] = { "accel", "drm" };
	static const char usual[] = ":00:0b.0";
	char path[PATH_MAX], driver[sizeof NPU_DRIVER + 1];
	bool is_accelerator = false;
	if (strchr(address, '/'))
		return false;
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/bus/pci/devices/%s/%s", sysfs, address, classes[i]);
		is_accelerator |= !access(path, F_OK);
	}
	snprintf(path, sizeof path, "%s/bus/pci/devices/%s/driver", sysfs, address);
	if (is_accelerator && link_name(path, driver, sizeof driver))
		return !strcmp(driver, NPU_DRIVER);
	size_t length = strlen(address);
	return length >= strlen(usual) && !strcmp(address + length - strlen(usual), usual);
}
