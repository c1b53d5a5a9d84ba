/* SPDX-License-Identifier: Apache-2.0 */
/* See page_names.h. */
#include "page_names.h"

int page_names_take(struct definitions *definitions, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
	case IAPROF_RECORD_SOURCE:
	case IAPROF_RECORD_DEVICE:
	case IAPROF_RECORD_COUNTER:
		return definitions_take(definitions, record);
	default:
		return 0;
	}
}
