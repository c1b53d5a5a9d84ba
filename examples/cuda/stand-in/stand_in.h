/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for CUPTI and the CUDA driver, for tests without a GPU: libcupti.so.13 has the functions that the injected
 * library uses, and these, with which a program acts as if it used a GPU. Each launch adds samples at three PCs.
 *
 * STAND_IN_FAILS=FUNCTION:ERROR in the environment lets a function of CUPTI fail, or activity records of copies; with
 * STAND_IN_YIELDS, threads that are within a call let others run; with STAND_IN_HELPER, all but the first PC of the
 * kernel scale are in a function of its own; with STAND_IN_STEP=BYTES, PCs are so far apart instead of STAND_IN_STEP.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Samples of a launch: STAND_IN_WAITS of reason long_scoreboard and one of reason selected at each PC. */
#define STAND_IN_PCS 3u
#define STAND_IN_STEP 4u
#define STAND_IN_WAITS 4u
/* How long a kernel runs, in ns: one called scale, and others. One launch in so many has no time. */
#define STAND_IN_SCALE_TIME 3000u
#define STAND_IN_TIME 1000u
#define STAND_IN_UNTIMED 50u
/* A function that is a part of the kernel scale, by CUDA's name for it. */
#define STAND_IN_HELPER "$scale$helper"
/* How long a copy on the device takes, beside the last kernel. */
#define STAND_IN_COPY_TIME 250u
/* Samples of a copy on the device, in a kernel that CUPTI does not name. */
#define STAND_IN_COPY 7u

/* A copy, which begins with the last execution, whatever that is. */
struct stand_in_transfer {
	uint32_t direction; /* as CUPTI states it, or STAND_IN_SET */
	uint32_t is_pageable;
	uint64_t bytes;
	uint64_t time; /* ns */
};
#define STAND_IN_SET 100u

/* Loads what CUDA_INJECTION64_PATH names, as cuInit() does. */
void stand_in_init(void);
void stand_in_create_context(void);
void stand_in_destroy_context(void);
/* Returns the module's number. */
uint32_t stand_in_load(const void *cubin, size_t size);
void stand_in_unload(uint32_t module);
void stand_in_launch(uint32_t module, const char *kernel);
void stand_in_copy(size_t size);
/* All are calls of cuMemcpyHtoDAsync_v2(), for which CUPTI states a direction of its own. */
void stand_in_transfer(const struct stand_in_transfer *copied);
/* Launches between these become the nodes of a graph, which is launched as a whole. One graph at a time. */
void stand_in_begin_capture(void);
void stand_in_end_capture(void);
void stand_in_launch_graph(void);
/* Of the driver: return 0. */
int cuStreamSynchronize(void *stream);
int cuDeviceGetPCIBusId(char *address, int size, int device);
/* Ranges, as NVTX has them: for programs that are built without its headers. */
int stand_in_push(const char *name);
int stand_in_pop(void);
