/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a source that set the limits of findings. The defaults are those of IVPU_LIMITS_DEFAULT. */
#pragma once

#include <iaprof/plugin.h>
#include "npu/findings.h"

/* Limit on values, so that products of two fit into 64 bits. */
#define IVPU_LIMIT_MAX 1000000000u
#define IVPU_LIMIT_TIME_MAX (3600ull * 1000000000) /* ns */

#define IVPU_LIMIT(STRUCT, MEMBER, ...) IAPROF_OPTION(STRUCT, MEMBER, UINT, __VA_ARGS__, .maximum = IVPU_LIMIT_MAX)

/* LIMITS: the struct ivpu_limits in the plugin's instance. boot_polls is for traces without times only. */
#define IVPU_LIMIT_OPTIONS(STRUCT, LIMITS)                                                                             \
	IVPU_LIMIT(STRUCT, LIMITS.ipc_rate, "ipc-rate", "200",                                                         \
		   "Firmware messages per second above which a finding is reported; 0: never", .unit = "messages"),    \
		IVPU_LIMIT(STRUCT, LIMITS.ipc_growth, "ipc-growth", "10",                                              \
			   "Increase in firmware messages per second, as a multiple of the usual rate, above which a " \
			   "finding is "                                                                               \
			   "reported; 0: never"),                                                                      \
		IVPU_LIMIT(STRUCT, LIMITS.ipc_per_job, "ipc-per-job", "10000",                                         \
			   "IPC calls per job above which a finding is reported; 0: never", .unit = "calls"),          \
		IVPU_LIMIT(STRUCT, LIMITS.map_ratio, "map-ratio", "4",                                                 \
			   "Mappings per buffer and open file above which a finding is reported; 0: never"),           \
		IVPU_LIMIT(STRUCT, LIMITS.buffer_growth, "buffer-growth", "32",                                        \
			   "Increase in the number of buffers, in each half of the jobs, above which a finding is "    \
			   "reported; 0: "                                                                             \
			   "never",                                                                                    \
			   .unit = "buffers"),                                                                         \
		IAPROF_OPTION(STRUCT, LIMITS.hang, DURATION, "hang", "5s",                                             \
			      "Job latency above which a finding is reported; 0: never",                               \
			      .maximum = IVPU_LIMIT_TIME_MAX),                                                         \
		IVPU_LIMIT(STRUCT, LIMITS.boots, "boots", "5",                                                         \
			   "Minimum number of firmware boots for boot-jobs; 0: never check it", .unit = "boots"),      \
		IVPU_LIMIT(STRUCT, LIMITS.boot_jobs, "boot-jobs", "2",                                                 \
			   "Jobs per firmware boot below which a finding is reported", .unit = "jobs"),                \
		IAPROF_OPTION(STRUCT, LIMITS.boot_wait, DURATION, "boot-wait", "500ms",                                \
			      "Firmware boot time above which a finding is reported; 0: never",                        \
			      .maximum = IVPU_LIMIT_TIME_MAX),                                                         \
		IVPU_LIMIT(STRUCT, LIMITS.submit_pages, "submit-pages", "256",                                         \
			   "Median number of pages mapped per job submission above which a finding is reported; 0: "   \
			   "never",                                                                                    \
			   .unit = "pages"),                                                                           \
		IAPROF_OPTION(STRUCT, LIMITS.turns, UINT, "turns", "50",                                               \
			      "Percentage of jobs that waited for a job of another program or model, above which a "   \
			      "finding is "                                                                            \
			      "reported; 0: never",                                                                    \
			      .maximum = 100),                                                                         \
		IAPROF_OPTION(STRUCT, LIMITS.cold_start, UINT, "cold-start", "10",                                     \
			      "In runs of fewer than 8 jobs, percentage of the time spent on the firmware boot and "   \
			      "the first mapping "                                                                     \
			      "of buffers, from which a note is reported; 0: never",                                   \
			      .maximum = 100)
