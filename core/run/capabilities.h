/* SPDX-License-Identifier: Apache-2.0 */
/* Limits iaprof's own capabilities while records are collected. */
#pragma once

/*
 * Drops permanently each capability that no source, output or helper process needs after prepare(), and sets
 * no_new_privs. Must run before the first thread is created, because capabilities are per thread. The user's command
 * has been forked by then and keeps its capabilities.
 */
void capabilities_reduce(void);
