/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes that may have caused samples: see launch_candidates.h. */
#include "correlator/launch_candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "correlator/launch_history.h"
#include "correlator/unplaced_kernels.h"
#include "symbolizer/device/device_address.h"

static void find_busy(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample)
{
	if (candidates->busy_valid && candidates->busy_source == sample->header.source &&
	    candidates->busy_device == sample->device && candidates->busy_begin == sample->begin &&
	    candidates->busy_end == sample->header.time)
		return;
	candidates->busy_source = sample->header.source;
	candidates->busy_device = sample->device;
	candidates->busy_begin = sample->begin;
	candidates->busy_end = sample->header.time;
	device_activity_find(candidates->activity, sample->header.source, sample->device, sample->begin,
			     sample->header.time, &candidates->busy);
	candidates->busy_valid = true;
}

static double busy_of(const struct launch_candidates *candidates, uint32_t pid)
{
	for (size_t i = 0; i < candidates->busy.count; i++)
		if (candidates->busy.items[i].pid == pid)
			return candidates->busy.items[i].busy;
	return 0;
}

const struct busy_process *launch_candidates_only_busy(struct launch_candidates *candidates,
						       const struct iaprof_record_stall_sample *sample)
{
	const struct busy_processes *busy = &candidates->busy;
	find_busy(candidates, sample);
	/* The statistics may not include other processes yet. */
	return busy->count == 1 && !busy->more && busy->kind == IAPROF_ACTIVITY_SCHEDULER ? &busy->items[0] : NULL;
}

static void add_candidate(struct launch_candidates *candidates, const struct device_code_found *found, uint64_t address)
{
	uint32_t location = code_locations_find(candidates->locations, found);
	if (location == LOCATION_NONE)
		return;
	if (candidates->locations->items.items[location].is_undecodable) {
		candidates->undecodable = true;
		return;
	}
	for (size_t i = 0; i < candidates->count; i++)
		if (candidates->items[i].pid == found->pid && candidates->items[i].location == location &&
		    candidates->items[i].life.loaded == found->life.loaded)
			return;
	if (candidates->count < CANDIDATES_MAX)
		candidates->items[candidates->count++] = (struct launch_candidate){
			.pid = found->pid, .location = location, .address = address, .life = found->life
		};
	else
		candidates->uncertain = true;
}

/*
 * Returns whether the code of a process at the sample's address may be that of a kernel without an address: all other
 * code of the process is known, and it had none there at another time.
 */
static bool may_be_unplaced(const struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample,
			    uint64_t device, uint32_t pid)
{
	const struct process_bases *bases = instruction_bases_find(candidates->bases, pid);
	bool is_relative = sample->address_space == IAPROF_ADDRESS_INSTRUCTION_BASE;
	uint32_t count = is_relative && bases ? bases->count : 0;
	if (is_relative && bases && bases->is_incomplete)
		return false;
	for (uint32_t i = 0; i < count || i < 1; i++) {
		uint64_t address = count ? bases->bases[i] + sample->address : device_address_plain(sample->address);
		enum unmatched_reason reason = device_code_unmatched(candidates->code, device, pid, address,
								     sample->begin, sample->header.time);
		if (reason != UNMATCHED_ELSEWHERE && reason != UNMATCHED_NOT_ANNOUNCED)
			return false;
	}
	return true;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Writes the names of kernels, as "NAME or OTHER NAME". */
static void join_names(const struct launch_candidates *candidates, const struct launch_candidate *candidate, char *text,
		       size_t size)
{
	const char *names[UNPLACED_KERNELS_MAX];
	for (size_t i = 0; i < candidate->kernel_count; i++)
		names[i] = intern_text(candidates->locations->intern,
				       candidates->kernels->items.items[candidate->kernels[i]].key.name);
	qsort(names, candidate->kernel_count, sizeof *names, compare_names);
	size_t length = 0;
	for (size_t i = 0; i < candidate->kernel_count && length < size; i++)
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			length += (size_t)snprintf(text + length, size - length, "%s%s", i ? " or " : "", names[i]);
}

/* Adds unknown code of a process that may be that of its kernels without an address. */
static void add_unplaced(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample,
			 uint64_t device, uint32_t pid)
{
	struct launch_candidate candidate = {
		.pid = pid, .address = sample->address, .life = CODE_LIFE_ANY, .unplaced = true
	};
	char name[1024];
	if (!may_be_unplaced(candidates, sample, device, pid))
		return;
	candidate.kernel_count = unplaced_kernels_find(candidates->kernels, pid, device, sample, candidate.kernels);
	if (!candidate.kernel_count)
		return;
	candidate.shared = candidate.kernel_count > 1;
	join_names(candidates, &candidate, name, sizeof name);
	struct device_code_found found = { .pid = pid, .kernel = name, .address = sample->address };
	candidate.location = code_locations_find(candidates->locations, &found);
	if (candidate.location == LOCATION_NONE || candidates->count == CANDIDATES_MAX)
		candidates->uncertain = true;
	else
		candidates->items[candidates->count++] = candidate;
}

/* Finds the code that a process had at the sample's address in the interval. */
static void find_of_process(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample,
			    uint64_t device, uint32_t pid)
{
	struct device_code_found found[CANDIDATES_MAX];
	const struct process_bases *bases = instruction_bases_find(candidates->bases, pid);
	bool is_relative = sample->address_space == IAPROF_ADDRESS_INSTRUCTION_BASE;
	/* The address may be of the code whose base is not known: it is credited to no other. */
	bool has_bases = bases && !bases->is_incomplete;
	candidates->uncertain |= is_relative && bases && bases->is_incomplete;
	for (uint32_t i = 0; i < (is_relative ? has_bases ? bases->count : 0 : 1); i++) {
		uint64_t address =
			is_relative ? bases->bases[i] + sample->address : device_address_plain(sample->address);
		size_t count = device_code_find_during(candidates->code, device, pid, address, sample->begin,
						       sample->header.time, found, CANDIDATES_MAX);
		candidates->uncertain |= count > CANDIDATES_MAX;
		for (size_t k = 0; k < count && k < CANDIDATES_MAX; k++)
			add_candidate(candidates, &found[k], address);
	}
}

/* The same for all processes. A relative address applies only to processes with that base. */
static void find_of_all(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample,
			uint64_t device)
{
	struct device_code_found found[DEVICE_CODE_FOUND_MAX];
	const struct instruction_bases *bases = candidates->bases;
	bool is_relative = sample->address_space == IAPROF_ADDRESS_INSTRUCTION_BASE;
	candidates->uncertain |= is_relative && bases->incomplete;
	for (size_t i = 0; i < (is_relative ? bases->distinct_count : 1); i++) {
		uint64_t base = bases->distinct[i].base;
		uint64_t address = is_relative ? base + sample->address : device_address_plain(sample->address);
		size_t count = device_code_find_all_during(candidates->code, device, address, sample->begin,
							   sample->header.time, found, DEVICE_CODE_FOUND_MAX);
		candidates->uncertain |= count > DEVICE_CODE_FOUND_MAX;
		for (size_t k = 0; k < count && k < DEVICE_CODE_FOUND_MAX; k++)
			if (!is_relative || instruction_bases_has(bases, found[k].pid, base))
				add_candidate(candidates, &found[k], address);
	}
}

static bool has_candidate(const struct launch_candidates *candidates, uint32_t pid)
{
	for (size_t i = 0; i < candidates->count; i++)
		if (candidates->items[i].pid == pid)
			return true;
	return false;
}

static bool is_scheduled(const struct busy_processes *busy)
{
	return busy->count && busy->kind == IAPROF_ACTIVITY_SCHEDULER;
}

/*
 * Adds kernels without an address of the processes that have no code at the sample's address. If the scheduler ran some
 * that have neither, their code may be unknown.
 */
static void find_unplaced(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample,
			  uint64_t device)
{
	const struct busy_processes *busy = &candidates->busy;
	const struct kernels *kernels = candidates->kernels;
	size_t placed = candidates->count;
	bool is_of_busy = !sample->pid && is_scheduled(busy), others = false;
	size_t count = sample->pid ? 1 : is_of_busy ? busy->count : kernels->owners.count;
	for (size_t i = 0; i < count; i++) {
		uint32_t pid = sample->pid  ? sample->pid
			       : is_of_busy ? busy->items[i].pid
					    : kernels->owners.items[i].key;
		if (!has_candidate(candidates, pid))
			add_unplaced(candidates, sample, device, pid);
		others |= is_of_busy && !has_candidate(candidates, pid);
	}
	candidates->uncertain |= others && candidates->count > placed;
}

/*
 * Finds the code at the sample's address. Scheduler records exclude all other processes. Statistics exclude none,
 * because a driver may update them only when a job ends or is preempted.
 */
static void find_code(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample)
{
	uint64_t device = device_code_device(candidates->code, sample->header.source, sample->device);
	const struct busy_processes *busy = &candidates->busy;
	candidates->count = 0;
	candidates->uncertain = candidates->undecodable = false;
	if (sample->pid) {
		find_of_process(candidates, sample, device, sample->pid);
	} else if (is_scheduled(busy)) {
		candidates->uncertain = busy->more;
		for (size_t i = 0; i < busy->count; i++)
			find_of_process(candidates, sample, device, busy->items[i].pid);
	} else {
		find_of_all(candidates, sample, device);
	}
	/* What is announced later may show more. */
	if (candidates->count || !candidates->waits)
		find_unplaced(candidates, sample, device);
}

bool launch_candidates_may_grow(const struct launch_candidates *candidates,
				const struct iaprof_record_stall_sample *sample)
{
	for (size_t i = 0; i < candidates->count; i++)
		if (candidates->items[i].life.unloaded >= sample->header.time)
			return false;
	return true;
}

enum unmatched_reason launch_candidates_unmatched(const struct launch_candidates *candidates,
						  const struct iaprof_record_stall_sample *sample)
{
	const struct process_bases *bases = instruction_bases_find(candidates->bases, sample->pid);
	bool is_relative = sample->address_space == IAPROF_ADDRESS_INSTRUCTION_BASE;
	uint64_t device = device_code_device(candidates->code, sample->header.source, sample->device);
	if (candidates->undecodable)
		return UNMATCHED_NO_INSTRUCTION;
	if (sample->address_space >= IAPROF_ADDRESS_KERNEL)
		return UNMATCHED_NO_KERNEL;
	if (is_relative && sample->pid && (!bases || bases->is_incomplete || !bases->count))
		return UNMATCHED_NO_BASE;
	/* Relative addresses of an unknown process have no single absolute address. */
	if (is_relative && (!bases || !bases->count))
		return UNMATCHED_ELSEWHERE;
	uint64_t address = is_relative ? bases->bases[0] + sample->address : device_address_plain(sample->address);
	enum unmatched_reason reason = device_code_unmatched(candidates->code, device, sample->pid, address,
							     sample->begin, sample->header.time);
	/* The code of a process that has ended is forgotten first. */
	return reason == UNMATCHED_NOT_ANNOUNCED && bases ? UNMATCHED_ELSEWHERE : reason;
}

/*
 * Finds the kernels that a process launched in the interval and that can reach the function at a location, and whether
 * others that can may still run.
 */
static void find_callers(struct launch_candidates *candidates, uint32_t pid, uint32_t callee,
			 const struct iaprof_record_stall_sample *sample)
{
	const struct iaprof_record *header = &sample->header;
	const struct code_locations *locations = candidates->locations;
	uint64_t code = locations->items.items[callee].key.code;
	uint32_t function = locations->items.items[callee].function;
	if (candidates->callers_end == header->time && candidates->callers_begin == sample->begin &&
	    candidates->callers_pid == pid && candidates->callers_code == code &&
	    candidates->callers_function == function)
		return;
	candidates->callers_pid = pid;
	candidates->callers_code = code;
	candidates->callers_function = function;
	candidates->callers_begin = sample->begin;
	candidates->callers_end = header->time;
	candidates->callers_before = false;
	candidates->caller_count = 0;
	uint64_t device = device_code_device(candidates->code, header->source, sample->device);
	for (uint32_t i = kernels_of_process(candidates->kernels, pid); i != KERNEL_NONE;
	     i = candidates->kernels->items.items[i].next) {
		const struct kernel *kernel = &candidates->kernels->items.items[i];
		const struct kernel_share *shares;
		struct device_code_found found;
		bool in_time;
		bool launched = kernel->newest >= sample->begin &&
				kernels_shares(candidates->kernels, i, sample->begin, header->time, CODE_LIFE_ANY,
					       &shares, &in_time) &&
				in_time;
		if ((!launched && !launch_history_were_before(kernel, sample->begin, LAUNCH_RUNS_FOR, CODE_LIFE_ANY)) ||
		    !device_code_find_during(candidates->code, device, pid, kernel->key.address, sample->begin,
					     header->time, &found, 1))
			continue;
		uint32_t location = code_locations_find(candidates->locations, &found);
		if (location == LOCATION_NONE || locations->items.items[location].key.code != code ||
		    !code_locations_reaches(locations, &locations->items.items[callee],
					    locations->items.items[location].function))
			continue;
		if (!launched) {
			candidates->callers_before = true;
			continue;
		}
		if (candidates->caller_count == CANDIDATE_KERNELS_MAX)
			break; /* too many to be distinguished anyway */
		candidates->callers[candidates->caller_count++] = i;
	}
}

/*
 * Finds the kernels that may have run the code at a location: the kernel itself, even if its image does not mark it;
 * the kernel whose announced range contains the location; or, for a function called by several, the launched kernels of
 * the same image.
 */
static void find_kernels(struct launch_candidates *candidates, struct launch_candidate *candidate,
			 const struct iaprof_record_stall_sample *sample)
{
	const struct resolved_location *location = &candidates->locations->items.items[candidate->location];
	uint32_t kernel = kernels_at(candidates->kernels, candidate->pid,
				     candidate->address - location->function_offset, location->function);
	if (kernel == KERNEL_NONE)
		kernel = kernels_around(candidates->kernels, candidate->pid, candidate->address, sample->header.time);
	if (location->is_kernel || kernel != KERNEL_NONE) {
		candidate->kernels[0] = kernel;
		candidate->kernel_count = kernel != KERNEL_NONE;
		return;
	}
	find_callers(candidates, candidate->pid, candidate->location, sample);
	candidate->kernel_count = candidates->caller_count;
	memcpy(candidate->kernels, candidates->callers, sizeof candidate->kernels);
	candidate->shared = candidate->kernel_count > 1;
	candidate->others = candidates->callers_before;
}

size_t launch_candidates_shares(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample,
				const struct launch_candidate *candidate, size_t kernel,
				const struct kernel_share **shares)
{
	bool in_time;
	size_t count = kernels_shares(candidates->kernels, candidate->kernels[kernel], sample->begin,
				      sample->header.time, candidate->life, shares, &in_time);
	return in_time == candidate->launched ? count : 0;
}

static void find_launches(struct launch_candidates *candidates, struct launch_candidate *candidate,
			  const struct iaprof_record_stall_sample *sample)
{
	const struct kernel_share *shares;
	for (size_t i = 0; i < candidate->kernel_count; i++) {
		bool in_time;
		kernels_shares(candidates->kernels, candidate->kernels[i], sample->begin, sample->header.time,
			       candidate->life, &shares, &in_time);
		candidate->launched |= in_time;
		candidate->may_run |=
			in_time || launch_history_were_before(&candidates->kernels->items.items[candidate->kernels[i]],
							      sample->begin, LAUNCH_RUNS_FOR, candidate->life);
	}
	for (size_t i = 0; i < candidate->kernel_count; i++)
		for (size_t k = launch_candidates_shares(candidates, sample, candidate, i, &shares); k-- > 0;)
			candidate->launches += shares[k].weight;
}

static void keep_candidates(struct launch_candidates *candidates,
			    bool (*is_kept)(const struct launch_candidates *, const struct launch_candidate *))
{
	size_t kept = 0;
	for (size_t i = 0; i < candidates->count; i++)
		kept += is_kept(candidates, &candidates->items[i]);
	if (!kept || kept == candidates->count)
		return;
	kept = 0;
	for (size_t i = 0; i < candidates->count; i++)
		if (is_kept(candidates, &candidates->items[i]))
			candidates->items[kept++] = candidates->items[i];
	candidates->count = kept;
}

/* Statistics do not exclude a process that launched the kernel in the interval. */
static bool may_have_been_busy(const struct launch_candidates *candidates, const struct launch_candidate *candidate)
{
	return busy_of(candidates, candidate->pid) > 0 || candidate->launched;
}

static bool has_weight(const struct launch_candidates *candidates, const struct launch_candidate *candidate)
{
	return candidate->weight > 0;
}

/* A process whose launches are recorded does not run a kernel that it never launched. */
static bool may_have_launched(const struct launch_candidates *candidates, const struct launch_candidate *candidate)
{
	return candidate->launches > 0 || !kernels_are_seen_launched(candidates->kernels, candidate->pid);
}

/* Returns whether a process launched any of its candidates in the interval. */
static bool process_has_launched(const struct launch_candidates *candidates, uint32_t pid)
{
	for (size_t i = 0; i < candidates->count; i++)
		if (candidates->items[i].pid == pid && candidates->items[i].launched)
			return true;
	return false;
}

static bool may_run_now(const struct launch_candidates *candidates, const struct launch_candidate *candidate)
{
	return candidate->may_run && process_has_launched(candidates, candidate->pid);
}

/*
 * Without activity records: keeps the candidates of processes that launched code at the address in the interval. The
 * result is uncertain if others launched it shortly before, because they may still run it.
 */
static void keep_launched_now(struct launch_candidates *candidates)
{
	size_t before = candidates->count;
	bool others = false;
	for (size_t i = 0; i < candidates->count; i++)
		others |= !candidates->items[i].launched && candidates->items[i].may_run;
	keep_candidates(candidates, may_run_now);
	candidates->uncertain |= others && candidates->count < before;
}

/*
 * Returns a candidate's part of its process. A process has several candidates if its code was replaced in the interval;
 * if any was launched in it, only those that may run then have a part.
 */
static double part_of_process(const struct launch_candidates *candidates, size_t position,
			      const bool counts[static CANDIDATES_MAX])
{
	double sum = 0;
	size_t count = 0;
	if (!counts[position])
		return 0;
	for (size_t i = 0; i < candidates->count; i++)
		if (candidates->items[i].pid == candidates->items[position].pid && counts[i]) {
			sum += candidates->items[i].launches;
			count++;
		}
	return sum > 0 ? candidates->items[position].launches / sum : 1.0 / (double)count;
}

/* Sets the weights: busy time of the processes if known for all, else number of launches, else equal. */
static void set_weights(struct launch_candidates *candidates)
{
	double parts[CANDIDATES_MAX], launches = 0;
	bool busy_is_known = true, counts[CANDIDATES_MAX];
	for (size_t i = 0; i < candidates->count; i++)
		counts[i] = candidates->items[i].may_run || !process_has_launched(candidates, candidates->items[i].pid);
	for (size_t i = 0; i < candidates->count; i++) {
		parts[i] = part_of_process(candidates, i, counts);
		launches += candidates->items[i].launches;
		busy_is_known &= busy_of(candidates, candidates->items[i].pid) > 0;
	}
	for (size_t i = 0; i < candidates->count; i++) {
		struct launch_candidate *candidate = &candidates->items[i];
		if (busy_is_known)
			candidate->weight = busy_of(candidates, candidate->pid) * parts[i];
		else
			candidate->weight = launches <= 0 || parts[i] <= 0 ? parts[i] : candidate->launches;
	}
}

static bool names_kernel(const struct iaprof_record_stall_sample *sample)
{
	return sample->address_space == IAPROF_ADDRESS_KERNEL || sample->address_space == LAUNCH_CANDIDATES_JOB;
}

/* Finds the code of a sample that names its kernel: nothing has to be derived from an address. */
static void find_named(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample)
{
	uint16_t source = sample->header.source;
	uint32_t id = iaprof_record_stall_sample_details(sample)->kernel;
	uint64_t offset = sample->address_space == LAUNCH_CANDIDATES_JOB ? DEVICE_CODE_WHOLE_KERNEL : sample->address;
	uint32_t kernel = kernels_by_id(candidates->kernels, source, id);
	struct device_code_found found;
	candidates->count = 0;
	candidates->uncertain = candidates->undecodable = false;
	bool is_found = device_code_find_kernel(candidates->code, source, id, offset, &found);
	if (!is_found && kernel != KERNEL_NONE && offset == DEVICE_CODE_WHOLE_KERNEL) {
		/* A kernel with an address. */
		const struct kernel_key *key = &candidates->kernels->items.items[kernel].key;
		uint64_t device = device_code_device(candidates->code, source, sample->device);
		if (!device_code_find(candidates->code, device, key->pid, key->address, sample->header.time, &found))
			found = (struct device_code_found){ 0 };
		found.kernel = intern_text(candidates->locations->intern, key->name);
		found.pid = key->pid;
		found.life = CODE_LIFE_ANY;
		found.is_whole = is_found = true;
	}
	if (!is_found || (sample->pid && sample->pid != found.pid))
		return;
	add_candidate(candidates, &found, 0);
	if (!candidates->count || kernel == KERNEL_NONE)
		return;
	/*
	 * Launches of which only the kernel's name is known count for all kernels of this name. The source may name a
	 * function that is a part of the kernel.
	 */
	const struct resolved_location *location = &candidates->locations->items.items[candidates->items[0].location];
	uint32_t name = location->is_kernel ? location->function : candidates->kernels->items.items[kernel].key.name;
	uint32_t anywhere = kernels_at(candidates->kernels, found.pid, 0, name);
	struct launch_candidate *candidate = &candidates->items[0];
	candidate->kernels[candidate->kernel_count++] = kernel;
	if (anywhere != KERNEL_NONE && anywhere != kernel)
		candidate->kernels[candidate->kernel_count++] = anywhere;
	find_launches(candidates, &candidates->items[0], sample);
}

void launch_candidates_find(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample)
{
	if (names_kernel(sample)) {
		find_named(candidates, sample);
		return set_weights(candidates);
	}
	find_busy(candidates, sample);
	find_code(candidates, sample);
	for (size_t i = 0; i < candidates->count; i++) {
		if (!candidates->items[i].unplaced)
			find_kernels(candidates, &candidates->items[i], sample);
		find_launches(candidates, &candidates->items[i], sample);
	}
	if (candidates->count <= 1)
		return set_weights(candidates);
	keep_candidates(candidates, may_have_launched);
	if (candidates->busy.count && !sample->pid)
		keep_candidates(candidates, may_have_been_busy);
	else if (!sample->pid)
		keep_launched_now(candidates);
	set_weights(candidates);
	keep_candidates(candidates, has_weight);
}
