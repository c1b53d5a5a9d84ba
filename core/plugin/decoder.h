/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls to decoder plugins, each of which reads images and decodes the instructions of one ELF machine. Code is opened
 * with a decoder and its instructions are then decoded, through whichever of the two plugin interfaces the plugin
 * implements. Not thread-safe.
 */
#pragma once

#include "config/configuration.h"
#include "plugin/loader.h"

/* A configured decoder plugin. */
struct decoder {
	struct plugin *plugin;
	const char *name;
	const struct iaprof_host *host;
	void *memory;                                       /* the plugin's instance */
	const struct instance_configuration *configuration; /* the user's settings; NULL: defaults */
};

/* Finds decoders; implemented by run/decoders.h. */
struct decoder_finder {
	/* Returns the decoder of an ELF machine, or NULL. */
	struct decoder *(*find)(struct decoder_finder *finder, uint32_t machine);
};

/* Calls the plugin's image_read(); returns 0 if the decoder does not read images. */
int decoder_read_image(struct decoder *decoder, const struct iaprof_image *image,
		       const struct iaprof_image_report *report);
/* Returns the relocation types of the decoder's machine; NULL: none, or decoder is NULL. */
const struct iaprof_relocation *decoder_relocations(const struct decoder *decoder, size_t *count);
/* Writes a function's display name into text, NUL-terminated; returns its length, 0: same as name. */
size_t decoder_display_name(struct decoder *decoder, const char *name, char *text, size_t capacity);

/* Returns the number of a callback of decoders for messages between processes; 0 if there is none of this name. */
uint32_t decoder_callback_find(const char *name);
/* Returns the name of a callback; "" if there is none of this number. */
const char *decoder_callback_name(uint32_t number);

/* Opened code. */
struct decoder_code;

/*
 * Returns NULL if the decoder rejects the code or when out of memory. The decoder and the data that description points
 * to must outlive the code.
 */
struct decoder_code *decoder_code_open(struct decoder *decoder, const struct iaprof_code *description);
/* NULL is allowed. */
void decoder_code_close(struct decoder_code *code);

/*
 * Decodes the instruction that begins at an offset. Returns 0; or zeroes instruction, and returns -EINVAL if none does,
 * or another negative errno.
 */
int decoder_code_instruction(struct decoder_code *code, uint64_t offset, struct iaprof_code_instruction *instruction);
/*
 * Finds the producers of the instruction at an offset and stores at most capacity of them. Returns their number, which
 * may exceed capacity; 0 if there are none or they are not known; in the latter case flags contain
 * IAPROF_PRODUCERS_INCOMPLETE.
 */
size_t decoder_code_producers(struct decoder_code *code, uint64_t offset, struct iaprof_producer *producers,
			      size_t capacity, uint32_t *flags);
