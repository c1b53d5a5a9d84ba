/* SPDX-License-Identifier: Apache-2.0 */
/* The decoders of a run: see decoders.h. */
#include "run/decoders.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/log.h"

/* Decoders send no records and have no source number. */
#define NO_NUMBER UINT16_MAX

/* Limit on machines, since a capture or driver can name any number of them. */
#define MISSING_COUNT_MAX 64

static void free_decoder(struct configured_decoder *configured)
{
	instance_free(configured->instance);
	free(configured);
}

/*
 * Adds a decoder without an instance: only iaprof-code-worker, which configures it itself, calls it. wanted: NULL for
 * its defaults. Returns NULL on failure.
 */
static struct configured_decoder *add_without_instance(struct decoders *decoders, struct plugin *plugin,
						       const struct instance_configuration *wanted, struct error *error)
{
	struct configured_decoder *configured = calloc(1, sizeof *configured);
	if (configured && array_push(&decoders->items, configured)) {
		configured->decoder =
			(struct decoder){ .plugin = plugin, .name = plugin->description.name, .configuration = wanted };
		return configured;
	}
	free(configured);
	error_set(error, ENOMEM, "out of memory");
	return NULL;
}

/*
 * Checks the settings of a decoder that was not built with iaprof, in a process of its own. If that ends too early,
 * the run has failed, and continues without the decoder.
 */
static int add_foreign(struct decoders *decoders, struct plugin *plugin, const struct instance_configuration *wanted,
		       struct error *error)
{
	struct instance *instance = instance_new(plugin, wanted, NO_NUMBER, decoders->services, error);
	if (!instance)
		return error->code;
	int result = instance_configure(instance, error);
	bool is_dead = instance_is_dead(instance);
	instance_free(instance);
	if (is_dead)
		return 0;
	return result ? result : add_without_instance(decoders, plugin, wanted, error) ? 0 : error->code;
}

/* Creates and configures a decoder. wanted: NULL for its defaults. Returns NULL on failure. */
static struct configured_decoder *add_decoder(struct decoders *decoders, struct plugin *plugin,
					      const struct instance_configuration *wanted, struct error *error)
{
	const struct instance_configuration defaults = { .plugin = (char *)plugin->description.name };
	struct instance *instance =
		instance_new(plugin, wanted ? wanted : &defaults, NO_NUMBER, decoders->services, error);
	if (!instance)
		return NULL;
	struct configured_decoder *configured = calloc(1, sizeof *configured);
	if (!configured) {
		instance_free(instance);
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	configured->instance = instance;
	if (instance_configure(instance, error)) {
		free_decoder(configured);
		return NULL;
	}
	configured->decoder = instance_decoder(instance);
	configured->decoder.configuration = wanted;
	if (array_push(&decoders->items, configured))
		return configured;
	free_decoder(configured);
	error_set(error, ENOMEM, "out of memory");
	return NULL;
}

static struct decoder *find_configured(const struct decoders *decoders, uint32_t machine)
{
	for (size_t i = 0; i < decoders->items.count; i++)
		if (decoders->items.items[i]->decoder.plugin->operations.decoder.machine == machine)
			return &decoders->items.items[i]->decoder;
	return NULL;
}

int decoders_add(struct decoders *decoders, const struct instance_configuration *wanted, struct error *error)
{
	struct plugin *plugin = registry_get(decoders->registry, wanted->plugin, IAPROF_PLUGIN_DECODER, error);
	if (!plugin)
		return wanted->origin ? error_wrap(error, "%s", wanted->origin) : error->code;
	struct decoder *other = find_configured(decoders, plugin->operations.decoder.machine);
	if (other)
		return error_set(error, EINVAL, "%s: decoders %s and %s are both for ELF machine %u: leave one out",
				 wanted->origin ? wanted->origin : "configuration", other->name,
				 plugin->description.name, plugin->operations.decoder.machine);
	if (plugin->is_foreign)
		return add_foreign(decoders, plugin, wanted, error);
	return add_decoder(decoders, plugin, wanted, error) ? 0 : error->code;
}

/*
 * Loads the decoder of a machine. A plugin that cannot be loaded is not an error, because it may be for another
 * machine.
 */
static struct decoder *load(struct decoders *decoders, uint32_t machine)
{
	for (size_t i = 0; decoders->registry && i < registry_count(decoders->registry); i++) {
		struct error error = { 0 };
		struct plugin *plugin = registry_load(decoders->registry, i, &error);
		if (!plugin) {
			log_message(IAPROF_LOG_DEBUG, "%s", error.text);
			continue;
		}
		if (plugin->description.kind != IAPROF_PLUGIN_DECODER || plugin->operations.decoder.machine != machine)
			continue;
		/* This may be another thread, where iaprof cannot make a copy of itself. */
		struct configured_decoder *added =
			(plugin->is_foreign ? add_without_instance : add_decoder)(decoders, plugin, NULL, &error);
		if (added)
			return &added->decoder;
		log_message(IAPROF_LOG_WARNING, "instructions have no names: %s", error.text);
	}
	return NULL;
}

struct decoder *decoders_find(struct decoders *decoders, uint32_t machine)
{
	struct decoder *decoder = find_configured(decoders, machine);
	if (decoder || !machine)
		return decoder;
	for (size_t i = 0; i < decoders->missing.count; i++)
		if (decoders->missing.items[i] == machine)
			return NULL;
	if (decoders->missing.count >= MISSING_COUNT_MAX)
		return NULL;
	decoder = load(decoders, machine);
	if (!decoder)
		(void)array_push(&decoders->missing, machine);
	return decoder;
}

static struct decoder *find_for_finder(struct decoder_finder *finder, uint32_t machine)
{
	return decoders_find((struct decoders *)((char *)finder - offsetof(struct decoders, finder)), machine);
}

struct decoder_finder *decoders_finder(struct decoders *decoders)
{
	decoders->finder.find = find_for_finder;
	return &decoders->finder;
}

void decoders_release(struct decoders *decoders)
{
	for (size_t i = 0; i < decoders->items.count; i++)
		free_decoder(decoders->items.items[i]);
	array_free(&decoders->items);
	array_free(&decoders->missing);
}
