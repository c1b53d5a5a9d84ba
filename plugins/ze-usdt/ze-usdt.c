/* SPDX-License-Identifier: Apache-2.0 */
/* ze-usdt: GPU code and kernel launches of Level Zero programs, from the probes in probes.h (see README.md). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <iaprof/plugin.h>
#include "level_zero_check.h"
#include "complaints.h"
#include "drain.h"
#include "gpu.h"
#include "inject/injections.h"
#include "libraries.h"
#include "programs.h"
#include "tracer_file.h"
#include "ze-usdt.bpf.skel.h"

#define MILLISECOND UINT64_C(1000000)
#define MAP_SIZE_MIN 256u
#define MAP_SIZE_MAX (1u << 20)

enum tracer_choice { TRACER_AUTO = 0, TRACER_YES = 1, TRACER_NO = 2, TRACER_INJECT = 3 };

struct ze_usdt {
	/* options */
	uint64_t tracer; /* enum tracer_choice */
	uint64_t drain_period;
	uint64_t map_size;
	const char *library;
	bool user;
	bool kernel;

	const struct iaprof_host *host;
	struct ze_usdt_bpf *skeleton;
	struct complaints complaints;
	struct libraries libraries;
	struct drain drain;
	struct injections injections;
	char tracer_path[PATH_MAX];
	bool expects_tracer; /* it was preloaded, or is to be injected */
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
		return host->fail(
			host, ENODEV,
			"no GPU with driver xe or i915: tracer=yes profiles Level Zero programs all the same");
	return 0;
}

static void ze_usdt_check(const struct iaprof_host *host, void *instance)
{
	const struct ze_usdt *ze_usdt = instance;

	if (IAPROF_HOST_HAS(host, check_item))
		level_zero_check(host, ze_usdt->tracer != TRACER_NO, ze_usdt->tracer == TRACER_INJECT);
}

/* Has the command that iaprof runs loaded with our tracer in it. */
static int tracer_preload(struct ze_usdt *ze_usdt, const char *path)
{
	const struct iaprof_host *host = ze_usdt->host;

	if (!IAPROF_HOST_HAS(host, command_environment))
		return host->fail(host, ENOTSUP, "this iaprof cannot change its command's environment: use tracer=no");
	/* ld.so(8): either of them ends a path. */
	if (strpbrk(path, ": "))
		return host->fail(host, EINVAL,
				  "%s cannot be preloaded, as its path has a space or colon: install iaprof elsewhere, "
				  "or use tracer=no",
				  path);
	int result = host->command_environment(host, "LD_PRELOAD", path, IAPROF_ENVIRONMENT_PREPEND_PATH);
	ze_usdt->expects_tracer = result == 0;
	return result ? host->fail(host, result, "preload %s: %s", path, strerror(-result)) : 0;
}

/* Attaches to our own tracer before any process can have it. */
static int tracer_attach(struct ze_usdt *ze_usdt)
{
	const struct iaprof_host *host = ze_usdt->host;
	char *path = ze_usdt->tracer_path;
	const char *reason = NULL;

	if (ze_usdt->tracer == TRACER_NO)
		return 0;
	if (ze_usdt->tracer == TRACER_INJECT && host->target(host)->scope != IAPROF_SCOPE_PIDS)
		return host->fail(host, EINVAL,
				  "tracer=inject is for processes that run already: name them with -p PID");
	int result = tracer_file_find(path, sizeof ze_usdt->tracer_path);
	if (result && ze_usdt->tracer == TRACER_AUTO) {
		host->log(host, IAPROF_LOG_INFO,
			  "built without the tracer library: only a runtime with probes is seen");
		return 0;
	}
	if (result)
		return host->fail(host, result,
				  "the tracer library is not beside the plugin: install iaprof anew, or "
				  "use tracer=no");
	result = libraries_attach_path(&ze_usdt->libraries, path, &reason);
	if (result)
		return host->fail(host, result, "attach to the probes of %s: %s", path, reason);
	ze_usdt->expects_tracer = ze_usdt->tracer == TRACER_INJECT;
	if (!host->target(host)->command_pid || (ze_usdt->tracer == TRACER_AUTO && !level_zero_gpu_is_there()))
		return 0;
	return tracer_preload(ze_usdt, path);
}

static int file_mapped(void *instance, const struct iaprof_mapped_file *file)
{
	struct ze_usdt *ze_usdt = instance;

	libraries_add_candidate(&ze_usdt->libraries, file);
	return 0;
}

static int libraries_prepare(struct ze_usdt *ze_usdt)
{
	const struct iaprof_host *host = ze_usdt->host;
	const struct ze_usdt_bpf *skeleton = ze_usdt->skeleton;
	const char *reason = NULL;

	ze_usdt->libraries.programs[PROVIDER_LAUNCH_KERNEL] = skeleton->progs.launch_kernel;
	ze_usdt->libraries.programs[PROVIDER_EXECUTE_LIST] = skeleton->progs.execute_list;
	ze_usdt->libraries.programs[PROVIDER_COMPILE_KERNEL] = skeleton->progs.compile_kernel;
	ze_usdt->libraries.programs[PROVIDER_UNLOAD_MODULE] = skeleton->progs.unload_module;
	int result = libraries_init(&ze_usdt->libraries, host, &ze_usdt->complaints);
	if (result)
		return host->fail(host, result, "make an eventfd: %s", strerror(-result));
	result = tracer_attach(ze_usdt);
	if (result)
		return result;
	if (ze_usdt->library) {
		result = libraries_attach_path(&ze_usdt->libraries, ze_usdt->library, &reason);
		if (result)
			return host->fail(host, result, "attach to the probes of %s: %s", ze_usdt->library, reason);
	}
	if (!IAPROF_HOST_HAS(host, watch_mapped_files))
		return 0;
	result = host->watch_mapped_files(host, file_mapped);
	return result ? host->fail(host, result, "watch what processes map: %s", strerror(-result)) : 0;
}

static int descriptors_watch(struct ze_usdt *ze_usdt)
{
	int descriptors[] = { drain_event_descriptor(&ze_usdt->drain), ze_usdt->libraries.wake };

	ze_usdt->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ze_usdt->epoll < 0)
		return ze_usdt->host->fail(ze_usdt->host, errno, "make an epoll: %s", strerror(errno));
	for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
		struct epoll_event event = { .events = EPOLLIN };
		if (epoll_ctl(ze_usdt->epoll, EPOLL_CTL_ADD, descriptors[i], &event) != 0)
			return ze_usdt->host->fail(ze_usdt->host, errno, "watch an event: %s", strerror(errno));
	}
	return 0;
}

static int ze_usdt_prepare(const struct iaprof_host *host, void *instance)
{
	struct ze_usdt *ze_usdt = instance;
	struct programs_settings settings = { .map_size = (uint32_t)ze_usdt->map_size,
					      .take_stacks = ze_usdt->user,
					      .take_kernel = ze_usdt->kernel };

	ze_usdt->host = host;
	ze_usdt->complaints.host = host;
	ze_usdt->epoll = -1;
	ze_usdt->prepared = true;
	ze_usdt->drain.period_max = ze_usdt->drain_period;
	int result = programs_load(&ze_usdt->skeleton, host, &settings);
	if (result)
		return result;
	result = drain_init(&ze_usdt->drain, host, ze_usdt->skeleton, &ze_usdt->complaints);
	if (result)
		return result;
	result = libraries_prepare(ze_usdt);
	return result ? result : descriptors_watch(ze_usdt);
}

static int ze_usdt_start(const struct iaprof_host *host, void *instance)
{
	struct ze_usdt *ze_usdt = instance;

	host->metadata(host, "deepest stack", "%" PRIu32 " addresses", ze_usdt->skeleton->rodata->stack_depth);
	ze_usdt->started = true;
	int result = drain_begin(&ze_usdt->drain);
	if (result || ze_usdt->tracer != TRACER_INJECT)
		return result;
	return injections_start(&ze_usdt->injections, host, ze_usdt->tracer_path);
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
		libraries_look(&ze_usdt->libraries);
		now = host->clock(host);
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
	uint64_t lost = ze_usdt->libraries.candidates_lost;

	injections_end(&ze_usdt->injections);
	if (!ze_usdt->started)
		return 0;
	if (lost)
		host->lost(host, "mapped file not looked into: too many at once", ze_usdt->drain.last_time, lost, 0, 0);
	int result = drain_finish(&ze_usdt->drain);
	complaints_finish(&ze_usdt->complaints);
	return result;
}

static int ze_usdt_finish(const struct iaprof_host *host, void *instance)
{
	struct ze_usdt *ze_usdt = instance;
	const struct ze_processor *sum = &ze_usdt->drain.reported;

	if (!ze_usdt->started)
		return 0;
	uint64_t stackless = sum->stacks_missing + sum->stacks_lost;
	uint64_t probes = sum->launches + sum->executions + sum->modules;
	if (probes)
		host->metadata(host, "kernel-side time per probe", "%" PRIu64 " ns",
			       (uint64_t)sum->handler_time / probes);
	else if (ze_usdt->expects_tracer)
		host->log(host, IAPROF_LOG_WARNING,
			  "no GPU code was loaded or launched through Level Zero; if the program did, its loader is "
			  "older "
			  "than 1.15.8, or has no libze_tracing_layer.so.1 beside it");
	host->metadata(host, "libraries with probes", "%" PRIu32, ze_usdt->libraries.count);
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
	injections_end(&ze_usdt->injections);
	libraries_free(&ze_usdt->libraries);
	drain_free(&ze_usdt->drain);
	ze_usdt_bpf__destroy(ze_usdt->skeleton);
	if (ze_usdt->epoll >= 0)
		close(ze_usdt->epoll);
}

static const char *const tracer_choices[] = { "auto", "yes", "no", "inject", NULL };

static const struct iaprof_option options[] = {
	{ .name = "tracer",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct ze_usdt, tracer),
	  .default_value = "auto",
	  .help = "Preload iaprof's tracer library into the command, for a Level Zero runtime without probes of its "
		  "own; "
		  "auto does it where there is a GPU with driver xe or i915; inject loads it into the running "
		  "processes of -p instead",
	  .choices = tracer_choices },
	{ .name = "library",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct ze_usdt, library),
	  .help = "A file with probes of provider level_zero to attach to before anything starts; others are found "
		  "when "
		  "a process maps them" },
	{ .name = "user",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct ze_usdt, user),
	  .default_value = "yes",
	  .help = "Take the stack of the program at each launch" },
	{ .name = "kernel",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct ze_usdt, kernel),
	  .default_value = "no",
	  .help = "Take the Linux kernel's stack of the system call that queued a launch on the GPU" },
	{ .name = "drain",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct ze_usdt, drain_period),
	  .default_value = "100ms",
	  .help = "The longest time that launches stay in the Linux kernel; shorter where there are many",
	  .minimum = 10 * MILLISECOND,
	  .maximum = 1000 * MILLISECOND },
	{ .name = "map-size",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct ze_usdt, map_size),
	  .default_value = "16384",
	  .help = "Room for this many different launches between two drains",
	  .minimum = MAP_SIZE_MIN,
	  .maximum = MAP_SIZE_MAX,
	  .unit = "launches" },
};

static const struct iaprof_plugin plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof(struct iaprof_plugin),
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES,
	.option_size = sizeof(struct iaprof_option),
	.name = "ze-usdt",
	.version = PLUGIN_VERSION,
	.description = "GPU code and kernel launches of Level Zero programs, with the stacks that launched",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct ze_usdt),
	.probe = ze_usdt_probe,
	.prepare = ze_usdt_prepare,
	.start = ze_usdt_start,
	.thread = ze_usdt_thread,
	.stop = ze_usdt_stop,
	.finish = ze_usdt_finish,
	.destroy = ze_usdt_destroy,
	.check = ze_usdt_check,
};

IAPROF_REGISTER_PLUGIN(plugin)
