/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoders of a run: plugins that name the instructions of one ELF machine each. One is loaded when code of its
 * machine appears; which plugin it is of those there are, and its options, the configuration can say. And the code that
 * a decoder was asked about, through whichever of the plugin interface's two ways it has. Not locked.
 */
#ifndef IAPROF_CORE_PLUGIN_DECODER_H
#define IAPROF_CORE_PLUGIN_DECODER_H

#include "plugin/instance.h"
#include "plugin/registry.h"

/* Zeroed by the caller but for registry and services, which outlive it. */
struct decoders {
	struct registry *registry;
	struct instance_services *services;
	ARRAY(struct instance *) instances;
	ARRAY(const struct instance_configuration *) configurations; /* of instances; NULL: defaults */
	ARRAY(uint32_t) missing;                                     /* machines that no plugin is for */
};

/* Makes and configures one that the user wrote down; wanted outlives the decoders. Returns 0 or a negative errno with
 * one line. */
int decoders_add(struct decoders *decoders, const struct instance_configuration *wanted, struct error *error);
/*
 * The decoder of a machine; NULL when there is none, or it cannot be used. Looks through the plugins the first time.
 */
struct instance *decoders_find(struct decoders *decoders, uint32_t machine);
/* What the user wrote down of a decoder; NULL: nothing. */
const struct instance_configuration *decoders_configuration(const struct decoders *decoders,
							    const struct instance *decoder);
/* After all code was closed. */
void decoders_release(struct decoders *decoders);

/* Code that was opened. */
struct decoder_code;

/*
 * Returns NULL when the decoder does not take it, or out of memory. What description points to outlives the code, as
 * does the decoder.
 */
struct decoder_code *decoder_code_open(struct instance *decoder, const struct iaprof_code *description);
/* NULL is allowed. */
void decoder_code_close(struct decoder_code *code);

/* What begins at an offset. False when no instruction does; instruction is zeroed then. */
bool decoder_code_instruction(struct decoder_code *code, uint64_t offset, struct iaprof_code_instruction *instruction);
/*
 * What the instruction at an offset can be waiting for: at most capacity producers. Returns how many there are, which
 * may be more; 0 for none, and when nobody knows: then flags say IAPROF_PRODUCERS_INCOMPLETE.
 */
size_t decoder_code_producers(struct decoder_code *code, uint64_t offset, struct iaprof_producer *producers,
			      size_t capacity, uint32_t *flags);

#endif
