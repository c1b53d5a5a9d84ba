/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people, in a few characters. */
#ifndef IAPROF_PLUGINS_TOP_AMOUNTS_H
#define IAPROF_PLUGINS_TOP_AMOUNTS_H

#include <stdint.h>

#define AMOUNT_SIZE 16

/* "1234", "12.3k", "4.56M"; of nanoseconds "12.3 ms". */
void amount_format(char text[AMOUNT_SIZE], double amount, const char *unit);
/* What a part of a whole is, in percent; 0 of nothing. */
double amount_percent(uint64_t part, uint64_t whole);
/* In a second. */
double amount_rate(uint64_t amount, uint64_t nanoseconds);

#endif
