/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes instructions for judge.py and the tests: reads lines "SM OFFSET LOW HIGH", numbers but SM in hexadecimal, and
 * prints "NAME<tab>GROUP<tab>WAITS<tab>TEXT". With an argument, also prints the time of a decode on standard error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "sass.h"

int main(int argc, char **argv)
{
	unsigned sm;
	uint64_t offset, count = 0, spent = 0;
	struct sass_word word;
	while (scanf("%u %" SCNx64 " %" SCNx64 " %" SCNx64, &sm, &offset, &word.low, &word.high) == 4) {
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
	if (argc > 1 && argv[1] && count)
		fprintf(stderr, "%" PRIu64 " ns per instruction\n", spent / count);
	return 0;
}
