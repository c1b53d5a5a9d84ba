/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other program of the demonstration: turns speech into text on the NPU.
 *
 *     transcriber CHUNKS PERIOD
 *
 * Prints "ready", and begins after a line on standard input: CHUNKS pieces of sound, one in PERIOD ms or, when the NPU
 * is late, as fast as it goes. It ends with its input. Calls and CPU work are real, the NPU is the lab's double.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../programs/level_zero/functions.h"
#include "system_calls.h"

#define TIMEOUT 10000000000ull /* ns */
#define SAMPLES 4096
#define BANDS 12
/* Pieces of sound in which nobody speaks, one in so many ns. */
#define QUIET 12
#define QUIET_PERIOD 200000000ull

#define FUNCTION __attribute__((noinline)) static

struct transcriber {
	void *queue, *list;
	int sound[SAMPLES];
	long bands[BANDS];
	unsigned state; /* of what stands in for a microphone */
};

static void expect(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "transcriber: %s: %#x\n", what, (unsigned int)result);
	exit(1);
}

FUNCTION void load_encoder(struct transcriber *transcriber)
{
	void *memory;

	expect(zeInit(0), "zeInit");
	expect(zeMemAllocHost(NULL, NULL, 4096, 0, &memory), "zeMemAllocHost");
	expect(zeMemAllocHost(NULL, NULL, 32768, 0, &memory), "zeMemAllocHost");
	expect(zeCommandQueueCreate(NULL, NULL, NULL, &transcriber->queue), "zeCommandQueueCreate");
	expect(zeCommandListCreate(NULL, NULL, NULL, &transcriber->list), "zeCommandListCreate");
}

FUNCTION void read_sound(struct transcriber *transcriber)
{
	for (int i = 0; i < SAMPLES; i++) {
		transcriber->state = transcriber->state * 1664525u + 1013904223u;
		transcriber->sound[i] = (int)(transcriber->state >> 20) - 2048;
	}
}

FUNCTION void filter_bands(struct transcriber *transcriber)
{
	for (int band = 0; band < BANDS; band++) {
		long low = 0, sum = 0;
		for (int i = 0; i < SAMPLES; i++) {
			low += (transcriber->sound[i] - low) / (band + 2);
			sum += low > 0 ? low : -low;
		}
		transcriber->bands[band] = sum;
	}
}

FUNCTION void encode_sound(struct transcriber *transcriber)
{
	expect(zeCommandQueueExecuteCommandLists(transcriber->queue, 1, &transcriber->list, NULL),
	       "zeCommandQueueExecuteCommandLists");
	expect(zeFenceHostSynchronize(NULL, TIMEOUT), "zeFenceHostSynchronize");
}

FUNCTION void transcribe_chunk(struct transcriber *transcriber)
{
	read_sound(transcriber);
	filter_bands(transcriber);
	encode_sound(transcriber);
}

/* Until somebody speaks. Meanwhile a profiler that has just begun reads how to unwind this program. */
FUNCTION void listen(struct transcriber *transcriber)
{
	uint64_t start = now();

	for (unsigned i = 1; i <= QUIET; i++) {
		read_sound(transcriber);
		filter_bands(transcriber);
		sleep_until(start + i * QUIET_PERIOD);
	}
}

FUNCTION void transcribe(struct transcriber *transcriber, unsigned long chunks, uint64_t period)
{
	uint64_t start = now();

	for (unsigned long i = 1; i <= chunks; i++) {
		transcribe_chunk(transcriber);
		sleep_until(start + i * period);
	}
}

int main(int argc, char **argv)
{
	static struct transcriber transcriber;
	char line[16];

	if (argc != 3) {
		fputs("usage: transcriber CHUNKS PERIOD\n", stderr);
		return 2;
	}
	load_encoder(&transcriber);
	puts("ready");
	fflush(stdout);
	if (read_input(line, sizeof line) > 0) {
		listen(&transcriber);
		transcribe(&transcriber, strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10) * 1000000);
	}
	puts("done");
	fflush(stdout);
	while (read_input(line, sizeof line) > 0)
		;
	return 0;
}
