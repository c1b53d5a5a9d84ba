/* SPDX-License-Identifier: Apache-2.0 */
/* See silence.h. */
#include "silence.h"

bool silence_look(struct silence *silence, uint64_t rows, bool others)
{
	if (!silence->patience || rows != silence->rows) {
		*silence = (struct silence){ .rows = rows, .patience = SILENCE_PATIENCE };
		return false;
	}
	/* What was seen stays seen when the others pause. */
	if (!others || ++silence->looks < silence->patience)
		return false;
	silence->looks = 0;
	silence->patience *= 3;
	if (silence->patience > SILENCE_PATIENCE_MAX)
		silence->patience = SILENCE_PATIENCE_MAX;
	return true;
}
