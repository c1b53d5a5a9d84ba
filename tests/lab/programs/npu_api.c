// SPDX-License-Identifier: Apache-2.0
/*
 * Calls Level Zero a known number of times from two places, once a line came from standard input:
 *
 *     npu_api TEXTS IMAGES [wait|graphs|gpu|layers]
 *
 * With wait it ends by waiting for what never comes. With graphs it says "table" when it has the driver's table of
 * them, waits for another line, compiles one, and appends it for each text. With gpu it makes TEXTS lists and never
 * opens the NPU. With layers it says "table" when it has that of profiling, and after another line reads the time of
 * layers for each text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "level_zero/functions.h"

#define TIMEOUT 10000000000ull /* ns */

static void *queue, *list;

static void expect(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "npu_api: %s: %#x\n", what, (unsigned int)result);
	exit(1);
}

__attribute__((noinline)) static void prepare_model(void)
{
	void *memory;

	expect(zeInit(0), "zeInit");
	expect(zeMemAllocHost(NULL, NULL, 4096, 0, &memory), "zeMemAllocHost");
	expect(zeMemAllocHost(NULL, NULL, 32768, 0, &memory), "zeMemAllocHost");
	expect(zeCommandQueueCreate(NULL, NULL, NULL, &queue), "zeCommandQueueCreate");
	expect(zeCommandListCreate(NULL, NULL, NULL, &list), "zeCommandListCreate");
}

__attribute__((noinline)) static void translate_text(void)
{
	expect(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL), "zeCommandQueueExecuteCommandLists");
	expect(zeFenceHostSynchronize(NULL, TIMEOUT), "zeFenceHostSynchronize");
}

__attribute__((noinline)) static void classify_image(void)
{
	expect(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL), "zeCommandQueueExecuteCommandLists");
	expect(zeFenceHostSynchronize(NULL, TIMEOUT), "zeFenceHostSynchronize");
}

static const struct graph_table *graph_table;

__attribute__((noinline)) static void compile_model(void **graph)
{
	ze_graph_create_2 *create = (ze_graph_create_2 *)graph_table->functions[GRAPH_CREATE_2];
	int result = create(NULL, NULL, NULL, graph);

	expect(result, "zeGraphCreate2");
}

__attribute__((noinline)) static void append_model(void *graph)
{
	ze_append_graph_execute *append = (ze_append_graph_execute *)graph_table->functions[GRAPH_APPEND_EXECUTE];
	int result = append(list, graph, NULL, NULL, 0, NULL);

	expect(result, "zeAppendGraphExecute");
}

/* Once the table is known. */
static void use_graphs(unsigned long texts)
{
	void *graph, *table;

	expect(zeDriverGetExtensionFunctionAddress(NULL, "ZE_extension_graph_1_5", &table), "the table of graphs");
	graph_table = table;
	printf("table\n");
	fflush(stdout);
	if (getchar() == EOF)
		exit(2);
	compile_model(&graph);
	for (unsigned long i = 0; i < texts; i++)
		append_model(graph);
}

/* A query for each of two graphs, from a pool of its own. */
static void query_create_all(const struct profiling_table *table, void *queries[static 2])
{
	static char graphs[2][16];
	ze_profiling_pool_create *create_pool = (ze_profiling_pool_create *)table->functions[PROFILING_POOL_CREATE];
	ze_profiling_query_create *create_query = (ze_profiling_query_create *)table->functions[PROFILING_QUERY_CREATE];

	for (int i = 0; i < 2; i++) {
		void *pool;
		expect(create_pool(graphs[i], 1, &pool), "a pool of queries");
		expect(create_query(pool, 0, &queries[i]), "a query");
	}
}

/* After each inference, as a program does that has profiling on. */
static void read_layers(unsigned long inferences)
{
	static char data[2048];
	void *table;
	uint32_t size;

	expect(zeDriverGetExtensionFunctionAddress(NULL, "ZE_extension_profiling_data", &table),
	       "the table of profiling");
	ze_profiling_query_get_data *get =
		(ze_profiling_query_get_data *)((const struct profiling_table *)table)->functions[PROFILING_GET_DATA];
	printf("table\n");
	fflush(stdout);
	if (getchar() == EOF)
		exit(2);
	/* Two models, of which the second one has every third inference. */
	void *queries[2];
	query_create_all(table, queries);
	for (unsigned long i = 0; i < inferences; i++)
		for (int type = PROFILING_LAYERS; type <= PROFILING_TASKS; type++) {
			void *query = queries[i % 3 == 2];
			expect(get(query, type, &size, NULL), "the size of profiling data");
			expect(size > sizeof data || get(query, type, &size, data), "profiling data");
		}
}

/* As a program whose device is a GPU: none of these is a request to the NPU's driver. */
static void use_gpu(unsigned long lists)
{
	for (unsigned long i = 0; i < lists; i++)
		expect(zeCommandListCreate(NULL, NULL, NULL, &list), "zeCommandListCreate");
	printf("done\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned long texts = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long images = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	printf("ready\n");
	fflush(stdout);
	if (getchar() == EOF)
		return 2;
	if (argc > 3 && !strcmp(argv[3], "gpu")) {
		use_gpu(texts);
		return 0;
	}
	prepare_model();
	if (argc > 3 && !strcmp(argv[3], "layers"))
		read_layers(texts);
	if (argc > 3 && !strcmp(argv[3], "graphs"))
		use_graphs(texts);
	for (unsigned long i = 0; i < texts; i++)
		translate_text();
	for (unsigned long i = 0; i < images; i++)
		classify_image();
	printf("done\n");
	fflush(stdout);
	if (argc > 3 && !strcmp(argv[3], "wait"))
		zeEventHostSynchronize(NULL, TIMEOUT);
	return 0;
}
