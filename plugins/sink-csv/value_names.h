/* SPDX-License-Identifier: Apache-2.0 */
/* Names of enumerated values, from iaprof/record.h, as array initialisers. */
#pragma once

#define CALL_KIND_NAMES NULL, "api", "ioctl", "function", "context"
#define COUNTER_KIND_NAMES NULL, "gauge", "cumulative"
#define FINDING_SEVERITY_NAMES NULL, "note", "warning", "problem"
#define JOB_STATE_NAMES NULL, "done", "aborted", "in-flight"
