/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as folded stacks: each line is a sample, a loss, nothing, or refused, however the bytes come. */
#include <stdint.h>
#include "replay/text/folded_text.h"
#include "text_taker.h"

static int take_line(void *context, const struct text_line *line)
{
	return folded_text_line(context, line);
}

static struct taken read_all(const uint8_t *bytes, size_t size, size_t piece)
{
	struct taken taken = { 0 };
	const struct text_taker taker = taker_of(&taken);
	struct folded_text *reader = calloc(1, sizeof *reader);
	need(reader);
	reader->taker = &taker;
	struct text_lines lines = { .take = take_line, .context = reader };
	feed_all(&lines, bytes, size, piece);
	free(reader);
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return fuzz_reader(read_all, bytes, size);
}
