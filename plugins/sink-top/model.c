/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates profiles: see model.h. */
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

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
	const struct string_table *names = &model->names.texts;
	*copy = *model;
	copy->names = (struct names){ 0 };
	memset(&copy->path, 0, sizeof copy->path);
	memset(&copy->seen, 0, sizeof copy->seen);
	memset(copy->tables, 0, sizeof copy->tables);
	memset(&copy->items, 0, sizeof copy->items);
	bool complete = true;
	for (size_t i = 0; complete && i < names->entries.count; i++)
		complete = array_push(&copy->names.texts.entries, names->entries.items[i]);
	for (size_t i = 0; complete && i < model->items.count; i++)
		complete = array_push(&copy->items, model->items.items[i]);
	for (int i = 0; complete && i < TABLE_SUM_COUNT; i++)
		complete = row_table_copy(&copy->tables[i], &model->tables[i]);
	if (!complete)
		model_free(copy);
	return complete;
}

void model_free(struct model *model)
{
	names_free(&model->names);
	for (int i = 0; i < TABLE_SUM_COUNT; i++)
		row_table_free(&model->tables[i]);
	array_free(&model->items);
	array_free(&model->path);
	array_free(&model->seen);
	*model = (struct model){ 0 };
}
