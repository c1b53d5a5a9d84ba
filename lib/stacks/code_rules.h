/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that tell the program's own code from that of runtimes and frameworks, and sort code of libraries and GPU
 * kernels into classes (iaprof(1), RULES). Of the rules of a kind that match, the last one counts, so that later files
 * override earlier ones. Immutable once read: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Limits of what is read. */
#define CODE_RULES_MAX 4096u
#define CODE_RULES_FILE_MAX ((size_t)1 << 20)

/* What a pattern is compared with. */
enum code_field {
	CODE_FIELD_FILE,     /* source file */
	CODE_FIELD_MODULE,   /* program or library */
	CODE_FIELD_FUNCTION, /* name of a function */
	CODE_FIELD_KERNEL,   /* name of a GPU kernel, in upper or lower case */
	CODE_FIELDS
};

struct code_rules;

/* Returns NULL when out of memory. */
struct code_rules *code_rules_new(void);
void code_rules_free(struct code_rules *rules);

/* Adds the rules of a file. Returns 0, or a negative errno and sets error. */
int code_rules_read(struct code_rules *rules, const char *path, struct error *error);

/* Returns the number of the last rule for a field that matches a text, 0 if none does. text may be NULL. */
uint32_t code_rules_find(const struct code_rules *rules, enum code_field field, const char *text);
/* Whether a rule says that what it matches is code of a library. 0: it is not. */
bool code_rules_is_library(const struct code_rules *rules, uint32_t number);
/* Returns the class that a rule names; NULL: none, and for 0. Lives as long as the rules. */
const char *code_rules_class(const struct code_rules *rules, uint32_t number);
