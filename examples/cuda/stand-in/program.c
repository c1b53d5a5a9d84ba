/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program for the stand-in: loads cubins and launches kernels, scale from train_scale() and add from
 * train_add(), and prints the number of its launches.
 *
 * usage: program LAUNCHES [end=exit|_exit|destroy] [copy=BYTES] [threads=COUNT] [graph=COUNT] [ranges] [transfers]
 * [pace=US] [CUBIN...]
 *
 * graph=COUNT: before the steps, train_capture() makes a graph of a launch of add, and train_layer() of add and scale,
 * which train_replay() launches so often.
 *
 * ranges: each step is in the NVTX range step, and in one that is called odd or even.
 *
 * pace=US: waits for the GPU and sleeps so long after each step; one graph is launched in it, if there is one.
 *
 * transfers: each step, train_load() copies STEP bytes from pageable memory of the host to the device in 500 ns, and
 * train_store() 3 bytes back in 2,000 ns; every tenth sets 64 bytes, and copies 32 between devices, in 100 ns each. The
 * graph copies 16 bytes to the device in 50 ns, from train_stage().
 *
 * One step in four copies so many bytes on the device, from train_copy(). Threads beside the main one call
 * train_scale() in each step.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stand_in.h"

/* NVIDIA's own, where CUDA is installed. */
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
#define nvtxRangePushA stand_in_push
#define nvtxRangePop stand_in_pop
#endif

static uint32_t modules[8];
static uint32_t module_count;
static size_t copied;
static bool has_transfers;

static uint32_t load(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	long size = ftell(file);
	rewind(file);
	void *bytes = malloc((size_t)size);
	if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		exit(1);
	fclose(file);
	return stand_in_load(bytes, (size_t)size);
}

__attribute__((noinline)) static void train_copy(void)
{
	if (copied)
		stand_in_copy(copied);
	__asm__ volatile("");
}

__attribute__((noinline)) static int train_scale(int step)
{
	for (uint32_t i = 0; i < module_count; i++)
		stand_in_launch(modules[i], "scale");
	return step + 1;
}

__attribute__((noinline)) static int train_add(int step)
{
	for (uint32_t i = 0; i < module_count; i++)
		stand_in_launch(modules[i], "add");
	return step + 2;
}

__attribute__((noinline)) static void train_layer(void)
{
	stand_in_launch(modules[0], "add");
	stand_in_launch(modules[0], "scale");
	__asm__ volatile("");
}

__attribute__((noinline)) static void train_load(uint64_t bytes)
{
	stand_in_transfer(&(struct stand_in_transfer){ .direction = 1, .is_pageable = 1, .bytes = bytes, .time = 500 });
	__asm__ volatile("");
}

__attribute__((noinline)) static void train_store(void)
{
	stand_in_transfer(&(struct stand_in_transfer){ .direction = 2, .bytes = 3, .time = 2000 });
	__asm__ volatile("");
}

__attribute__((noinline)) static void train_stage(void)
{
	stand_in_transfer(&(struct stand_in_transfer){ .direction = 1, .bytes = 16, .time = 50 });
	__asm__ volatile("");
}

__attribute__((noinline)) static void train_exchange(void)
{
	stand_in_transfer(&(struct stand_in_transfer){ .direction = STAND_IN_SET, .bytes = 64, .time = 100 });
	stand_in_transfer(&(struct stand_in_transfer){ .direction = 10, .bytes = 32, .time = 100 });
	__asm__ volatile("");
}

__attribute__((noinline)) static void train_capture(void)
{
	stand_in_begin_capture();
	if (has_transfers)
		train_stage();
	train_layer();
	stand_in_launch(modules[0], "add");
	stand_in_end_capture();
	__asm__ volatile("");
}

__attribute__((noinline)) static void train_replay(void)
{
	stand_in_launch_graph();
	__asm__ volatile("");
}

static void *launch_beside(void *argument)
{
	for (int i = 0; i < *(const long *)argument; i++)
		train_scale(i);
	return NULL;
}

int main(int argc, char **argv)
{
	long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
	pthread_t threads[8];
	size_t others = 0;
	long replays = 0;
	useconds_t pace = 0;
	bool has_ranges = false;
	const char *end = argc > 2 && strncmp(argv[2], "end=", 4) == 0 ? argv[2] + 4 : "exit";
	uint32_t sum = 0;
	stand_in_init();
	stand_in_create_context();
	for (int i = 2; i < argc && module_count < 8; i++)
		if (strncmp(argv[i], "copy=", 5) == 0)
			copied = strtoul(argv[i] + 5, NULL, 10);
		else if (strncmp(argv[i], "threads=", 8) == 0)
			others = strtoul(argv[i] + 8, NULL, 10) - 1;
		else if (strncmp(argv[i], "graph=", 6) == 0)
			replays = strtol(argv[i] + 6, NULL, 10);
		else if (strncmp(argv[i], "pace=", 5) == 0)
			pace = (useconds_t)strtoul(argv[i] + 5, NULL, 10);
		else if (strcmp(argv[i], "ranges") == 0)
			has_ranges = true;
		else if (strcmp(argv[i], "transfers") == 0)
			has_transfers = true;
		else if (strncmp(argv[i], "end=", 4) != 0)
			modules[module_count++] = load(argv[i]);
	if (!module_count)
		modules[module_count++] = stand_in_load("no cubin", 8);
	if (replays)
		train_capture();
	for (long i = 0; i < replays; i++)
		train_replay();
	for (size_t i = 0; i < others && i < sizeof threads / sizeof *threads; i++)
		if (pthread_create(&threads[i], NULL, launch_beside, &steps))
			exit(1);
	for (long i = 0; i < steps; i++) {
		if (has_ranges) {
			nvtxRangePushA("step");
			nvtxRangePushA(i % 2 ? "odd; and so long that its name is cut off after sixty-three characters"
					     : "even, seq = 5, op_id = 7");
		}
		sum += (uint32_t)(i % 4 ? train_add((int)i) : train_scale((int)i));
		if (i % 4 == 0)
			train_copy();
		if (has_transfers) {
			train_load((uint64_t)i);
			train_store();
			if (i % 10 == 0)
				train_exchange();
		}
		if (has_ranges) {
			nvtxRangePop();
			nvtxRangePop();
		}
		if (pace && replays)
			train_replay();
		if (pace && (cuStreamSynchronize(NULL) || usleep(pace)))
			exit(1);
	}
	for (size_t i = 0; i < others && i < sizeof threads / sizeof *threads; i++)
		pthread_join(threads[i], NULL);
	printf("%ld steps, %u\n", steps, sum);
	fflush(stdout);
	if (strcmp(end, "destroy") == 0)
		stand_in_destroy_context();
	if (strcmp(end, "_exit") == 0)
		_exit(3);
	return 3;
}
