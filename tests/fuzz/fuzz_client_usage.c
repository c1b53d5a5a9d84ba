/* SPDX-License-Identifier: Apache-2.0 */
/* Any two texts as what a DRM client's file said at the beginning and at the end of a second. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "client_usage.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes;
	struct client_usage before, after;

	bool has_before = client_usage_parse(text, size / 2, &before);
	bool has_after = client_usage_parse(text + size / 2, size - size / 2, &after);
	client_usage_parse(text, size, &after);
	for (int i = 0; i < 2; i++) {
		const struct client_usage *usage = i ? &after : &before;
		if (strnlen(usage->address, sizeof usage->address) == sizeof usage->address)
			abort();
		if ((i ? has_after : has_before) && i == 0 && !*usage->address)
			abort();
	}
	/* 16 engines of each of two classes at most. */
	if (client_usage_busy(&before, &after, 1000000000) > UINT64_C(34000000000))
		abort();
	return 0;
}
