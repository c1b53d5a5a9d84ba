/* SPDX-License-Identifier: Apache-2.0 */
/* The record store of the test host: see test_records.h. */
#include "test_records.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus/record_check.h"

static uint64_t string_hash(const char *text, size_t length)
{
	return hash_bytes(text, length);
}

static uint64_t stack_hash(uint32_t pid, const uint64_t *addresses, size_t count)
{
	return hash_pair(pid, hash_bytes(addresses, count * sizeof *addresses));
}

static const struct iaprof_record_string *string_at(const struct test_host *host, size_t position)
{
	return (const void *)(host->records + host->strings.items[position].offset);
}

static const struct iaprof_record_stack *stack_at(const struct test_host *host, size_t position)
{
	return (const void *)(host->records + host->stacks.items[position].offset);
}

static void string_put(struct test_host *host, const struct iaprof_record_string *record)
{
	uint64_t hash = string_hash(iaprof_record_string_text(record), record->length);
	ck_assert(hash_index_add(&host->string_index, hash, (uint32_t)host->strings.count));
	ck_assert(array_push(&host->strings, ((struct test_definition){ record->id, host->record_size })));
}

static void stack_put(struct test_host *host, const struct iaprof_record_stack *record)
{
	uint64_t hash = stack_hash(record->pid, iaprof_record_stack_addresses(record), record->count);
	ck_assert(hash_index_add(&host->stack_index, hash, (uint32_t)host->stacks.count));
	ck_assert(array_push(&host->stacks, ((struct test_definition){ record->id, host->record_size })));
}

void test_records_put(struct test_host *host, const struct iaprof_record *record)
{
	if (record->type == IAPROF_RECORD_STRING)
		string_put(host, (const void *)record);
	if (record->type == IAPROF_RECORD_STACK)
		stack_put(host, (const void *)record);
	ck_assert(array_grow((void **)&host->records, &host->record_capacity, host->record_size + record->size, 1));
	memcpy(host->records + host->record_size, record, record->size);
	host->record_size += record->size;
	host->record_count++;
}

int test_records_append(struct test_host *host, const struct iaprof_batch *batch, struct error *error)
{
	bool replays = host->plugin.flags & IAPROF_PLUGIN_REPLAYS;
	const unsigned char *bytes = batch->records;
	size_t offset = 0;
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct iaprof_record *record = (const void *)(bytes + offset);
		int result = record_check(record, batch->size - offset, error);
		if (result < 0)
			return result;
		if (record_is_of_core(record->type) && !replays)
			return error_set(error, EINVAL, "a source may not send definitions");
		offset += record->size;
	}
	if (offset != batch->size)
		return error_set(error, EINVAL, "a batch's size is not that of its records");
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		test_records_put(host, record);
	return 0;
}

/* The record that defines an id, the newest one when there are several; NULL none. */
static const void *definition_find(const struct test_host *host, const struct test_definition *items, size_t count,
				   uint32_t id)
{
	if (id && id <= count && items[id - 1].id == id) /* ids that the host itself gave count up */
		return host->records + items[id - 1].offset;
	for (size_t i = count; i-- > 0;)
		if (items[i].id == id)
			return host->records + items[i].offset;
	return NULL;
}

uint32_t test_records_intern_string(struct test_host *host, const char *text, size_t length)
{
	length = strnlen(text, length > IAPROF_STRING_LENGTH_MAX ? IAPROF_STRING_LENGTH_MAX : length);
	if (!length)
		return 0;
	struct hash_probe probe = hash_index_probe(&host->string_index, string_hash(text, length));
	while (hash_index_next(&host->string_index, &probe)) {
		const struct iaprof_record_string *known = string_at(host, probe.position);
		if (known->length == length && memcmp(iaprof_record_string_text(known), text, length) == 0)
			return known->id;
	}
	size_t size = (sizeof(struct iaprof_record_string) + length + 1 + 7) & ~(size_t)7;
	struct iaprof_record_string *record = calloc(1, size);
	ck_assert_ptr_nonnull(record);
	record->header.size = (uint32_t)size;
	record->header.type = IAPROF_RECORD_STRING;
	record->id = (uint32_t)host->strings.count + 1;
	record->length = (uint32_t)length;
	memcpy(record + 1, text, length);
	test_records_put(host, &record->header);
	free(record);
	return (uint32_t)host->strings.count;
}

uint32_t test_records_intern_stack(struct test_host *host, uint32_t pid, const uint64_t *addresses, size_t count)
{
	if (count > IAPROF_STACK_DEPTH_MAX)
		count = IAPROF_STACK_DEPTH_MAX;
	if (!count)
		return 0;
	struct hash_probe probe = hash_index_probe(&host->stack_index, stack_hash(pid, addresses, count));
	while (hash_index_next(&host->stack_index, &probe)) {
		const struct iaprof_record_stack *known = stack_at(host, probe.position);
		if (known->pid == pid && known->count == count &&
		    memcmp(iaprof_record_stack_addresses(known), addresses, count * sizeof *addresses) == 0)
			return known->id;
	}
	size_t size = sizeof(struct iaprof_record_stack) + count * sizeof *addresses;
	struct iaprof_record_stack *record = calloc(1, size);
	ck_assert_ptr_nonnull(record);
	record->header.size = (uint32_t)size;
	record->header.type = IAPROF_RECORD_STACK;
	record->id = (uint32_t)host->stacks.count + 1;
	record->count = (uint32_t)count;
	record->pid = pid;
	memcpy(record + 1, addresses, count * sizeof *addresses);
	test_records_put(host, &record->header);
	free(record);
	return (uint32_t)host->stacks.count;
}

const struct iaprof_record *test_host_next(const struct test_host *host, const struct iaprof_record *record,
					   uint16_t type)
{
	const struct iaprof_batch all = { .records = host->records, .size = host->record_size };
	if (!all.size)
		return NULL;
	do
		record = iaprof_batch_next(&all, record);
	while (record && type && record->type != type);
	return record;
}

const char *test_host_string(const struct test_host *host, uint32_t id)
{
	if (!id)
		return "";
	const struct iaprof_record_string *record = definition_find(host, host->strings.items, host->strings.count, id);
	ck_assert_msg(record != NULL, "string id %u was never defined", id);
	return iaprof_record_string_text(record);
}

const struct iaprof_record_stack *test_host_stack(const struct test_host *host, uint32_t id)
{
	if (!id)
		return NULL;
	const struct iaprof_record_stack *record = definition_find(host, host->stacks.items, host->stacks.count, id);
	ck_assert_msg(record != NULL, "stack id %u was never defined", id);
	return record;
}

const struct iaprof_record_value_type *test_host_value_type(const struct test_host *host, uint32_t id)
{
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_VALUE_TYPE)))
		if (((const struct iaprof_record_value_type *)record)->id == id)
			return (const struct iaprof_record_value_type *)record;
	ck_abort_msg("value type %u was never declared", id);
}

const char *test_host_metadata(const struct test_host *host, const char *key)
{
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_METADATA))) {
		const struct iaprof_record_metadata *metadata = (const void *)record;
		if (strcmp(test_host_string(host, metadata->key), key) == 0)
			return test_host_string(host, metadata->value);
	}
	return NULL;
}

uint64_t test_host_lost(const struct test_host *host, const char *reason)
{
	uint64_t sum = 0;
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_LOST))) {
		const struct iaprof_record_lost *lost = (const void *)record;
		if (lost->count != IAPROF_COUNT_UNKNOWN &&
		    (!reason || strcmp(test_host_string(host, lost->reason), reason) == 0))
			sum += lost->count;
	}
	return sum;
}
