/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a child that makes unwind tables sends: a table that is accepted can be searched. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fuzz_stream.h"
#include "fuzz_unwind_table.h"
#include "symbolizer/unwind/remote_unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size > STREAM_SIZE_MAX)
		return 0;
	stream.bytes = bytes;
	stream.size = size;
	struct budget budget;
	struct remote_unwind unwind;
	budget_init(&budget);
	struct worker_pool *pool = worker_pool_new_in_threads(stream_feed, NULL);
	const struct file_identity file = { .owner = geteuid() + 1, .mode = BUDGET_NEVER_TRUSTED };
	int descriptor = memfd_create("file", MFD_CLOEXEC);
	if (pool && descriptor >= 0 && !remote_unwind_load(&unwind, pool, &budget, descriptor, &file, "fuzz")) {
		search_table(&unwind.table);
		remote_unwind_free(&unwind);
	}
	close(descriptor);
	worker_pool_free(pool);
	budget_free(&budget);
	return 0;
}
