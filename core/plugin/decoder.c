/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders of a run, and what they are asked: see decoder.h. */
#include "plugin/decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

/* Decoders send no records, so no source number is theirs. */
#define NO_NUMBER UINT16_MAX

/* A capture or a driver can claim any machine. */
#define MISSING_COUNT_MAX 64

struct decoder_code {
	struct instance *decoder;
	void *opened; /* the plugin's, when it has code_open */
	const void *bytes;
	size_t size;
};

/* wanted: NULL nothing but the defaults. */
static int add(struct decoders *decoders, struct plugin *plugin, const struct instance_configuration *wanted,
	       struct error *error)
{
	const struct instance_configuration defaults = { .plugin = (char *)plugin->description.name };
	struct instance *instance =
		instance_new(plugin, wanted ? wanted : &defaults, NO_NUMBER, decoders->services, error);
	if (!instance)
		return error->code;
	if (!array_reserve(&decoders->configurations, decoders->instances.count + 1) ||
	    !array_push(&decoders->instances, instance)) {
		instance_free(instance);
		return error_set(error, ENOMEM, "out of memory");
	}
	decoders->configurations.items[decoders->instances.count - 1] = wanted;
	return instance_configure(instance, error);
}

static struct instance *known(const struct decoders *decoders, uint32_t machine)
{
	for (size_t i = 0; i < decoders->instances.count; i++)
		if (decoders->instances.items[i]->plugin->description.machine == machine)
			return decoders->instances.items[i];
	return NULL;
}

int decoders_add(struct decoders *decoders, const struct instance_configuration *wanted, struct error *error)
{
	struct plugin *plugin = registry_get(decoders->registry, wanted->plugin, IAPROF_PLUGIN_DECODER, error);
	if (!plugin)
		return wanted->origin ? error_wrap(error, "%s", wanted->origin) : error->code;
	const struct instance *other = known(decoders, plugin->description.machine);
	if (other)
		return error_set(error, EINVAL, "%s: decoders %s and %s are both for ELF machine %u: leave one out",
				 wanted->origin ? wanted->origin : "configuration", other->name,
				 plugin->description.name, plugin->description.machine);
	return add(decoders, plugin, wanted, error);
}

/* A plugin that cannot be loaded is not this run's affair: it may be for something else. */
static struct instance *load(struct decoders *decoders, uint32_t machine)
{
	for (size_t i = 0; decoders->registry && i < decoders->registry->entries.count; i++) {
		struct error error = { 0 };
		struct plugin *plugin = registry_load_entry(&decoders->registry->entries.items[i], &error);
		if (!plugin) {
			log_message(IAPROF_LOG_DEBUG, "%s", error.text);
			continue;
		}
		if (plugin->description.kind != IAPROF_PLUGIN_DECODER || plugin->description.machine != machine)
			continue;
		if (!add(decoders, plugin, NULL, &error))
			return decoders->instances.items[decoders->instances.count - 1];
		log_message(IAPROF_LOG_WARNING, "instructions have no names: %s", error.text);
		if (decoders->instances.count &&
		    decoders->instances.items[decoders->instances.count - 1]->plugin == plugin)
			instance_free(decoders->instances.items[--decoders->instances.count]);
	}
	return NULL;
}

struct instance *decoders_find(struct decoders *decoders, uint32_t machine)
{
	struct instance *decoder = known(decoders, machine);
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

const struct instance_configuration *decoders_configuration(const struct decoders *decoders,
							    const struct instance *decoder)
{
	for (size_t i = 0; i < decoders->instances.count; i++)
		if (decoders->instances.items[i] == decoder)
			return decoders->configurations.items[i];
	return NULL;
}

void decoders_release(struct decoders *decoders)
{
	for (size_t i = 0; i < decoders->instances.count; i++)
		instance_free(decoders->instances.items[i]);
	array_free(&decoders->instances);
	array_free(&decoders->configurations);
	array_free(&decoders->missing);
}

struct decoder_code *decoder_code_open(struct instance *decoder, const struct iaprof_code *description)
{
	const struct iaprof_plugin *plugin = &decoder->plugin->description;
	struct decoder_code *code = calloc(1, sizeof *code);
	if (!code)
		return NULL;
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(decoder, "code_open");
	*code = (struct decoder_code){ .decoder = decoder,
				       .bytes = description->bytes,
				       .size = description->byte_count };
	if (!plugin->code_open || !plugin->code_open(&decoder->host, decoder->memory, description, &code->opened))
		return code;
	free(code);
	return NULL;
}

void decoder_code_close(struct decoder_code *code)
{
	if (!code)
		return;
	const struct iaprof_plugin *plugin = &code->decoder->plugin->description;
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(code->decoder, "code_close");
	if (plugin->code_open)
		plugin->code_close(&code->decoder->host, code->decoder->memory, code->opened);
	free(code);
}

/* A plugin of release 0.1. */
static bool decode(struct decoder_code *code, uint64_t offset, struct iaprof_code_instruction *instruction)
{
	struct iaprof_instruction answer = { 0 };
	if (offset >= code->size ||
	    code->decoder->plugin->description.decode(&code->decoder->host, code->decoder->memory, code->bytes,
						      code->size, offset, &answer))
		return false;
	instruction->size = answer.size;
	instruction->mnemonic = answer.mnemonic;
	_Static_assert(sizeof instruction->text == sizeof answer.text, "texts have the same room");
	memcpy(instruction->text, answer.text, sizeof answer.text);
	return true;
}

bool decoder_code_instruction(struct decoder_code *code, uint64_t offset, struct iaprof_code_instruction *instruction)
{
	const struct iaprof_plugin *plugin = &code->decoder->plugin->description;
	CLEANUP(plugin_call_end)
	struct plugin_call before = instance_call_begin(code->decoder, plugin->code_open ? "code_decode" : "decode");
	*instruction = (struct iaprof_code_instruction){ .struct_size = sizeof *instruction };
	bool found = plugin->code_open ? !plugin->code_decode(&code->decoder->host, code->decoder->memory, code->opened,
							      offset, instruction)
				       : decode(code, offset, instruction);
	/* A plugin's mistake must not become one of the core's. */
	if (found && instruction->mnemonic && instruction->size && offset < code->size &&
	    instruction->size <= code->size - offset) {
		instruction->waits[sizeof instruction->waits - 1] = '\0';
		instruction->text[sizeof instruction->text - 1] = '\0';
		return true;
	}
	*instruction = (struct iaprof_code_instruction){ .struct_size = sizeof *instruction };
	return false;
}

size_t decoder_code_producers(struct decoder_code *code, uint64_t offset, struct iaprof_producer *producers,
			      size_t capacity, uint32_t *flags)
{
	const struct iaprof_plugin *plugin = &code->decoder->plugin->description;
	CLEANUP(plugin_call_end) struct plugin_call before = instance_call_begin(code->decoder, "code_producers");
	*flags = 0;
	int count = plugin->code_producers ? plugin->code_producers(&code->decoder->host, code->decoder->memory,
								    code->opened, offset, producers, capacity, flags)
					   : -ENOTSUP;
	if (count < 0)
		*flags = IAPROF_PRODUCERS_INCOMPLETE;
	return count < 0 ? 0 : (size_t)count;
}
