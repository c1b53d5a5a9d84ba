/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose address is not known, as those of which a source knows only the launches: which of them may unknown
 * code belong to? Only a kernel that was launched before a sample at an address, at most LAUNCH_RUNS_FOR earlier, can
 * be the one there. All samples at this address are of the same kernel: those for which each sample allows remain.
 * Owned by the collector thread.
 */
#pragma once

#include "correlator/kernels.h"

/* Limits on addresses, of one process and of all; code at further ones remains unknown. */
#define EVIDENCE_OF_PROCESS_MAX 16384
#define EVIDENCE_MAX 65536

/*
 * Finds the kernels of a process to which the unknown code at a sample's address may belong, and stores their
 * positions. Returns their number, 0: it belongs to none of them, or there are too many. device: as in
 * device_code_device().
 */
size_t unplaced_kernels_find(struct kernels *kernels, uint32_t pid, uint64_t device,
			     const struct iaprof_record_stall_sample *sample, uint32_t found[UNPLACED_KERNELS_MAX]);
