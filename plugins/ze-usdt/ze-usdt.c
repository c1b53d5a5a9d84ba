/* SPDX-License-Identifier: Apache-2.0 */
/* ze-usdt: launches and GPU code of Level Zero programs, from the probes in probes.h (see README.md). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <iaprof/plugin.h>
#include "level_zero_check.h"
#include "level_zero_use.h"
#include "process/process_maps.h"
#include "warning_limit.h"
#include "drain.h"
#include "libraries.h"
#include "programs.h"
#include "ze-usdt.bpf.skel.h"

#define MILLISECOND UINT64_C(1000000)
/* Limit on the time for examining the files that running processes have mapped when a run is reloaded. */
#define SEARCH_TIME_MAX (200 * MILLISECOND)
#define MAP_SIZE_MIN 256u
#define MAP_SIZE_MAX (1u << 20)

enum time_choice { TIME_OFF = 0, TIME_SAMPLE = 1, TIME_ALL = 2 };
enum tracer_choice { TRACER_AUTO = 0, TRACER_YES = 1, TRACER_NO = 2, TRACER_INJECT = 3 };

#define LOADER_NAME "libze_loader.so"
#define RUNTIME_NAME "libze_intel_gpu.so.1"
#define OPENCL_DRIVER_NAME "libigdrcl.so"

struct ze_usdt {
	struct stack_reader stacks;
	/* options */
	uint64_t tracer; /* enum tracer_choice */
	uint64_t time;   /* enum time_choice */
	uint64_t drain_period;
	uint64_t map_size;
	const char *library;
	bool kernel;

	const struct iaprof_host *host;
	struct ze_usdt_bpf *skeleton;
	struct warning_limit warnings;
	struct broker *broker; /* used in prepare() and start(), and then by the thread */
	struct libraries libraries;
	struct drain drain;
	char tracer_path[PATH_MAX];
	bool expects_tracer; /* it was preloaded, or will be injected */
	bool saw_loader;     /* a profiled process mapped the Level Zero loader; atomic */
	bool saw_runtime;    /* a profiled process mapped Intel's Level Zero runtime; atomic */
	bool saw_opencl;     /* a profiled process mapped Intel's OpenCL driver; atomic */
	int epoll;
	bool prepared;
	bool started;
};

static int ze_usdt_probe(const struct iaprof_host *host, void *instance)
{
	const struct ze_usdt *ze_usdt = instance;

	int result = programs_check(host);
	if (result)
		return result;
	if (ze_usdt->tracer == TRACER_AUTO && !ze_usdt->library && !level_zero_gpu_is_there())
		return host->fail(host, ENODEV,
				  "no GPU with driver xe or i915 (tracer=yes traces Level Zero programs without one)");
	return 0;
}

static void ze_usdt_check(const struct iaprof_host *host, void *instance)
{
	const struct ze_usdt *ze_usdt = instance;

	level_zero_check(host, ze_usdt->tracer != TRACER_NO, ze_usdt->tracer == TRACER_INJECT);
}

/* Preloads our tracer into the command that iaprof starts. */
static int tracer_preload(struct ze_usdt *ze_usdt, const char *path)
{
	const struct iaprof_host *host = ze_usdt->host;

	/* ld.so(8): both characters end a path. */
	if (strpbrk(path, ": "))
		return host->fail(host, EINVAL,
				  "cannot preload %s: its path contains a space or colon (install iaprof elsewhere, or "
				  "use tracer=no)",
				  path);
	int result = host->command_environment(host, "LD_PRELOAD", path, IAPROF_ENVIRONMENT_PREPEND_PATH);
	ze_usdt->expects_tracer = result == 0;
	return result ? host->fail(host, result, "cannot preload %s: %s", path, strerror(-result)) : 0;
}

/* Attaches to our tracer before any process has loaded it. */
static int tracer_attach(struct ze_usdt *ze_usdt)
{
	const struct iaprof_host *host = ze_usdt->host;
	char *path = ze_usdt->tracer_path;
	const char *reason = NULL;

	if (ze_usdt->tracer == TRACER_NO)
		return 0;
	if (ze_usdt->tracer == TRACER_INJECT && host->target(host)->scope != IAPROF_SCOPE_PIDS)
		return host->fail(host, EINVAL, "tracer=inject is for running processes (select them with -p PID)");
	int result = tracer_file_find(path, sizeof ze_usdt->tracer_path);
	if (result && ze_usdt->tracer == TRACER_AUTO) {
		host->log(host, IAPROF_LOG_INFO,
			  "built without the tracer library: only runtimes with probes are supported");
		return 0;
	}
	if (result)
		return host->fail(host, result,
				  "the tracer library is not beside the plugin (reinstall iaprof, or use tracer=no)");
	result = libraries_add_path(&ze_usdt->libraries, path, &reason);
	if (result)
		return host->fail(host, result, "cannot attach to the probes of %s: %s", path, reason);
	ze_usdt->expects_tracer = ze_usdt->tracer == TRACER_INJECT;
	if (!host->target(host)->command_pid || (ze_usdt->tracer == TRACER_AUTO && !level_zero_gpu_is_there()))
		return 0;
	return tracer_preload(ze_usdt, path);
}

/*
 * A program that launches kernels calls at least one of these; they are few because detaching takes about 100 ms each.
 * Memory functions are excluded, because allocators may be built on them. Intel's OpenCL driver exports none: every ICD
 * loader calls it through a table, whose order is that of cl_icd_dispatch in the Khronos header CL/cl_icd.h, so that
 * programs with an ICD loader of their own are no exception.
 */
static const char awaited_calls[] =
	"libze_loader.so zeCommandListAppendLaunchKernel zeCommandListAppendLaunchKernelWithArguments "
	"zeCommandListAppendMemoryCopy zeCommandListHostSynchronize zeCommandListReset "
	"zeCommandQueueExecuteCommandLists zeCommandQueueSynchronize zeEventHostSynchronize zeEventQueryStatus;"
	/* clSetKernelArg, clWaitForEvents, clGetEventInfo, clFlush, clFinish, clEnqueueReadBuffer,
	   clEnqueueWriteBuffer, clEnqueueNDRangeKernel */
	"libigdrcl.so clGetPlatformInfo@1 38 41 42 46 47 48 49 59";

/* Warns where the program can never make such a call, as far as its mappings show. */
static void warn_of_level_zero_inside(const struct iaprof_host *host, struct broker *broker, uint32_t pid)
{
	size_t length;
	char *maps = broker_read_all(broker, pid, BROKER_MAPS, &length);
	struct level_zero_use use = maps ? level_zero_use_find(maps, length) : (struct level_zero_use){ 0 };

	free(maps);
	if (use.opencl && use.runtime && !use.loader[0])
		host->log(host, IAPROF_LOG_WARNING,
			  "process %" PRIu32 ": OpenCL on Level Zero inside the driver cannot be traced: start the "
			  "program with EnableLEO=0",
			  pid);
}

/* Loads our tracer into the running processes. */
static int tracer_inject(const struct iaprof_host *host, struct broker *broker, const char *path)
{
	const struct iaprof_target *target = host->target(host);
	int result = 0;

	for (uint32_t i = 0; i < target->pid_count && !result; i++) {
		const struct iaprof_injection injection = { .size = sizeof injection,
							    .pid = target->pids[i],
							    .library = path,
							    .api = "Level Zero or OpenCL",
							    .calls = awaited_calls };
		result = host->inject(host, &injection);
		if (!result)
			warn_of_level_zero_inside(host, broker, target->pids[i]);
	}
	return result;
}

static bool is_named(const struct iaprof_mapped_file *file, const char *prefix)
{
	const char *slash = strrchr(file->path, '/');

	return slash && strncmp(slash + 1, prefix, strlen(prefix)) == 0;
}

static int file_mapped(const struct iaprof_host *host, void *instance, const struct iaprof_mapped_file *file)
{
	struct ze_usdt *ze_usdt = instance;

	if (is_named(file, LOADER_NAME))
		__atomic_store_n(&ze_usdt->saw_loader, true, __ATOMIC_RELAXED);
	if (is_named(file, RUNTIME_NAME))
		__atomic_store_n(&ze_usdt->saw_runtime, true, __ATOMIC_RELAXED);
	if (is_named(file, OPENCL_DRIVER_NAME))
		__atomic_store_n(&ze_usdt->saw_opencl, true, __ATOMIC_RELAXED);
	mapped_file_queue_add(&ze_usdt->libraries.queue, file);
	return 0;
}

static int libraries_prepare(struct ze_usdt *ze_usdt)
{
	const struct iaprof_host *host = ze_usdt->host;
	const struct ze_usdt_bpf *skeleton = ze_usdt->skeleton;
	const char *reason = NULL;

	ze_usdt->libraries.programs[PROVIDER_LAUNCH_KERNEL] =
		ze_usdt->stacks.use_tables ? skeleton->progs.launch_kernel_by_tables : skeleton->progs.launch_kernel;
	ze_usdt->libraries.programs[PROVIDER_EXECUTE_LIST] = skeleton->progs.execute_list;
	ze_usdt->libraries.programs[PROVIDER_COMPILE_KERNEL] = skeleton->progs.compile_kernel;
	ze_usdt->libraries.programs[PROVIDER_COMPILE_KERNEL_AGAIN] = skeleton->progs.compile_kernel;
	ze_usdt->libraries.programs[PROVIDER_UNLOAD_MODULE] = skeleton->progs.unload_module;
	ze_usdt->libraries.programs[PROVIDER_SHARE_COUNTS] = skeleton->progs.share_counts;
	/* With kernel=yes, each launch has a Linux kernel stack of its own. */
	ze_usdt->libraries.use_counts = !ze_usdt->kernel;
	ze_usdt->libraries.programs[PROVIDER_TIMED_LAUNCH] = skeleton->progs.timed_launch;
	ze_usdt->libraries.programs[PROVIDER_KERNEL_TIME] = skeleton->progs.kernel_time;
	ze_usdt->libraries.programs[PROVIDER_TIME_ALL] = skeleton->progs.kernel_time;
	ze_usdt->libraries.take_times = ze_usdt->time != TIME_OFF;
	ze_usdt->libraries.take_all_times = ze_usdt->time == TIME_ALL;
	int result = libraries_init(&ze_usdt->libraries, host, &ze_usdt->warnings);
	if (result)
		return host->fail(host, result, "cannot create an eventfd: %s", strerror(-result));
	result = tracer_attach(ze_usdt);
	if (result)
		return result;
	if (ze_usdt->library) {
		result = libraries_add_path(&ze_usdt->libraries, ze_usdt->library, &reason);
		if (result)
			return host->fail(host, result, "cannot attach to the probes of %s: %s", ze_usdt->library,
					  reason);
	}
	result = host->on_mapped_file(host, file_mapped);
	return result ? host->fail(host, result, "cannot watch mapped files: %s", strerror(-result)) : 0;
}

static int descriptors_watch(struct ze_usdt *ze_usdt)
{
	int descriptors[] = { drain_event_descriptor(&ze_usdt->drain), ze_usdt->libraries.queue.wake };

	ze_usdt->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ze_usdt->epoll < 0)
		return ze_usdt->host->fail(ze_usdt->host, errno, "cannot create an epoll instance: %s",
					   strerror(errno));
	for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
		struct epoll_event event = { .events = EPOLLIN };
		if (epoll_ctl(ze_usdt->epoll, EPOLL_CTL_ADD, descriptors[i], &event) != 0)
			return ze_usdt->host->fail(ze_usdt->host, errno, "cannot poll an event: %s", strerror(errno));
	}
	return 0;
}

static int programs_prepare(struct ze_usdt *ze_usdt)
{
	const struct iaprof_host *host = ze_usdt->host;
	int result = stack_reader_probe(&ze_usdt->stacks, host, BPF_PROG_TYPE_KPROBE);
	if (result == 0)
		result = programs_load(&ze_usdt->skeleton, host, &ze_usdt->stacks, (uint32_t)ze_usdt->map_size,
				       ze_usdt->kernel, ze_usdt->time != TIME_OFF);
	return result ? result : stack_reader_open(&ze_usdt->stacks, STACK_READER_OBJECT(ze_usdt->skeleton));
}

static int ze_usdt_prepare(const struct iaprof_host *host, void *instance)
{
	struct ze_usdt *ze_usdt = instance;

	ze_usdt->host = host;
	ze_usdt->warnings.host = host;
	ze_usdt->epoll = -1;
	ze_usdt->prepared = true;
	ze_usdt->broker = broker_new();
	if (!ze_usdt->broker)
		return host->fail(host, ENOMEM, "out of memory");
	ze_usdt->libraries.broker = ze_usdt->drain.counts.broker = ze_usdt->drain.objects.images.broker =
		ze_usdt->broker;
	ze_usdt->drain.period_max = ze_usdt->drain_period;
	ze_usdt->drain.times.is_on = ze_usdt->time != TIME_OFF;
	ze_usdt->drain.times.is_complete = ze_usdt->time == TIME_ALL;
	int result = programs_prepare(ze_usdt);
	if (result)
		return result;
	result = drain_init(&ze_usdt->drain, host, &ze_usdt->stacks, ze_usdt->skeleton, &ze_usdt->warnings);
	if (result)
		return result;
	result = libraries_prepare(ze_usdt);
	if (!result)
		result = descriptors_watch(ze_usdt);
	return result || ze_usdt->tracer != TRACER_INJECT ? result
							  : tracer_inject(host, ze_usdt->broker, ze_usdt->tracer_path);
}

static int ze_usdt_start(const struct iaprof_host *host, void *instance)
{
	struct ze_usdt *ze_usdt = instance;

	stack_reader_describe_limits(&ze_usdt->stacks);
	ze_usdt->started = true;
	/* Modules are announced before the first launch is recorded. */
	int result = libraries_begin(&ze_usdt->libraries);
	if (result)
		return host->fail(host, result, "cannot attach to the probes of a library: %s", strerror(-result));
	result = drain_begin(&ze_usdt->drain);
	if (result)
		return result;
	uint64_t until = host->clock(host) + SEARCH_TIME_MAX;
	while (libraries_search(&ze_usdt->libraries) && host->clock(host) < until)
		;
	return 0;
}

static int ze_usdt_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct ze_usdt *ze_usdt = instance;
	struct drain *drain = &ze_usdt->drain;
	uint64_t turn = host->clock(host) + drain->period;
	int result = 0;

	while (result == 0 && !__atomic_load_n(stopping, __ATOMIC_ACQUIRE)) {
		struct epoll_event events[2];
		uint64_t now = host->clock(host);
		uint64_t wait = now < turn ? turn - now : 0;
		if (wait > 100 * MILLISECOND)
			wait = 100 * MILLISECOND;
		epoll_wait(ze_usdt->epoll, events, 2, (int)((wait + MILLISECOND - 1) / MILLISECOND));
		result = drain_events(drain);
		libraries_search(&ze_usdt->libraries);
		now = host->clock(host);
		libraries_ask_again(&ze_usdt->libraries, drain->objects.missed_time);
		if (result == 0 && now >= turn) {
			result = drain_turn(drain);
			turn = now + drain->period;
		}
	}
	return result;
}

static int ze_usdt_stop(const struct iaprof_host *host, void *instance)
{
	struct ze_usdt *ze_usdt = instance;

	if (!ze_usdt->started)
		return 0;
	uint64_t lost = mapped_file_queue_dropped(&ze_usdt->libraries.queue);
	if (lost)
		host->lost(host, "mapped file not looked into: too many at once", ze_usdt->drain.last_time, lost, 0, 0);
	int result = drain_finish(&ze_usdt->drain);
	libraries_end(&ze_usdt->libraries);
	warning_limit_report(&ze_usdt->warnings);
	return result;
}

/* Warns that the tracer reported nothing, with the cause if it is known. */
static void nothing_warn(const struct ze_usdt *ze_usdt, uint64_t failed_calls)
{
	const struct iaprof_host *host = ze_usdt->host;
	static const char nothing[] = "no GPU code was loaded or launched through Level Zero or OpenCL";

	bool saw_loader = __atomic_load_n(&ze_usdt->saw_loader, __ATOMIC_RELAXED);
	bool saw_runtime = __atomic_load_n(&ze_usdt->saw_runtime, __ATOMIC_RELAXED);
	bool saw_opencl = __atomic_load_n(&ze_usdt->saw_opencl, __ATOMIC_RELAXED);

	if (failed_calls)
		host->log(host, IAPROF_LOG_WARNING,
			  "%s (failed calls of zeModuleCreate or clBuildProgram: %" PRIu64 ")", nothing, failed_calls);
	else if (saw_opencl && saw_runtime)
		host->log(host, IAPROF_LOG_WARNING,
			  "%s (OpenCL on Level Zero inside the driver cannot be traced: start such a program with "
			  "EnableLEO=0)",
			  nothing);
	else if (saw_opencl)
		host->log(host, IAPROF_LOG_WARNING, "%s", nothing);
	else if (!saw_loader)
		host->log(host, IAPROF_LOG_WARNING,
			  "%s (the program loaded neither " LOADER_NAME " nor " OPENCL_DRIVER_NAME ")", nothing);
	else
		host->log(host, IAPROF_LOG_WARNING,
			  "%s (if the program did either, its Level Zero loader lacks libze_tracing_layer.so.1, or is "
			  "older than 1.15.8, or statically linked and older than 1.21.9: set "
			  "ZE_ENABLE_TRACING_LAYER=1)",
			  nothing);
}

static int ze_usdt_finish(const struct iaprof_host *host, void *instance)
{
	struct ze_usdt *ze_usdt = instance;
	const struct ze_processor *sum = &ze_usdt->drain.reported;

	if (!ze_usdt->started)
		return 0;
	uint64_t stackless = sum->stacks.missing + sum->stacks.lost;
	uint64_t probes = sum->launches + sum->executions + sum->modules;
	if (probes)
		host->metadata(host, "kernel-side time per probe", "%" PRIu64 " ns",
			       (uint64_t)sum->handler_time / probes);
	else if (ze_usdt->expects_tracer)
		nothing_warn(ze_usdt, sum->module_calls);
	host->metadata(host, "libraries with probes", "%" PRIu32, ze_usdt->libraries.count);
	if (ze_usdt->drain.objects.missed_count)
		host->metadata(host, "kernels launched before their code was announced", "%" PRIu64,
			       ze_usdt->drain.objects.missed_count);
	stack_reader_describe(&ze_usdt->stacks, &sum->stacks, "launch stacks unwound");
	if (ze_usdt->drain.counts.opened)
		host->metadata(host, "launches counted in memory", "%" PRIu64 " of %" PRIu64,
			       ze_usdt->drain.counts.launches,
			       ze_usdt->drain.counts.launches + (uint64_t)sum->launches);
	times_describe(&ze_usdt->drain.times);
	if (stackless)
		host->metadata(host, "launches without a stack", "%" PRIu64, stackless);
	return 0;
}

static void ze_usdt_destroy(const struct iaprof_host *host, void *instance)
{
	struct ze_usdt *ze_usdt = instance;

	(void)host;
	if (!ze_usdt->prepared)
		return;
	libraries_free(&ze_usdt->libraries);
	drain_free(&ze_usdt->drain);
	stack_reader_free(&ze_usdt->stacks);
	ze_usdt_bpf__destroy(ze_usdt->skeleton);
	broker_free(ze_usdt->broker);
	if (ze_usdt->epoll >= 0)
		close(ze_usdt->epoll);
}

static const char *const unwind_choices[] = { "auto", "fp", NULL };
static const char *const time_choices[] = { "off", "sample", "all", NULL };
static const char *const tracer_choices[] = { "auto", "yes", "no", "inject", NULL };

#define OPTION(...) IAPROF_OPTION(struct ze_usdt, __VA_ARGS__)

static const struct iaprof_option options[] = {
	OPTION(tracer, CHOICE, "tracer", "auto",
	       "Load iaprof's tracer library, required by Level Zero runtimes without probes: yes preloads it into "
	       "the "
	       "command, auto does so on machines with an Intel GPU (driver xe or i915), inject loads it into the "
	       "running "
	       "processes of -p",
	       .choices = tracer_choices),
	OPTION(library, STRING, "library", NULL,
	       "File with probes of provider level_zero to attach to before the command starts; other files are "
	       "attached "
	       "to when a process maps them"),
	OPTION(stacks.user, BOOL, "user", "yes", "Record the user stack of each launch"),
	OPTION(stacks.unwind, CHOICE, "unwind", "auto",
	       "How launch stacks of a runtime with probes of its own are unwound: auto uses .eh_frame of programs and "
	       "libraries, and frame pointers where there is none (Linux 5.17); fp uses frame pointers alone",
	       .choices = unwind_choices),
	STACK_READER_PYTHON_OPTION(struct ze_usdt, stacks, "launch stacks"),
	STACK_READER_SPANS_OPTION(struct ze_usdt, stacks),
	OPTION(kernel, BOOL, "kernel", "no",
	       "Record the Linux kernel stack of the system call that queued each launch"),
	OPTION(time, CHOICE, "time", "off",
	       "Time launches on the device: sample times some of each kernel, chosen at random, and estimates the "
	       "time of the others; all times each, which delays the launch after it",
	       .choices = time_choices),
	OPTION(drain_period, DURATION, "drain", "100ms",
	       "Longest interval between reads of the BPF maps; shorter while launches are frequent",
	       .minimum = 10 * MILLISECOND, .maximum = 1000 * MILLISECOND),
	OPTION(map_size, UINT, "map-size", "16384", "Distinct launches that the BPF maps hold between two reads",
	       .minimum = MAP_SIZE_MIN, .maximum = MAP_SIZE_MAX, .unit = "launches"),
};

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.probe = ze_usdt_probe,
	.prepare = ze_usdt_prepare,
	.start = ze_usdt_start,
	.thread = ze_usdt_thread,
	.stop = ze_usdt_stop,
	.finish = ze_usdt_finish,
	.check = ze_usdt_check,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_TARGETS,
	.name = "ze-usdt",
	.version = PLUGIN_VERSION,
	.description = "Level Zero kernel launches, with launch stacks and GPU code",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct ze_usdt),
	.source = &operations,
	.destroy = ze_usdt_destroy,
};

IAPROF_REGISTER_PLUGIN(plugin)
