/* SPDX-License-Identifier: Apache-2.0 */
/* Divides integer counts in proportion to weights: see proportional_split.h. */
#include "correlator/proportional_split.h"

/* Limit on balances; beyond it, all are reset to 0, which loses about one sample each. */
#define BALANCES_MAX 65536

void proportional_split_free(struct proportional_split *split)
{
	array_free(&split->targets);
	array_free(&split->groups);
	keyed_array_free(&split->balances);
}

void proportional_split_begin(struct proportional_split *split)
{
	split->targets.count = split->groups.count = 0;
	split->number++;
	if (split->balances.count >= BALANCES_MAX)
		keyed_array_free(&split->balances);
}

/* Returns the balance of a launch stack, adding it if it is new; NULL: out of memory. */
static struct split_balance *balance_for(struct proportional_split *split, uint32_t launch_stack)
{
	uint32_t position = keyed_array_add(&split->balances, &((struct split_balance){ .key = launch_stack }));
	return position == POSITION_NONE ? NULL : &split->balances.items[position];
}

bool proportional_split_add(struct proportional_split *split, const struct device_stack_key *key, double weight)
{
	struct split_balance *balance = balance_for(split, key->launch_stack);
	struct split_target target = {
		.key = *key, .weight = weight, .next = SPLIT_NONE, .entry = DEVICE_STACKS_ENTRY_NONE
	};
	if (!balance || !array_reserve(&split->targets, split->targets.count + 1) ||
	    !array_reserve(&split->groups, split->groups.count + 1))
		return false;
	if (balance->split != split->number) {
		balance->split = split->number;
		balance->position = (uint32_t)split->groups.count;
		split->groups.items[split->groups.count++] =
			(struct split_group){ .launch_stack = key->launch_stack, .first = SPLIT_NONE };
	}
	struct split_group *group = &split->groups.items[balance->position];
	group->weight += weight;
	target.next = group->first;
	group->first = (uint32_t)split->targets.count;
	split->targets.items[split->targets.count++] = target;
	return true;
}

/* Returns the group that is owed the most. */
static struct split_group *group_with_largest_balance(struct proportional_split *split)
{
	struct split_group *found = &split->groups.items[0];
	for (size_t i = 1; i < split->groups.count; i++)
		if (split->groups.items[i].balance > found->balance)
			found = &split->groups.items[i];
	return found;
}

/* Divides the part of a group among its targets; the remainder goes to the one with the largest weight. */
static void divide_group(struct proportional_split *split, const struct split_group *group)
{
	struct split_target *targets = split->targets.items, *largest = &targets[group->first];
	uint64_t left = group->part;
	for (uint32_t i = group->first; i != SPLIT_NONE; i = targets[i].next) {
		double due = (double)group->part * (targets[i].weight / group->weight);
		targets[i].part = due < (double)left ? (uint64_t)due : left;
		left -= targets[i].part;
		if (targets[i].weight > largest->weight)
			largest = &targets[i];
	}
	largest->part += left;
}

void proportional_split_divide(struct proportional_split *split, uint64_t count)
{
	double sum = 0;
	uint64_t given = 0;
	if (split->targets.count == 1) {
		split->targets.items[0].part = count;
		return;
	}
	for (size_t i = 0; i < split->groups.count; i++)
		sum += split->groups.items[i].weight;
	for (size_t i = 0; i < split->groups.count; i++) {
		struct split_group *group = &split->groups.items[i];
		const struct split_balance *balance = balance_for(split, group->launch_stack);
		double due = (double)count * (group->weight / sum);
		/* Limited because large counts are rounded. */
		group->part = due < (double)(count - given) ? (uint64_t)due : count - given;
		given += group->part;
		group->balance = due - (double)group->part + (balance ? (double)balance->balance : 0);
	}
	for (; given < count; given++) {
		struct split_group *group = group_with_largest_balance(split);
		group->part++;
		group->balance -= 1;
	}
	for (size_t i = 0; i < split->groups.count; i++) {
		struct split_balance *balance = balance_for(split, split->groups.items[i].launch_stack);
		if (balance)
			balance->balance = (float)split->groups.items[i].balance;
		divide_group(split, &split->groups.items[i]);
	}
}
