/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instance: a plugin configured for one run, with the host that it sees. Its callbacks are called through here, so
 * that each failure becomes one line with the instance's name and the chain of causes.
 */
#ifndef IAPROF_CORE_PLUGIN_INSTANCE_H
#define IAPROF_CORE_PLUGIN_INSTANCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <iaprof/plugin.h>

#include "base/array.h"
#include "bus/bus.h"
#include "bus/intern.h"
#include "bus/refused.h"
#include "config/configuration.h"
#include "plugin/loader.h"
#include "plugin/plugin_call.h"
#include "process/mapped_files.h"
#include "run/loop.h"
#include "run/output.h"

struct instance;

/* What a run shares with its instances. Outlives them. */
struct instance_services {
	struct bus *bus;
	struct intern *intern;
	struct loop *loop;
	struct iaprof_target target;
	struct mapped_files *mapped_files; /* for those that watch them */
	/* As host->command_environment(). */
	int (*command_environment)(void *context, const char *name, const char *value, bool prepend);
	/* As host->check_item(), in words; NULL: nobody listens. */
	void (*check_item)(void *context, uint32_t state, const char *name, const char *text);
	/* As host->end_run() and host->run_is_ending(). */
	void (*end_run)(void *context);
	bool (*run_is_ending)(void *context);
	/* As in struct output_target. */
	uint64_t (*write_by)(void *context, uint64_t since);
	/* An instance cannot go on: it failed in a callback, or all it had has been sent. Any thread. */
	void (*ended)(void *context, struct instance *instance);
	void *context;
};

struct watch; /* one of the loop's watches, see instance_host.c */

struct instance {
	struct plugin *plugin;
	struct instance_services *services;
	struct iaprof_host host;
	char *name;
	uint16_t number;           /* of its records, >= 1 */
	void *memory;              /* the plugin's */
	uint32_t requests;         /* enum iaprof_request */
	uint64_t time_resolution;  /* sinks: ns, 0: it asks for no times */
	uint64_t default_interval; /* ns; as host->default_interval(), 0: not called */
	atomic_bool has_screen;
	struct output_target output; /* sinks: where its files go */
	ARRAY(struct iaprof_output *) outputs;
	ARRAY(struct watch *) watches;
	iaprof_mapped_file_callback *mapped_file_callback; /* NULL: it watches none */

	pthread_mutex_t lock; /* of the following */
	struct error cause;   /* what fail() said since the callback began */
	struct error error;   /* why it ended; text is empty when nothing failed */
	struct refused refused;

	bool configured, prepared, started;
	const struct instance *brought_by; /* the source that this one is a companion of; NULL none */
	bool offline;                      /* as host->offline() */
	bool left_out;                     /* it cannot run here, and the run goes on without it */
	bool has_company;                  /* the user wants it, or a source that has company: see setup_probe.c */
	atomic_int stopping;               /* for its thread() */
	bool is_stuck;                     /* sinks: a callback does not return; must not be freed */
	atomic_bool finished;              /* has nothing more to send, or failed */
	bool has_thread;
	pthread_t thread;
};

/*
 * Makes an instance and stores its options: defaults, then the settings. NULL after a failure; the message begins with
 * the place of the bad setting.
 */
struct instance *instance_new(struct plugin *plugin, const struct instance_configuration *configuration,
			      uint16_t number, struct instance_services *services, struct error *error);
/* Calls destroy() when configure() was called, and frees everything. */
void instance_free(struct instance *instance);

/* Calls a callback (0 when the plugin has none). Its failure is in instance->error and, when error is not NULL, there.
 */
int instance_configure(struct instance *instance, struct error *error);
int instance_probe(struct instance *instance, struct error *error);
void instance_check(struct instance *instance); /* tells services->check_item() */
int instance_prepare(struct instance *instance, struct error *error);
int instance_start(struct instance *instance, struct error *error); /* and its thread */
int instance_stop(struct instance *instance, struct error *error);  /* joins its thread first */
int instance_finish(struct instance *instance, struct error *error);
int instance_records(struct instance *instance, const struct iaprof_batch *batch);
int instance_profile(struct instance *instance, const struct iaprof_profile *profile);

/* Sends what the queue refused as LOST records. Loop thread. */
void instance_report_refused(struct instance *instance);

/* Notes a failure of a callback: result and what fail() said. Returns result. */
int instance_fail(struct instance *instance, int result, const char *callback, struct error *error);

/* Fills in the host that the instance sees. */
void instance_host_init(struct instance *instance);
void instance_host_release(struct instance *instance);

/* The thread is in a callback of the instance from here on; see plugin_call.h. */
static inline struct plugin_call instance_call_begin(const struct instance *instance, const char *callback)
{
	return plugin_call_begin(plugin_kind_name(instance->plugin->description.kind), instance->name, callback);
}

/* Whose host it is: a plugin gets no other. */
static inline struct instance *instance_of(const struct iaprof_host *host)
{
	return host->core;
}

#endif
