/* SPDX-License-Identifier: Apache-2.0 */
/* Probes the sources of a run and drops optional ones that cannot run here: see setup.h. */
#include <errno.h>

#include "base/log.h"
#include "run/companion_sources.h"
#include "run/setup.h"

/* Warns for each source whose companion is dropped. */
static void warn_of_missing_companion(const struct setup *setup, const struct instance *left_out)
{
	for (size_t i = 0; i < setup->sources.count; i++) {
		const struct instance *source = setup->sources.items[i];
		if (!source->left_out && companion_source_is_wanted(source, left_out->plugin->description.name))
			log_message(IAPROF_LOG_WARNING, "source %s runs without its companion: %s", source->name,
				    left_out->error.text);
	}
}

static const struct instance *find_company(const struct setup *setup, const struct instance *companion)
{
	for (size_t i = 0; i < setup->sources.count; i++) {
		const struct instance *source = setup->sources.items[i];
		if (source->has_company && source != companion &&
		    companion_source_is_wanted(source, companion->plugin->description.name))
			return source;
	}
	return NULL;
}

/*
 * Finds for each companion a remaining source that depends on it, in case the source that added it is dropped. Other
 * sources precede all companions and have been probed.
 */
static void gather_companions(struct setup *setup)
{
	bool found = true;
	for (size_t i = 0; i < setup->sources.count; i++)
		setup->sources.items[i]->has_company =
			!setup->sources.items[i]->left_out && !setup->sources.items[i]->brought_by;
	while (found) {
		found = false;
		for (size_t i = 0; i < setup->sources.count; i++) {
			struct instance *source = setup->sources.items[i];
			const struct instance *company =
				source->left_out || source->has_company ? NULL : find_company(setup, source);
			if (!company)
				continue;
			source->brought_by = company;
			source->has_company = found = true;
		}
	}
}

/* Frees dropped sources. */
static void remove_left_out(struct setup *setup)
{
	size_t kept = 0;
	for (size_t i = 0; i < setup->sources.count; i++)
		if (setup->sources.items[i]->left_out && setup->sources.items[i]->error.text[0])
			warn_of_missing_companion(setup, setup->sources.items[i]);
	for (size_t i = 0; i < setup->sources.count; i++) {
		struct instance *source = setup->sources.items[i];
		if (source->left_out)
			instance_free(source);
		else
			setup->sources.items[kept++] = source;
	}
	setup->sources.count = kept;
}

int setup_probe(struct setup *setup, const struct setup_observer *observer, struct error *error)
{
	int result = 0;
	struct error first = { 0 };
	for (size_t i = 0; i < setup->sources.count; i++) {
		struct instance *source = setup->sources.items[i];
		struct error failure = { 0 };
		/* A companion is useless without a source that depends on it. */
		if (source->brought_by) {
			gather_companions(setup);
			source->left_out = !source->has_company;
		}
		if (source->left_out && !observer)
			continue;
		/* One whose process has ended stays in the run, which fails at its end. */
		bool is_able = !instance_probe(source, &failure);
		if (instance_is_dead(source))
			failure = source->error;
		else if (!is_able)
			source->left_out = true;
		setup->sources_probed = true;
		if (observer)
			observer->probed(observer->context, source, failure.text);
		if (!source->left_out || source->brought_by)
			continue;
		if (!first.text[0])
			first = failure;
		if (source->is_optional)
			log_message(IAPROF_LOG_WARNING, "%s (the run continues without this optional source)",
				    failure.text);
		else if (!setup->sources_by_probe)
			result = -ENODEV;
	}
	remove_left_out(setup);
	if (!result && setup->sources.count)
		return 0;
	*error = first;
	if (!error->text[0])
		error_set(error, ENODEV, "no source plugin is installed (iaprof --list lists the plugins)");
	return -ENODEV;
}
