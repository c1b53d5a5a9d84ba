/* SPDX-License-Identifier: Apache-2.0 */
/* Labels for device code that no code object covers, by the libraries that a process has mapped. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "broker/broker.h"

enum code_label {
	CODE_LABEL_NONE = 0,
	CODE_LABEL_RUNTIME = 1, /* copies, fills and the system routine of Intel's compute runtime */
	CODE_LABEL_MESA = 2
};

/* Parses a line of /proc/PID/maps. The library's file name may have a version suffix. */
enum code_label code_label_of_mapping(const char *line, size_t size);

/* The text for a label, NULL for CODE_LABEL_NONE. */
const char *code_label_text(enum code_label label);

#define CODE_LABEL_PROCESSES 256u

/* Processes that were looked up. Initialise with {0}. */
struct code_labels {
	struct {
		uint32_t pid;
		uint32_t label; /* enum code_label */
		uint32_t asked; /* not 0: to be looked up */
		uint64_t time;
	} processes[CODE_LABEL_PROCESSES];
};

/* Reads a process's mappings. Returns CODE_LABEL_NONE if libraries of both kinds are mapped. */
enum code_label code_label_of_process(struct broker *broker, uint32_t pid);

/*
 * Returns the label of a busy process. Requests a lookup if it is unknown, and again after some seconds, because the
 * process may have called execve().
 */
enum code_label code_labels_find(struct code_labels *labels, uint32_t pid, uint64_t now);

/* Returns a process whose lookup was requested, 0 if none; and stores the result. */
uint32_t code_labels_asked(const struct code_labels *labels);
void code_labels_store(struct code_labels *labels, uint32_t pid, enum code_label label);
