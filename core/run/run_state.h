/* SPDX-License-Identifier: Apache-2.0 */
/* State of a run, shared by the files of this folder that implement its phases. */
#pragma once

#include <stdatomic.h>

#include "base/clock.h"
#include "bus/engine.h"
#include "run/bpf_cost.h"
#include "run/collector_thread.h"
#include "run/cpu_budget.h"
#include "run/command.h"
#include "run/injectors.h"
#include "run/run.h"
#include "run/setup.h"
#include "run/status_line.h"
#include "run/target_cgroup.h"
#include "run/target_processes.h"
#include "text/text.h"

/* CPU time that iaprof and its helper processes had used at some time. */
struct own_cost {
	uint64_t cpu;   /* ns, user and system */
	uint64_t clock; /* CLOCK_MONOTONIC */
};
/* helpers: CPU time of the helper processes, ns; 0 before they start. */
struct own_cost own_cost_now(uint64_t helpers);

struct run_cost {
	struct own_cost begin, end; /* when the sources started, and after they stopped */
	uint64_t earlier;           /* ns of CPU time that the process used before the run */
	uint64_t total;             /* ns of CPU time from then on */
};

/* What a source costs. */
struct source_cost {
	uint64_t cpu;     /* of its callbacks or its process so far, at the beginning of the interval, ns */
	double share;     /* of the CPU time of all CPUs in the interval before, with that of its BPF programs */
	double before;    /* the same before the rate was lowered last */
	double dependent; /* part that depended on the rate then, 0 to 1; negative: unknown */
};

/* See run_budget.c. */
struct run_budget {
	struct cpu_budget control;
	struct bpf_cost bpf;
	ARRAY(struct source_cost) sources; /* in the order of the setup */
	uint32_t bpf_stride;               /* in the latest measurement of BPF programs */
	uint32_t interval;                 /* number of the current interval */
	uint64_t cpu, clock;               /* at its beginning, ns */
	struct engine_progress engine;     /* the same */
	bool has_begun, is_reported;       /* is_reported: that the budget is exceeded */
	bool is_disturbed;                 /* the interval includes the cost of another run */
};

struct run {
	const struct configuration *configuration;
	const struct run_parts *parts;
	const struct engine_functions *functions; /* of parts */
	struct engine *engine;                    /* NULL: none */
	struct instance_services services;
	struct setup setup;
	struct command command;
	struct target_processes target_processes; /* processes of --pid */
	struct target_cgroup cgroup;              /* of --cgroup or --container */
	struct loop_watch *command_watch;
	struct injectors injectors;
	struct collector_thread *collector;
	struct collector_thread_result result;
	const struct run *before; /* baseline of --diff, which outlives this run; NULL if none */
	uint32_t requests;        /* enum iaprof_request, of a baseline: those of the sinks of the later run */
	uint64_t time_resolution; /* of a baseline: that of the sinks of the later run, ns; 0: none */
	struct run_cost cost;
	struct run_budget budget;
	struct status status;
	uint64_t deadline;    /* CLOCK_MONOTONIC, UINT64_MAX if none */
	uint64_t interval;    /* ns, 0 if none */
	uint64_t started_at;  /* CLOCK_MONOTONIC */
	uint64_t attended_at; /* CLOCK_MONOTONIC: when run_attend() last sent process events */
	atomic_bool ended;    /* ended by a sink */
	/*
	 * CLOCK_MONOTONIC time when the run ended or was interrupted; 0 before that, and for a replay, which has no
	 * limit.
	 */
	atomic_uint_least64_t end_time;
	struct configuration *own_configuration; /* of run_continuous.c */
	struct cpu_budget budget_before;         /* that of the previous run, which has found the sampling rate */
	uint64_t stopped_at;                     /* CLOCK_MONOTONIC: when its sources were stopped; 0: not yet */
	bool is_configured;
	bool has_last_sync; /* run_end_events() was called */
	bool is_too_large;  /* a continuous run uses more memory than its limit */
	atomic_bool failed; /* a failure was reported: exit status 1 */
	bool status_line;
};

/* run_services.c: makes the services that instances share. Each returns 0, or a negative errno and sets error. */
int run_make_services(struct run *run, struct error *error);
/* A process or command that does not exist is a usage error, reported before anything starts. */
int run_check_target(struct run *run, struct error *error);
/* Frees what these two have made, after everything that uses it. */
void run_release_services(struct run *run);

/* run_configure.c: initialises a run that is not zeroed. */
void run_init(struct run *run, const struct configuration *configuration, const struct run_parts *parts);
/* Lets signals wake its loop, and shows the status line. */
void run_install(struct run *run);
/* Returns whether a configuration can be run, as far as that is known without starting it: 0, or sets error. */
int run_validate(const struct configuration *configuration, const struct run_parts *parts, struct error *error);
/* Makes the services and the instances. On failure, sets error unless that was printed. */
enum exit_status run_configure(struct run *run, struct error *error);

/* run_start.c: does everything that requires privileges. No records are sent yet. */
int run_prepare(struct run *run, struct error *error);
/* Starts the flow of records. */
int run_start(struct run *run, struct error *error);
/* Parts of run_start(): the sinks; everything but the sources. */
int run_start_sinks(struct run *run, struct error *error);
int run_begin(struct run *run, bool holds_sinks, struct error *error);
/* Notes that the sources were started. */
void run_has_begun(struct run *run);

/*
 * run_loop.c: runs the event loop until the run must end, or is_interrupted (may be NULL), which is called after each
 * event, returns true. Returns whether it did.
 */
bool run_until_end(struct run *run, bool (*is_interrupted)(void *context), void *context);
/* Called every second, or interval if that is shorter; context is the run. */
void run_tick(void *context, uint64_t expirations);

/* run_stop.c: implements attend() of struct instance_services; context is the run. */
void run_attend(void *context, const struct instance *waited_for);
/* Stops and drains the sources, once. */
void run_stop_sources(struct run *run);
/* Drains the sources, then the process events; SYNC is sent last, so that everything before it is known. */
void run_stop(struct run *run);
void run_release(struct run *run);
/* Replaces run_stop() and run_finish() for a run that could not start: its sinks write nothing. */
void run_discard(struct run *run);

/*
 * run_switch.c: prepares a run in this thread while another thread runs the loop of an earlier one. wants_all: also
 * fails if a plugin in a process of its own does, without which a run can go on. Returns 0, or a negative errno after
 * run_discard(next).
 */
int run_prepare_beside(struct run *next, struct run *earlier, bool wants_all, struct error *error);
/*
 * Stops the sources of the earlier run and starts those of the next one, whose data states the gap. Its sinks are not
 * started yet. The earlier run cannot continue, whatever is returned.
 */
int run_switch(struct run *earlier, struct run *next, struct error *error);
/* Reports that samples are missing since a time. */
void run_report_gap(struct run *run, uint64_t since);

/* run_continuous.c: as run(), with --continuous. */
enum exit_status run_continuous(const struct configuration *configuration, const struct run_parts *parts,
				struct command_result *command);

/* run.c: as *command of run(). After run_stop(). */
struct command_result run_command_result(const struct run *run);

/* run_choices.c: whether children of --pid are recorded, too. */
bool run_follows_children(const struct run *run);
/* Returns what the sinks requested (enum iaprof_request), those of the later run included. */
uint32_t run_requests(const struct run *run);
/* Whether a source needs process events. */
bool run_needs_processes(const struct run *run);
/* Whether all sources read recorded data, which can wait for slow sinks. */
bool run_is_offline(const struct run *run);
/* The finest resolution that a sink requested. */
uint64_t run_time_resolution(const struct run *run);
/* The resolution that is requested from sources. */
uint64_t run_source_resolution(const struct run *run);
/* --interval, or else that of --continuous, or the shortest default of a sink for live runs. */
uint64_t run_choose_interval(const struct run *run);
/* Whether the processes of all sources, or those of all sinks, have ended too early. */
bool run_has_nothing_left(const struct run *run);
/*
 * The result of a phase of a source or sink. If its process has ended, which was printed, the run continues without it
 * unless nothing else is left.
 */
int run_result_of(const struct run *run, const struct instance *instance, int result);
/*
 * The same for prepare() and start() of a source, with the error of a result that is not 0: the run also continues
 * without a source that failed if the user did not name it, or named it as optional. Prints the error then.
 */
int run_source_result(struct run *run, struct instance *source, int result, struct error *error);

/* Sends a SYNC record: all process events before it were sent. */
void run_synchronize(struct run *run);
/* Sends the last SYNC record, at the end of the samples, and ends process events. */
void run_end_events(struct run *run);

/* run_budget.c: holds the budget of a continuous run. Before the sources are prepared. */
void run_budget_open(struct run *run);
/* After a source was prepared: the BPF programs that it has loaded are its own. */
void run_budget_note_programs(struct run *run, const struct instance *source);
/* Called every second. */
void run_budget_tick(struct run *run);
/* Implements sample_stride() of struct instance_services; context is the run. */
uint32_t run_budget_stride(void *context);
/* Restarts the measurement: part of the CPU time so far was not caused by the run. */
void run_budget_begin_anew(struct run *run);
void run_budget_close(struct run *run);

/* Returns the CPU time of all helper processes, ns. */
uint64_t run_helper_cost(const struct run *run);

/* Sends one of the core's own records with the current time. */
void run_send(struct run *run, struct iaprof_record *record, uint16_t type, size_t size);

/* Sends a METADATA record. */
void run_send_metadata(struct run *run, const char *key, const char *value);

/* Returns whether a signal or a sink ended the run. Any thread. */
bool run_is_ending(struct run *run);

/* Ids of the core's counters of sinks; the ids before are those of run_budget.c. Each sink has this many. */
#define SINK_COUNTERS_BEGIN 16u
#define SINK_COUNTERS_EACH 8u

/*
 * run_liveness.c: sends what the sinks of a run with intervals do, and reports those that block, are late, or drop
 * data. Called every second.
 */
void run_update_liveness(struct run *run);

/* run_delivery.c: sends delivery counters of a sink. Implements delivery() of struct instance_services. */
void run_send_delivery(void *context, struct instance *sink, const struct iaprof_delivery *delivery);
/* Sends counters that changed since: profiles dropped because a sink was too slow. Called every second. */
void run_update_deliveries(struct run *run);
/*
 * Counters of sinks, which go on in later runs with sinks of the same name. They are saved when a run has ended, before
 * it is released, and restored before the sinks of the next one are started.
 */
struct sink_total {
	const struct plugin *plugin;
	char *name;
	struct iaprof_delivery delivery;
	uint64_t busy, newest; /* as in sink_activity.h */
};
struct sink_totals {
	ARRAY(struct sink_total) items;
};
void run_save_totals(const struct run *run, struct sink_totals *totals);
void run_restore_totals(struct run *run, const struct sink_totals *totals);
void sink_totals_free(struct sink_totals *totals);

/*
 * run_report.c: returns what the sink summary writes of a profile with an option format=, which the caller frees;
 * nothing if profile is NULL or the sink is not installed.
 */
struct text run_report(struct run *run, const char *format, const struct iaprof_profile *profile);
/* Prints its lines as messages, unless -q. */
void run_report_messages(struct run *run, const char *format, const struct iaprof_profile *profile);

/* run_summary.c: prints what the engine reports, and how many samples there were, as messages. */
void run_summary_print(struct run *run);

/* run_hint.c: prints that what was profiled did little of the work, if so. */
void run_hint_print(const struct run *run);

/* run_finish.c: everything after the last record: profile, sinks, summary. */
void run_finish(struct run *run);
/* Ends the process while a sink is stuck in a callback. run: the run to release, or NULL. */
_Noreturn void run_exit_stuck(struct run *run);
/* Starts the time limit (--finish-within) for outputs that wait for their readers. Any thread; later calls do nothing.
 */
void run_note_end(struct run *run);
/* Implements write_by() of struct output_target; context is the run. */
uint64_t run_write_by(void *context, uint64_t since);
/* Prints an error and marks the run as failed. */
void run_show(struct run *run, const struct error *error);
