/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of a source that needs more than every machine has: asks the plugin's own probe() before the tests run. */
#pragma once

#include <stdbool.h>

/*
 * Whether a source can run here. If not, the TAP line that skips the whole program has been printed, with the reason
 * that the source gives. For main(), outside of tests.
 */
bool live_source_can_run(const char *name);
/* The same with an option "key=value" of the source. */
bool live_source_can_run_with(const char *name, const char *option);
