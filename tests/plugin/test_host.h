/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host for one plugin instance under test: loads the shared object as the core does, gives it options, drives it
 * through its life, keeps what it emits, reports and writes. It has no queues, no symbolizer and no other instance, so
 * a test sees what the plugin did and nothing else. Whatever breaks the contract of iaprof/plugin.h or iaprof/record.h
 * fails the Check test that runs.
 *
 *     struct test_host *host = test_host_new("cpu-stack", "frequency=997", NULL);
 *     test_host_start(host);            configure, probe, prepare, start
 *     test_host_run(host, 500);         the loop, for 500 ms
 *     test_host_stop(host);             stop, finish
 *     for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, IAPROF_RECORD_SAMPLE));)
 *             ...
 *     test_host_free(host);             destroy
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/plugin.h>

#include "base/array.h"
#include "base/hash.h"
#include "plugin/loader.h"

/* Where a string or stack id was defined: an offset into the records. */
struct test_definition {
	uint32_t id;
	size_t offset;
};

struct test_message {
	int level; /* enum iaprof_log_level */
	char *text;
};

/* Arguments of check_item(). */
struct test_check_item {
	uint32_t state; /* enum iaprof_check_state */
	char *name, *text;
};

/* An output of a sink, in memory. Data has a NUL after its size bytes. */
struct test_output {
	char *variant;  /* NULL none */
	uint32_t flags; /* enum iaprof_output_flag */
	char *data;
	size_t size;
	size_t flushed; /* what a reader has */
	bool closed;    /* output_close() was called: the file is complete */
	bool renamed;   /* it has its final name: closed, or flushed with IAPROF_OUTPUT_INCREMENTAL */
	bool discarded; /* output_discard() was called */
};

struct test_watch {
	int fd;
	bool timer; /* fd is a timerfd of ours */
	iaprof_on_fd *on_fd;
	iaprof_on_timer *on_timer;
};

struct test_host {
	/* A test may change these before test_host_configure(). */
	struct iaprof_target target; /* the whole system by default */
	int emit_error;              /* negative errno: emit() returns it and takes nothing */
	bool output_single;          /* result of output_is_single() */
	size_t output_limit; /* an output_write() that takes an output above this many bytes fails: ENOSPC; 0 none */

	/* What the instance did; look at it from the test's thread when the source is stopped. */
	unsigned char *records; /* everything on the bus, definitions first, as the core would deliver it */
	size_t record_size, record_capacity, record_count;
	ARRAY(struct test_definition) strings;
	ARRAY(struct test_definition) stacks;
	struct hash_index string_index, stack_index; /* positions in strings and stacks */
	ARRAY(struct test_message) messages;         /* log() */
	ARRAY(struct test_check_item) check_items;
	char failure[4096]; /* fail(): "outer: inner", empty when nothing failed */
	ARRAY(struct test_output *) outputs;
	uint32_t requested;        /* request(): enum iaprof_request */
	uint64_t time_resolution;  /* request_times() */
	ARRAY(char *) environment; /* command_environment(): "NAME=VALUE", when the target has a command_pid */
	iaprof_on_mapped_file *on_mapped_file; /* on_mapped_file(): for the test to call */
	uint64_t progress;                     /* time of the newest advance() */
	bool finished;                         /* finished() was called, or the thread returned 0 */
	int thread_result;                     /* what thread() returned; 0 while it runs */

	struct plugin_operations operations;
	struct iaprof_plugin plugin; /* this host's own copy, zeros where an older plugin has no member */
	void *instance;

	/* The host's own. */
	struct iaprof_host host;
	void *library;
	pthread_mutex_t lock; /* records, strings, stacks, messages, failure */
	pthread_t thread;
	bool thread_running;
	volatile int stopping;
	bool configured, prepared;
	uint32_t value_type_count;
	int epoll;
	int wake; /* eventfd: the source has finished */
	ARRAY(struct test_watch) watches;
};

/*
 * Loads plugin NAME of this build ($TEST_PLUGIN_FOLDER/NAME/iaprof-NAME.so), or the shared object at a path with a '/',
 * and sets the options, "key=value" each, ending with NULL.
 */
struct test_host *test_host_new(const char *name, ...) __attribute__((sentinel));
/* One more option, as test_host_new() does, before configure(). 0, or -EINVAL with the reason in failure. */
int test_host_set(struct test_host *host, const char *key, const char *value);
/* Destroys the instance, after stopping what runs. */
void test_host_free(struct test_host *host);

/* One callback each; a callback that the plugin does not have gives 0. */
int test_host_configure(struct test_host *host);
int test_host_probe(struct test_host *host);
int test_host_prepare(struct test_host *host);
void test_host_check(struct test_host *host); /* fills check_items */
int test_host_begin(struct test_host *host);  /* start(), and the thread */
int test_host_finish(struct test_host *host);

/* configure() to start(): each must succeed. For a source a test skips or checks probe() first if it has to. */
void test_host_start(struct test_host *host);
/* Runs the loop until milliseconds have passed or the source has finished. 0, or the first error of a callback. */
int test_host_run(struct test_host *host, unsigned milliseconds);
/* Ends the thread, then stop() and finish(): each must succeed. thread_result is left to the test. */
void test_host_stop(struct test_host *host);

/*
 * While the source runs, what it did is looked at between these two: it waits where it would do more. Nothing else is
 * called meanwhile, and what was found is used no longer.
 */
void test_host_freeze(struct test_host *host);
void test_host_thaw(struct test_host *host);

/* Sinks: hands over a batch, or a profile. */
int test_host_send(struct test_host *host, const void *records, size_t size, uint32_t count);
int test_host_send_profile(struct test_host *host, const struct iaprof_profile *profile);
/* The output with this variant (NULL: without one); NULL when there is none. */
struct test_output *test_host_output(struct test_host *host, const char *variant);

/* The record after this one (NULL: the first one) of a type (0: any), or NULL. */
const struct iaprof_record *test_host_next(const struct test_host *host, const struct iaprof_record *record,
					   uint16_t type);
/* The text of a string id: "" for 0; fails the test for an id that was never defined. */
const char *test_host_string(const struct test_host *host, uint32_t id);
/* The stack of an id: NULL for 0; fails the test for an id that was never defined. */
const struct iaprof_record_stack *test_host_stack(const struct test_host *host, uint32_t id);
/* The declaration of a value type id; fails the test when there is none. */
const struct iaprof_record_value_type *test_host_value_type(const struct test_host *host, uint32_t id);
/* The value of a METADATA key, NULL when there is none. */
const char *test_host_metadata(const struct test_host *host, const char *key);
/* The sum of count over the LOST records with this reason (NULL: any); unknown counts are 0. */
uint64_t test_host_lost(const struct test_host *host, const char *reason);
/* The item of check() with a name; NULL if there is none. */
const struct test_check_item *test_host_check_item(const struct test_host *host, const char *name);
/* Whether a message of this level contains text. */
bool test_host_logged(const struct test_host *host, int level, const char *text);
