/* SPDX-License-Identifier: Apache-2.0 */
/* Configures a run: see run_state.h. */
#include "base/log.h"
#include "run/run_state.h"

/* Names the sources that do not know cgroups. */
static void warn_of_whole_system(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++) {
		const struct instance *source = run->setup.sources.items[i];
		if (!(source->plugin->description.flags & IAPROF_PLUGIN_TARGETS) && !source->offline)
			log_message(IAPROF_LOG_WARNING,
				    "source %s cannot be restricted to a cgroup: it records all "
				    "processes",
				    source->name);
	}
}

enum exit_status run_configure(struct run *run, struct registry *registry, struct error *error)
{
	if (run_make_services(run, error))
		return EXIT_STATUS_FAILED;
	if (setup_make(&run->setup, run->configuration, registry, &run->services, error) ||
	    run_check_target(run, error))
		return EXIT_STATUS_USAGE;
	if (setup_probe(&run->setup, NULL, error))
		return EXIT_STATUS_NOTHING;
	if (run_has_nothing_left(run))
		return EXIT_STATUS_FAILED;
	if (setup_hold_outputs(&run->setup, error))
		return EXIT_STATUS_USAGE;
	run->interval = run_choose_interval(run);
	run->services.target.flags = (run_is_offline(run) ? IAPROF_TARGET_RECORDED : 0) |
				     (run_follows_children(run) ? IAPROF_TARGET_CHILDREN : 0);
	run->services.target.finish_within = run_is_offline(run) ? 0 : run->configuration->finish_within;
	if (run->cgroup.folder)
		warn_of_whole_system(run);
	return EXIT_STATUS_COMPLETE;
}
