/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which callback of which plugin each thread is in, so that a crash or an exit() in it names both. Whoever calls a
 * plugin says so first:
 *
 *     CLEANUP(plugin_call_end) struct plugin_call call = plugin_call_begin(kind, name, "records");
 */
#ifndef IAPROF_CORE_PLUGIN_PLUGIN_CALL_H
#define IAPROF_CORE_PLUGIN_PLUGIN_CALL_H

/* Texts that outlive the call: "sink", "csv", "records"; callback is NULL outside of plugins. */
struct plugin_call {
	const char *kind, *name, *callback;
};

/* The thread is in a callback from here on. Returns the one that it was in before. */
struct plugin_call plugin_call_begin(const char *kind, const char *name, const char *callback);
/* The thread is in the earlier callback again. */
void plugin_call_end(const struct plugin_call *before);

/*
 * From here on a fatal signal in a callback, and an exit() by anyone but main(), is one line on standard error and
 * status 1. Signals outside of callbacks do what they do by default. Once, on the main thread.
 */
void plugin_call_watch(void);
/* main() returns now. */
void plugin_call_unwatch(void);

#endif
