/* SPDX-License-Identifier: Apache-2.0 */
/* Stall samples and jobs whose members contradict each other, or whose value type was not declared. */
#pragma once

#include <iaprof/record.h>
#include "profile/run_metadata.h"

/* Returns the loss reason for a record that the correlator cannot attribute; NULL: it can. */
const char *unattributable_reason(const struct run_metadata *facts, const struct iaprof_record *record);
