/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for people: at most three significant digits unless they are exact, without an exponent; halves are rounded
 * up. The pages write the same (plugins/sink-flamegraph/page/text.js): both are tested with tests/data/quantities.txt.
 * Pure; any thread.
 */
#pragma once

#include <stdint.h>

/* 20 digits, a point, a unit. */
struct quantity_text {
	char text[32];
};

/* Formats "23200", "100", "15.0", "0.72", "0.0355"; a number must not be negative. */
struct quantity_text quantity_number(double number);
/* Formats all digits of a sum that saturates: "more than 18446744073709551614" for UINT64_MAX. */
struct quantity_text quantity_sum(uint64_t sum);
/* Formats "9999", "12.3 k", "4.56 M". */
struct quantity_text quantity_count(double count);
/* Formats a part of a whole: "12.3%", "<0.01%"; 100% is all of it. "-" if the whole is 0. sign: "%" or " %". */
struct quantity_text quantity_share(double part, double whole, const char *sign);
/* Formats the same for a column, or a place where it changes, with a number of decimals: "12.30%"; 0 if the whole is 0.
 */
struct quantity_text quantity_fixed_share(double part, double whole, int decimals, const char *sign);
/* Formats a number for each second, "-" if the time is 0. */
struct quantity_text quantity_per_second(double number, double nanoseconds);
/* Formats nanoseconds: "12.3 ms". */
struct quantity_text quantity_time(double nanoseconds);
/* Formats the same, "-" for 0: the time was not measured. */
struct quantity_text quantity_measured_time(double nanoseconds);
/* Formats nanoseconds as a time, other units as a count. */
struct quantity_text quantity_value(double value, const char *unit);
/* Formats "512 B", "16.1 MiB", "1.00 GiB". */
struct quantity_text quantity_size(double bytes);
