/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of calls: see call_report.h. */
#include "run/report/call_report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "text/plural.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "base/saturating.h"

#define FUNCTIONS_SHOWN 20
#define NODES_SHOWN 40
#define NAME_COLUMNS 60
/* Nodes with a smaller share are not printed. */
#define NODE_PART_SHOWN 0.005

static double rate(uint64_t count, uint64_t duration)
{
	return duration ? (double)count * NANOSECONDS_PER_SECOND / (double)duration : 0;
}

#define NOT_KNOWN ((struct quantity_text){ "-" })

/* Formats a share, "-" if there is no whole. */
static struct quantity_text share_text(uint64_t part, uint64_t whole)
{
	return whole ? quantity_share((double)part, (double)whole) : NOT_KNOWN;
}

static struct quantity_text rate_text(uint64_t count, uint64_t duration)
{
	return duration ? quantity_number(rate(count, duration)) : NOT_KNOWN;
}

/* Formats "12.3 ms", and "-" for 0: the calls were not timed. */
static struct quantity_text duration_text(uint64_t duration)
{
	return duration ? quantity_time((double)duration) : NOT_KNOWN;
}

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

static void print_families(const struct call_tree *tree, uint64_t duration, FILE *file)
{
	struct call_families families = call_families_sum(tree);
	qsort(families.items, families.count, sizeof *families.items, compare_families);
	fprintf(file, "\n     calls    share     calls/s        time    share  family\n");
	for (size_t i = 0; i < families.count; i++) {
		const struct call_sums *sums = &families.items[i].sums;
		fprintf(file, "%10" PRIu64 " %8s %11s %11s %8s  ", sums->count,
			share_text(sums->count, families.total.count).text, rate_text(sums->count, duration).text,
			duration_text(sums->self_duration).text,
			share_text(sums->self_duration, families.total.self_duration).text);
		print_name(families.items[i].name, file);
	}
	fprintf(file, "%10" PRIu64 "          %11s %11s           all\n", families.total.count,
		rate_text(families.total.count, duration).text, duration_text(families.total.self_duration).text);
}

static int compare_functions(const void *a, const void *b)
{
	const struct call_function *left = *(const struct call_function *const *)a;
	const struct call_function *right = *(const struct call_function *const *)b;
	if (left->sums.count != right->sums.count)
		return left->sums.count < right->sums.count ? 1 : -1;
	return left->sums.duration < right->sums.duration   ? 1
	       : left->sums.duration > right->sums.duration ? -1
							    : strcmp(left->name, right->name);
}

static void print_functions(const struct call_tree *tree, uint64_t duration, FILE *file)
{
	CLEANUP_FREE const struct call_function **called = calloc(tree->functions.count + 1, sizeof *called);
	uint64_t total = 0;
	size_t count = 0;
	for (size_t i = 0; called && i < tree->functions.count; i++)
		if (tree->functions.items[i].sums.count) {
			called[count++] = &tree->functions.items[i];
			total = saturating_add(total, tree->functions.items[i].sums.count);
		}
	if (!count)
		return;
	qsort(called, count, sizeof *called, compare_functions);
	fprintf(file, "\n     calls    share     calls/s       total        self     average  function\n");
	for (size_t i = 0; i < count && i < FUNCTIONS_SHOWN; i++) {
		const struct call_sums *sums = &called[i]->sums;
		fprintf(file, "%10" PRIu64 " %8s %11s %11s %11s %11s  ", sums->count,
			share_text(sums->count, total).text, rate_text(sums->count, duration).text,
			duration_text(sums->duration).text, duration_text(sums->self_duration).text,
			duration_text(sums->duration / sums->count).text);
		print_name(called[i]->name, file);
	}
	if (count > FUNCTIONS_SHOWN)
		fprintf(file, "%*s... %zu more function%s\n", 75, "", count - FUNCTIONS_SHOWN,
			plural(count - FUNCTIONS_SHOWN));
}

/* Sums of a node and its descendants. */
struct subtree {
	uint64_t calls, time;
	bool is_shown;
};

struct nodes {
	const struct call_tree *tree;
	struct subtree *subtrees; /* one for each node */
	uint32_t *order;          /* nodes, grouped by parent */
	uint32_t *first;          /* position in order of a node's first child; outermost nodes are last */
	uint64_t calls, time;     /* totals */
	size_t left_out;
	FILE *file;
};

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct nodes *nodes = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	uint32_t left_parent = nodes->tree->nodes.items[left].parent;
	uint32_t right_parent = nodes->tree->nodes.items[right].parent;
	const struct subtree *one = &nodes->subtrees[left], *other = &nodes->subtrees[right];
	if (left_parent != right_parent)
		return left_parent < right_parent ? -1 : 1;
	if (one->time != other->time)
		return one->time < other->time ? 1 : -1;
	if (one->calls != other->calls)
		return one->calls < other->calls ? 1 : -1;
	return left < right ? -1 : left > right;
}

/* Adds self times up to their ancestors. Parents precede their children. */
static void sum_subtrees(struct nodes *nodes)
{
	for (size_t i = nodes->tree->nodes.count; i-- > 0;) {
		const struct call_node *node = &nodes->tree->nodes.items[i];
		struct subtree *subtree = &nodes->subtrees[i];
		subtree->calls = saturating_add(subtree->calls, node->sums.count);
		subtree->time = saturating_add(subtree->time, node->sums.self_duration);
		struct subtree *parent = node->parent == CALL_NONE ? NULL : &nodes->subtrees[node->parent];
		uint64_t *calls = parent ? &parent->calls : &nodes->calls,
			 *time = parent ? &parent->time : &nodes->time;
		*calls = saturating_add(*calls, subtree->calls);
		*time = saturating_add(*time, subtree->time);
	}
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

/*
 * Chooses the largest nodes, wherever they are in the tree: a node is never smaller than those below it. order is
 * overwritten.
 */
static void choose_nodes(struct nodes *nodes)
{
	size_t count = nodes->tree->nodes.count, shown = 0;
	for (uint32_t i = 0; i < count; i++)
		nodes->order[i] = i;
	qsort_r(nodes->order, count, sizeof *nodes->order, compare_subtrees, nodes);
	for (size_t i = 0; i < count; i++) {
		struct subtree *subtree = &nodes->subtrees[nodes->order[i]];
		bool is_small = (double)subtree->calls < NODE_PART_SHOWN * (double)nodes->calls &&
				(double)subtree->time < NODE_PART_SHOWN * (double)nodes->time;
		subtree->is_shown =
			shown < NODES_SHOWN && (!is_small || !nodes->tree->nodes.items[nodes->order[i]].depth);
		shown += subtree->is_shown;
	}
	nodes->left_out = count - shown;
}

static void print_node(const struct nodes *nodes, uint32_t position)
{
	const struct call_node *node = &nodes->tree->nodes.items[position];
	const struct subtree *subtree = &nodes->subtrees[position];
	char calls[32] = "";
	if (!subtree->is_shown)
		return;
	if (node->sums.count)
		snprintf(calls, sizeof calls, "%" PRIu64, node->sums.count);
	fprintf(nodes->file, "%10s %11s %8s  %*s", calls, duration_text(subtree->time).text,
		nodes->time ? share_text(subtree->time, nodes->time).text
			    : share_text(subtree->calls, nodes->calls).text,
		2 * (int)node->depth, "");
	print_name(nodes->tree->functions.items[node->function].name, nodes->file);
	/* At most as deep as IAPROF_CALL_DEPTH_MAX. */
	for (uint32_t i = nodes->first[position];
	     i < nodes->tree->nodes.count && nodes->tree->nodes.items[nodes->order[i]].parent == position; i++)
		print_node(nodes, nodes->order[i]);
}

static void print_nodes(const struct call_tree *tree, FILE *file)
{
	size_t count = tree->nodes.count;
	CLEANUP_FREE struct subtree *subtrees = calloc(count + 1, sizeof *subtrees);
	CLEANUP_FREE uint32_t *order = calloc(count + 1, sizeof *order);
	CLEANUP_FREE uint32_t *first = calloc(count + 1, sizeof *first);
	struct nodes nodes = { .tree = tree, .subtrees = subtrees, .order = order, .first = first, .file = file };
	if (!subtrees || !order || !first)
		return;
	sum_subtrees(&nodes);
	choose_nodes(&nodes);
	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		first[i] = UINT32_MAX;
	}
	qsort_r(order, count, sizeof *order, compare_nodes, &nodes);
	size_t outermost = count;
	for (size_t i = count; i-- > 0;) {
		uint32_t parent = tree->nodes.items[order[i]].parent;
		if (parent == CALL_NONE)
			outermost = i;
		else
			first[parent] = (uint32_t)i;
	}
	fprintf(file, "\n     calls        time    share  call tree\n");
	for (size_t i = outermost; i < count; i++)
		print_node(&nodes, order[i]);
	if (nodes.left_out)
		fprintf(file, "%*s... %zu more node%s\n", 33, "", nodes.left_out, plural(nodes.left_out));
}

void call_report_print(const struct call_tree *tree, uint64_t duration, FILE *file)
{
	struct call_sums total = call_families_sum(tree).total;
	if (!total.count)
		return;
	/* Calls without durations were imported: no rate can be computed. */
	if (!total.self_duration)
		duration = 0;
	print_families(tree, duration, file);
	print_functions(tree, duration, file);
	print_nodes(tree, file);
	fprintf(file, "\n");
}

void call_report_histograms(const struct histograms *histograms, FILE *file)
{
	static const double parts[] = { 0.5, 0.9, 0.99 };
	if (histograms->items.count)
		fprintf(file, "     count         p50         p90         p99         max        mean  distribution\n");
	for (size_t i = 0; i < histograms->items.count; i++) {
		const struct histogram *histogram = &histograms->items.items[i];
		bool is_time = !strcmp(histogram->unit, "nanoseconds");
		uint64_t values[] = { 0, 0, 0, histogram->maximum,
				      histogram->count ? histogram->sum / histogram->count : 0 };
		for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
			values[k] = histogram_quantile(histogram, parts[k]);
		fprintf(file, "%10" PRIu64, histogram->count);
		/* An imported histogram has neither a sum nor its largest value. */
		bool is_imported = !histogram->sum && histogram->maximum > 1;
		for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
			if (is_imported && k >= sizeof parts / sizeof *parts)
				fprintf(file, " %11s", "-");
			else if (is_time)
				fprintf(file, " %11s", duration_text(values[k]).text);
			else
				fprintf(file, " %11" PRIu64, values[k]);
		}
		fprintf(file, "  ");
		print_name(histogram->name, file);
	}
	if (histograms->items.count)
		fprintf(file, "\n");
	if (histograms->dropped)
		fprintf(file, "%" PRIu64 " value%s not shown (too many distributions)\n\n", histograms->dropped,
			plural(histograms->dropped));
	if (histograms->jobs_done || histograms->jobs_aborted || histograms->jobs_in_flight)
		fprintf(file, "jobs: %" PRIu64 " done, %" PRIu64 " aborted, %" PRIu64 " in flight at the end\n\n",
			histograms->jobs_done, histograms->jobs_aborted, histograms->jobs_in_flight);
}

static const struct call_sums *sums_before(const struct call_families *before, const char *name)
{
	static const struct call_sums none;
	for (size_t i = 0; i < before->count; i++)
		if (!strcmp(before->items[i].name, name))
			return &before->items[i].sums;
	return &none;
}

size_t call_report_live(const struct call_families *before, const struct call_families *now, uint64_t duration,
			char *text, size_t size)
{
	size_t length = 0;
	*text = '\0';
	for (size_t i = 0; i < now->count; i++) {
		const struct call_sums *sums = &now->items[i].sums, *old = sums_before(before, now->items[i].name);
		uint64_t spent = sums->self_duration - old->self_duration;
		uint64_t all = now->total.self_duration - before->total.self_duration;
		int line = snprintf(text + length, size - length, "%s%12s calls/s %11s %8s  %.40s", i ? "\n" : "",
				    quantity_number(rate(sums->count - old->count, duration)).text,
				    duration_text(spent).text, share_text(spent, all).text, now->items[i].name);
		if (line < 0 || (size_t)line >= size - length) {
			text[length] = '\0';
			break;
		}
		length += (size_t)line;
	}
	return length;
}
