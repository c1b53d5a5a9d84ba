/* SPDX-License-Identifier: Apache-2.0 */
/* Who may be behind samples: see suspects.h. */
#include "correlator/suspects.h"

#include <string.h>

#include "base/clock.h"
#include "correlator/launches.h"
#include "symbolizer/device/device_address.h"

static void find_busy(struct suspects *suspects, const struct iaprof_record_stall_sample *sample)
{
	if (suspects->busy_valid && suspects->busy_source == sample->header.source &&
	    suspects->busy_device == sample->device && suspects->busy_begin == sample->begin &&
	    suspects->busy_end == sample->header.time)
		return;
	suspects->busy_source = sample->header.source;
	suspects->busy_device = sample->device;
	suspects->busy_begin = sample->begin;
	suspects->busy_end = sample->header.time;
	activity_find(suspects->activity, sample->header.source, sample->device, sample->begin, sample->header.time,
		      &suspects->busy);
	suspects->busy_valid = true;
}

static double busy_of(const struct suspects *suspects, uint32_t pid)
{
	for (size_t i = 0; i < suspects->busy.count; i++)
		if (suspects->busy.items[i].pid == pid)
			return suspects->busy.items[i].busy;
	return 0;
}

const struct busy_process *suspects_only_busy(struct suspects *suspects,
					      const struct iaprof_record_stall_sample *sample)
{
	const struct busy_processes *busy = &suspects->busy;
	find_busy(suspects, sample);
	/* Statistics may not know yet of others. */
	return busy->count == 1 && !busy->more && busy->kind == IAPROF_ACTIVITY_SCHEDULER ? &busy->items[0] : NULL;
}

static void add(struct suspects *suspects, const struct device_code_found *found, uint64_t address)
{
	uint32_t place = places_of_code(suspects->places, found);
	if (place == PLACE_NONE)
		return;
	for (size_t i = 0; i < suspects->count; i++)
		if (suspects->items[i].pid == found->pid && suspects->items[i].place == place)
			return;
	if (suspects->count < SUSPECTS_MAX)
		suspects->items[suspects->count++] =
			(struct suspect){ .pid = found->pid, .place = place, .address = address };
	else
		suspects->uncertain = true;
}

/* Code that a process had at an address in the interval. */
static void find_of_process(struct suspects *suspects, const struct iaprof_record_stall_sample *sample, uint64_t device,
			    uint32_t pid)
{
	struct device_code_found found[SUSPECTS_MAX];
	const struct process_bases *bases = instruction_bases_find(suspects->bases, pid);
	bool is_relative = sample->address_space == IAPROF_ADDRESS_INSTRUCTION_BASE;
	for (uint32_t i = 0; i < (is_relative ? bases ? bases->count : 0 : 1); i++) {
		uint64_t address =
			is_relative ? bases->bases[i] + sample->address : device_address_plain(sample->address);
		size_t count = device_code_find_during(suspects->code, device, pid, address, sample->begin,
						       sample->header.time, found, SUSPECTS_MAX);
		suspects->uncertain |= count > SUSPECTS_MAX;
		for (size_t k = 0; k < count && k < SUSPECTS_MAX; k++)
			add(suspects, &found[k], address);
	}
}

/* The same of any process. A relative address is of one only with a base of its own. */
static void find_of_all(struct suspects *suspects, const struct iaprof_record_stall_sample *sample, uint64_t device)
{
	struct device_code_found found[DEVICE_CODE_FOUND_MAX];
	const struct instruction_bases *bases = suspects->bases;
	bool is_relative = sample->address_space == IAPROF_ADDRESS_INSTRUCTION_BASE;
	for (size_t i = 0; i < (is_relative ? bases->distinct_count : 1); i++) {
		uint64_t base = bases->distinct[i].base;
		uint64_t address = is_relative ? base + sample->address : device_address_plain(sample->address);
		size_t count = device_code_find_all_during(suspects->code, device, address, sample->begin,
							   sample->header.time, found, DEVICE_CODE_FOUND_MAX);
		suspects->uncertain |= count > DEVICE_CODE_FOUND_MAX;
		for (size_t k = 0; k < count && k < DEVICE_CODE_FOUND_MAX; k++)
			if (!is_relative || instruction_bases_has(bases, found[k].pid, base))
				add(suspects, &found[k], address);
	}
}

/*
 * Where the scheduler says who was busy nobody else is looked at. Statistics do not tell who was not: a driver may
 * bring them up to date only when a job ends, or gives way to another one.
 */
static void find_code(struct suspects *suspects, const struct iaprof_record_stall_sample *sample)
{
	uint64_t device = device_code_device(suspects->code, sample->header.source, sample->device);
	const struct busy_processes *busy = &suspects->busy;
	suspects->count = 0;
	suspects->uncertain = false;
	if (sample->pid) {
		find_of_process(suspects, sample, device, sample->pid);
	} else if (busy->count && busy->kind == IAPROF_ACTIVITY_SCHEDULER) {
		suspects->uncertain = busy->more;
		for (size_t i = 0; i < busy->count; i++)
			find_of_process(suspects, sample, device, busy->items[i].pid);
	} else {
		find_of_all(suspects, sample, device);
	}
}

/* The kernels of an image that a process launched in the interval. */
static void find_callers(struct suspects *suspects, uint32_t pid, uint64_t code,
			 const struct iaprof_record_stall_sample *sample)
{
	const struct iaprof_record *header = &sample->header;
	if (suspects->callers_end == header->time && suspects->callers_begin == sample->begin &&
	    suspects->callers_pid == pid && suspects->callers_code == code)
		return;
	suspects->callers_pid = pid;
	suspects->callers_code = code;
	suspects->callers_begin = sample->begin;
	suspects->callers_end = header->time;
	suspects->caller_count = 0;
	uint64_t device = device_code_device(suspects->code, header->source, sample->device);
	for (uint32_t i = kernels_of_process(suspects->kernels, pid); i != KERNEL_NONE;
	     i = suspects->kernels->items.items[i].next) {
		const struct kernel *kernel = &suspects->kernels->items.items[i];
		const struct kernel_share *shares;
		struct device_code_found found;
		bool in_time;
		if (kernel->newest < sample->begin ||
		    !kernels_shares(suspects->kernels, i, sample->begin, header->time, &shares, &in_time) || !in_time ||
		    !device_code_find_during(suspects->code, device, pid, kernel->address, sample->begin, header->time,
					     &found, 1))
			continue;
		uint32_t place = places_of_code(suspects->places, &found);
		if (place == PLACE_NONE || suspects->places->items.items[place].key.code != code)
			continue;
		if (suspects->caller_count == SUSPECT_KERNELS_MAX)
			break; /* they are not told apart as it is */
		suspects->callers[suspects->caller_count++] = i;
	}
}

/* Kernels that may have run the code at a place: itself, or for a function of several, those of the same image. */
static void find_kernels(struct suspects *suspects, struct suspect *suspect,
			 const struct iaprof_record_stall_sample *sample)
{
	const struct place *place = &suspects->places->items.items[suspect->place];
	if (place->is_kernel) {
		suspect->kernels[0] = kernels_at(suspects->kernels, suspect->pid,
						 suspect->address - place->function_offset, place->function);
		suspect->kernel_count = suspect->kernels[0] != KERNEL_NONE;
		return;
	}
	find_callers(suspects, suspect->pid, place->key.code, sample);
	suspect->kernel_count = suspects->caller_count;
	memcpy(suspect->kernels, suspects->callers, sizeof suspect->kernels);
	suspect->shared = suspect->kernel_count > 1;
}

size_t suspects_shares(struct suspects *suspects, const struct iaprof_record_stall_sample *sample,
		       const struct suspect *suspect, size_t kernel, const struct kernel_share **shares)
{
	bool in_time;
	size_t count = kernels_shares(suspects->kernels, suspect->kernels[kernel], sample->begin, sample->header.time,
				      shares, &in_time);
	return in_time == suspect->launched ? count : 0;
}

static void find_launches(struct suspects *suspects, struct suspect *suspect,
			  const struct iaprof_record_stall_sample *sample)
{
	const struct kernel_share *shares;
	for (size_t i = 0; i < suspect->kernel_count; i++) {
		bool in_time;
		kernels_shares(suspects->kernels, suspect->kernels[i], sample->begin, sample->header.time, &shares,
			       &in_time);
		suspect->launched |= in_time;
	}
	for (size_t i = 0; i < suspect->kernel_count; i++)
		for (size_t k = suspects_shares(suspects, sample, suspect, i, &shares); k-- > 0;)
			suspect->launches += shares[k].weight;
}

static void keep(struct suspects *suspects, bool (*is_kept)(const struct suspects *, const struct suspect *))
{
	size_t kept = 0;
	for (size_t i = 0; i < suspects->count; i++)
		kept += is_kept(suspects, &suspects->items[i]);
	if (!kept || kept == suspects->count)
		return;
	kept = 0;
	for (size_t i = 0; i < suspects->count; i++)
		if (is_kept(suspects, &suspects->items[i]))
			suspects->items[kept++] = suspects->items[i];
	suspects->count = kept;
}

/* Statistics are no evidence against one that launched the kernel then. */
static bool may_have_been_busy(const struct suspects *suspects, const struct suspect *suspect)
{
	return busy_of(suspects, suspect->pid) > 0 || suspect->launched;
}

static bool has_weight(const struct suspects *suspects, const struct suspect *suspect)
{
	(void)suspects;
	return suspect->weight > 0;
}

/* Whoever never launched the kernel does not run it, where launches of its process are seen. */
static bool may_have_launched(const struct suspects *suspects, const struct suspect *suspect)
{
	return suspect->launches > 0 || !kernels_are_seen_launched(suspects->kernels, suspect->pid);
}

static bool has_launched_now(const struct suspects *suspects, const struct suspect *suspect)
{
	(void)suspects;
	return suspect->launched;
}

/* A kernel that was launched this long before an interval hardly runs in it still. */
#define RUNS_FOR (10 * NANOSECONDS_PER_SECOND)

static bool may_run_still(const struct suspects *suspects, const struct suspect *suspect, uint64_t begin)
{
	for (size_t i = 0; i < suspect->kernel_count; i++)
		if (launches_were_before(&suspects->kernels->items.items[suspect->kernels[i]], begin, RUNS_FOR))
			return true;
	return false;
}

/*
 * Where nobody says who was busy: those that launched the kernel in the interval. Others that launched it shortly
 * before may run it still, and then it is not certain.
 */
static void keep_launched_now(struct suspects *suspects, uint64_t begin)
{
	size_t before = suspects->count;
	bool others = false;
	for (size_t i = 0; i < suspects->count; i++)
		others |= !suspects->items[i].launched && may_run_still(suspects, &suspects->items[i], begin);
	keep(suspects, has_launched_now);
	suspects->uncertain |= others && suspects->count < before;
}

/*
 * Several of one process: its code was replaced in the interval. What was launched then has run for a part of the
 * time, the rest has not.
 */
static double part_of_process(const struct suspects *suspects, const struct suspect *suspect)
{
	double sum = 0;
	size_t count = 0;
	bool launched = false;
	for (size_t i = 0; i < suspects->count; i++)
		launched |= suspects->items[i].pid == suspect->pid && suspects->items[i].launched;
	for (size_t i = 0; i < suspects->count; i++)
		if (suspects->items[i].pid == suspect->pid && suspects->items[i].launched == launched) {
			sum += suspects->items[i].launches;
			count++;
		}
	if (suspect->launched != launched)
		return 0;
	return sum > 0 ? suspect->launches / sum : 1.0 / (double)count;
}

/* The weights: busy time of the process where it is known of all, else launches, else all alike. */
static void weigh(struct suspects *suspects)
{
	double parts[SUSPECTS_MAX], launches = 0;
	bool busy_is_known = true;
	for (size_t i = 0; i < suspects->count; i++) {
		parts[i] = part_of_process(suspects, &suspects->items[i]);
		launches += suspects->items[i].launches;
		busy_is_known &= busy_of(suspects, suspects->items[i].pid) > 0;
	}
	for (size_t i = 0; i < suspects->count; i++) {
		struct suspect *suspect = &suspects->items[i];
		if (busy_is_known)
			suspect->weight = busy_of(suspects, suspect->pid) * parts[i];
		else
			suspect->weight = launches <= 0 || parts[i] <= 0 ? parts[i] : suspect->launches;
	}
}

void suspects_find(struct suspects *suspects, const struct iaprof_record_stall_sample *sample)
{
	find_busy(suspects, sample);
	find_code(suspects, sample);
	for (size_t i = 0; i < suspects->count; i++) {
		find_kernels(suspects, &suspects->items[i], sample);
		find_launches(suspects, &suspects->items[i], sample);
	}
	if (suspects->count <= 1)
		return weigh(suspects);
	keep(suspects, may_have_launched);
	if (suspects->busy.count && !sample->pid)
		keep(suspects, may_have_been_busy);
	else if (!sample->pid)
		keep_launched_now(suspects, sample->begin);
	weigh(suspects);
	keep(suspects, has_weight);
}
