/* SPDX-License-Identifier: Apache-2.0 */
/* iaprof-worker: parses ELF, DWARF and perf maps for iaprof. */
#include <stddef.h>

#include "symbolizer/worker/serve.h"
#include "symbolizer/worker/zygote.h"

int main(void)
{
	zygote_run(serve, NULL);
}
