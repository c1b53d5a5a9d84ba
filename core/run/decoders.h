/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoders of a run: plugins that decode the instructions of one ELF machine each. Those in the configuration are
 * configured immediately; others are loaded when code of their machine appears. Not thread-safe.
 */
#pragma once

#include "plugin/decoder.h"
#include "plugin/registry.h"
#include "run/instance.h"

struct configured_decoder {
	struct decoder decoder;
	struct instance *instance;
};

/* Initialise with {0}, registry and services, which must outlive it. */
struct decoders {
	struct decoder_finder finder;
	struct registry *registry;
	struct instance_services *services;
	ARRAY(struct configured_decoder *) items;
	ARRAY(uint32_t) missing; /* machines without a plugin */
};

/*
 * Loads and configures a decoder of the configuration; wanted outlives the decoders. Returns 0, or a negative errno and
 * sets error.
 */
int decoders_add(struct decoders *decoders, const struct instance_configuration *wanted, struct error *error);
/*
 * Returns the decoder of a machine, or NULL when there is none or it cannot be used. The first call for a machine
 * searches the plugins.
 */
struct decoder *decoders_find(struct decoders *decoders, uint32_t machine);
/* The same for symbolizer/; lives as long as decoders. */
struct decoder_finder *decoders_finder(struct decoders *decoders);
/* Must be called after all code was closed. */
void decoders_release(struct decoders *decoders);
