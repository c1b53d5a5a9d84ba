/* SPDX-License-Identifier: Apache-2.0 */
/* What the device code of a process is that no code object covers: told by the libraries that it has mapped. */
#ifndef IAPROF_XE_EUSTALL_CODE_LABEL_H
#define IAPROF_XE_EUSTALL_CODE_LABEL_H

#include <stddef.h>
#include <stdint.h>

enum code_label {
	CODE_LABEL_NONE = 0,
	CODE_LABEL_RUNTIME = 1, /* copies, fills and the system routine of Intel's compute runtime */
	CODE_LABEL_MESA = 2
};

/* Of a line of /proc/PID/maps. A library's file may have a version behind its name. */
enum code_label code_label_of_mapping(const char *line, size_t size);

/* The text for a label, NULL for CODE_LABEL_NONE. */
const char *code_label_text(enum code_label label);

#define CODE_LABEL_PROCESSES 256u

/* Processes that were looked at; initialise with {0}. */
struct code_labels {
	struct {
		uint32_t pid;
		uint32_t label; /* enum code_label */
		uint32_t asked; /* not 0: it is to be looked at */
		uint64_t time;
	} processes[CODE_LABEL_PROCESSES];
};

/*
 * Looks at a process's mappings, which may wait for it. With libraries of both kinds nobody can tell whose code it is:
 * none.
 */
enum code_label code_label_of_process(uint32_t pid);

/*
 * What is known of a process that is busy now. It is asked for when it is not known, and again after some seconds, as
 * it may have executed something else.
 */
enum code_label code_labels_find(struct code_labels *labels, uint32_t pid, uint64_t now);

/* A process that is asked for, 0 none; and what was found of it. */
uint32_t code_labels_asked(const struct code_labels *labels);
void code_labels_store(struct code_labels *labels, uint32_t pid, enum code_label label);

#endif
