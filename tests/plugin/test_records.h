/* SPDX-License-Identifier: Apache-2.0 */
/* The record store of the test host: what is on the bus, checked record by record. Callers hold the host's lock. */
#ifndef IAPROF_TESTS_PLUGIN_TEST_RECORDS_H
#define IAPROF_TESTS_PLUGIN_TEST_RECORDS_H

#include "test_host.h"

/* What is wrong with a record of at most available bytes, or NULL. */
const char *test_record_wrong(const struct iaprof_record *record, size_t available);

/* Takes a source's batch. NULL, or what is wrong with it (nothing is taken then). */
const char *test_records_append(struct test_host *host, const struct iaprof_batch *batch);

/* Appends one record that is known to be good. */
void test_records_put(struct test_host *host, const struct iaprof_record *record);

uint32_t test_records_intern_string(struct test_host *host, const char *text, size_t length);
uint32_t test_records_intern_stack(struct test_host *host, uint32_t pid, const uint64_t *addresses, size_t count);

#endif
