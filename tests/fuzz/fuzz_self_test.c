/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of iaprof --self-test --save, which others send: reading it and judging it again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "self-test/judgement.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static FILE *nowhere;
	struct observations observations;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	FILE *file = size ? fmemopen((void *)bytes, size, "r") : NULL;
	if (!nowhere || !file)
		return 0;
	if (!observations_read(&observations, file, NULL)) {
		judge(&observations, nowhere);
		observations_free(&observations);
	}
	fclose(file);
	return 0;
}
