/* SPDX-License-Identifier: Apache-2.0 */
/* Fires the probes of plugins/ze-usdt/probes.h, as our tracer does, or with fewer arguments as the patched runtime. */
#pragma once

#include <stdint.h>

struct ze_probes_launch {
	uint64_t instruction_base, address, size;
	const char *name;
	uint64_t module, list;
};

/* Whether somebody is attached to launch_kernel. */
int ze_probes_on(void);
void ze_probes_launch(const struct ze_probes_launch *launch);
void ze_probes_launch_short(const struct ze_probes_launch *launch);
void ze_probes_compile(const char *path, uint64_t module);
void ze_probes_compile_short(const char *path);
/* parent and launches 0: fired without them. */
void ze_probes_execute(uint64_t list, uint64_t parent, uint64_t launches);
void ze_probes_unload(uint64_t module);
