/* SPDX-License-Identifier: Apache-2.0 */
/* JOB records of the jobs of a GPU, from the events of the DRM scheduler. */
#pragma once

#include <stdint.h>
#include "records/record_batch.h"
#include "scheduler_event.h"

/* device: id of the DEVICE record. now: the end of the run if the job is running; 0: it has ended. */
int job_records_append(struct record_batch *batch, const struct scheduler_job *job, uint32_t device, uint64_t now);
