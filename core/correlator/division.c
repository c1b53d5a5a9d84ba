/* SPDX-License-Identifier: Apache-2.0 */
/* Whole counts in proportion to weights: see division.h. */
#include "correlator/division.h"

/* Beyond this many balances all begin anew at 0: each is less than one sample or so. */
#define BALANCES_MAX 65536

static void forget(struct division *division)
{
	array_free(&division->balances);
	hash_index_free(&division->index);
}

void division_free(struct division *division)
{
	array_free(&division->targets);
	array_free(&division->prefixes);
	forget(division);
}

void division_begin(struct division *division)
{
	division->targets.count = division->prefixes.count = 0;
	division->number++;
	if (division->balances.count >= BALANCES_MAX)
		forget(division);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct division *)context)->balances.items[position].prefix);
}

/* The balance of a prefix, which is made if there is none; NULL: out of memory. */
static struct division_balance *balance_for(struct division *division, uint32_t prefix)
{
	for (struct hash_probe probe = hash_index_probe(&division->index, hash_u64(prefix));
	     hash_index_next(&division->index, &probe);)
		if (division->balances.items[probe.position].prefix == prefix)
			return &division->balances.items[probe.position];
	uint32_t position = (uint32_t)division->balances.count;
	if (!array_push(&division->balances, ((struct division_balance){ .prefix = prefix })))
		return NULL;
	if (hash_index_add(&division->index, hash_u64(prefix), position, rehash, division))
		return &division->balances.items[position];
	division->balances.count--;
	return NULL;
}

bool division_add(struct division *division, const struct stacks_key *key, double weight)
{
	struct division_balance *balance = balance_for(division, key->prefix);
	struct division_target target = { .key = *key, .weight = weight, .next = DIVISION_NONE };
	if (!balance || !array_reserve(&division->targets, division->targets.count + 1) ||
	    !array_reserve(&division->prefixes, division->prefixes.count + 1))
		return false;
	if (balance->division != division->number) {
		balance->division = division->number;
		balance->position = (uint32_t)division->prefixes.count;
		division->prefixes.items[division->prefixes.count++] =
			(struct division_prefix){ .prefix = key->prefix, .first = DIVISION_NONE };
	}
	struct division_prefix *prefix = &division->prefixes.items[balance->position];
	prefix->weight += weight;
	target.next = prefix->first;
	prefix->first = (uint32_t)division->targets.count;
	division->targets.items[division->targets.count++] = target;
	return true;
}

/* The prefix that has got the least of what is due to it. */
static struct division_prefix *neediest(struct division *division)
{
	struct division_prefix *found = &division->prefixes.items[0];
	for (size_t i = 1; i < division->prefixes.count; i++)
		if (division->prefixes.items[i].balance > found->balance)
			found = &division->prefixes.items[i];
	return found;
}

/* What a prefix has got is divided among its targets, the rest going to the one with the largest weight. */
static void divide_prefix(struct division *division, const struct division_prefix *prefix)
{
	struct division_target *targets = division->targets.items, *largest = &targets[prefix->first];
	uint64_t left = prefix->part;
	for (uint32_t i = prefix->first; i != DIVISION_NONE; i = targets[i].next) {
		double due = (double)prefix->part * (targets[i].weight / prefix->weight);
		targets[i].part = due < (double)left ? (uint64_t)due : left;
		left -= targets[i].part;
		if (targets[i].weight > largest->weight)
			largest = &targets[i];
	}
	largest->part += left;
}

void division_divide(struct division *division, uint64_t count)
{
	double sum = 0;
	uint64_t given = 0;
	if (division->targets.count == 1) {
		division->targets.items[0].part = count;
		return;
	}
	for (size_t i = 0; i < division->prefixes.count; i++)
		sum += division->prefixes.items[i].weight;
	for (size_t i = 0; i < division->prefixes.count; i++) {
		struct division_prefix *prefix = &division->prefixes.items[i];
		const struct division_balance *balance = balance_for(division, prefix->prefix);
		double due = (double)count * (prefix->weight / sum);
		/* Never more than there is: rounding of large counts. */
		prefix->part = due < (double)(count - given) ? (uint64_t)due : count - given;
		given += prefix->part;
		prefix->balance = due - (double)prefix->part + (balance ? (double)balance->balance : 0);
	}
	for (; given < count; given++) {
		struct division_prefix *prefix = neediest(division);
		prefix->part++;
		prefix->balance -= 1;
	}
	for (size_t i = 0; i < division->prefixes.count; i++) {
		struct division_balance *balance = balance_for(division, division->prefixes.items[i].prefix);
		if (balance)
			balance->balance = (float)division->prefixes.items[i].balance;
		divide_prefix(division, &division->prefixes.items[i]);
	}
}
