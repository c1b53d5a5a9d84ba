/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof-plugin-check: checks a plugin against the interface of iaprof/plugin.h and reports in TAP or JSON. Each check
 * runs in a process of its own, so that a plugin that crashes fails one check and not the report.
 */
#include "subject.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "text/text.h"

#define EXIT_USAGE 2

/*
 * Seconds that a check may take. The others are skipped after one that took longer, so that a plugin that hangs costs
 * this time once. CK_TIMEOUT_MULTIPLIER extends it, for slow machines.
 */
#define CHECK_TIMEOUT 10

static int usage(FILE *file)
{
	fputs("usage: iaprof-plugin-check [--json] iaprof-NAME.so [KEY=VALUE...]\n"
	      "Checks a plugin against the plugin interface of iaprof and reports in TAP or JSON. KEY=VALUE sets an\n"
	      "option of the plugin.\n"
	      "Exit status: 0 all checks passed or were skipped, 1 a check failed, 2 usage error.\n",
	      file);
	return file == stdout ? EXIT_SUCCESS : EXIT_USAGE;
}

/* The plugin's kind, and its flags; 0 after a message: without a kind there is nothing to check. */
static uint32_t plugin_kind(const char *path, uint32_t *flags)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "iaprof-plugin-check: %s\n", dlerror());
		return 0;
	}
	iaprof_plugin_register_function *plugin_register =
		(iaprof_plugin_register_function *)dlsym(library, IAPROF_PLUGIN_SYMBOL);
	const struct iaprof_plugin *plugin = plugin_register ? plugin_register() : NULL;
	bool whole = plugin && plugin->size > offsetof(struct iaprof_plugin, option_size);
	uint32_t kind = whole ? plugin->kind : 0;
	*flags = whole ? plugin->flags : 0;
	if (!plugin_register)
		fprintf(stderr, "iaprof-plugin-check: %s: has no %s(): use IAPROF_REGISTER_PLUGIN()\n", path,
			IAPROF_PLUGIN_SYMBOL);
	else if (!kind)
		fprintf(stderr, "iaprof-plugin-check: %s: its struct iaprof_plugin has no kind\n", path);
	dlclose(library);
	return kind;
}

static void checks_of(struct check_list *checks, uint32_t kind, uint32_t flags)
{
	checks_add_form(checks);
	checks_add_life(checks, kind);
	if (kind == IAPROF_PLUGIN_SOURCE)
		checks_add_source(checks, flags);
	if (kind == IAPROF_PLUGIN_SINK)
		checks_add_sink(checks, flags);
	if (kind == IAPROF_PLUGIN_DECODER)
		checks_add_decoder(checks);
}

enum verdict { PASSED, FAILED, SKIPPED };

struct report {
	struct text json; /* the checks so far, if is_json */
	bool is_json;
	int count, failed;
	const char *ended; /* why the remaining checks are skipped; NULL: they are not */
};

static void verdict_print(struct report *report, const char *what, enum verdict verdict, const char *reason)
{
	static const char *const words[] = { "passed", "failed", "skipped" };
	report->count++;
	report->failed += verdict == FAILED;
	if (report->is_json) {
		text_append_format(&report->json, "%s\n  {\"number\": %d, \"result\": \"%s\", \"check\": ",
				   report->count > 1 ? "," : "", report->count, words[verdict]);
		text_append_json(&report->json, what);
		if (verdict != PASSED) {
			text_append_string(&report->json, ", \"reason\": ");
			text_append_json(&report->json, reason);
		}
		text_append_string(&report->json, "}");
		return;
	}
	printf("%sok %d - %s%s%s\n", verdict == FAILED ? "not " : "", report->count, what,
	       verdict == SKIPPED ? " # SKIP " : "", verdict == SKIPPED ? reason : "");
	if (verdict == FAILED)
		printf("# %s\n", reason);
	fflush(stdout);
}

static void result_print(struct report *report, const char *what, TestResult *result)
{
	const char *message = tr_msg(result);
	if (tr_rtype(result) == CK_PASS)
		verdict_print(report, what, PASSED, NULL);
	else if (strncmp(message, SUBJECT_SKIP, strlen(SUBJECT_SKIP)) == 0)
		verdict_print(report, what, SKIPPED, message + strlen(SUBJECT_SKIP));
	else
		verdict_print(report, what, FAILED, message);
	if (tr_rtype(result) == CK_ERROR && strstr(message, "timeout expired"))
		report->ended = "an earlier check took too long";
	else if (report->count == 1 && tr_rtype(result) != CK_PASS)
		report->ended = "its struct cannot be used";
}

static void check_run(struct report *report, const struct check *check)
{
	if (report->ended) {
		verdict_print(report, check->what, SKIPPED, report->ended);
		return;
	}
	Suite *suite = suite_create("plugin");
	TCase *one = tcase_create(check->what);
	tcase_set_timeout(one, CHECK_TIMEOUT);
	tcase_add_test(one, check->test);
	suite_add_tcase(suite, one);
	SRunner *runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_SILENT);
	TestResult **results = srunner_results(runner);
	result_print(report, check->what, results[0]);
	free(results);
	srunner_free(runner);
}

static int checks_run(const struct check_list *checks, const char *path, bool is_json)
{
	struct report report = { .is_json = is_json };
	if (!is_json)
		printf("1..%zu\n", checks->count);
	for (size_t i = 0; i < checks->count; i++)
		check_run(&report, &checks->items[i]);
	if (is_json) {
		struct text name = { 0 };
		text_append_json(&name, path);
		printf("{\"plugin\": %s, \"failed\": %d, \"checks\": [%s\n]}\n", text_string(&name), report.failed,
		       text_string(&report.json));
		if (name.failed || report.json.failed)
			report.failed++;
		text_free(&name);
	}
	text_free(&report.json);
	return report.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Passes what the checks need to their processes. Returns false if out of memory. */
static bool subject_set(const char *path, const char *settings)
{
	int findings = memfd_create("findings", 0);
	char number[16];
	snprintf(number, sizeof number, "%d", findings);
	return findings >= 0 && setenv(SUBJECT_PATH, path, 1) == 0 && setenv(SUBJECT_SETTINGS, settings, 1) == 0 &&
	       setenv(SUBJECT_FINDINGS, number, 1) == 0;
}

int main(int argc, char **argv)
{
	bool is_json = argc >= 2 && strcmp(argv[1], "--json") == 0;
	if (argc >= 2 && strcmp(argv[1], "--help") == 0)
		return usage(stdout);
	argv += is_json;
	argc -= is_json;
	if (argc < 2 || argv[1][0] == '-')
		return usage(stderr);
	/* With a '/', so that dlopen() takes it as a file and not as a library to search for. */
	char *path CLEANUP_FREE = realpath(argv[1], NULL);
	if (!path) {
		fprintf(stderr, "iaprof-plugin-check: %s: %m\n", argv[1]);
		return EXIT_USAGE;
	}
	char *settings CLEANUP_FREE = NULL;
	size_t size;
	FILE *file = open_memstream(&settings, &size);
	if (!file)
		return EXIT_FAILURE;
	for (int i = 2; i < argc; i++) {
		if (!strchr(argv[i], '=') || strchr(argv[i], '\n')) {
			fclose(file);
			return usage(stderr);
		}
		fprintf(file, "%s\n", argv[i]);
	}
	if (fclose(file) != 0 || !subject_set(path, settings))
		return EXIT_FAILURE;
	uint32_t flags;
	uint32_t kind = plugin_kind(path, &flags);
	struct check_list checks = { 0 };
	if (kind)
		checks_of(&checks, kind, flags);
	int status = kind ? checks_run(&checks, path, is_json) : EXIT_FAILURE;
	array_free(&checks);
	return status;
}
