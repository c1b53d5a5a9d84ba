/* SPDX-License-Identifier: Apache-2.0 */
/* Options and subcommands of other profilers, which get a hint to the option of iaprof. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes what to use instead of an option, given by its letter or long name without dashes. value: its value, which is
 * part of the hint; NULL if it is unknown. Returns false if there is no hint.
 */
bool foreign_option_hint(const char *name, const char *value, char *text, size_t size);

/* Returns what to use instead of a subcommand; NULL if it is none. */
const char *foreign_subcommand_hint(const char *word);
