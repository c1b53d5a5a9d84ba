/* SPDX-License-Identifier: Apache-2.0 */
/* The output stream: each string is defined before its use for a sink that reads the bus's blocks and the stream. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/record_check.h"
#include "bus/result_stream.h"
#include "../run_suite.h"

static struct bus *bus;
static struct intern *intern;
static struct result_stream stream;

static void set_up(void)
{
	bus = bus_new(1 << 20);
	intern = intern_new(bus);
	stream = (struct result_stream){ .intern = intern, .is_read = true };
}

static void tear_down(void)
{
	result_stream_free(&stream);
	intern_free(intern);
	bus_free(bus);
}

/* What a list of blocks defines, in order, as "1=a 2=b"; METADATA records are "key:value". */
static const char *take(struct block *blocks)
{
	static char text[1024];
	text[0] = '\0';
	for (struct block *block = blocks, *next; block; block = next) {
		struct iaprof_batch batch = block_batch(block);
		uint32_t count = 0;
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record)); count++) {
			const struct iaprof_record_string *string = (const void *)record;
			const struct iaprof_record_metadata *metadata = (const void *)record;
			size_t length = strlen(text);
			ck_assert_int_eq(record_check(record, record->size, NULL), 0);
			if (record->type == IAPROF_RECORD_STRING)
				snprintf(text + length, sizeof text - length, "%s%u=%.20s", length ? " " : "",
					 string->id, iaprof_record_string_text(string));
			else
				snprintf(text + length, sizeof text - length, "%s%u:%u", length ? " " : "",
					 metadata->key, metadata->value);
		}
		ck_assert_uint_eq(count, batch.count);
		next = block->next;
		block_release(block);
	}
	return text;
}

static uint32_t source_text(const char *text)
{
	return intern_text_id(intern, text);
}

static void send(const char *key, const char *value)
{
	struct iaprof_record_metadata record = { .header = { .size = sizeof record, .type = IAPROF_RECORD_METADATA },
						 .key = result_stream_text(&stream, key),
						 .value = result_stream_text(&stream, value) };
	ck_assert(result_stream_send(&stream, &record.header));
}

TEST(texts_are_defined_once_before_their_use)
{
	send("one", "two");
	send("two", "one");
	ck_assert_uint_eq(result_stream_text(&stream, NULL), 0);
	ck_assert_uint_eq(result_stream_text(&stream, ""), 0);
	ck_assert_str_eq(take(result_stream_take(&stream)), "1=one 2=two 1:2 2:1");
	send("one", "three");
	ck_assert_str_eq(take(result_stream_take(&stream)), "3=three 1:3");
	ck_assert_ptr_null(result_stream_take(&stream));
	/* The core's results put nothing on the bus. */
	ck_assert_ptr_null(bus_take(bus, 0));
}

/* A block of the bus that sinks have is as good as a definition of the stream; one that waits there is not. */
TEST(what_sinks_have_from_the_bus_is_not_defined_again)
{
	uint32_t waiting = source_text("waiting"), taken = source_text("taken");
	result_stream_note_definition(&stream, taken);
	send("taken", "waiting");
	ck_assert_uint_eq(waiting, 1);
	ck_assert_str_eq(take(result_stream_take(&stream)), "1=waiting 2:1");
	ck_assert_str_eq(take(bus_take(bus, 0)), "1=waiting 2=taken");
}

/* Sources' records come in blocks of their own, maybe to sinks that were not there before. */
TEST(what_the_core_interned_first_is_defined_for_sources)
{
	ck_assert_uint_eq(intern_own_text(intern, "internal"), 1);
	send("name", "internal");
	ck_assert_str_eq(take(result_stream_take(&stream)), "2=name 1=internal 2:1");
	ck_assert_ptr_null(bus_take(bus, 0));
	ck_assert_uint_eq(source_text("internal"), 1);
	ck_assert_uint_eq(source_text("internal"), 1);
	ck_assert_str_eq(take(bus_take(bus, 0)), "1=internal");
}

TEST(without_a_reader_nothing_is_kept)
{
	stream.is_read = false;
	send("one", "two");
	ck_assert_ptr_null(result_stream_take(&stream));
	ck_assert_uint_eq(result_stream_text(&stream, "two"), 2);
	ck_assert_uint_eq(stream.defined.words.count, 0);
}

/* Blocks have room for any record; long texts fill them. */
TEST(records_of_any_size_are_kept_in_order)
{
	static char longest[IAPROF_STRING_LENGTH_MAX + 1];
	for (char letter = 'a'; letter <= 'e'; letter++) {
		memset(longest, letter, sizeof longest - 1);
		send(longest, "value");
	}
	ck_assert_str_eq(take(result_stream_take(&stream)),
			 "1=aaaaaaaaaaaaaaaaaaaa 2=value 1:2 3=bbbbbbbbbbbbbbbbbbbb 3:2 4=cccccccccccccccccccc 4:2 "
			 "5=dddddddddddddddddddd 5:2 6=eeeeeeeeeeeeeeeeeeee 6:2");
}

int main(void)
{
	return run_all_tests(300, set_up, tear_down);
}
