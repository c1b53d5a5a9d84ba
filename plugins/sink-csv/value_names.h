/* SPDX-License-Identifier: Apache-2.0 */
/* Names of enumerated values, from iaprof/record.h, as array initialisers. */
#ifndef IAPROF_PLUGINS_SINK_CSV_VALUE_NAMES_H
#define IAPROF_PLUGINS_SINK_CSV_VALUE_NAMES_H

#define CALL_KIND_NAMES NULL, "api", "ioctl", "function", "context"
#define COUNTER_KIND_NAMES NULL, "gauge", "cumulative"
#define FINDING_SEVERITY_NAMES NULL, "note", "warning", "problem"
#define JOB_STATE_NAMES NULL, "done", "aborted", "in-flight"

#endif
