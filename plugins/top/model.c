/* SPDX-License-Identifier: Apache-2.0 */
/* What the profiles of a run add up to: see model.h. */
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine.h"

void model_begin(struct model *model, uint64_t now)
{
	model->cost_begin = model->cost = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	model->wall_begin = model->wall = now;
}

void model_measure(struct model *model, uint64_t now)
{
	uint64_t cost = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	model->last_cost = cost - model->cost;
	model->last_wall = now - model->wall;
	model->cost = cost;
	model->wall = now;
}

bool model_copy(struct model *copy, const struct model *model)
{
	*copy = *model;
	copy->names = (struct names){ 0 };
	copy->path = copy->seen = NULL;
	memset(copy->tables, 0, sizeof copy->tables);
	copy->names.items = malloc((model->names.count + 1) * sizeof *copy->names.items);
	bool complete = copy->names.items;
	if (complete && model->names.count)
		memcpy(copy->names.items, model->names.items, model->names.count * sizeof *copy->names.items);
	copy->names.count = model->names.count;
	for (int i = 0; complete && i < TABLE_COUNT; i++)
		complete = row_table_copy(&copy->tables[i], &model->tables[i]);
	if (!complete)
		model_free(copy);
	return complete;
}

void model_free(struct model *model)
{
	names_free(&model->names);
	for (int i = 0; i < TABLE_COUNT; i++)
		row_table_free(&model->tables[i]);
	free(model->path);
	free(model->seen);
	*model = (struct model){ 0 };
}
