/* SPDX-License-Identifier: Apache-2.0 */
/* The energy that the NPU has used, from Intel Platform Monitoring Technology (PMT). */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct npu_energy {
	char path[PATH_MAX]; /* of the telemetry; "" if the product is not known, or has none */
	uint32_t offset;
	double joules; /* of a unit */
};

/* sysfs as in npus_find(). */
void npu_energy_find(struct npu_energy *energy, const char *sysfs);
/* Reads the counter, which has 32 bits and wraps. Returns 0 or a negative errno. */
int npu_energy_read(const struct npu_energy *energy, uint32_t *units);
