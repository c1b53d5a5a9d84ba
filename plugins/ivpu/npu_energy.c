/* SPDX-License-Identifier: Apache-2.0 */
/* See npu_energy.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/machine.h"
#include "npu_energy.h"

/* 18 bits before the binary point and 14 after it. */
#define UNIT (1.0 / (1 << 14))

/*
 * VPU_ENERGY, from npu-smi and npu-monitor-tool of linux-npu-driver, by the GUID of the telemetry region: Meteor Lake,
 * Arrow Lake (and its variants H and S), Lunar Lake, Panther Lake, Wildcat Lake.
 */
static const struct {
	const char *guid;
	uint32_t offset;
	double joules;
} products[] = {
	{ "0x130670b2", 0x628, UNIT },      { "0x1306a0b3", 0x628, UNIT }, { "0x1306a0b2", 0x628, UNIT },
	{ "0x1306a0b4", 0x628, UNIT },      { "0x3072005", 0x5d0, UNIT },  { "0x3086000", 0x670, UNIT },
	{ "0x308d000", 0x670, 100 * UNIT },
};

void npu_energy_find(struct npu_energy *energy, const char *sysfs)
{
	char path[PATH_MAX - 512], file[PATH_MAX], guid[32];
	*energy = (struct npu_energy){ 0 };
	if (snprintf(path, sizeof path, "%s/class/intel_pmt", sysfs) >= (int)sizeof path)
		return;
	CLEANUP_CLOSEDIR DIR *folder = opendir(path);
	for (struct dirent *entry; folder && !*energy->path && (entry = readdir(folder));) {
		snprintf(file, sizeof file, "%s/%s/guid", path, entry->d_name);
		if (strncmp(entry->d_name, "telem", strlen("telem")) || line_read(file, guid, sizeof guid))
			continue;
		for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
			if (strcmp(products[i].guid, guid) != 0)
				continue;
			snprintf(energy->path, sizeof energy->path, "%s/%s/telem", path, entry->d_name);
			energy->offset = products[i].offset;
			energy->joules = products[i].joules;
		}
	}
}

int npu_energy_read(const struct npu_energy *energy, uint32_t *units)
{
	if (!*energy->path)
		return -ENOENT;
	CLEANUP_CLOSE int file = open(energy->path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	ssize_t size = pread(file, units, sizeof *units, energy->offset);
	return size == sizeof *units ? 0 : size < 0 ? -errno : -EINVAL;
}
