/* SPDX-License-Identifier: Apache-2.0 */
/* Takes utilization from records: profiles do not have it. */
#pragma once

#include <iaprof/record.h>

#include "model.h"
#include "records/definitions.h"

/* Initialise with {0}. */
struct usage_records {
	struct definitions definitions;
};

/* Keeps the names in a batch. Returns whether the batch also has something for the model. */
bool usage_records_define(struct usage_records *usage, const struct iaprof_batch *batch);
/* Adds to the model. Call after usage_records_define() for the same batch. */
void usage_records_add(const struct usage_records *usage, struct model *model, const struct iaprof_batch *batch);
void usage_records_free(struct usage_records *usage);
