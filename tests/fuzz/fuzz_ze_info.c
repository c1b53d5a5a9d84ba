/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the section .ze_info. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "decoder-intel-gt/ze_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct string_table strings = { 0 };
	struct ze_info info = { 0 };
	ze_info_read(&info, (const char *)bytes, size, &strings);
	for (size_t i = 0; i < info.entries.count; i++) {
		const struct ze_info_entry *entry = &info.entries.items[i];
		if (!entry->name || entry->first + entry->count > info.attributes.count)
			abort();
		for (size_t j = entry->first; j < entry->first + entry->count; j++)
			if (!*info.attributes.items[j].name)
				abort();
	}
	ze_info_free(&info);
	string_table_free(&strings);
	return 0;
}
