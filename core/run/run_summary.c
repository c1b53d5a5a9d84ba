/* SPDX-License-Identifier: Apache-2.0 */
/* The messages at the end of a run: see run_state.h. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "run/run_state.h"
#include "text/plural.h"
#include "text/quantity.h"

static void report_cost(const struct engine_result *result, double elapsed, const struct run_cost *cost)
{
	double wall = (double)(cost->end.clock - cost->begin.clock), kernel_side = (double)result->kernel_side_time;
	/* Processes that have ended count no more. */
	uint64_t own = cost->end.cpu > cost->begin.cpu ? cost->end.cpu - cost->begin.cpu : 0;
	double sampling = (double)own + kernel_side;
	double all = (double)cost->total + kernel_side;
	struct quantity_text samples = quantity_sum(result->samples);
	/* The start-up cost dominates a short run, so a percentage would be misleading. */
	if (wall < NANOSECONDS_PER_SECOND / 2)
		log_notice("%s sample%s in %s; iaprof used %s of CPU time", samples.text, plural(result->samples),
			   quantity_time(elapsed).text, quantity_time(all).text);
	else
		log_notice("%s sample%s in %s; iaprof used %s of one CPU while profiling (%s in the Linux kernel) and "
			   "%s of CPU time to start and finish",
			   samples.text, plural(result->samples), quantity_time(elapsed).text,
			   quantity_share(sampling, wall, " %").text, quantity_share(kernel_side, wall, " %").text,
			   quantity_time(all > sampling ? all - sampling : 0).text);
}

static void report_missing_decoders(const struct decoders *decoders)
{
	for (size_t i = 0; i < decoders->missing.count; i++)
		log_message(
			IAPROF_LOG_WARNING,
			"no decoder for device code of ELF machine %" PRIu32
			": kernels have no attributes, instructions no names, and images that are relocated when they "
			"are loaded no source lines (install a decoder plugin; iaprof --list shows them)",
			decoders->missing.items[i]);
}

static void report_samples(const struct run *run)
{
	const struct engine_result *result = &run->result.engine;
	double elapsed = (double)(result->profile->end - result->profile->begin);
	if (!run->setup.replays)
		report_cost(result, elapsed, &run->cost);
	else
		log_notice("replayed %s sample%s%s%s", quantity_sum(result->samples).text, plural(result->samples),
			   elapsed > 0 ? " of " : "", elapsed > 0 ? quantity_time(elapsed).text : "");
}

void run_summary_print(struct run *run)
{
	const struct iaprof_profile *profile = run->result.engine.profile;
	if (run->engine)
		run->functions->report(run->engine);
	if (profile) {
		run_report_messages(run, "stalls", profile);
		report_samples(run);
	}
	report_missing_decoders(&run->setup.decoders);
	log_repeated();
}
