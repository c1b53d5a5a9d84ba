/* SPDX-License-Identifier: Apache-2.0 */
/* Formats quantities with few characters and an SI prefix. */
#pragma once

#include <stdint.h>

#define QUANTITY_SIZE 16

/* Formats "1234", "12.3k", "4.56M"; nanoseconds as "12.3 ms". */
void quantity_format(char text[QUANTITY_SIZE], double amount, const char *unit);
/* Returns part in percent of whole, 0 when whole is 0. */
double quantity_percent(uint64_t part, uint64_t whole);
/* Returns the amount per second. */
double quantity_rate(uint64_t amount, uint64_t nanoseconds);
