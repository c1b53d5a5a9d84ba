/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose address is not known: see unplaced_kernels.h. */
#include "correlator/unplaced_kernels.h"

#include "correlator/launch_history.h"

/* Returns whether a kernel may have been running at a time of the sample. */
static bool may_run(struct kernels *kernels, uint32_t position, const struct iaprof_record_stall_sample *sample)
{
	const struct kernel *kernel = &kernels->items.items[position];
	const struct kernel_share *shares;
	bool in_time = false;
	if (kernel->ended < sample->begin)
		return false;
	if (launch_history_were_before(kernel, sample->begin, LAUNCH_RUNS_FOR, CODE_LIFE_ANY) ||
	    (kernel->dropped && kernel->dropped + LAUNCH_RUNS_FOR > sample->begin))
		return true;
	return kernel->newest >= sample->begin &&
	       kernels_shares(kernels, position, sample->begin, sample->header.time, CODE_LIFE_ANY, &shares,
			      &in_time) &&
	       in_time;
}

/* Returns the evidence for an address, without any if it is new; NULL: too many, or out of memory. */
static struct address_evidence *evidence_for(struct kernels *kernels, struct kernel_owner *owner,
					     const struct address_evidence *wanted, bool *is_new)
{
	uint32_t position = keyed_array_find(&owner->evidence, &wanted->key);
	*is_new = position == POSITION_NONE;
	if (*is_new && owner->evidence.count < EVIDENCE_OF_PROCESS_MAX && kernels->evidence < EVIDENCE_MAX) {
		position = keyed_array_add(&owner->evidence, wanted);
		kernels->evidence += position != POSITION_NONE;
	}
	return position == POSITION_NONE ? NULL : &owner->evidence.items[position];
}

static bool has_name(const struct address_evidence *evidence, uint32_t name)
{
	for (int i = 0; i < UNPLACED_KERNELS_MAX; i++)
		if (evidence->names[i] == name)
			return true;
	return false;
}

size_t unplaced_kernels_find(struct kernels *kernels, uint32_t pid, uint64_t device,
			     const struct iaprof_record_stall_sample *sample, uint32_t found[UNPLACED_KERNELS_MAX])
{
	struct kernel_owner *owner = kernels_owner(kernels, pid);
	struct address_evidence now = { .key = { device, sample->address } };
	size_t count = 0, kept = 0;
	bool is_new;
	for (uint32_t i = owner ? owner->unplaced : KERNEL_NONE; i != KERNEL_NONE; i = kernels->items.items[i].next) {
		if (!may_run(kernels, i, sample))
			continue;
		/* With so many, or without names, nothing can be decided. */
		if (count == UNPLACED_KERNELS_MAX || !kernels->items.items[i].key.name)
			return 0;
		now.names[count] = kernels->items.items[i].key.name;
		found[count++] = i;
	}
	struct address_evidence *evidence = owner ? evidence_for(kernels, owner, &now, &is_new) : NULL;
	if (!evidence)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (has_name(evidence, now.names[i])) {
			now.names[kept] = now.names[i];
			found[kept++] = found[i];
		}
	for (size_t i = kept; i < UNPLACED_KERNELS_MAX; i++)
		now.names[i] = 0;
	*evidence = now;
	return kept;
}
