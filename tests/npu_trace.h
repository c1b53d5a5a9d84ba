/* SPDX-License-Identifier: Apache-2.0 */
/* Where the published trace of a matmul on the NPU is, which is not in the tree: TEST_NPU_TRACE, or beside it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns NULL if the trace is not here, after a line that states what is skipped. */
static inline const char *npu_trace_path(const char *skipped)
{
	static char beside[4096];
	const char *path = getenv("TEST_NPU_TRACE"), *folder = getenv("TEST_SOURCE_FOLDER");
	if (!path && folder) {
		snprintf(beside, sizeof beside, "%s/../shared/data/npu/matmul-bpftrace.txt", folder);
		path = beside;
	}
	if (path && access(path, R_OK) == 0)
		return path;
	if (skipped)
		printf("# SKIP %s: the published trace is not here (TEST_NPU_TRACE)\n", skipped);
	return NULL;
}
