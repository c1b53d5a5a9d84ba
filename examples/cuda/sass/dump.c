/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes instructions for judge.py and the tests. Reads lines "SM OFFSET LOW HIGH", the last three in hexadecimal.
 *
 *     dump              prints "NAME<tab>GROUP<tab>WAITS<tab>TEXT" for each
 *     dump time         also prints the time of a decode on standard error
 *     dump NAME         the lines are the function NAME: prints the producers of each, "OFFSET WAIT TOKEN;", and
 *                       "incomplete"
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flow.h"

static bool read_line(unsigned *sm, uint64_t *offset, struct sass_word *word)
{
	return scanf("%u %" SCNx64 " %" SCNx64 " %" SCNx64, sm, offset, &word->low, &word->high) == 4;
}

static int print_producers(const char *name)
{
	unsigned sm = 0;
	uint64_t offset;
	struct sass_word word;
	uint8_t *bytes = NULL;
	size_t size = 0;
	while (read_line(&sm, &offset, &word)) {
		if (size % (4096 * SASS_SIZE) == 0) {
			uint8_t *larger = realloc(bytes, size + 4096 * SASS_SIZE);
			if (!larger)
				break;
			bytes = larger;
		}
		for (unsigned i = 0; i < SASS_SIZE; i++)
			bytes[size++] = (uint8_t)((i < 8 ? word.low : word.high) >> 8 * (i % 8));
	}
	struct sass_flow flow;
	if (sass_flow_build(sass_sm_bit(sm), bytes, size, name, &flow) < 0) {
		free(bytes);
		return 1;
	}
	for (uint32_t i = 0; i < flow.count; i++) {
		static struct iaprof_producer producers[SASS_FLOW_PRODUCERS_MAX];
		uint32_t flags = 0;
		int count = sass_flow_producers(&flow, i, producers, SASS_FLOW_PRODUCERS_MAX, &flags);
		for (int k = 0; k < count; k++)
			printf("%" PRIx64 " %u %u;", producers[k].offset, producers[k].wait, producers[k].token);
		puts(flags ? "incomplete" : "");
	}
	sass_flow_free(&flow);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	bool timed = argc > 1 && strcmp(argv[1], "time") == 0;
	if (argc > 1 && !timed)
		return print_producers(argv[1]);
	unsigned sm;
	uint64_t offset, count = 0, spent = 0;
	struct sass_word word;
	while (read_line(&sm, &offset, &word)) {
		char text[SASS_TEXT], waits[SASS_WAITS];
		struct timespec before, after;
		clock_gettime(CLOCK_MONOTONIC, &before);
		const char *name = sass_name(sass_sm_bit(sm), &word);
		sass_text(sass_sm_bit(sm), &word, offset, text);
		sass_waits(&word, waits);
		clock_gettime(CLOCK_MONOTONIC, &after);
		spent += (uint64_t)((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec);
		count++;
		printf("%s\t%u\t%s\t%s\n", name, sass_group(name), waits, text);
	}
	if (timed && count)
		fprintf(stderr, "%" PRIu64 " ns per instruction\n", spent / count);
	return 0;
}
