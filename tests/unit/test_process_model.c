/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process table against a naive model, which plays all records up to a moment in order of time. The table gets the
 * same records in another order and must give the same answers.
 */
#include <stdio.h>

#include "process_feed.h"
#include "../run_suite.h"

#define PIDS 6
#define PAGES 12
#define EVENTS 300
#define ROUNDS 40

struct event {
	uint64_t time;
	uint32_t kind; /* enum iaprof_process_event, 0 a mapping */
	uint32_t pid, parent;
	uint32_t first, last; /* pages of a mapping */
	char path[8];
};

struct model {
	bool alive[PIDS];
	const char *paths[PIDS][PAGES];
};

static void model_play(struct model *model, const struct event *event)
{
	switch (event->kind) {
	case 0:
		for (uint32_t page = event->first; page <= event->last; page++)
			model->paths[event->pid][page] = event->path;
		break;
	case IAPROF_PROCESS_FORK:
		model->alive[event->pid] = true;
		memcpy(model->paths[event->pid], model->paths[event->parent], sizeof *model->paths);
		break;
	case IAPROF_PROCESS_EXEC:
		memset(model->paths[event->pid], 0, sizeof *model->paths);
		break;
	case IAPROF_PROCESS_EXIT:
		model->alive[event->pid] = false;
		break;
	}
}

/* Records that could be those of a real machine: process 1 is always there, the others come and go. */
static size_t make_events(struct event *events)
{
	struct model model = { .alive = { [1] = true } };
	size_t count = 0;
	for (uint64_t time = 100; count < EVENTS; time += 10) {
		struct event event = { .time = time, .pid = 1 + (uint32_t)random() % (PIDS - 1), .parent = 1 };
		uint32_t other = 1 + (uint32_t)random() % (PIDS - 1), choice = (uint32_t)random() % 10;
		if (!model.alive[event.pid]) {
			event.kind = IAPROF_PROCESS_FORK;
			if (model.alive[other])
				event.parent = other;
		} else if (choice == 0 && event.pid != 1) {
			event.kind = IAPROF_PROCESS_EXIT;
		} else if (choice == 1) {
			event.kind = IAPROF_PROCESS_EXEC;
		} else {
			event.first = (uint32_t)random() % PAGES;
			event.last = event.first + (uint32_t)random() % (PAGES - event.first);
			snprintf(event.path, sizeof event.path, "/%zu", count);
		}
		model_play(&model, &event);
		events[count++] = event;
	}
	return count;
}

static void feed(struct process_table *table, const struct event *event)
{
	if (event->kind)
		feed_process(table, event->time, event->kind, event->pid, event->parent, NULL);
	else
		MAP(table, event->time, event->pid, event->first * 0x1000, (event->last + 1) * 0x1000, event->path);
}

/* Asks for everything right after each event, and just before the next. */
static void compare(struct process_table *table, const struct event *events, size_t count, size_t from)
{
	struct model model = { .alive = { [1] = true } };
	for (size_t i = 0; i < count; i++) {
		model_play(&model, &events[i]);
		if (i < from)
			continue;
		for (uint32_t pid = 1; pid < PIDS; pid++)
			for (uint32_t page = 0; model.alive[pid] && page < PAGES; page++)
				for (uint64_t late = 0; late < 10; late += 9) {
					const char *expected = model.paths[pid][page] ? model.paths[pid][page] : "";
					const char *path = ask_path(table, events[i].time + late, pid,
								    page * 0x1000 + (uint64_t)random() % 0x1000);
					if (!path ||
					    strcmp(path, expected)) /* a passed assertion costs a system call */
						ck_abort_msg("pid %u page %u time %lu: \"%s\" expected, is \"%s\"", pid,
							     page, events[i].time + late, expected,
							     path ? path : "NULL");
				}
	}
}

static void run(size_t window)
{
	static struct event events[EVENTS], shuffled[EVENTS];
	for (unsigned round = 0; round < ROUNDS; round++) {
		srandom(round);
		size_t count = make_events(events);
		memcpy(shuffled, events, sizeof events);
		/* Each record is swapped with one at most a window away. */
		for (size_t i = 0; window > 1 && i + 1 < count; i++) {
			size_t with = i + (size_t)random() % (window < count - i ? window : count - i);
			struct event event = shuffled[i];
			shuffled[i] = shuffled[with];
			shuffled[with] = event;
		}
		struct process_table *table = process_table_new();
		ck_assert_ptr_nonnull(table);
		EXISTING(table, 50, 1, 0, "first");
		for (size_t i = 0; i < count; i++)
			feed(table, &shuffled[i]);
		compare(table, events, count, 0);
		/* What ended is forgotten; what is asked for later is as before. */
		process_table_retire(table, events[count / 2].time, NULL, NULL);
		compare(table, events, count, count / 2);
		process_table_free(table);
	}
}

TEST(in_order)
{
	run(1);
}

TEST(nearly_in_order)
{
	run(4);
}

TEST(in_any_order)
{
	run(EVENTS);
}

TEST(serial_numbers_are_those_of_the_records)
{
	static struct event events[EVENTS];
	struct process_table *tables[] = { process_table_new(), process_table_new() };
	srandom(1);
	size_t count = make_events(events);
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < count; i++)
			feed(tables[t], &events[i]);
	for (uint32_t pid = 1; pid < PIDS; pid++)
		for (uint64_t time = 0; time < events[count - 1].time; time += 10) {
			struct process *processes[2];
			for (size_t t = 0; t < 2; t++)
				processes[t] = process_table_find(tables[t], pid, time);
			if (!processes[0])
				continue;
			ck_assert_uint_eq(processes[0]->serial, processes[1]->serial);
			ck_assert_ptr_eq(process_table_by_serial(tables[0], processes[0]->serial), processes[0]);
			const struct mapping *mappings[2];
			for (size_t t = 0; t < 2; t++)
				mappings[t] = process_mapping_at(tables[t], processes[t], 0x5000, time);
			ck_assert(!mappings[0] == !mappings[1]);
			if (mappings[0])
				ck_assert_uint_eq(mappings[0]->serial, mappings[1]->serial);
		}
	for (size_t t = 0; t < 2; t++)
		process_table_free(tables[t]);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
