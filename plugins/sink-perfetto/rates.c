/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts as rates over time: see rates.h. */
#include "rates.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#define BUCKET_COUNT (sizeof((struct rates *)NULL)->buckets / sizeof(struct rate *))

static uint64_t step_of(const struct rates *rates, const struct rate *rate)
{
	return rates->step << rate->shift;
}

struct rate *rates_find(struct rates *rates, const struct track_key *key, double scale)
{
	struct rate **bucket = &rates->buckets[track_key_hash(key) % BUCKET_COUNT];
	for (struct rate *rate = *bucket; rate; rate = rate->next)
		if (track_key_is_equal(&rate->key, key))
			return rate;
	struct rate *rate = rates->count < RATES_COUNT_MAX ? calloc(1, sizeof *rate) : NULL;
	if (!rate)
		return NULL;
	rate->key = *key;
	rate->scale = scale;
	rate->written = rates->flushed / rates->step * rates->step;
	rate->next = *bucket;
	*bucket = rate;
	*(rates->first ? rates->end : &rates->first) = rate;
	rates->end = &rate->later;
	rates->count++;
	return rate;
}

static void write_value(struct rates *rates, struct rate *rate, uint64_t time, double value)
{
	if (value != rate->shown)
		rates->write(rates->context, rate, time, value);
	rate->shown = value;
}

/* Returns the start of the next step, later if part of it was written with shorter steps. */
static void show_step(struct rates *rates, struct rate *rate, uint64_t number, double amount)
{
	uint64_t step = step_of(rates, rate), begin = number * step, end = begin + step;
	if (begin > rate->written)
		write_value(rates, rate, rate->written, 0);
	else
		begin = rate->written;
	write_value(rates, rate, begin, amount * rate->scale / (double)(end - begin));
	rate->written = end;
}

/* Doubles the step. */
static void double_step(struct rate *rate)
{
	size_t odd = rate->first % 2, old_count = rate->count;
	rate->first /= 2;
	rate->count = 0;
	rate->shift++;
	for (size_t i = 0; i < old_count; i++) {
		size_t to = (i + odd) / 2;
		double amount = rate->amounts[i]; /* to <= i, so nothing is overwritten before it is read */
		rate->amounts[to] = to < rate->count ? rate->amounts[to] + amount : amount;
		rate->count = to + 1;
	}
}

/* Makes room for a range of steps. */
static bool reach(struct rate *rate, uint64_t from, uint64_t to)
{
	size_t ahead = rate->count && from < rate->first ? (size_t)(rate->first - from) : 0;
	if (!rate->count || ahead)
		rate->first = from;
	size_t count = rate->count + ahead, wanted = (size_t)(to - rate->first + 1);
	wanted = wanted > count ? wanted : count;
	if (!array_grow((void **)&rate->amounts, &rate->capacity, wanted, sizeof *rate->amounts))
		return false;
	memmove(rate->amounts + ahead, rate->amounts, rate->count * sizeof *rate->amounts);
	memset(rate->amounts, 0, ahead * sizeof *rate->amounts);
	memset(rate->amounts + count, 0, (wanted - count) * sizeof *rate->amounts);
	rate->count = wanted;
	return true;
}

/* Returns whether a range would exceed the limit on buffered steps. */
static bool is_too_long(const struct rates *rates, const struct rate *rate, uint64_t begin, uint64_t end)
{
	uint64_t step = step_of(rates, rate), from = begin / step, to = (end - 1) / step;
	if (rate->count && rate->first < from)
		from = rate->first;
	if (rate->count && rate->first + rate->count - 1 > to)
		to = rate->first + rate->count - 1;
	return to - from >= RATE_STEP_COUNT_MAX;
}

bool rate_add(struct rates *rates, struct rate *rate, uint64_t begin, uint64_t end, uint64_t amount)
{
	if (!amount)
		return true;
	if (begin >= end)
		begin = end ? end - 1 : 0;
	if (begin < rate->written) {
		rates->moved++;
		begin = rate->written;
	}
	if (end <= begin)
		end = begin + 1;
	while (is_too_long(rates, rate, begin, end))
		double_step(rate);
	uint64_t step = step_of(rates, rate), first = begin / step, last = (end - 1) / step;
	if (!reach(rate, first, last))
		return false;
	double density = (double)amount / (double)(end - begin);
	for (uint64_t number = first; number <= last; number++) {
		uint64_t from = number > first ? number * step : begin;
		uint64_t to = number == last ? end : (number + 1) * step;
		rate->amounts[number - rate->first] += density * (double)(to - from);
	}
	return true;
}

static void rate_flush(struct rates *rates, struct rate *rate, uint64_t before)
{
	uint64_t step = step_of(rates, rate), end = before / step;
	size_t count = 0;
	for (; count < rate->count && rate->first + count < end; count++)
		show_step(rates, rate, rate->first + count, rate->amounts[count]);
	if (count)
		memmove(rate->amounts, rate->amounts + count, (rate->count - count) * sizeof *rate->amounts);
	rate->count -= count;
	rate->first += count;
	if (rate->written < end * step) {
		write_value(rates, rate, rate->written, 0);
		rate->written = end * step;
	}
	if (!rate->count)
		rate->shift = 0;
}

static void bucket_remove(struct rates *rates, const struct rate *rate)
{
	struct rate **place = &rates->buckets[track_key_hash(&rate->key) % BUCKET_COUNT];
	while (*place != rate)
		place = &(*place)->next;
	*place = rate->next;
}

void rates_flush(struct rates *rates, uint64_t before)
{
	rates->flushed = before;
	struct rate **place = &rates->first;
	for (struct rate *rate; (rate = *place);) {
		rate_flush(rates, rate, before);
		if (rate->count || rate->shown != 0 || rates->count <= RATES_COUNT_MAX / 2) {
			place = &rate->later;
			continue;
		}
		bucket_remove(rates, rate);
		*place = rate->later;
		rates->count--;
		free(rate->amounts);
		free(rate);
	}
	rates->end = place;
}

void rates_finish(struct rates *rates)
{
	for (struct rate *rate = rates->first; rate; rate = rate->later) {
		for (size_t at = 0; at < rate->count; at++)
			show_step(rates, rate, rate->first + at, rate->amounts[at]);
		rate->count = 0;
		write_value(rates, rate, rate->written, 0);
	}
}

void rates_free(struct rates *rates)
{
	for (struct rate *rate = rates->first, *later; rate; rate = later) {
		later = rate->later;
		free(rate->amounts);
		free(rate);
	}
	memset(rates->buckets, 0, sizeof rates->buckets);
	rates->first = NULL;
}
