/* SPDX-License-Identifier: Apache-2.0 */
/* Records for a collector, for tests of the profile that it makes of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "profile/collector.h"

#define SECOND NANOSECONDS_PER_SECOND
#define CPU_TYPE 42 /* the value type of samples */

/* Tests create both; end_collector() frees them. */
extern struct intern *intern;
extern struct collector *collector;

void end_collector(void);
/* Returns the id of a text. */
uint32_t text(const char *name);
/* Hands a record of a source to the collector. */
void take_of(uint16_t source, void *record, uint16_t type, size_t size, uint64_t time);
/* The same for source 1. */
void take(void *record, uint16_t type, size_t size, uint64_t time);
/* Declares the value type of samples: "cpu", in nanoseconds. */
void take_cpu_type(uint64_t period);
void take_process(uint32_t pid, uint32_t event, const char *name, uint64_t time);
/* One sample of a value type in a stack. */
void take_sample_of(uint32_t value_type, uint32_t pid, uint32_t stack, uint64_t value, uint64_t time);
/* The same of the type "cpu" in a stack of one address. */
void take_sample(uint32_t pid, uint64_t address, uint64_t value, uint64_t time);
void take_sync(uint64_t time);
