/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks which callback of which plugin each thread is in, so that a crash, an exit() or an _exit() is reported with
 * both names. Every call to a plugin must be preceded by:
 *
 *     CLEANUP(plugin_call_end) struct plugin_call call = plugin_call_begin(kind, name, "records");
 */
#pragma once

#include <signal.h>

/* Strings must outlive the call: "sink", "csv", "records"; callback is NULL outside plugins. */
struct plugin_call {
	const char *kind, *name, *callback;
};

/* Marks the thread as being in a callback. Returns the previous one. */
struct plugin_call plugin_call_begin(const char *kind, const char *name, const char *callback);
/* Restores the previous callback of the thread. */
void plugin_call_end(const struct plugin_call *before);

/*
 * Installs the handlers: from here on a fatal signal or an _exit() in a callback, and any exit() outside main(), prints
 * one line on standard error and ends with a failure status, 1 by default. Signals outside callbacks have their default
 * action. clean_up: called before the line is written; must be async-signal-safe. Called once, on the main thread.
 */
void plugin_call_watch(void (*clean_up)(void));
/* Sets and returns the exit status of a process that a plugin ends, or that ends without its plugins. */
void plugin_call_set_failure_status(int status);
int plugin_call_failure_status(void);
/* How a callback failed, beside signals. */
enum plugin_failure { PLUGIN_FAILURE_EXIT = 128, PLUGIN_FAILURE_EXIT_AT_ONCE, PLUGIN_FAILURE_HANG };
/* Signal that asks a helper process whether its plugin returns: the second one in the same call of a callback fails. */
#define PLUGIN_EXAMINE_SIGNAL SIGXCPU
/*
 * For helper processes, which have no standard error: a fatal signal ends the process with status 1. If a callback
 * fails, report() is called first, with the signal or an enum plugin_failure; it must be async-signal-safe. Also
 * applies to children.
 */
void plugin_call_report_failures(void (*report)(int failure, const char *callback));
/* Ends the process like _exit(); also from a signal handler while a callback runs. */
_Noreturn void process_exit_immediately(int status);
/* Ends the process like _exit(); in a callback with status 1 and a line that names the callback. */
_Noreturn void plugin_call_exit(int status);
/*
 * plugin_call_watch() for the process of an isolated plugin: a crash, exit() or _exit() calls report() instead of
 * printing the line, with the callback (NULL: none) and what happened; it must be async-signal-safe. note() is called
 * with the callback that a thread enters, and with the previous one (NULL: none) when it returns.
 */
void plugin_call_isolate(void (*report)(const char *callback, const char *what), void (*note)(const char *callback));
/* Returns the callback that the thread is in; "" if none. */
const char *plugin_call_callback(void);
/* Removes the handlers before main() returns. */
void plugin_call_unwatch(void);
