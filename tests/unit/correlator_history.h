/* SPDX-License-Identifier: Apache-2.0 */
/* A history of kernels, launches, busy processes and stall samples for tests of the correlator, and what became of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "profile/collector.h"

#define SECOND NANOSECONDS_PER_SECOND
#define MILLISECOND (SECOND / 1000)
#define BASE UINT64_C(0x800000000000)
#define LAUNCHES 2 /* the source of launches */
#define STALLS 3   /* the source of samples */

extern struct intern *intern;
extern struct collector *collector;
extern uint64_t start; /* records of the future are not believed: all happens in the minute before now */
extern uint32_t kernel_count, object_count;
extern uint64_t samples_in;
extern uint64_t history_resolution; /* of the times that profiles have, ns; 0: a test set it so, they have none */

extern bool history_threads;    /* profiles have threads and devices */
extern bool history_spans;      /* profiles have spans */
extern bool history_continuous; /* the collector is that of a continuous run */

/* The id of a text. */
uint32_t text(const char *name);
/* Hands a record of a source to the collector; times are from start on. */
void take(uint16_t source, void *record, uint16_t type, size_t size, uint64_t time);
void take_process(uint32_t pid, uint32_t event, const char *name, uint64_t time);
uint32_t take_kernel(uint32_t pid, const char *name, uint64_t address, uint64_t time);
uint32_t take_object(uint32_t pid, const char *path, uint64_t address, uint64_t time);
void take_unload(uint32_t pid, uint32_t object, uint64_t time);
/* site: 'a' to 'z', a function of the Linux kernel in a list of symbols of our own; 0: no stack. */
void take_launches(uint32_t pid, uint32_t kernel, char site, uint64_t count, uint64_t from, uint64_t to);
/* All that the source of launches has to say up to a time. */
void tell(uint64_t time);
void take_activity(uint32_t pid, uint32_t kind, uint64_t busy, const char *label, uint64_t from, uint64_t to);
/* count samples of reason 0, and as many of reason 1. */
void take_stalls(uint64_t address, uint32_t space, uint64_t count, uint64_t from, uint64_t to);
void take_relative(uint64_t offset, uint64_t count, uint64_t from, uint64_t to);
void synchronize(uint64_t time);
struct collector *make_collector(bool live, struct decoder_finder *decoders);
/* Hands the results of a collector to the collector of a replay, and finishes it. */
void replay_results(struct collector *from, struct collector *replay);
/* The device, its two stall reasons, and two processes: 10, "first", and 11, "second". */
void announce(void);
/* Both processes have code at BASE + 0x1000, and launch it as often. */
void two_processes(void);
void set_up(void);
void tear_down(void);
/* Samples under stacks that have all frames of a text, "first;site_a;-", in this order, others between them or not. */
uint64_t sum_of(struct collector *of, const char *frames);
uint64_t sum(const char *frames);
/* Returns the sum of all values of a type. */
uint64_t total_of(const char *type, const char *unit);
struct device_samples statistics(void);
/* Ends the run: everything that came in is in the profile, once. */
void finish(uint64_t matched, uint64_t ambiguous, uint64_t unmatched);
