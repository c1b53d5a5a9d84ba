/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof-plugin-check: holds a plugin against the interface of iaprof/plugin.h and reports in TAP. Each check runs in
 * a process of its own, so that a plugin that crashes fails one check and not the report.
 */
#include "subject.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define EXIT_USAGE 2

static int usage(FILE *file)
{
	fputs("usage: iaprof-plugin-check iaprof-NAME.so [KEY=VALUE...]\n"
	      "Holds a plugin against iaprof's plugin interface and reports in TAP. KEY=VALUE: options of the plugin.\n"
	      "Exit status: 0 all checks passed or were skipped, 1 one failed, 2 wrong usage.\n",
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

static Suite *suite_of(uint32_t kind, uint32_t flags)
{
	Suite *suite = suite_create("plugin");
	checks_add_form(suite);
	checks_add_life(suite, kind);
	if (kind == IAPROF_PLUGIN_SOURCE)
		checks_add_source(suite, flags);
	if (kind == IAPROF_PLUGIN_SINK)
		checks_add_sink(suite, flags);
	if (kind == IAPROF_PLUGIN_DECODER)
		checks_add_decoder(suite);
	return suite;
}

/* One TAP line. Returns whether the check failed. */
static bool result_print(int number, TestResult *result)
{
	const char *message = tr_msg(result);
	bool passed = tr_rtype(result) == CK_PASS;
	bool skipped = !passed && strncmp(message, SUBJECT_SKIP, strlen(SUBJECT_SKIP)) == 0;
	if (skipped)
		printf("ok %d - %s # SKIP %s\n", number, tr_tcname(result), message + strlen(SUBJECT_SKIP));
	else
		printf("%sok %d - %s\n", passed ? "" : "not ", number, tr_tcname(result));
	if (!passed && !skipped)
		printf("# %s\n", message);
	return !passed && !skipped;
}

static int suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_SILENT);
	int count = srunner_ntests_run(runner);
	TestResult **results = srunner_results(runner);
	int failed = 0;
	printf("1..%d\n", count);
	for (int i = 0; i < count; i++)
		failed += result_print(i + 1, results[i]);
	free(results);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "--help") == 0)
		return usage(stdout);
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
	if (fclose(file) != 0 || setenv(SUBJECT_PATH, path, 1) < 0 || setenv(SUBJECT_SETTINGS, settings, 1) < 0)
		return EXIT_FAILURE;
	uint32_t flags;
	uint32_t kind = plugin_kind(path, &flags);
	return kind ? suite_run(suite_of(kind, flags)) : EXIT_FAILURE;
}
