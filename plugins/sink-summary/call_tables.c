/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of calls and distributions: see tables.h. */
#include "tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturating.h"
#include "stacks/call_families.h"
#include "text/plural.h"
#include "text/printable.h"
#include "text/quantity.h"

#define FUNCTIONS_SHOWN 20
#define NODES_SHOWN 40
#define NAME_COLUMNS 60
/* Nodes with a smaller share are not printed. */
#define NODE_PART_SHOWN 0.005

static void print_name(const char *name, FILE *file)
{
	text_print_printable(name, NAME_COLUMNS, file);
	fputc('\n', file);
}

static int compare_families(const void *a, const void *b)
{
	const struct call_family *left = a, *right = b;
	if (left->sums.self_duration != right->sums.self_duration)
		return left->sums.self_duration < right->sums.self_duration ? 1 : -1;
	return left->sums.count < right->sums.count ? 1 : left->sums.count > right->sums.count ? -1 : 0;
}

static struct call_families families_of(const struct iaprof_activity *activity)
{
	struct call_families families = { 0 };
	for (size_t i = 0; i < activity->function_count; i++) {
		const struct iaprof_call_function *function = iaprof_activity_function(activity, i);
		const struct call_sums sums = { function->count, function->duration, function->self_duration };
		call_families_add(&families, function->family, &sums);
	}
	return families;
}

static void print_families(struct call_families families, uint64_t duration, FILE *file)
{
	qsort(families.items, families.count, sizeof *families.items, compare_families);
	fprintf(file, "\n     calls    share     calls/s        time    share  family\n");
	for (size_t i = 0; i < families.count; i++) {
		const struct call_sums *sums = &families.items[i].sums;
		fprintf(file, "%10" PRIu64 " %8s %11s %11s %8s  ", sums->count,
			quantity_share(sums->count, families.total.count, "%").text,
			quantity_per_second(sums->count, duration).text,
			quantity_measured_time(sums->self_duration).text,
			quantity_share(sums->self_duration, families.total.self_duration, "%").text);
		print_name(families.items[i].name, file);
	}
	fprintf(file, "%10" PRIu64 "          %11s %11s           all\n", families.total.count,
		quantity_per_second(families.total.count, duration).text,
		quantity_measured_time(families.total.self_duration).text);
}

static int compare_functions(const void *a, const void *b)
{
	const struct iaprof_call_function *left = *(const struct iaprof_call_function *const *)a;
	const struct iaprof_call_function *right = *(const struct iaprof_call_function *const *)b;
	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return left->duration < right->duration   ? 1
	       : left->duration > right->duration ? -1
						  : strcmp(left->name, right->name);
}

static void print_functions(const struct iaprof_activity *activity, uint64_t total, uint64_t duration, FILE *file)
{
	CLEANUP_FREE const struct iaprof_call_function **called = calloc(activity->function_count + 1, sizeof *called);
	size_t count = 0;
	for (size_t i = 0; called && i < activity->function_count; i++)
		if (iaprof_activity_function(activity, i)->count)
			called[count++] = iaprof_activity_function(activity, i);
	if (!count)
		return;
	qsort(called, count, sizeof *called, compare_functions);
	fprintf(file, "\n     calls    share     calls/s       total        self     average  function\n");
	for (size_t i = 0; i < count && i < FUNCTIONS_SHOWN; i++) {
		const struct iaprof_call_function *function = called[i];
		fprintf(file, "%10" PRIu64 " %8s %11s %11s %11s %11s  ", function->count,
			quantity_share(function->count, total, "%").text,
			quantity_per_second(function->count, duration).text,
			quantity_measured_time(function->duration).text,
			quantity_measured_time(function->self_duration).text,
			quantity_measured_time(function->duration / function->count).text);
		print_name(function->name, file);
	}
	if (count > FUNCTIONS_SHOWN)
		fprintf(file, "%*s... %zu more function%s\n", 75, "", count - FUNCTIONS_SHOWN,
			plural(count - FUNCTIONS_SHOWN));
}

/* Sums of a node and its descendants. */
struct subtree {
	uint64_t calls, time;
};

struct nodes {
	const struct iaprof_activity *activity;
	struct subtree *subtrees; /* one for each node */
	struct subtree total;
	uint32_t *order; /* nodes, the largest first */
	size_t shown;    /* at the beginning of order */
	FILE *file;
};

static const struct iaprof_call_node *node_of(const struct nodes *nodes, size_t position)
{
	return iaprof_activity_node(nodes->activity, position);
}

static int compare_subtrees(const void *a, const void *b, void *context)
{
	const struct nodes *nodes = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct subtree *one = &nodes->subtrees[left], *other = &nodes->subtrees[right];
	if (one->time != other->time)
		return one->time < other->time ? 1 : -1;
	if (one->calls != other->calls)
		return one->calls < other->calls ? 1 : -1;
	/* Parents precede their children. */
	return left < right ? -1 : left > right;
}

/* Adds self times up to their ancestors. Parents precede their children. */
static void sum_subtrees(struct nodes *nodes)
{
	for (size_t i = nodes->activity->node_count; i-- > 0;) {
		const struct iaprof_call_node *node = node_of(nodes, i);
		struct subtree *subtree = &nodes->subtrees[i];
		subtree->calls = saturating_add(subtree->calls, node->count);
		subtree->time = saturating_add(subtree->time, node->self_duration);
		bool is_outermost = node->parent == IAPROF_ACTIVITY_NONE;
		struct subtree *parent = is_outermost ? &nodes->total : &nodes->subtrees[node->parent];
		parent->calls = saturating_add(parent->calls, subtree->calls);
		parent->time = saturating_add(parent->time, subtree->time);
	}
}

/* Chooses the largest nodes, wherever they are in the tree: a node is never smaller than those below it. */
static void choose_nodes(struct nodes *nodes)
{
	size_t count = nodes->activity->node_count;
	for (uint32_t i = 0; i < count; i++)
		nodes->order[i] = i;
	qsort_r(nodes->order, count, sizeof *nodes->order, compare_subtrees, nodes);
	for (size_t i = 0; i < count && nodes->shown < NODES_SHOWN; i++) {
		const struct subtree *subtree = &nodes->subtrees[nodes->order[i]];
		bool is_small = (double)subtree->calls < NODE_PART_SHOWN * (double)nodes->total.calls &&
				(double)subtree->time < NODE_PART_SHOWN * (double)nodes->total.time;
		if (!is_small || !node_of(nodes, nodes->order[i])->depth)
			nodes->order[nodes->shown++] = nodes->order[i];
	}
}

/* Prints the chosen nodes below one, and those below them: at most as deep as IAPROF_CALL_DEPTH_MAX. */
static void print_children(const struct nodes *nodes, uint32_t parent)
{
	for (size_t i = 0; i < nodes->shown; i++) {
		const struct iaprof_call_node *node = node_of(nodes, nodes->order[i]);
		const struct subtree *subtree = &nodes->subtrees[nodes->order[i]], *total = &nodes->total;
		char calls[32] = "";
		if (node->parent != parent)
			continue;
		if (node->count)
			snprintf(calls, sizeof calls, "%" PRIu64, node->count);
		fprintf(nodes->file, "%10s %11s %8s  %*s", calls, quantity_measured_time(subtree->time).text,
			total->time ? quantity_share(subtree->time, total->time, "%").text
				    : quantity_share(subtree->calls, total->calls, "%").text,
			2 * (int)node->depth, "");
		print_name(iaprof_activity_function(nodes->activity, node->function)->name, nodes->file);
		print_children(nodes, nodes->order[i]);
	}
}

static void print_nodes(const struct iaprof_activity *activity, FILE *file)
{
	CLEANUP_FREE struct subtree *subtrees = calloc(activity->node_count + 1, sizeof *subtrees);
	CLEANUP_FREE uint32_t *order = calloc(activity->node_count + 1, sizeof *order);
	struct nodes nodes = { .activity = activity, .subtrees = subtrees, .order = order, .file = file };
	if (!subtrees || !order)
		return;
	sum_subtrees(&nodes);
	choose_nodes(&nodes);
	fprintf(file, "\n     calls        time    share  call tree\n");
	print_children(&nodes, IAPROF_ACTIVITY_NONE);
	size_t left_out = activity->node_count - nodes.shown;
	if (left_out)
		fprintf(file, "%*s... %zu more node%s\n", 33, "", left_out, plural(left_out));
}

void call_tables_print(const struct iaprof_activity *activity, uint64_t duration, FILE *file)
{
	struct call_families families = families_of(activity);
	if (!families.total.count)
		return;
	/* Calls without durations were imported: no rate can be computed. */
	if (!families.total.self_duration)
		duration = 0;
	print_families(families, duration, file);
	print_functions(activity, families.total.count, duration, file);
	print_nodes(activity, file);
	fprintf(file, "\n");
}

static void print_histogram(const struct iaprof_histogram *histogram, FILE *file)
{
	static const double parts[] = { 0.5, 0.9, 0.99 };
	enum { PART_COUNT = sizeof parts / sizeof *parts };
	bool is_time = !strcmp(histogram->unit, "nanoseconds");
	/* An imported histogram has neither a sum nor its largest value. */
	bool is_imported = !histogram->sum && histogram->maximum > 1;
	uint64_t values[PART_COUNT + 2] = { [PART_COUNT] = histogram->maximum,
					    histogram->count ? histogram->sum / histogram->count : 0 };
	/* One value is known exactly. */
	for (size_t i = 0; i < PART_COUNT; i++)
		values[i] = histogram->count == 1 ? histogram->maximum
						  : iaprof_histogram_quantile(histogram->buckets, histogram->count,
									      histogram->maximum, parts[i]);
	fprintf(file, "%10" PRIu64, histogram->count);
	for (size_t i = 0; i < PART_COUNT + 2; i++)
		if (is_imported && i >= PART_COUNT)
			fprintf(file, " %11s", "-");
		else if (is_time)
			fprintf(file, " %11s", quantity_measured_time(values[i]).text);
		else
			fprintf(file, " %11" PRIu64, values[i]);
	fprintf(file, "  ");
	print_name(histogram->name, file);
}

void histogram_table_print(const struct iaprof_activity *activity, FILE *file)
{
	if (activity->histogram_count)
		fprintf(file, "     count         p50         p90         p99         max        mean  distribution\n");
	for (size_t i = 0; i < activity->histogram_count; i++)
		print_histogram(iaprof_activity_histogram(activity, i), file);
	if (activity->histogram_count)
		fprintf(file, "\n");
	if (activity->histogram_dropped)
		fprintf(file, "%" PRIu64 " value%s not shown (too many distributions)\n\n", activity->histogram_dropped,
			plural(activity->histogram_dropped));
	if (activity->jobs_done || activity->jobs_aborted || activity->jobs_in_flight)
		fprintf(file, "jobs: %" PRIu64 " done, %" PRIu64 " aborted, %" PRIu64 " in flight at the end\n\n",
			activity->jobs_done, activity->jobs_aborted, activity->jobs_in_flight);
}
