/* SPDX-License-Identifier: Apache-2.0 */
/* The text of instructions comes from a library that is loaded before the process that decodes can open no file. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "device/zebin_fixture.h"
#include "run/decoders.h"
#include "symbolizer/device/code_place.h"
#include "../run_suite.h"

TEST(text_of_a_library_comes_through_the_worker)
{
	static struct registry registry;
	static struct instance_services services;
	static struct instance_configuration wanted;
	struct decoders decoders = { .registry = &registry, .services = &services };
	struct setting library = { .key = strdup("library"), .value = strdup(getenv("IGA_DOUBLE")), .origin = "test" };
	struct error error = { 0 };
	wanted.plugin = getenv("INTEL_GT_PLUGIN");
	ck_assert(array_push(&wanted.settings, library));
	ck_assert_msg(decoders_add(&decoders, &wanted, &error) == 0, "%s", error.text);
	size_t size, seen = 0;
	CLEANUP_FREE char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
	struct zebin_remote remote;
	zebin_remote_open(&remote, bytes, size, decoders_finder(&decoders));
	expected_instruction_array all = zebin_instructions("bmg/transformer");
	for (size_t i = 0; i < all.count; i += 50) {
		struct code_place place;
		char text[64];
		ck_assert(remote_code_find(remote.code, all.items[i].address, &place));
		const struct code_section *section =
			&remote_code_table(remote.code)->sections[place.location.function->section];
		const Elf64_Shdr *header = zebin_section(bytes, section->name);
		const unsigned char *code =
			(const unsigned char *)bytes + header->sh_offset + (all.items[i].address - header->sh_addr);
		snprintf(text, sizeof text, "%02x %02x 0x%lx", code[0], code[1], all.items[i].offset);
		ck_assert_str_eq(place.instruction.text, text);
		seen++;
	}
	ck_assert_uint_gt(seen, 5);
	array_free(&all);
	zebin_remote_close(&remote);
	decoders_release(&decoders);
	registry_free(&registry);
	array_free(&wanted.settings);
	free((void *)library.key);
	free((void *)library.value);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
