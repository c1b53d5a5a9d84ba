/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind_processes.h. */
#include "symbolizer/unwind/unwind_processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "process/sideband_event.h"
#include "process/process_stat.h"
#include "symbolizer/copied_text.h"

/* Limit on lines of maps per process; vm.max_map_count is 65,530 by default. */
#define MAPS_LINES_MAX 200000u
/* Limit on processes that are followed. */
#define PROCESSES_MAX 65536u
/* Usual time to look up the mappings of one process, in ns. Only time beyond it is charged to the user. */
#define TIME_USUAL (NANOSECONDS_PER_SECOND / 100)
/*
 * Interval until /proc/PID/maps is read again for a process that executes code outside of its known mappings. It
 * doubles each time, and restarts when the mappings change.
 */
#define AGAIN_FIRST (NANOSECONDS_PER_SECOND / 20)
#define AGAIN_LAST (60 * NANOSECONDS_PER_SECOND)
/* Minimum interval between deliveries of a process some of whose files are still being read. */
#define PARTS_PERIOD (NANOSECONDS_PER_SECOND / 10)
/*
 * Time for which an ended process is kept after its last delivery, and the program of a fork after it was replaced, for
 * samples that are not unwound yet.
 */
#define KEEP_ENDED NANOSECONDS_PER_SECOND
/* Interval at which ended processes are removed from the table, and their minimum age. */
#define RETIRE_PERIOD (2 * NANOSECONDS_PER_SECOND)
#define RETIRE_AFTER (5 * NANOSECONDS_PER_SECOND)
/*
 * Interval at which the tables of unused files are withdrawn, and time after which a file is unused: programs that are
 * started repeatedly keep theirs.
 */
#define RELEASE_PERIOD (10 * NANOSECONDS_PER_SECOND)
#define RELEASE_AFTER (60 * NANOSECONDS_PER_SECOND)

/* Limit on comparisons of memory with files for each program: most programs copy one range. */
#define COMPARISONS_MAX 16u

int unwind_processes_init(struct unwind_processes *processes)
{
	user_accounts_init(&processes->users);
	processes->table = process_table_new();
	return processes->table ? 0 : -ENOMEM;
}

void unwind_processes_free(struct unwind_processes *processes)
{
	for (size_t i = 0; i < processes->items.count; i++)
		array_free(&processes->items.items[i].ranges);
	keyed_array_free(&processes->items);
	process_table_free(processes->table);
	user_accounts_free(&processes->users);
}

/* Limits on mappings. */

static void give_room_back(struct unwind_processes *processes, struct followed_process *process)
{
	if (process->room && !user_accounts_trust(&processes->users, process->user))
		user_accounts_give_back(&processes->users, process->user, process->room);
	processes->room -= process->room;
	process->room = 0;
}

/* Withdraws the mappings that were delivered for a process, and forgets them. */
static void withdraw(struct unwind_processes *processes, struct followed_process *process)
{
	unwind_mapping_array none = { 0 };
	array_free(&process->ranges);
	process->is_forked = process->is_replaced = false;
	give_room_back(processes, process);
	if (process->is_sent)
		processes->deliver(processes->context, process->key, process->execution, &none);
	process->is_sent = false;
	process->contents = 0;
}

/* Withdraws the process that ended first: of the same user, or of any user. Returns false if there is none. */
static bool withdraw_ended(struct unwind_processes *processes, const struct followed_process *wanting, bool of_user)
{
	struct followed_process *oldest = NULL;
	for (size_t i = 0; i < processes->items.count; i++) {
		struct followed_process *process = &processes->items.items[i];
		if (process->ended && process->room && process != wanting &&
		    (!of_user || process->user == wanting->user) && (!oldest || process->ended < oldest->ended))
			oldest = process;
	}
	if (oldest)
		withdraw(processes, oldest);
	return oldest;
}

/* Counts a refused process, once. */
static void refuse(struct unwind_processes *processes, struct followed_process *process)
{
	struct user_account *account = user_accounts_find(&processes->users, process->user);
	if (account)
		account->refused += !process->is_refused;
	process->is_refused = true;
}

/* Returns whether a user has used up its share. */
static bool has_no_room(struct unwind_processes *processes, const struct followed_process *process)
{
	const struct user_account *account = user_accounts_trust(&processes->users, process->user)
						     ? NULL
						     : user_accounts_find(&processes->users, process->user);
	return account && !process->room && account->amount + UNWIND_ROOM_PROCESS > UNWIND_ROOM_USER;
}

/* Charges the mappings of a process to its user. If that exceeds a limit, forgets them and returns false. */
static bool take_room(struct unwind_processes *processes, struct followed_process *process)
{
	uint32_t room = UNWIND_ROOM_PROCESS;
	while (room < process->ranges.count)
		room *= 2;
	if (room == process->room)
		return true;
	bool is_trusted = user_accounts_trust(&processes->users, process->user), is_usual = room <= UNWIND_ROOM_USUAL;
	give_room_back(processes, process);
	while (processes->room + room > UNWIND_ROOM)
		if (!withdraw_ended(processes, process, false))
			break;
	bool has_room = processes->room + room <= UNWIND_ROOM;
	while (has_room && !is_trusted &&
	       !(has_room = user_accounts_take(&processes->users, process->user, room,
					       user_accounts_share(UNWIND_ROOM_USER, is_usual),
					       user_accounts_share(UNWIND_ROOM_OTHERS, is_usual))) &&
	       withdraw_ended(processes, process, true))
		has_room = true;
	if (has_room) {
		process->room = room;
		processes->room += room;
		return true;
	}
	withdraw(processes, process);
	refuse(processes, process);
	return false;
}

/* Processes that are followed. */

static struct followed_process *find_process(struct unwind_processes *processes, uint32_t pid)
{
	return keyed_array_get(&processes->items, &pid);
}

static struct followed_process *add_process(struct unwind_processes *processes, uint32_t pid)
{
	if (processes->items.count >= PROCESSES_MAX)
		return find_process(processes, pid);
	uint32_t position = keyed_array_add(&processes->items, &(struct followed_process){ .key = pid });
	return position == POSITION_NONE ? NULL : &processes->items.items[position];
}

static void remove_process(struct unwind_processes *processes, uint32_t position)
{
	if (position == POSITION_NONE)
		return;
	withdraw(processes, &processes->items.items[position]);
	keyed_array_remove(&processes->items, position);
}

/* Delivers the mappings whose files were read, if they changed. The others follow later. */
static void send_process(struct unwind_processes *processes, struct followed_process *process)
{
	unwind_mapping_array made = { 0 };
	process->is_pending = process->is_forked = process->is_replaced = false;
	for (size_t i = 0; i < process->ranges.count; i++) {
		const struct unwind_range *range = &process->ranges.items[i];
		const struct unwind_file *file =
			range->file == POSITION_NONE ? NULL : &processes->files->items.items[range->file];
		struct iaprof_unwind_mapping mapping = { .start = range->start, .end = range->end };
		const struct elf_segment *segment =
			file && file->table ? unwind_file_segment(file, range->file_offset) : NULL;
		if (file && file->is_pending) {
			process->is_pending = true;
			continue;
		}
		if (segment) {
			mapping.table = file->table;
			mapping.bias = range->start - range->file_offset + segment->file_offset - segment->address;
		}
		(void)!array_push(&made, mapping);
	}
	uint64_t contents = hash_bytes(made.items, made.count * sizeof *made.items);
	bool is_changed = !process->is_sent || contents != process->contents;
	uint64_t now = clock_monotonic();
	bool is_early = process->is_sent && process->is_pending && now - process->sent < PARTS_PERIOD;
	if (!process->is_asked || !made.count || !is_changed || is_early) {
		array_free(&made);
		return;
	}
	process->contents = contents;
	process->is_sent = true;
	process->sent = now;
	process->again = AGAIN_FIRST;
	if (process->ended)
		process->ended = now;
	processes->deliver(processes->context, process->key, process->execution, &made);
}

/*
 * Returns the file that a mapping is a copy of; POSITION_NONE if it is none. It may be one later, because programs copy
 * after they map.
 */
static uint32_t find_copied(struct unwind_processes *processes, struct followed_process *process,
			    const struct unwind_files_request *request, int64_t *shift)
{
	struct unwind_files *files = processes->files;
	struct copied_text_helpers helpers = { files->broker, files->pool, &files->budget };
	struct deadline deadline = budget_end(&files->budget);
	struct mapped_file_request compared = {
		.process = request->process, .mapping = request->mapping, .live = true, .deadline = &deadline
	};
	if (process->comparisons >= COMPARISONS_MAX || files->saves)
		return POSITION_NONE;
	if (!request->may_open)
		return UNWIND_FILE_LATER;
	process->comparisons++;
	return copied_text_compare(&helpers, &compared, shift) ? POSITION_NONE : unwind_files_find(files, request);
}

/* Returns the file of a mapping: from the previous ranges of the process, or by a search. */
static uint32_t find_file(struct unwind_processes *processes, struct followed_process *process,
			  const struct followed_process *before, size_t *next,
			  const struct unwind_files_request *request, int64_t *shift)
{
	bool is_copied = request->mapping->flags & IAPROF_MAPPING_COPIED;
	for (size_t tried = 0; tried < before->ranges.count; tried++) {
		const struct unwind_range *range = &before->ranges.items[(*next + tried) % before->ranges.count];
		if (range->serial != request->mapping->serial)
			continue;
		*next += tried;
		*shift = range->shift;
		if (is_copied && range->file == POSITION_NONE)
			break;
		return range->file;
	}
	return is_copied ? find_copied(processes, process, request, shift)
			 : unwind_files_find(processes->files, request);
}

/* Updates the ranges of a process from the process table. Returns their number. */
static size_t update_mappings(struct unwind_processes *processes, struct followed_process *process)
{
	uint64_t now = clock_monotonic();
	struct process *image = process_table_find(processes->table, process->key, now);
	if (!image)
		return 0;
	size_t count, next = 0;
	uint64_t time = image->end < now ? image->end - 1 : now;
	CLEANUP_FREE struct mapped_range *found =
		process_mappings(processes->table, image, time, UNWIND_MAPPINGS_MAX + 1, &count);
	struct followed_process before = *process;
	process->image = image->serial;
	memset(&process->ranges, 0, sizeof process->ranges);
	if (count > UNWIND_MAPPINGS_MAX) {
		processes->truncated += before.ranges.count < UNWIND_MAPPINGS_MAX;
		count = UNWIND_MAPPINGS_MAX;
	}
	struct deadline end = budget_end(&processes->files->budget);
	unwind_files_begin_pass(processes->files);
	struct unwind_files_request request = { .process = image, .end = time, .may_open = true };
	for (size_t i = 0; i < count && !deadline_has_passed(&end); i++) {
		const struct mapping *mapping = request.mapping = found[i].mapping;
		request.next = &found[i];
		request.next_count = count - i;
		int64_t shift = 0;
		uint32_t file = find_file(processes, process, &before, &next, &request, &shift);
		struct unwind_range range = { .start = found[i].start,
					      .end = found[i].end,
					      .file_offset = mapping->file_offset + found[i].start - mapping->start +
							     (uint64_t)shift,
					      .serial = mapping->serial,
					      .file = file,
					      .shift = shift };
		if (file == UNWIND_FILE_LATER) {
			process->is_changed = true;
			request.may_open = false;
			continue;
		}
		if (file != POSITION_NONE)
			processes->files->items.items[file].used = now;
		if (!array_push(&process->ranges, range))
			break;
	}
	array_free(&before.ranges);
	return take_room(processes, process) ? process->ranges.count : 0;
}

/* Adds the mappings in /proc/PID/maps to the process table. */
static void read_maps(struct unwind_processes *processes, struct followed_process *process)
{
	char path[4096];
	size_t lines = 0;
	bool is_known = false;
	struct process_mapping mapping;
	struct deadline end = budget_end(&processes->files->budget);
	uint64_t now = clock_monotonic();
	struct iaprof_record_process exists = { .header = { .time = now },
						.pid = process->key,
						.event = IAPROF_PROCESS_EXISTING };
	proc_maps_begin(&processes->maps, processes->files->broker, process->key);
	while (lines < MAPS_LINES_MAX && !deadline_has_passed(&end) && proc_maps_read(&processes->maps) > 0)
		for (int code; (code = proc_maps_take(&processes->maps, &mapping)); lines++) {
			if (code < 0 || !mapping.executable)
				continue;
			const struct sideband_event event = sideband_event_of_mapping(process->key, now, &mapping);
			const struct iaprof_record_mapping record =
				sideband_event_record(&event, IAPROF_MAPPING_EXISTING);
			if (!is_known)
				(void)!process_table_event(processes->table, &exists, "", true);
			is_known = true;
			snprintf(path, sizeof path, "%.*s", (int)mapping.path_length, mapping.path);
			(void)!process_table_mapping(processes->table, &record, path);
		}
	process->read = now;
}

enum depth { OF_RECORDS, OF_MAPS };

/* Looks up and delivers the mappings of a process, unless its user has exceeded a limit. */
static void refresh(struct unwind_processes *processes, struct followed_process *process, enum depth depth)
{
	struct budget *budget = &processes->files->budget;
	uint64_t now = clock_monotonic();
	process_table_read_roots(processes->table);
	const struct process *image = process_table_find(processes->table, process->key, now);
	struct file_identity owner = { .owner = image ? image->user : 0, .mode = 0600 };
	process->is_changed = false;
	if (!process->ended && (!process_user(process->key, &owner.owner) || (image && image->end <= now)))
		process->ended = now;
	if (owner.owner != process->user)
		give_room_back(processes, process);
	process->user = owner.owner;
	if (budget_is_spent(budget, &owner) ||
	    (has_no_room(processes, process) && !withdraw_ended(processes, process, true)))
		return refuse(processes, process);
	struct deadline since = budget_deadline(budget, &owner, BUDGET_FULL);
	if (depth == OF_MAPS || (!update_mappings(processes, process) && !process->is_refused)) {
		read_maps(processes, process);
		update_mappings(processes, process);
	}
	uint64_t spent = deadline_spent(&since);
	if (spent > TIME_USUAL)
		budget_charge(budget, &owner, spent - TIME_USUAL);
	send_process(processes, process);
}

static void forget_program(struct unwind_processes *processes, struct followed_process *process)
{
	withdraw(processes, process);
	process->is_asked = process->is_refused = false;
	process->comparisons = 0;
}

void unwind_processes_request(struct unwind_processes *processes, uint32_t pid, uint64_t execution)
{
	uint64_t now = clock_monotonic();
	struct followed_process *process = add_process(processes, pid);
	if (!process)
		return;
	/* The sample was copied before its process executed another program. */
	if (process->is_replaced && process->execution == execution) {
		process->is_asked = true;
		send_process(processes, process);
		return forget_program(processes, process);
	}
	if (!process->is_asked || process->execution != execution) {
		process->is_asked = true;
		process->is_sent = process->is_replaced = false;
		process->execution = execution;
		process->again = AGAIN_FIRST;
		process->read = now;
		return refresh(processes, process, OF_RECORDS);
	}
	if (process->is_forked)
		return send_process(processes, process);
	if (process->is_pending || process->ended || now - process->read < process->again)
		return;
	process->again = process->again > AGAIN_LAST / 2 ? AGAIN_LAST : 2 * process->again;
	refresh(processes, process, OF_MAPS);
}

void unwind_processes_prepare(struct unwind_processes *processes, uint32_t pid)
{
	struct followed_process *process = add_process(processes, pid);
	if (!process || process->is_asked)
		return;
	process->is_prepared = true;
	refresh(processes, process, OF_RECORDS);
}

/* Records. */

/*
 * Copies the mappings of the parent, and its execution number, to a new process. They are not delivered yet: most forks
 * soon execute another program, or end.
 */
static void take_fork(struct unwind_processes *processes, uint32_t pid, uint32_t parent_pid)
{
	if (parent_pid == pid)
		return;
	remove_process(processes, keyed_array_find(&processes->items, &pid));
	if (!find_process(processes, parent_pid))
		return;
	struct followed_process *process = add_process(processes, pid);
	const struct followed_process *parent = find_process(processes, parent_pid);
	if (!process)
		return;
	process->user = parent->user;
	process->is_asked = parent->is_asked;
	process->execution = parent->execution;
	process->read = clock_monotonic();
	process->again = AGAIN_FIRST;
	const struct process *image = process_table_find(processes->table, pid, process->read);
	process->image = image ? image->serial : 0;
	if (parent->is_replaced || !parent->ranges.count || !array_reserve(&process->ranges, parent->ranges.count))
		return;
	memcpy(process->ranges.items, parent->ranges.items, parent->ranges.count * sizeof *parent->ranges.items);
	process->ranges.count = parent->ranges.count;
	process->is_forked = take_room(processes, process);
}

static void take_event(struct unwind_processes *processes, const struct iaprof_record_process *record)
{
	if (record->event == IAPROF_PROCESS_FORK)
		return take_fork(processes, record->pid, record->parent_pid);
	struct followed_process *process = find_process(processes, record->pid);
	const struct process *image =
		process ? process_table_find(processes->table, record->pid, clock_monotonic()) : NULL;
	if (!image)
		return;
	if (record->event == IAPROF_PROCESS_EXEC && image->serial != process->image) {
		process->is_replaced |= process->is_forked && process->is_asked;
		if (process->is_replaced)
			process->is_asked = process->is_forked = false;
		else
			forget_program(processes, process);
	} else if (record->event == IAPROF_PROCESS_EXIT && image->end != UINT64_MAX) {
		process->ended = clock_monotonic();
	}
}

void unwind_processes_take(struct unwind_processes *processes, const struct iaprof_record *record, const char *text)
{
	if (record->type == IAPROF_RECORD_PROCESS) {
		const struct iaprof_record_process *event = (const void *)record;
		(void)!process_table_event(processes->table, event, text, true);
		take_event(processes, event);
	} else if (record->type == IAPROF_RECORD_MAPPING) {
		const struct iaprof_record_mapping *mapping = (const void *)record;
		(void)!process_table_mapping(processes->table, mapping, text);
		/* The new program of a child of a sampled process is looked up when it is first sampled. */
		struct followed_process *process = find_process(processes, mapping->pid);
		if (process && (process->is_asked || process->is_prepared))
			process->is_changed = true;
	}
}

/* Withdraws the tables of files that no process has mapped for a while. */
static void release_files(struct unwind_processes *processes, uint64_t now)
{
	struct unwind_files *files = processes->files;
	if (now - processes->released < RELEASE_PERIOD)
		return;
	processes->released = now;
	for (size_t i = 0; i < processes->items.count; i++) {
		const struct followed_process *process = &processes->items.items[i];
		for (size_t j = 0; j < process->ranges.count; j++)
			if (process->ranges.items[j].file != POSITION_NONE)
				files->items.items[process->ranges.items[j].file].used = now;
	}
	unwind_files_release(files, now > RELEASE_AFTER ? now - RELEASE_AFTER : 0);
}

void unwind_processes_update(struct unwind_processes *processes)
{
	uint64_t now = clock_monotonic();
	processes->is_pending = processes->is_ending = false;
	process_table_read_roots(processes->table);
	for (size_t i = processes->items.count; i-- > 0;) {
		struct followed_process *process = &processes->items.items[i];
		if (process->is_changed)
			refresh(processes, process, OF_RECORDS);
		else if (process->is_pending || (process->is_forked && !process->ended))
			send_process(processes, process);
		else if (process->is_refused && processes->items.count > PROCESSES_MAX / 2)
			process->ended = 1;
		if (process->is_replaced && now - process->read > KEEP_ENDED)
			forget_program(processes, process);
		processes->is_pending |= process->is_pending || process->is_changed;
		processes->is_ending |= process->ended || process->is_replaced;
		if (!process->ended || process->is_pending || process->is_changed || now < process->ended + KEEP_ENDED)
			continue;
		remove_process(processes, (uint32_t)i);
	}
	release_files(processes, now);
	if (now - processes->retired < RETIRE_PERIOD)
		return;
	processes->retired = now;
	process_table_retire(processes->table, now > RETIRE_AFTER ? now - RETIRE_AFTER : 0, NULL, NULL);
	process_table_trim_texts(processes->table);
}
