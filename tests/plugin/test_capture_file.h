/* SPDX-License-Identifier: Apache-2.0 */
/* Captures for tests: records of every type, written by sink capture; and files that are damaged on purpose. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes that grow; initialise with {0}. */
struct test_bytes {
	unsigned char *data;
	size_t size, capacity;
};

void test_bytes_append(struct test_bytes *bytes, const void *data, size_t size);
void test_bytes_free(struct test_bytes *bytes);

/* Appends a record of each type, with no zeros where a mistake could hide. Returns how many. */
uint32_t test_records_of_each_type(struct test_bytes *records);
/* Appends count STRING records of about 60,000 equal bytes: two fill a block, which compresses to almost nothing. */
uint32_t test_records_long(struct test_bytes *records, uint32_t count);

/* What sink capture writes for these records, with these options (NULL: none). */
void test_capture_write(struct test_bytes *file, const struct test_bytes *records, uint32_t count, const char *setting);

/* Appends a block as it would be written, with right checksums, whatever its members say. */
struct capture_block_header;
void test_capture_block(struct test_bytes *file, struct capture_block_header header, const void *payload);
/* Appends an end block with this content. */
void test_capture_end(struct test_bytes *file, uint32_t number, uint64_t blocks, uint64_t records, uint64_t size);
