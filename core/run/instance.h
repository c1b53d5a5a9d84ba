/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instance: a plugin configured for one run, with its host. Callbacks are called through these functions, so that
 * each failure is reported as one line with the instance's name and the chain of causes.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <iaprof/plugin.h>
#include <iaprof/unwind.h>

#include "base/array.h"
#include "bus/bus.h"
#include "bus/intern.h"
#include "bus/loop.h"
#include "bus/refused.h"
#include "config/configuration.h"
#include "plugin/decoder.h"
#include "plugin/loader.h"
#include "plugin/plugin_call.h"
#include "run/output/output.h"
#include "run/sink_activity.h"

struct instance;

/* Services that a run shares with its instances. Must outlive them. */
struct instance_services {
	struct bus *bus;
	struct intern *intern;
	struct loop *loop;
	struct iaprof_target target;
	/* Writes a message for the user; NULL: log_message(). */
	void (*log)(void *context, const struct instance *instance, int level, const char *text);
	/* Has instance_file_is_mapped() called for each mapped file; NULL: files are not watched. */
	int (*watch_files)(void *context, struct instance *instance);
	/* Same as on_unwind() and unwind_process() of iaprof/unwind.h; NULL: no tables are made. */
	int (*watch_unwind)(void *context, struct instance *instance);
	void (*unwind_process)(void *context, uint32_t pid, uint64_t execution);
	/* Same as host->command_environment(). */
	int (*command_environment)(void *context, const char *name, const char *value, bool prepend);
	/* Same as host->inject(), with the request that injection_pack() made. Returns 0 or sets error. */
	int (*inject)(void *context, struct instance *instance, const char *request, size_t size, struct error *error);
	/* Same as host->check_item(), formatted; NULL: ignored. */
	void (*check_item)(void *context, uint32_t state, const char *name, const char *text);
	/* Same as host->end_run() and host->run_is_ending(). */
	void (*end_run)(void *context);
	bool (*run_is_ending)(void *context);
	/* Of how many samples sources take one: host->sample_stride() without its limit; NULL: 1. */
	uint32_t (*sample_stride)(void *context);
	/* Same as host->delivery(); NULL: ignored. Any thread. */
	void (*delivery)(void *context, struct instance *instance, const struct iaprof_delivery *delivery);
	/*
	 * Has the rest of the run go on while stop() or finish() of an isolated source is waited for: called every
	 * 10 ms. May be NULL.
	 */
	void (*attend)(void *context, const struct instance *waited_for);
	/* Longest time of stop() and of finish() of isolated sources, ns; 0: as other callbacks. Lossless ones have
	 * more. */
	uint64_t stop_within;
	/* As in struct output_target. */
	uint64_t (*write_by)(void *context, uint64_t since);
	/* Notifies that an instance has ended: a callback failed, or all its data has been sent. Any thread. */
	void (*ended)(void *context, struct instance *instance);
	void *context;
};

struct isolation; /* its process, see isolation/isolation.h */
struct watch;     /* one of the loop's watches, see instance_watch.c */

struct instance {
	struct plugin *plugin;
	struct instance_services *services;
	struct iaprof_host host;
	struct isolation *isolation; /* of a process of its own; NULL: in this one */
	char *name;
	uint16_t number;           /* number in its records, >= 1 */
	void *memory;              /* the plugin's instance */
	uint32_t requests;         /* enum iaprof_request */
	uint64_t time_resolution;  /* sinks: ns, 0: no times requested */
	uint64_t default_interval; /* ns; as host->default_interval(), 0: not called */
	atomic_bool has_screen, had_screen;
	bool has_opened;             /* sinks: an output, even if that failed */
	atomic_bool names_frames;    /* has called host->intern_frame() */
	struct output_target output; /* sinks: destination of its files */
	ARRAY(struct iaprof_output *) outputs;
	ARRAY(struct watch *) watches;
	iaprof_on_mapped_file *on_mapped_file; /* as host->on_mapped_file(); NULL: not called */
	iaprof_on_unwind *on_unwind;           /* as on_unwind() of iaprof/unwind.h; NULL: not called */

	pthread_mutex_t lock; /* protects the following members */
	struct error cause;   /* causes reported by fail() since the callback began */
	struct error error;   /* reason for its end; empty text if nothing failed */
	bool error_is_shown;  /* it was printed when it occurred */
	struct refused refused;
	struct record_gate gate; /* protected by the bus */
	bool is_gated_elsewhere; /* an isolated source's own process: iaprof has the gate */

	bool is_isolated; /* runs in a process of its own */
	bool configured, prepared, started;
	const struct instance *brought_by; /* the source that this one is a companion of; NULL if none */
	bool offline;                      /* as host->offline() */
	uint64_t callback_cost;            /* CPU time of its callbacks of the loop, ns */
	uint32_t longest_stride;           /* the largest argument of host->sample_stride(); 0: not called */
	bool is_optional;                  /* sources, key optional: the run continues if it cannot be started */
	bool is_missing;                   /* prepare() or start() failed; the run continues without it */
	bool left_out;                     /* cannot run on this machine; the run continues without it */
	bool has_company;                /* requested by the user, or by a source that has company: see setup_probe.c */
	atomic_int stopping;             /* for its thread() */
	uint64_t stopped_at;             /* CLOCK_MONOTONIC: when instance_stop() was called; 0: not yet */
	struct iaprof_delivery earlier;  /* sinks: counts of the runs that it follows; size 0: none */
	struct iaprof_delivery reported; /* sinks: the latest of host->delivery(); size 0: none */
	struct iaprof_delivery delivery; /* sinks: as it was sent last; size 0: not yet */
	struct delivery_marks marks;     /* sinks; protected by the lock */
	struct sink_activity activity;   /* sinks */
	struct sink_liveness liveness;   /* sinks */
	atomic_uint_least64_t dropped_profiles; /* sinks: that their queue had no room for */
	bool is_stuck;                          /* sinks: a callback does not return; must not be freed */
	atomic_bool must_end;    /* isolated sinks: the time of an interrupted run is over, the process is ended */
	atomic_bool finished;    /* no more data to send, or failed */
	atomic_bool ended_early; /* sources: see instance_end_early() */
	bool has_thread;
	pthread_t thread;
};

/*
 * Creates an instance and stores its options: defaults, then the settings. Returns NULL on failure; error begins with
 * the origin of the bad setting.
 */
struct instance *instance_new(struct plugin *plugin, const struct instance_configuration *configuration,
			      uint16_t number, struct instance_services *services, struct error *error);
/* Calls destroy() if configure() was called, and frees everything. */
void instance_free(struct instance *instance);

/*
 * Call a callback and return its result (0 if the plugin has none). A failure is stored in instance->error and, if not
 * NULL, in error.
 */
int instance_configure(struct instance *instance, struct error *error);
int instance_probe(struct instance *instance, struct error *error);
void instance_check(struct instance *instance); /* results go to services->check_item() */
int instance_prepare(struct instance *instance, struct error *error);
int instance_start(struct instance *instance, struct error *error); /* and its thread */
int instance_stop(struct instance *instance, struct error *error);  /* joins its thread first; once */
int instance_finish(struct instance *instance, struct error *error);
/*
 * Begin stop() or finish() of an isolated source, so that several ones are drained at once: the call itself must
 * follow. Nothing for a source in the process of iaprof.
 */
void instance_begin_stop(struct instance *instance);
void instance_begin_finish(struct instance *instance);
int instance_records(struct instance *instance, const struct iaprof_batch *batch);
int instance_profile(struct instance *instance, const struct iaprof_profile *profile);

/* Calls the instance's callback for unwind tables; one of table and process is not NULL. Loop thread. */
void instance_unwind(void *instance, const struct iaprof_unwind_table *table,
		     const struct iaprof_unwind_process *process);

/* Calls the instance's callback for mapped files. Loop thread. */
void instance_file_is_mapped(void *instance, const struct iaprof_mapped_file *file);

/* Sends LOST records for the records that the queue rejected and the gate counted. Loop thread. */
void instance_report_refused(struct instance *instance);

/* Records a failure of a callback: result and the causes from fail(). Returns result. */
int instance_fail(struct instance *instance, int result, const char *callback, struct error *error);

/* Stores the reason for its end, unless there is one. */
void instance_set_error(struct instance *instance, const struct error *error);

/* Initialises the instance's host. */
void instance_host_init(struct instance *instance);
void instance_host_release(struct instance *instance);

/* Returns whether the process of an isolated instance has ended too early: the run continues without it. */
bool instance_is_dead(const struct instance *instance);

/* Returns whether emit() waits for room: the data was recorded, perhaps by a newer version. */
static inline bool instance_is_lossless(const struct instance *instance)
{
	return instance->plugin->description.flags & (IAPROF_PLUGIN_LOSSLESS | IAPROF_PLUGIN_REPLAYS) ||
	       instance->offline;
}

/* Returns whether a signal or a sink has ended the run. */
static inline bool instance_run_is_ending(const struct instance *instance)
{
	const struct instance_services *services = instance->services;
	return services->run_is_ending && services->run_is_ending(services->context);
}

/* Marks an instance as finished and notifies the run, which may end. */
static inline void instance_end(struct instance *instance)
{
	atomic_store(&instance->finished, true);
	instance->services->ended(instance->services->context, instance);
}

/*
 * The same for an instance that has failed. The data of a source states that, with the time: a LOST record whose count
 * is not known. Any thread.
 */
void instance_end_early(struct instance *instance);

/* Marks the thread as being in a callback of the instance; see plugin_call.h. */
static inline struct plugin_call instance_call_begin(const struct instance *instance, const char *callback)
{
	return plugin_call_begin(plugin_kind_name(instance->plugin->description.kind), instance->name, callback);
}

/* Returns the decoder of a configured instance; valid for the lifetime of the instance. */
static inline struct decoder instance_decoder(const struct instance *instance)
{
	return (struct decoder){
		.plugin = instance->plugin, .name = instance->name, .host = &instance->host, .memory = instance->memory
	};
}

/* Returns the instance that a host belongs to. */
static inline struct instance *instance_of(const struct iaprof_host *host)
{
	return host->core;
}
