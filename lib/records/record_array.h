/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the arrays of records, whose offset and stride the record states, end within the record. */
#pragma once

#include <stdbool.h>
#include <iaprof/record.h>

/*
 * Returns the bytes from the start of a record's array to the end of the record, or 0 if its array_offset is wrong.
 * first_offset is the offset in schema version 1, a size that the record has at least.
 */
static inline size_t record_array_room(const struct iaprof_record *record, uint8_t array_offset, uint32_t first_offset)
{
	size_t offset = array_offset ? array_offset * (size_t)8 : first_offset;
	return offset < first_offset || offset > record->size ? 0 : record->size - offset;
}

/* Returns whether an array of count elements fits into a record. */
static inline bool record_array_fits(const struct iaprof_record *record, uint8_t array_offset, uint32_t first_offset,
				     uint64_t count, size_t element)
{
	return count <= record_array_room(record, array_offset, first_offset) / element;
}

/* The same for elements with a stride. first_size: that of schema version 1. */
static inline bool record_strided_array_fits(const struct iaprof_record *record, uint8_t array_offset,
					     uint32_t first_offset, uint64_t count, uint8_t element_size,
					     size_t first_size)
{
	size_t stride = iaprof_record_stride(element_size, first_size);
	return stride >= first_size && record_array_fits(record, array_offset, first_offset, count, stride);
}
