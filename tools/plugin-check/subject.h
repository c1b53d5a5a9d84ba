/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin that is checked, and what the checks of all kinds share. */
#pragma once

#include <check.h>
#include "test_host.h"

/* Check's tests take no argument, but they inherit the environment: the path, and "key=value" lines. */
#define SUBJECT_PATH "IAPROF_PLUGIN_CHECK_PATH"
#define SUBJECT_SETTINGS "IAPROF_PLUGIN_CHECK_SETTINGS"
/* A file for what one check found that other checks report: its number. */
#define SUBJECT_FINDINGS "IAPROF_PLUGIN_CHECK_FINDINGS"

/* Begins the message of a check that cannot be made here; the reason follows. */
#define SUBJECT_SKIP "SKIP "

/* A host with a new instance and the user's settings. */
struct test_host *subject_new(void);

/* configure(), which must succeed; and the same for the checks that need it and are skipped after that one failed. */
void subject_expect_configured(struct test_host *host);
void subject_configure(struct test_host *host);
/* probe() and prepare(): fails the check, or skips it where hardware or rights are missing. */
void subject_prepare(struct test_host *host);

/* A callback's result is 0, or a negative errno with a reason given to host->fail(). */
void subject_expect_reason(const struct test_host *host, const char *callback, int result);

/* thread(), when there is one, ended without a failure. After test_host_stop(). */
void subject_expect_thread(const struct test_host *host);

/* A source whose prepare() succeeded, and its start() and callbacks for a while, which must succeed. */
struct test_host *source_new(void);
void source_run(struct test_host *host);

/* How many file descriptors this process has open. */
unsigned subject_descriptors(void);

/* A check, in a process of its own. */
struct check {
	const char *what;
	const TTest *test;
};
struct check_list {
	ARRAY(struct check);
};

/* Each adds its checks, whose names say what is checked. kind, flags: as in struct iaprof_plugin. */
void checks_add_form(struct check_list *checks);
void checks_add_life(struct check_list *checks, uint32_t kind);
void checks_add_source(struct check_list *checks, uint32_t flags);
void checks_add_records(struct check_list *checks, uint32_t flags);
void checks_add_sink(struct check_list *checks, uint32_t flags);
void checks_add_decoder(struct check_list *checks);
void check_add(struct check_list *checks, const char *what, const TTest *test);
