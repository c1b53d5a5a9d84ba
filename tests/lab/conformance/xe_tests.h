/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of tests of an xe device. Those with "double" in the name need the double. */
#pragma once

void test_queries(void);
void test_platforms_of_the_double(void);
void test_open(void);
void test_rights(void);
void test_stream(void);
void test_reads_of_the_double(void);
void test_sharing_of_the_double(void);
void test_rows_of_the_double(void);
void test_resets_of_the_double(void);
void test_scenarios_of_the_double(void);
void test_jobs_of_the_double(void);
void test_life_of_the_double(void);
