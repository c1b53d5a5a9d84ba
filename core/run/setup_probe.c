/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the sources of a run whether they can run here, and leaves out those that need not: see setup.h. */
#include <errno.h>

#include "base/log.h"
#include "run/companions.h"
#include "run/setup.h"

/* A source that is left out is missed by those that have it for a companion: they go on, and say so. */
static void warn_of_missing_companion(const struct setup *setup, const struct instance *left_out)
{
	for (size_t i = 0; i < setup->sources.count; i++) {
		const struct instance *source = setup->sources.items[i];
		if (!source->left_out && companion_is_wanted(source, left_out->plugin->description.name))
			log_message(IAPROF_LOG_WARNING, "source %s goes on without its companion: %s", source->name,
				    left_out->error.text);
	}
}

static const struct instance *find_company(const struct setup *setup, const struct instance *companion)
{
	for (size_t i = 0; i < setup->sources.count; i++) {
		const struct instance *source = setup->sources.items[i];
		if (source->has_company && source != companion &&
		    companion_is_wanted(source, companion->plugin->description.name))
			return source;
	}
	return NULL;
}

/*
 * Finds for each companion a source that stays and wants it, should the one that brought it in be left out. Sources
 * that are no companions come before all that are, and have been asked.
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

/* Frees those that are left out. */
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
		/* Companions are nothing without those that bring them in: only told of. */
		if (source->brought_by) {
			gather_companions(setup);
			source->left_out = !source->has_company;
		}
		if (source->left_out && !observer)
			continue;
		if (instance_probe(source, &failure))
			source->left_out = true;
		setup->sources_probed = true;
		if (observer)
			observer->probed(observer->context, source, failure.text);
		if (!source->left_out || source->brought_by)
			continue;
		if (!first.text[0])
			first = failure;
		if (!setup->sources_by_probe)
			result = -ENODEV;
	}
	remove_left_out(setup);
	if (!result && setup->sources.count)
		return 0;
	*error = first;
	if (!error->text[0])
		error_set(error, ENODEV, "no source plugin is installed: iaprof --list shows what there is");
	return -ENODEV;
}
