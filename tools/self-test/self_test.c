/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof-self-test: checks what iaprof assumes about an Intel GPU, its driver and its runtime, on this machine. iaprof
 * --self-test starts it: iaprof-self-test IAPROF GPU-PROGRAM [OPTION...].
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect.h"
#include "judgement.h"
#include "observations.h"

/* Exit statuses, as of iaprof. */
enum { STATUS_PASSED = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_NOTHING = 3 };

#define DURATION 1000u /* of each kernel, ms */

static void usage(FILE *output)
{
	fputs("Usage: iaprof --self-test [--save FILE] [--replay FILE]\n"
	      "Checks what iaprof assumes about an Intel GPU of this machine, its driver and runtime, in about 20 s.\n"
	      "Nothing else should use the GPU meanwhile. Status 0 if no check fails, 1 if one does,\n"
	      "3 if there is no such GPU.\n"
	      "\n"
	      "  --save FILE     write what was observed to FILE, to attach it to a report: rows of the\n"
	      "                  self-test's own kernels, their code, and versions\n"
	      "  --replay FILE   judge a saved FILE again\n",
	      output);
}

/* Observations in a file: the saved one, or one without a name. */
static FILE *open_observations(const char *save)
{
	if (!save)
		return tmpfile();
	int file = open(save, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
	return file < 0 ? NULL : fdopen(file, "w+");
}

static int judge_file(FILE *file, const char *name)
{
	struct observations observations;

	rewind(file);
	if (observations_read(&observations, file, name))
		return STATUS_USAGE;
	int status = STATUS_NOTHING;
	if (observations.has_device) {
		printf("iaprof %s, Linux %s\n", observations.version, observations.linux_release);
		status = judge(&observations, stdout) ? STATUS_FAILED : STATUS_PASSED;
	} else {
		const char *why = observations_missing(&observations, "stream");
		fprintf(stderr, "iaprof: --self-test: %s\n", why ? why : "no GPU");
	}
	observations_free(&observations);
	return status;
}

static int replay(const char *name)
{
	CLEANUP_FCLOSE FILE *file = fopen(name, "re");

	if (file)
		return judge_file(file, name);
	fprintf(stderr, "iaprof: cannot open %s: %s\n", name, strerror(errno));
	return STATUS_USAGE;
}

static int run(const struct collect_setup *setup, const char *save)
{
	CLEANUP_FCLOSE FILE *file = open_observations(save);

	if (!file || collect(setup, file)) {
		fprintf(stderr, "iaprof: cannot write %s: %s\n", save ? save : "a temporary file", strerror(errno));
		return STATUS_FAILED;
	}
	int status = judge_file(file, save ? save : "observations");
	if (save)
		printf("wrote %s\n", save);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "save", required_argument, NULL, 's' },
						 { "replay", required_argument, NULL, 'r' },
						 { "help", no_argument, NULL, 'h' },
						 { 0 } };
	const char *save = NULL, *replayed = NULL;

	if (argc < 3) {
		fputs("iaprof-self-test is started by iaprof --self-test\n", stderr);
		return STATUS_USAGE;
	}
	const struct collect_setup setup = { .iaprof = argv[1], .gpu_program = argv[2], .duration = DURATION };
	argv[2] = (char *)"iaprof";
	for (int option; (option = getopt_long(argc - 2, argv + 2, "h", options, NULL)) >= 0;) {
		if (option == 's') {
			save = optarg;
		} else if (option == 'r') {
			replayed = optarg;
		} else {
			usage(option == 'h' ? stdout : stderr);
			return option == 'h' ? STATUS_PASSED : STATUS_USAGE;
		}
	}
	if (optind != argc - 2 || (save && replayed)) {
		usage(stderr);
		return STATUS_USAGE;
	}
	return replayed ? replay(replayed) : run(&setup, save);
}
