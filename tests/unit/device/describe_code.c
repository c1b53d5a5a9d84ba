/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what a code object says about each instruction of GPU ELF files, as lines of fields separated by tabs:
 * `describe-code FILE...`, with INTEL_GT_PLUGIN in the environment.
 *
 *     file    PATH NAMELESS-RELOCATIONS UNITS-WITHOUT-ADDRESS
 *     SECTION OFFSET KERNEL FUNCTION:FILE:LINE...
 *
 * Functions are listed with the outermost first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/decoders.h"
#include "symbolizer/device/code_reader.h"

static struct decoder *load_decoder(void)
{
	static struct registry registry;
	static struct instance_services services;
	static struct decoders decoders = { .registry = &registry, .services = &services };
	static struct instance_configuration wanted;
	struct error error = { 0 };
	wanted.plugin = getenv("INTEL_GT_PLUGIN");
	if (!wanted.plugin || decoders_add(&decoders, &wanted, &error)) {
		fprintf(stderr, "describe-code: INTEL_GT_PLUGIN: %s\n", error.text);
		exit(EXIT_FAILURE);
	}
	struct decoder_finder *finder = decoders_finder(&decoders);
	return finder->find(finder, 205);
}

static void print_section(struct code_reader *reader, const struct code_section *section)
{
	struct code_place place;
	uint32_t size = 8;
	for (uint64_t offset = 0; offset < section->size; offset += size) {
		bool found = code_reader_find(reader, section->address + offset, &place);
		size = found && place.instruction.size ? place.instruction.size : 8;
		if (!found)
			continue;
		const struct code_function *kernel = place.location.kernel;
		printf("%s\t0x%" PRIx64 "\t%s", section->name, offset, kernel ? kernel->name : "-");
		for (size_t i = 0; i < place.function_count; i++)
			printf("\t%s:%s:%" PRIu32, place.functions[i].name ? place.functions[i].name : "",
			       place.functions[i].file ? place.functions[i].file : "", place.functions[i].line);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	struct decoder *decoder = load_decoder();
	for (int i = 1; i < argc; i++) {
		struct code_object *object;
		int code = code_object_open_file(&object, argv[i], EM_NONE, decoder);
		if (code) {
			fprintf(stderr, "describe-code: %s: %s\n", argv[i], strerror(-code));
			return EXIT_FAILURE;
		}
		struct code_reader *reader = code_reader_new(object, decoder);
		struct code_damage damage = code_object_damage(object);
		size_t count;
		const struct code_section *sections = code_object_sections(object, &count);
		printf("file\t%s\t%" PRIu64 "\t%" PRIu64 "\n", argv[i], damage.unnamed, damage.units);
		for (size_t k = 0; reader && k < count; k++)
			print_section(reader, &sections[k]);
		code_reader_free(reader);
		code_object_release(object);
	}
	return EXIT_SUCCESS;
}
