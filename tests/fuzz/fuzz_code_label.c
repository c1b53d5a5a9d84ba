/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a line of a process's mappings. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "code_label.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum code_label label = code_label_of_mapping((const char *)bytes, size);

	if (label != CODE_LABEL_NONE && (!memchr(bytes, '/', size) || !code_label_text(label)))
		abort();
	return 0;
}
