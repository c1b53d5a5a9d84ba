/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that have samples are listed with all of their instructions, by the real decoder plugin, and compared with
 * what independent tools say of it. One sample is enough, and each function is listed once.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bus/record_check.h"
#include "correlator/code_listings.h"
#include "correlator_history.h"
#include "device/zebin_fixture.h"
#include "plugin/registry.h"
#include "run/decoders.h"
#include "symbolizer/device/code_reader.h"
#include "symbolizer/device/device_address.h"
#include "../run_suite.h"

static struct registry registry;
static struct instance_services services;
static struct decoders decoders;

static void set_up_decoder(void)
{
	static struct instance_configuration wanted;
	wanted = (struct instance_configuration){ .plugin = getenv("INTEL_GT_PLUGIN") };
	struct error error = { 0 };
	decoders = (struct decoders){ .registry = &registry, .services = &services };
	ck_assert_ptr_nonnull(wanted.plugin);
	ck_assert_msg(decoders_add(&decoders, &wanted, &error) == 0, "%s", error.text);
	set_up();
	collector_free(collector);
	collector = make_collector(true, decoders_finder(&decoders));
	announce();
}

static void tear_down_decoder(void)
{
	tear_down();
	decoders_release(&decoders);
	registry_free(&registry);
	registry = (struct registry){ 0 };
}

/* The n-th instruction of a kernel, as independent tools say. */
static const struct expected_instruction *expected_at(const expected_instruction_array *all, const char *kernel,
						      size_t n)
{
	for (size_t i = 0; i < all->count; i++)
		if (!strcmp(all->items[i].kernel, kernel) && n-- == 0)
			return &all->items[i];
	return NULL;
}

static void check_instruction(const struct iaprof_listed_instruction *listed, const struct expected_instruction *wanted)
{
	const char *name = intern_text(intern, listed->name);
	size_t length = strlen(wanted->mnemonic);
	ck_assert_uint_eq(listed->offset, wanted->offset);
	ck_assert_uint_eq(listed->size, wanted->size);
	ck_assert_uint_eq(listed->line, wanted->frames[0].line);
	ck_assert_str_eq(intern_text(intern, listed->file), wanted->frames[0].file);
	ck_assert_msg(!strncmp(name, wanted->mnemonic, length) && (!name[length] || name[length] == '.'),
		      "%s is called %s", wanted->mnemonic, name);
}

static void check_producers(struct code_reader *reader, const struct code_function *kernel,
			    const struct iaprof_listed_instruction *listed, const struct iaprof_producer *producers)
{
	struct iaprof_producer wanted[64];
	uint32_t flags;
	ck_assert_uint_eq(code_reader_producers(reader, kernel->address + listed->offset, wanted, 64, &flags),
			  listed->producer_count);
	ck_assert_uint_eq(flags, listed->producers_flags);
	for (uint32_t i = 0; i < listed->producer_count; i++) {
		ck_assert_uint_eq(producers[i].offset, wanted[i].offset - kernel->address);
		ck_assert_uint_eq(producers[i].wait, wanted[i].wait);
		ck_assert_uint_eq(producers[i].token, wanted[i].token);
	}
}

static void check_attributes(const struct iaprof_record_code_listing *listing, const struct code_function *kernel)
{
	ck_assert_uint_eq(listing->attribute_count, kernel->attribute_count);
	ck_assert_uint_ge(listing->attribute_count, 3);
	for (uint32_t i = 0; i < listing->attribute_count; i++) {
		const struct iaprof_attribute *attribute = &iaprof_record_code_listing_attributes(listing)[i];
		int64_t value;
		ck_assert(code_function_attribute(kernel, intern_text(intern, attribute->name), &value));
		ck_assert_int_eq(attribute->value, value);
	}
}

/* The listing of one kernel. */
struct told {
	char name[128];
	uint32_t id;
	size_t records, instructions;
};

static struct told *told_of(struct told *told, size_t *count, const struct iaprof_record_code_listing *listing)
{
	for (size_t i = 0; i < *count; i++)
		if (told[i].id == listing->id)
			return &told[i];
	ck_assert_uint_lt(*count, 64);
	told[*count] = (struct told){ .id = listing->id };
	snprintf(told[*count].name, sizeof told->name, "%s", intern_text(intern, listing->name));
	return &told[(*count)++];
}

static void check_listing(const struct iaprof_record_code_listing *listing, struct code_reader *reader,
			  const expected_instruction_array *all, struct told *told)
{
	const struct iaprof_producer *producers = iaprof_record_code_listing_producers(listing);
	const struct code_function *kernel = find_function(code_reader_object(reader), told->name);
	struct error error = { 0 };
	ck_assert_msg(!record_check(listing, listing->header.size, &error), "%s", error.text);
	ck_assert_ptr_nonnull(kernel);
	ck_assert_str_eq(intern_text(intern, listing->shown_name), kernel->shown);
	ck_assert_uint_eq(listing->size, kernel->size);
	ck_assert_uint_eq(listing->left_out, 0);
	ck_assert_uint_eq(listing->flags, IAPROF_CODE_FUNCTION_KERNEL);
	if (!told->records++)
		check_attributes(listing, kernel);
	else
		ck_assert_uint_eq(listing->attribute_count, 0);
	for (uint32_t i = 0; i < listing->instruction_count; i++) {
		const struct iaprof_listed_instruction *listed = iaprof_record_code_listing_instruction(listing, i);
		const struct expected_instruction *wanted = expected_at(all, told->name, told->instructions++);
		ck_assert_ptr_nonnull(wanted);
		check_instruction(listed, wanted);
		check_producers(reader, kernel, listed, producers);
		producers += listed->producer_count;
	}
}

static const char *name_of(const struct told *told, size_t count, uint64_t id)
{
	for (size_t i = 0; i < count; i++)
		if (told[i].id == id)
			return told[i].name;
	return "";
}

/* Each offset of the profile says in which listing it is, and all that had samples are there. */
static void check_profile(const expected_instruction_array *all, const bool *sampled, const struct told *told,
			  size_t count)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	CLEANUP_FREE bool *seen = calloc(all->count, sizeof *seen);
	ck_assert_ptr_nonnull(seen);
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_stack *stack =
			iaprof_profile_stack(profile, iaprof_profile_value(profile, i)->stack);
		const struct iaprof_frame *leaf = iaprof_profile_frame(profile, stack->frames[stack->frame_count - 1]);
		const char *kernel = name_of(told, count, leaf->address);
		ck_assert_uint_eq(leaf->kind, IAPROF_FRAME_DEVICE_OFFSET);
		for (size_t k = 0; k < all->count; k++)
			seen[k] |= all->items[k].offset == leaf->offset && !strcmp(all->items[k].kernel, kernel);
	}
	for (size_t k = 0; k < all->count; k++)
		ck_assert_msg(seen[k] == sampled[k], "0x%lx of %s", (unsigned long)all->items[k].offset,
			      all->items[k].kernel);
	snapshot_release(snapshot);
}

TEST_LOOP(every_instruction_of_what_was_sampled_is_told_once, 0, zebin_fixture_count)
{
	CLEANUP_FREE char *path = zebin_path(zebin_fixtures[_i], ".loaded-debug.elf");
	expected_instruction_array all = zebin_instructions(zebin_fixtures[_i]);
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".loaded-debug.elf");
	struct code_reader *reader = code_reader_new(object, decoders_find(&decoders, 205));
	struct told told[64];
	size_t told_count = 0, kernel_total = 0, told_instructions = 0;
	CLEANUP_FREE bool *sampled = calloc(all.count, sizeof *sampled);
	ck_assert_ptr_nonnull(sampled);

	/* Two processes have it loaded, and of each kernel its third instruction has samples, and another one later. */
	take_object(10, path, BASE, SECOND);
	take_object(11, path, BASE, SECOND);
	for (size_t i = 0; i < all.count; i++) {
		bool is_third = expected_at(&all, all.items[i].kernel, 2) == &all.items[i];
		kernel_total += is_third;
		sampled[i] = is_third || i % 50 == 0;
		if (sampled[i])
			take_stalls(device_address_plain(all.items[i].address), IAPROF_ADDRESS_ABSOLUTE, 4, 2 * SECOND,
				    3 * SECOND);
	}
	collector_finish(collector);
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));)
			if (record->type == IAPROF_RECORD_CODE_LISTING) {
				const struct iaprof_record_code_listing *listing = (const void *)record;
				struct told *own = told_of(told, &told_count, listing);
				check_listing(listing, reader, &all, own);
				told_instructions += listing->instruction_count;
			}
		next = block->next;
		block_release(block);
	}
	ck_assert_uint_eq(told_count, kernel_total);
	ck_assert_uint_eq(told_instructions, all.count);
	struct collector_statistics statistics = collector_statistics(collector);
	ck_assert_uint_eq(statistics.correlator.functions_unlisted, 0);
	ck_assert_uint_eq(statistics.correlator.bytes_unlisted, 0);
	check_profile(&all, sampled, told, told_count);
	code_reader_free(reader);
	code_object_release(object);
	array_free(&all);
}

/* Without a request there are no listings, and offsets name none. */
TEST(without_a_sink_that_asks_nothing_is_sent)
{
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_instruction_array all = zebin_instructions("bmg/transformer");
	collector_free(collector);
	collector = make_collector(true, NULL);
	announce();
	take_object(10, path, BASE, SECOND);
	take_stalls(device_address_plain(all.items[0].address), IAPROF_ADDRESS_ABSOLUTE, 4, 2 * SECOND, 3 * SECOND);
	finish(8, 0, 0);
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));)
			ck_assert_uint_ne(record->type, IAPROF_RECORD_CODE_LISTING);
		next = block->next;
		block_release(block);
	}
	struct snapshot *snapshot = collector_snapshot(collector, true);
	for (size_t i = 0; i < snapshot->profile.frame_count; i++)
		ck_assert_uint_eq(iaprof_profile_frame(&snapshot->profile, (uint32_t)i)->address, 0);
	snapshot_release(snapshot);
	array_free(&all);
}

static const struct code_function *function_of(struct remote_code *code, const char *kernel)
{
	const struct code_function *function = code_table_function(remote_code_table(code), kernel);
	ck_assert_ptr_nonnull(function);
	return function;
}

/* There is an end to functions and to instructions, and what is beyond it is counted. */
TEST(what_is_too_much_is_counted)
{
	size_t byte_count;
	CLEANUP_FREE char *image = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &byte_count);
	struct zebin_remote remote;
	zebin_remote_open(&remote, image, byte_count, decoders_finder(&decoders));
	uint64_t size = function_of(remote.code, "matmul_tile")->size;
	uint64_t address = function_of(remote.code, "matmul_tile")->address;
	struct result_stream results = { .intern = intern };
	struct code_listings listings = { .results = &results, .instructions = LISTINGS_INSTRUCTIONS_MAX - 10 };
	expected_instruction_array all = zebin_instructions("bmg/transformer");
	uint64_t bytes = 0;
	for (size_t i = 0; i < 10; i++)
		bytes += expected_at(&all, "matmul_tile", i)->size;
	ck_assert_uint_eq(code_listings_send(&listings, 1, remote.code, address), 1);
	ck_assert_uint_eq(listings.instructions, LISTINGS_INSTRUCTIONS_MAX);
	ck_assert_uint_eq(listings.bytes_left_out, size - bytes);
	/* Further ones are there with no instructions at all. */
	for (uint64_t code = 2; code <= LISTINGS_FUNCTIONS_MAX; code++)
		ck_assert_uint_eq(code_listings_send(&listings, code, remote.code, address), code);
	ck_assert_uint_eq(listings.bytes_left_out, size * LISTINGS_FUNCTIONS_MAX - bytes);
	ck_assert_uint_eq(listings.functions_left_out, 0);
	ck_assert_uint_eq(code_listings_send(&listings, 0, remote.code, address), 0);
	ck_assert_uint_eq(listings.functions_left_out, 1);
	ck_assert_uint_eq(code_listings_send(&listings, 7, remote.code, address + 16), 7);
	ck_assert_uint_eq(code_listings_send(&listings, 7, remote.code, 0), 0); /* in no function */
	code_listings_free(&listings);
	zebin_remote_close(&remote);
	array_free(&all);
}

static void location(char *bytes, const char *name, uint16_t section, uint64_t value, uint64_t size)
{
	Elf64_Sym *symbol = zebin_symbol(bytes, name);
	symbol->st_shndx = section;
	symbol->st_value = value;
	symbol->st_size = size;
}

/* The last instruction is read as of the function that begins at it, and reaches beyond the one that is listed. */
TEST(functions_that_overlap_have_their_own_bytes)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".nodebug.bin", &size);
	uint16_t section = zebin_symbol(bytes, "matmul_tile")->st_shndx;
	location(bytes, "matmul_tile", section, 0, 16);
	location(bytes, "histogram", section, 16, 104);
	location(bytes, "tiny", section, 32,
		 16); /* inside, so that the end is not moved to where the next one begins */
	location(bytes, "bias_gelu", section, 112, 160);
	struct zebin_remote remote;
	zebin_remote_open(&remote, bytes, size, decoders_finder(&decoders));
	free(bytes);
	struct result_stream results = { .intern = intern };
	struct code_listings listings = { .results = &results };
	ck_assert_uint_eq(function_of(remote.code, "histogram")->size, 104);
	ck_assert_uint_eq(code_listings_send(&listings, 1, remote.code, function_of(remote.code, "histogram")->address),
			  1);
	ck_assert_uint_eq(listings.instructions, 6);
	ck_assert_uint_eq(listings.bytes_left_out, 8);
	code_listings_free(&listings);
	zebin_remote_close(&remote);
}

/* A listing that does not hang together is no record. */
TEST(a_listing_has_what_it_states)
{
	struct {
		struct iaprof_record_code_listing head;
		struct iaprof_attribute attribute;
		struct iaprof_listed_instruction instructions[2];
		struct iaprof_producer producers[3];
	} record = { .head = { .header = { .size = sizeof record, .type = IAPROF_RECORD_CODE_LISTING },
			       .id = 1,
			       .attribute_count = 1,
			       .instruction_count = 2,
			       .producer_count = 3 },
		     .instructions = { { .producer_count = 1 }, { .producer_count = 2 } } };
	const struct iaprof_record_code_listing good = record.head;
	ck_assert_int_eq(record_check(&record, sizeof record, NULL), 0);
	ck_assert_ptr_eq(iaprof_record_code_listing_producers(&record.head), record.producers);
	record.head.id = 0;
	ck_assert_int_ne(record_check(&record, sizeof record, NULL), 0);
	record.head = good;
	record.instructions[0].producer_count = UINT32_MAX;
	ck_assert_int_ne(record_check(&record, sizeof record, NULL), 0);
	record.instructions[0].producer_count = 1;
	uint32_t *const counts[] = { &record.head.attribute_count, &record.head.instruction_count,
				     &record.head.producer_count };
	const uint32_t wrong[] = { 2, 64, 65, UINT32_MAX };
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
			record.head = good;
			if (*counts[i] == wrong[k])
				continue;
			*counts[i] = wrong[k];
			ck_assert_int_ne(record_check(&record, sizeof record, NULL), 0);
		}
}

int main(void)
{
	return run_all_tests(300, set_up_decoder, tear_down_decoder);
}
