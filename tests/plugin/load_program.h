/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tests/programs/load, whose CPU use is known, and returns the function that a stack is in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <iaprof/record.h>

/* The functions of load, in the order that it prints them. */
enum load_function { LOAD_BURN_50 = 0, LOAD_BURN_30, LOAD_BURN_15, LOAD_BURN_5, LOAD_FUNCTION_COUNT };

struct load_program {
	pid_t pid;
	FILE *output;
	int gate;
	struct {
		uint64_t start, end;
	} functions[LOAD_FUNCTION_COUNT];
};

/* Starts it and reads its functions' addresses; it waits until load_program_go(). Arguments end with NULL. */
struct load_program load_program_start(const char *mode, ...) __attribute__((sentinel));
void load_program_go(struct load_program *load);
/* Whether it has ended. */
bool load_program_ended(struct load_program *load);
/* The time that it printed before its exec. */
uint64_t load_program_exec_time(struct load_program *load);
/* Kills it if it runs, and releases what load_program_start() took. */
void load_program_stop(struct load_program *load);

/* The function of load whose code is at an address, or -1. */
int load_program_function_at(const struct load_program *load, uint64_t address);
/* The function of load that a stack passes through, or -1. */
int load_program_function(const struct load_program *load, const struct iaprof_record_stack *stack);
