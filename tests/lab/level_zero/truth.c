/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the truth: modules and kernels with their addresses, and who launched what, how often. */
#include "truth.h"

#include "reservations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void places_print(FILE *file, const struct options *options, unsigned number, const struct load *load)
{
	reservations_print(file);
	for (unsigned i = 0; i < MODULE_COUNT; i++)
		fprintf(file, "module\t%d\t%u\t%s\t%s\t%#" PRIx64 "\t%" PRIu64 "\n", getpid(), number, module_names[i],
			options->native[i] ? "native" : "spirv", load->modules[i].address, load->modules[i].size);
	for (unsigned i = 0; i < KERNEL_COUNT; i++)
		fprintf(file, "kernel\t%d\t%u\t%s\t%s\t%#" PRIx64 "\t%" PRIu64 "\n", getpid(), number,
			module_names[kernel_descriptions[i].module], kernel_descriptions[i].name,
			load->kernels[i].address, load->kernels[i].size);
}

static void worker_print(FILE *file, unsigned number, const struct worker *worker)
{
	for (unsigned i = 0; i < SITE_COUNT; i++) {
		const struct site_description *site = &site_descriptions[i];

		for (unsigned j = 0; j < site->kernel_count; j++) {
			enum kernel_id kernel = j ? site->kernels[j] : site_kernel(worker, i);

			if (worker->appended[i][kernel] == 0)
				continue;
			fprintf(file, "launch\t%d\t%u\t%d\t%s\t%s\t%s\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", getpid(),
				number, worker->thread, worker->name, site->layer, site->name, site->call,
				kernel_descriptions[kernel].name, worker->appended[i][kernel],
				worker->executed[i][kernel]);
		}
	}
}

/* Whether a module came back to where it was before, and which load of it was the last to be there. */
static void reload_print(FILE *file, unsigned number, unsigned module, uint64_t address,
			 const uint64_t (*earlier)[MODULE_COUNT])
{
	unsigned before = number;

	while (before > 0 && earlier[before - 1][module] != address)
		before--;
	fprintf(file, "reload\t%d\t%u\t%s\t", getpid(), number, module_names[module]);
	if (before > 0)
		fprintf(file, "%s\t%u\n", before == number ? "same" : "reused", before - 1);
	else
		fprintf(file, "new\t-\n");
}

void truth_print(const struct options *options, unsigned number, const struct load *load,
		 const uint64_t (*earlier)[MODULE_COUNT], const struct worker *workers)
{
	FILE *file = options->truth_file ? fopen(options->truth_file, "ae") : stdout;

	if (!file)
		fail("%s: %s: give --truth a file that may be written", options->truth_file, strerror(errno));
	places_print(file, options, number, load);
	if (number > 0)
		for (unsigned i = 0; i < MODULE_COUNT; i++)
			reload_print(file, number, i, load->modules[i].address, earlier);
	for (unsigned i = 0; i < options->threads; i++)
		worker_print(file, number, &workers[i]);
	for (unsigned i = 0; options->spans && i < options->threads; i++)
		for (unsigned span = 0; span <= options->spans; span++)
			fprintf(file, "span\t%d\t%u\t%d\t%u\t%u\t%" PRIu64 "\n", getpid(), number, workers[i].thread,
				workers[i].number, span, workers[i].span_turns[span]);
	for (unsigned i = 0; options->jobs_node && i < options->threads; i++)
		fprintf(file, "jobs\t%d\t%u\t%d\t%" PRIu64 "\t%" PRIu64 "\n", getpid(), number, workers[i].thread,
			workers[i].job_count, options->job_time);
	if (fflush(file) != 0 || (options->truth_file && fclose(file) != 0))
		fail("the truth: %s: give --truth a file that may be written", strerror(errno));
}
