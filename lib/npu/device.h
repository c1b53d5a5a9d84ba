/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's NPUs, from sysfs. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPU_DRIVER "intel_vpu"
/* Maximum number of NPUs; a machine has one. */
#define NPUS_MAX 8

struct npu {
	char node[32];               /* "accel0": the name in /dev/accel */
	char address[16];            /* PCI address; "" if it is not a PCI device */
	char folder[PATH_MAX - 256]; /* folder of its device in sysfs */
	uint16_t vendor, device;     /* PCI ids, 0 if unknown */
	char name[64];               /* "Intel NPU of Lunar Lake", or with its PCI id */
};

/*
 * Finds the devices in /dev/accel whose driver is intel_vpu. sysfs is "/sys", or a copy for tests. Returns their
 * number, at most NPUS_MAX.
 */
size_t npus_find(const char *sysfs, struct npu npus[static NPUS_MAX]);

/*
 * Returns whether a PCI device, "0000:00:0b.0" in a trace, is an NPU: one with the driver intel_vpu. If the machine has
 * no GPU or accelerator at the address, the trace is of another machine, where an Intel NPU is device 0b.0 of bus 0, as
 * in all Intel processors up to 2026.
 */
bool npu_is_at(const char *sysfs, const char *address);

/* Reads a small file of the device into text, without its newline. Returns 0, or a negative errno and "". */
int npu_read_text(const struct npu *npu, const char *file, char *text, size_t size);
/* Reads a number, decimal or hexadecimal with 0x. -EINVAL if the file has none. */
int npu_read_number(const struct npu *npu, const char *file, uint64_t *number);
