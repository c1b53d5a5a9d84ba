/* SPDX-License-Identifier: Apache-2.0 */
/* See jit_runtime.h. */
#include "symbolizer/jit_runtime.h"

#include <stdlib.h>
#include <string.h>

#define V8 "node --perf-basic-prof, or --js-flags=--perf-basic-prof of Chromium"
#define HOTSPOT                                                                                                        \
	"java -XX:+PreserveFramePointer, with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, jcmd PID "        \
	"Compiler.perfmap, or perf-map-agent"

/* The first that a process has mapped is the one that generated its code: specific ones are first. */
const struct jit_runtime jit_runtimes[] = {
	{ "", "[JIT]", "a perf map of its runtime: /tmp/perf-PID.map" },
	{ "libjvm.so", "[HotSpot JIT]", HOTSPOT },
	{ "libcoreclr.so", "[.NET JIT]", "DOTNET_PerfMapEnabled=1" },
	{ "libnode.so", "[v8 JIT]", V8 },
	{ "libv8.so", "[v8 JIT]", V8 },
	{ "node", "[v8 JIT]", V8 },
	{ "electron", "[v8 JIT]", V8 },
	{ "chrome", "[v8 JIT]", V8 },
	{ "chromium", "[v8 JIT]", V8 },
	{ "deno", "[v8 JIT]", "deno run --v8-flags=--perf-basic-prof" },
	{ "libjavascriptcoregtk", "[JavaScriptCore JIT]", "JSC_logJITCodeForPerf=1" },
	{ "libmozjs", "[SpiderMonkey JIT]", "IONPERF=func" },
	{ "libluajit", "[LuaJIT]", "a build with -DLUAJIT_USE_PERFTOOLS" },
	{ "luajit", "[LuaJIT]", "a build with -DLUAJIT_USE_PERFTOOLS" },
	{ "beam.smp", "[Erlang JIT]", "erl +JPperf true" },
	{ "opcache.so", "[PHP JIT]", "opcache.jit_debug=0x10" },
	{ "libruby", "[Ruby JIT]", "ruby --yjit-perf (Ruby 3.3 or newer)" },
	{ "ruby", "[Ruby JIT]", "ruby --yjit-perf (Ruby 3.3 or newer)" },
	{ "libpython3", "[Python JIT]", "PYTHONPERFSUPPORT=1 (Python 3.12 or newer)" },
	{ "python3", "[Python JIT]", "PYTHONPERFSUPPORT=1 (Python 3.12 or newer)" },
};
const uint32_t jit_runtime_count = sizeof jit_runtimes / sizeof *jit_runtimes;
_Static_assert(sizeof jit_runtimes / sizeof *jit_runtimes <= JIT_RUNTIME_COUNT_MAX, "bit sets have room");

/* Returns whether the name is the beginning of base, and only a version follows: "node18", "libnode.so.108". */
static bool is_named(const char *base, const char *name)
{
	size_t length = strlen(name);
	return !strncmp(base, name, length) && !strspn(base + length, "abcdefghijklmnopqrstuvwxyz_");
}

/* Returns the number of the runtime of which a file is, 0 if of none. */
static uint32_t runtime_of_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	for (uint32_t i = 1; slash && i < jit_runtime_count; i++)
		if (is_named(slash + 1, jit_runtimes[i].file))
			return i;
	return 0;
}

uint32_t jit_runtime_find(struct process_table *processes, struct process *process, uint64_t time)
{
	size_t count = 0;
	struct mapped_range *ranges = process_mappings(processes, process, time, JIT_RUNTIME_MAPPINGS_MAX, &count);
	uint32_t found = 0;
	for (size_t i = 0; ranges && i < count; i++) {
		uint32_t runtime = runtime_of_file(ranges[i].mapping->path);
		if (runtime && (!found || runtime < found))
			found = runtime;
	}
	free(ranges);
	return found;
}
