/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of decoder plugins: see decoder.h. */
#include "plugin/decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plugin/plugin_call.h"

static const char *const callbacks[] = { "",           "image_read",  "display_name",  "code_open",
					 "code_close", "code_decode", "code_producers" };
#define CALLBACK_COUNT (sizeof callbacks / sizeof *callbacks)

uint32_t decoder_callback_find(const char *name)
{
	for (uint32_t i = 1; i < CALLBACK_COUNT; i++)
		if (!strcmp(callbacks[i], name))
			return i;
	return 0;
}

const char *decoder_callback_name(uint32_t number)
{
	return callbacks[number < CALLBACK_COUNT ? number : 0];
}

struct decoder_code {
	struct decoder *decoder;
	void *opened; /* by the plugin */
	size_t size;
};

static struct plugin_call call_begin(struct decoder *decoder, const char *callback)
{
	return plugin_call_begin(plugin_kind_name(IAPROF_PLUGIN_DECODER), decoder->name, callback);
}

int decoder_read_image(struct decoder *decoder, const struct iaprof_image *image,
		       const struct iaprof_image_report *report)
{
	const struct iaprof_decoder_operations *plugin = &decoder->plugin->operations.decoder;
	CLEANUP(plugin_call_end) struct plugin_call before = call_begin(decoder, "image_read");
	return plugin->image_read ? plugin->image_read(decoder->host, decoder->memory, image, report) : 0;
}

const struct iaprof_relocation *decoder_relocations(const struct decoder *decoder, size_t *count)
{
	*count = decoder ? decoder->plugin->operations.decoder.relocation_count : 0;
	return *count ? decoder->plugin->operations.decoder.relocations : NULL;
}

size_t decoder_display_name(struct decoder *decoder, const char *name, char *text, size_t capacity)
{
	const struct iaprof_decoder_operations *plugin = &decoder->plugin->operations.decoder;
	if (!plugin->display_name)
		return 0;
	CLEANUP(plugin_call_end) struct plugin_call before = call_begin(decoder, "display_name");
	size_t length = plugin->display_name(decoder->host, decoder->memory, name, text, capacity);
	return length && length < capacity ? strnlen(text, length) : 0;
}

struct decoder_code *decoder_code_open(struct decoder *decoder, const struct iaprof_code *description)
{
	const struct iaprof_decoder_operations *plugin = &decoder->plugin->operations.decoder;
	struct decoder_code *code = calloc(1, sizeof *code);
	if (!code)
		return NULL;
	CLEANUP(plugin_call_end) struct plugin_call before = call_begin(decoder, "code_open");
	*code = (struct decoder_code){ .decoder = decoder, .size = description->byte_count };
	if (!plugin->code_open(decoder->host, decoder->memory, description, &code->opened))
		return code;
	free(code);
	return NULL;
}

void decoder_code_close(struct decoder_code *code)
{
	if (!code)
		return;
	const struct iaprof_decoder_operations *plugin = &code->decoder->plugin->operations.decoder;
	CLEANUP(plugin_call_end) struct plugin_call before = call_begin(code->decoder, "code_close");
	plugin->code_close(code->decoder->host, code->decoder->memory, code->opened);
	free(code);
}

int decoder_code_instruction(struct decoder_code *code, uint64_t offset, struct iaprof_code_instruction *instruction)
{
	const struct iaprof_decoder_operations *plugin = &code->decoder->plugin->operations.decoder;
	CLEANUP(plugin_call_end)
	struct plugin_call before = call_begin(code->decoder, "code_decode");
	*instruction = (struct iaprof_code_instruction){ .struct_size = sizeof *instruction };
	int result = plugin->code_decode(code->decoder->host, code->decoder->memory, code->opened, offset, instruction);
	/* Results of plugins are checked. */
	if (!result && instruction->mnemonic && instruction->size && offset < code->size &&
	    instruction->size <= code->size - offset) {
		instruction->waits[sizeof instruction->waits - 1] = '\0';
		instruction->text[sizeof instruction->text - 1] = '\0';
		return 0;
	}
	*instruction = (struct iaprof_code_instruction){ .struct_size = sizeof *instruction };
	return result < 0 ? result : -EPROTO;
}

size_t decoder_code_producers(struct decoder_code *code, uint64_t offset, struct iaprof_producer *producers,
			      size_t capacity, uint32_t *flags)
{
	const struct iaprof_decoder_operations *plugin = &code->decoder->plugin->operations.decoder;
	CLEANUP(plugin_call_end) struct plugin_call before = call_begin(code->decoder, "code_producers");
	*flags = 0;
	int count = plugin->code_producers ? plugin->code_producers(code->decoder->host, code->decoder->memory,
								    code->opened, offset, producers, capacity, flags)
					   : -ENOTSUP;
	if (count < 0)
		*flags = IAPROF_PRODUCERS_INCOMPLETE;
	return count < 0 ? 0 : (size_t)count;
}
