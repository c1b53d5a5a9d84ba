/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which callback of which plugin each thread is in, so that a crash, an exit() or an _exit() in it names both. Whoever
 * calls a plugin says so first:
 *
 *     CLEANUP(plugin_call_end) struct plugin_call call = plugin_call_begin(kind, name, "records");
 */
#ifndef IAPROF_CORE_PLUGIN_PLUGIN_CALL_H
#define IAPROF_CORE_PLUGIN_PLUGIN_CALL_H

/* A sanitizer has its own handlers of signals, and its own _exit(). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLUGIN_CALL_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PLUGIN_CALL_HAS_SANITIZER 1
#endif
#endif
#ifndef PLUGIN_CALL_HAS_SANITIZER
#define PLUGIN_CALL_HAS_SANITIZER 0
#endif

/* Texts that outlive the call: "sink", "csv", "records"; callback is NULL outside of plugins. */
struct plugin_call {
	const char *kind, *name, *callback;
};

/* The thread is in a callback from here on. Returns the one that it was in before. */
struct plugin_call plugin_call_begin(const char *kind, const char *name, const char *callback);
/* The thread is in the earlier callback again. */
void plugin_call_end(const struct plugin_call *before);

/*
 * From here on a fatal signal in a callback, an _exit() in one, and an exit() by anyone but main(), is one line on
 * standard error and status 1. Signals outside of callbacks do what they do by default. Once, on the main thread.
 */
void plugin_call_watch(void);
/* Ends the process as _exit() does, from a signal handler also while a callback runs. */
_Noreturn void process_leave(int status);
/* Ends the process as _exit() does; in a callback with a line that names it, and status 1. */
_Noreturn void plugin_call_exit(int status);
/* main() returns now. */
void plugin_call_unwatch(void);

#endif
