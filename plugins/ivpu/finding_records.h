/* SPDX-License-Identifier: Apache-2.0 */
/* What a user should know of a run on the NPU, as FINDING records. */
#ifndef IAPROF_PLUGINS_IVPU_FINDING_RECORDS_H
#define IAPROF_PLUGINS_IVPU_FINDING_RECORDS_H

#include <stdint.h>
#include "findings.h"
#include "overview.h"
#include "record_batch.h"

/* These append records to a batch. Return 0 or a negative errno. */
int ivpu_findings_emit(struct record_batch *batch, const struct ivpu_tally *tally, const struct ivpu_limits *limits,
		       uint64_t time);
/* A note "npu-calls"; nothing when nothing was called. */
int ivpu_overview_emit(struct record_batch *batch, const struct ivpu_overview *overview, uint64_t time);
/* A note "npu-rates"; nothing when the tally has no times. */
int ivpu_rates_emit(struct record_batch *batch, const struct ivpu_tally *tally, uint64_t time);

#endif
