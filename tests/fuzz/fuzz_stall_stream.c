/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a stream of GPU stalls: what is read does not depend on how the bytes come. */
#include <stdint.h>
#include "replay/text/stall_stream.h"
#include "text_taker.h"

static int take_line(void *context, const struct text_line *line)
{
	return stall_stream_line(context, line);
}

static struct taken read_all(const uint8_t *bytes, size_t size, size_t piece)
{
	struct taken taken = { 0 };
	const struct text_taker taker = taker_of(&taken);
	struct stall_stream *reader = calloc(1, sizeof *reader);
	need(reader);
	reader->taker = &taker;
	struct text_lines lines = { .take = take_line, .context = reader };
	feed_all(&lines, bytes, size, piece);
	need(stall_stream_end(reader) == 0);
	stall_stream_free(reader);
	free(reader);
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return fuzz_reader(read_all, bytes, size);
}
