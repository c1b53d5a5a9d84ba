/* SPDX-License-Identifier: Apache-2.0 */
/* The record store of the test host: what is on the bus, checked record by record. Callers hold the host's lock. */
#pragma once

#include "base/error.h"
#include "test_host.h"

/* Takes a source's batch. 0, or -EINVAL with what is wrong with it (nothing is taken then). */
int test_records_append(struct test_host *host, const struct iaprof_batch *batch, struct error *error);

/* Appends one record that is known to be good. */
void test_records_put(struct test_host *host, const struct iaprof_record *record);

uint32_t test_records_intern_string(struct test_host *host, const char *text, size_t length);
uint32_t test_records_intern_stack(struct test_host *host, uint32_t pid, const uint64_t *addresses, size_t count);
