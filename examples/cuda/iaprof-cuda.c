/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source of stall samples and kernel launches of CUDA programs. For `iaprof -s cuda -- PROGRAM`, it sets the variable
 * with which the CUDA driver loads libiaprof-cuda.so into the program; for `iaprof -s cuda -p PID`, it has iaprof load
 * that library. It reads what the library sends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <iaprof/iaprof.h>

#include "launches.h"
#include "process.h"

#define PROCESSES_MAX 256
#define ACCEPTS_MAX 256 /* at a time: more than may wait */
#define NETWORKS_MAX 16
#define RANGE_VARIABLE "NVTX_INJECTION64_PATH"
/* The copy of the library that iaprof makes in a process which does not see the file. */
#define LIBRARY_NAME "libiaprof-cuda.so"
#define CUDA_COPY "/memfd:" LIBRARY_NAME
/* Of all processes: 1.3 million a second. */
#define RECORDS_AT_ONCE 65536u
#define READ_INTERVAL (50u * 1000 * 1000)
/* The library sends launches and code within this time, in ns. */
#define BEHIND (500u * 1000 * 1000)
/* At the end, the library sends what it has and gives CUPTI back: how often that is looked for, and how long. */
#define END_PAUSE_US 10000
#define END_WAIT (1500u * 1000 * 1000)
/* And how long the rest of their rings is read, which they may still write. */
#define REST_WAIT (500u * 1000 * 1000)
/* Shortest interval of counters. */
#define COUNTERS_INTERVAL (100u * 1000 * 1000)
/* And executions: it asks CUPTI for them every quarter of a second. */
#define TIMES_BEHIND (1500u * 1000 * 1000)

struct cuda {
	struct launches launches;
	const char *library, *cupti;
	const char *nvml;
	uint64_t period, sleep, mode, time, launch_rate, sampling, counters;
	bool cubins, launches_taken, ranges, copies;

	const struct iaprof_host *host;
	struct session session;
	struct record_batch batch;
	char library_path[PATH_MAX];
	char socket_name[64];
	int sockets[NETWORKS_MAX]; /* one in each network namespace of the programs */
	struct stat networks[NETWORKS_MAX];
	size_t socket_count;
	bool is_attaching;
	struct process *processes[PROCESSES_MAX];
	size_t process_count, process_total;
	uint64_t refused, lost_reported; /* lost_reported: lost launches that were reported */
	uint64_t reported[CUDA_DROP_COUNT];
	uint64_t last_read;
};

enum sampling_choice { SAMPLING_AUTO, SAMPLING_YES, SAMPLING_NO };
static const char *const samplings[] = { "auto", "yes", "no", NULL };
static const char *const modes[] = { "continuous", "serialized", NULL };
static const char *const times[] = { "off", "all", NULL };

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct cuda, period, UINT, "period", "24",
		      "GPU cycles between samples of a multiprocessor, as a power of two", .minimum = 5, .maximum = 31),
	IAPROF_OPTION(struct cuda, sleep, DURATION, "sleep", "1s", "Interval in which CUPTI reads the GPU's buffer",
		      .minimum = 1000000, .maximum = UINT64_C(10000000000), .unit = "ms"),
	IAPROF_OPTION(struct cuda, mode, CHOICE, "mode", "continuous",
		      "Serialized runs one kernel at a time, which is much slower", .choices = modes),
	IAPROF_OPTION(struct cuda, sampling, CHOICE, "sampling", "auto",
		      "Sample stalls: auto, in programs that iaprof starts; yes, in running ones, too, which are "
		      "slowed until "
		      "they end, because CUPTI cannot end it; no, if it slows the program's launches",
		      .choices = samplings),
	IAPROF_OPTION(struct cuda, time, CHOICE, "time", "all",
		      "Times of executions: of all kernels; off: only samples, which do not show how long kernels take",
		      .choices = times),
	IAPROF_OPTION(struct cuda, copies, BOOL, "copies", "yes",
		      "Times, bytes and launches of copies, as time= has those of kernels"),
	IAPROF_OPTION(struct cuda, launch_rate, UINT, "launch-rate", "50",
		      "Launch stacks to take per thread, chosen at random; 0: all", .maximum = 1000000, .unit = "Hz"),
	IAPROF_OPTION(struct cuda, launches_taken, BOOL, "launches", "yes",
		      "Count launches; no: for programs that launch so many kernels that this slows them"),
	IAPROF_OPTION(struct cuda, launches.stacks.user, BOOL, "stacks", "yes", "Take launch stacks (needs BPF)"),
	STACK_READER_PYTHON_OPTION(struct cuda, launches.stacks, "launch stacks"),
	IAPROF_OPTION(struct cuda, ranges, BOOL, "ranges", "yes",
		      "Frames for the NVTX ranges that a launching thread is in"),
	IAPROF_OPTION(struct cuda, cubins, BOOL, "cubins", "yes", "Read the code that the program loads"),
	IAPROF_OPTION(struct cuda, counters, DURATION, "counters", "500ms",
		      "Interval in which power, clocks, memory and utilization of the GPUs are read, by NVML; 0: never",
		      .maximum = UINT64_C(60000000000), .unit = "ms"),
	IAPROF_OPTION(struct cuda, nvml, STRING, "nvml", "libnvidia-ml.so.1", "NVML to use"),
	IAPROF_OPTION(struct cuda, library, STRING, "library", NULL,
		      "Injected library, by default libiaprof-cuda.so in this plugin's folder"),
	IAPROF_OPTION(struct cuda, cupti, STRING, "cupti", NULL,
		      "CUPTI to use, by default the program's own, then PyTorch's, then the toolkit's"),
};

/* Finds the library beside this plugin, whose file has the address of a function here. */
static int find_library(struct cuda *cuda)
{
	const struct iaprof_host *host = cuda->host;
	Dl_info info;
	char path[PATH_MAX];
	if (cuda->library)
		snprintf(path, sizeof path, "%s", cuda->library);
	else if (dladdr((void *)&options, &info) && info.dli_fname && strrchr(info.dli_fname, '/'))
		snprintf(path, sizeof path, "%.*s/libiaprof-cuda.so",
			 (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	else
		snprintf(path, sizeof path, "libiaprof-cuda.so");
	if (!realpath(path, cuda->library_path))
		return host->fail(host, errno, "cannot find %s: %s (set library=)", path, strerror(errno));
	return 0;
}

static int name_socket(struct cuda *cuda)
{
	uint64_t random[4];
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return cuda->host->fail(cuda->host, EIO, "cannot get a random number");
	snprintf(cuda->session.token, sizeof cuda->session.token, "%016" PRIx64 "%016" PRIx64, random[2], random[3]);
	snprintf(cuda->socket_name, sizeof cuda->socket_name, "iaprof-cuda-%016" PRIx64 "%016" PRIx64, random[0],
		 random[1]);
	return 0;
}

/* Returns a socket, or a negative errno. */
static int listen_here(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(name);
	memcpy(address.sun_path + 1, name, length);
	int opened = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (opened < 0)
		return -errno;
	if (!bind(opened, (const struct sockaddr *)&address,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) &&
	    !listen(opened, 128))
		return opened;
	int error = errno;
	close(opened);
	return -error;
}

struct elsewhere {
	const char *name;
	int network, result;
};

/* On a thread of its own, which stays in that network namespace. */
static void *listen_elsewhere(void *argument)
{
	struct elsewhere *elsewhere = argument;
	elsewhere->result = setns(elsewhere->network, CLONE_NEWNET) ? -errno : listen_here(elsewhere->name);
	return NULL;
}

/*
 * Opens a socket in the network namespace of a process, unless there is one: abstract names are of a namespace, and a
 * program in a container has its own. Returns 0 or a negative errno.
 */
static int open_socket(struct cuda *cuda, const char *namespace)
{
	pthread_t thread;
	struct elsewhere elsewhere = { .name = cuda->socket_name };
	struct stat *network = &cuda->networks[cuda->socket_count];
	if (cuda->socket_count == NETWORKS_MAX)
		return -E2BIG;
	elsewhere.network = open(namespace, O_RDONLY | O_CLOEXEC);
	if (elsewhere.network < 0 || fstat(elsewhere.network, network)) {
		int error = errno;
		if (elsewhere.network >= 0)
			close(elsewhere.network);
		return -error;
	}
	bool is_known = false;
	for (size_t i = 0; i < cuda->socket_count && !is_known; i++)
		is_known = cuda->networks[i].st_ino == network->st_ino && cuda->networks[i].st_dev == network->st_dev;
	if (!is_known && !cuda->socket_count) {
		elsewhere.result = listen_here(cuda->socket_name);
	} else if (!is_known) {
		int error = pthread_create(&thread, NULL, listen_elsewhere, &elsewhere);
		elsewhere.result = -error;
		if (!error)
			pthread_join(thread, NULL);
	}
	close(elsewhere.network);
	if (is_known || elsewhere.result < 0)
		return elsewhere.result;
	cuda->sockets[cuda->socket_count++] = elsewhere.result;
	return 0;
}

/* NVTX has one such library. */
static int set_range_library(struct cuda *cuda)
{
	const struct iaprof_host *host = cuda->host;
	const char *other = getenv(RANGE_VARIABLE);
	if (!other || !*other)
		return host->command_environment(host, RANGE_VARIABLE, cuda->library_path, IAPROF_ENVIRONMENT_SET);
	host->log(host, IAPROF_LOG_INFO, "no NVTX ranges: " RANGE_VARIABLE " is %s already, which stays", other);
	return 0;
}

/* What the library is to do: see CUDA_VARIABLE. */
static void write_settings(const struct cuda *cuda, bool has_stacks, char text[static CUDA_SETTINGS_SIZE])
{
	bool samples = cuda->sampling == SAMPLING_YES || (cuda->sampling == SAMPLING_AUTO && !cuda->is_attaching);
	snprintf(text, CUDA_SETTINGS_SIZE, "%s %s %" PRIu64 " %" PRIu64 " %u %d %" PRIu64 " %d %d %d %s",
		 cuda->socket_name, cuda->session.token, cuda->period, cuda->sleep / 1000000, (unsigned)cuda->mode + 1,
		 !cuda->launches_taken ? CUDA_LAUNCHES_NONE
		 : has_stacks          ? CUDA_LAUNCHES_HOOK
				       : CUDA_LAUNCHES_RING,
		 cuda->launch_rate, cuda->cubins, samples,
		 !cuda->time    ? CUDA_TIMES_NONE
		 : cuda->copies ? CUDA_TIMES_COPIES
				: CUDA_TIMES_KERNELS,
		 cuda->cupti ? cuda->cupti : "");
}

static int set_environment(struct cuda *cuda, bool has_stacks)
{
	const struct iaprof_host *host = cuda->host;
	char settings[CUDA_SETTINGS_SIZE];
	const char *other = getenv("CUDA_INJECTION64_PATH");
	if (other && *other) {
		host->log(host, IAPROF_LOG_WARNING,
			  "no CUDA program is profiled: CUDA_INJECTION64_PATH is %s already, which stays (unset it)",
			  other);
		return 0;
	}
	write_settings(cuda, has_stacks, settings);
	int result = host->command_environment(host, CUDA_VARIABLE, settings, IAPROF_ENVIRONMENT_SET);
	if (!result)
		result = host->command_environment(host, "CUDA_INJECTION64_PATH", cuda->library_path,
						   IAPROF_ENVIRONMENT_SET);
	if (!result && cuda->ranges && has_stacks)
		result = set_range_library(cuda);
	return result ? host->fail(host, result, "%s",
				   result == -ENOENT
					   ? "source cuda profiles a program that iaprof starts (give it after --), or "
					     "running ones (-p PID)"
					   : "cannot set the program's environment")
		      : 0;
}

/*
 * Has the library loaded into the running programs. They call the driver through the runtime or by themselves, from
 * their own code; memory functions are left out, because allocators may be built on them.
 */
static int attach(struct cuda *cuda, bool has_stacks)
{
	static const char calls[] =
		"libcuda.so cuLaunchKernel cuLaunchKernel_ptsz cuLaunchKernelEx cuLaunchKernelEx_ptsz cuGraphLaunch "
		"cuGraphLaunch_ptsz cuStreamSynchronize cuEventQuery cuEventRecord cuCtxSynchronize;"
		"libcudart.so cudaLaunchKernel cudaLaunchKernelExC cudaGraphLaunch cudaMemcpyAsync "
		"cudaStreamSynchronize cudaDeviceSynchronize cudaEventQuery cudaEventRecord";
	const struct iaprof_host *host = cuda->host;
	const struct iaprof_target *target = host->target(host);
	char settings[CUDA_SETTINGS_SIZE], network[64];
	int result = 0;
	if (host->size < offsetof(struct iaprof_host, inject) + sizeof host->inject)
		return host->fail(host, ENOTSUP, "this iaprof cannot attach to running programs: it is too old");
	write_settings(cuda, has_stacks, settings);
	for (uint32_t i = 0; i < target->pid_count && !result; i++) {
		const struct iaprof_injection injection = { .size = sizeof injection,
							    .pid = target->pids[i],
							    .library = cuda->library_path,
							    .function = CUDA_ATTACH,
							    .argument = settings,
							    .api = "CUDA",
							    .calls = calls };
		snprintf(network, sizeof network, "/proc/%" PRIu32 "/ns/net", target->pids[i]);
		result = open_socket(cuda, network);
		result = result ? host->fail(host, result, "process %" PRIu32 ": its network namespace: %s",
					     target->pids[i], strerror(-result))
				: host->inject(host, &injection);
	}
	if (!result && cuda->sampling == SAMPLING_YES)
		host->log(host, IAPROF_LOG_WARNING,
			  "sampling=yes: CUPTI cannot end the sampling of a running program, whose launches are slower "
			  "until it ends");
	return result;
}

static void process_launch(void *context, const struct cuda_launch_event *event)
{
	struct cuda *cuda = context;
	for (size_t i = 0; i < cuda->process_count; i++)
		if (process_id(cuda->processes[i]) == event->pid)
			return process_launched(cuda->processes[i], event);
	/* The library is the same in programs of other runs. */
}

/* A copy in memory, or the file of an earlier version that a program has loaded before. */
static bool is_other_library(const struct cuda *cuda, const struct iaprof_mapped_file *file)
{
	struct stat status;
	const char *slash = strrchr(file->path, '/');
	size_t length = strlen(LIBRARY_NAME);
	if (strncmp(file->path, CUDA_COPY, strlen(CUDA_COPY)) == 0)
		return true;
	return slash && strncmp(slash + 1, LIBRARY_NAME, length) == 0 &&
	       (!slash[1 + length] || slash[1 + length] == ' ') && !stat(cuda->library_path, &status) &&
	       status.st_ino != file->inode;
}

static int file_mapped(const struct iaprof_host *host, void *instance, const struct iaprof_mapped_file *file)
{
	struct cuda *cuda = instance;
	if (!is_other_library(cuda, file))
		return 0;
	int result = launches_attach_copy(&cuda->launches, file);
	if (result)
		host->log(host, IAPROF_LOG_WARNING, "launches of process %" PRIu32 " have no stacks: %s", file->pid,
			  strerror(-result));
	return 0;
}

static int prepare(const struct iaprof_host *host, void *instance)
{
	struct cuda *cuda = instance;
	char reason[256];
	cuda->host = host;
	cuda->session = (struct session){ .host = host, .batch = &cuda->batch };
	if (cuda->time)
		cuda->session.time_type = host->declare_value_type(host, "gpu-time", "nanoseconds", 0);
	if (cuda->time && cuda->copies)
		cuda->session.copy_type = host->declare_value_type(host, "gpu-copy-time", "nanoseconds", 0);
	int result = find_library(cuda);
	if (!result)
		result = record_batch_init(&cuda->batch, host);
	if (!result)
		result = name_socket(cuda);
	if (result)
		return result;
	cuda->is_attaching = host->target(host)->scope == IAPROF_SCOPE_PIDS;
	result = open_socket(cuda, "/proc/self/ns/net");
	if (result)
		return host->fail(host, result, "cannot open a socket: %s", strerror(-result));
	snprintf(reason, sizeof reason, cuda->launches_taken ? "stacks=no" : "launches=no");
	bool has_stacks = cuda->launches_taken && cuda->launches.stacks.user &&
			  !launches_open(&cuda->launches, host, cuda->library_path, reason, sizeof reason);
	cuda->launches.take = process_launch;
	cuda->launches.context = cuda;
	if (!has_stacks) {
		host->log(host, IAPROF_LOG_WARNING, "launches have no stacks: %s", reason);
		host->metadata(host, "launch stacks", "none: %s", reason);
	}
	if (!cuda->is_attaching)
		return set_environment(cuda, has_stacks);
	/* A copy of the library in a container has another file to attach to. */
	result = has_stacks ? host->on_mapped_file(host, file_mapped) : 0;
	if (result)
		return host->fail(host, result, "cannot learn of mapped files");
	return attach(cuda, has_stacks);
}

static uint32_t owner_of(uint32_t pid)
{
	struct stat status;
	char path[32];
	snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
	return stat(path, &status) ? 0 : status.st_uid;
}

/*
 * Every user sees the socket's name in /proc/net/unix: returns whether a connection can be of a profiled program, which
 * is one of the target, or runs as the user of the command, or as root.
 */
static bool is_of_target(const struct cuda *cuda, int opened)
{
	const struct iaprof_target *target = cuda->host->target(cuda->host);
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(opened, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0)
		return false;
	bool is_found = !cuda->is_attaching && (!peer.uid || peer.uid == owner_of(target->command_pid));
	for (uint32_t i = 0; cuda->is_attaching && i < target->pid_count && !is_found; i++)
		is_found = target->pids[i] == (uint32_t)peer.pid;
	return is_found;
}

static void accept_from(struct cuda *cuda, int socket)
{
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		int opened = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (opened < 0)
			return;
		if (!is_of_target(cuda, opened)) {
			close(opened);
			cuda->session.strangers++;
			continue;
		}
		if (cuda->process_count == PROCESSES_MAX) {
			close(opened);
			cuda->refused++;
			continue;
		}
		struct process *process = process_new(&cuda->session, opened);
		if (process) {
			cuda->processes[cuda->process_count++] = process;
			cuda->process_total++;
		}
	}
}

static void accept_all(struct cuda *cuda)
{
	for (size_t i = 0; i < cuda->socket_count; i++)
		accept_from(cuda, cuda->sockets[i]);
}

static void report_losses(struct cuda *cuda)
{
	static const char *const reasons[CUDA_DROP_COUNT] = {
		[CUDA_DROP_SAMPLES] = "samples: ring full",
		[CUDA_DROP_LAUNCHES] = "launches: ring full",
		[CUDA_DROP_RECORDS] = "records: ring full",
		[CUDA_DROP_CUBINS] = "code objects: not sent",
		[CUDA_DROP_HARDWARE] = "samples: dropped by the GPU",
		[CUDA_DROP_FULL] = "the GPU's sample buffer was full (raise period=)",
		[CUDA_DROP_EXECUTIONS] = "executions: buffers full",
		[CUDA_DROP_TIMES] = "executions: CUPTI states no time",
		[CUDA_DROP_COPIES] = "copies: buffers full",
		[CUDA_DROP_COPY_TIMES] = "copies: CUPTI states no time",
		[CUDA_DROP_UNLISTED] = "samples: in kernels of the driver, whose stall reasons are unknown",
	};
	const struct iaprof_host *host = cuda->host;
	uint64_t lost = launches_sum(&cuda->launches).lost;
	for (int i = 0; i < CUDA_DROP_COUNT; i++) {
		uint64_t more = cuda->session.dropped[i] - cuda->reported[i];
		if (more)
			host->lost(host, reasons[i], cuda->last_read, more, 0, 0);
		cuda->reported[i] += more;
	}
	if (lost > cuda->lost_reported)
		host->lost(host, "launches: no room for their stacks", cuda->last_read, lost - cuda->lost_reported, 0,
			   0);
	cuda->lost_reported = lost;
}

/* Reads what all processes sent. Returns whether any of them has more. */
static void read_all(struct cuda *cuda)
{
	uint64_t now = cuda->host->clock(cuda->host);
	accept_all(cuda);
	cuda->session.records_at_once = RECORDS_AT_ONCE / (uint32_t)(cuda->process_count ? cuda->process_count : 1);
	for (size_t i = 0; i < cuda->process_count; i++)
		(void)process_read(cuda->processes[i]);
	/* A process is kept until its launches were read. */
	launches_read(&cuda->launches);
	for (size_t i = 0; i < cuda->process_count; i++)
		process_settle(cuda->processes[i]);
	for (size_t i = cuda->process_count; i-- > 0;) {
		if (process_read(cuda->processes[i]))
			continue;
		process_free(cuda->processes[i]);
		cuda->processes[i] = cuda->processes[--cuda->process_count];
	}
	report_losses(cuda);
	gpu_counters_send(cuda->session.counters, &cuda->batch);
	session_forget_files(&cuda->session, now);
	(void)record_batch_flush(&cuda->batch);
	(void)cuda->host->advance(cuda->host, now - (cuda->time ? TIMES_BEHIND : BEHIND));
	cuda->last_read = now;
}

static int timer(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	(void)host, (void)expirations;
	read_all(instance);
	return 0;
}

static int start(const struct iaprof_host *host, void *instance)
{
	struct cuda *cuda = instance;
	cuda->last_read = host->clock(host);
	if (cuda->counters)
		cuda->session.counters = gpu_counters_new(
			cuda->nvml, cuda->counters > COUNTERS_INTERVAL ? cuda->counters : COUNTERS_INTERVAL);
	return host->on_timer(host, READ_INTERVAL, timer);
}

/* Programs that go on send what they have, and have nothing more to do with us. */
static void end_processes(struct cuda *cuda)
{
	cuda->session.until = cuda->host->clock(cuda->host);
	for (size_t i = 0; i < cuda->process_count; i++)
		process_finish(cuda->processes[i]);
	while (cuda->process_count && cuda->host->clock(cuda->host) - cuda->session.until < END_WAIT) {
		usleep(END_PAUSE_US);
		read_all(cuda);
	}
}

static int stop(const struct iaprof_host *host, void *instance)
{
	struct cuda *cuda = instance;
	end_processes(cuda);
	/* A ring holds 16 MiB, 65,536 records are read at a time, and the smallest has 24 bytes. */
	uint64_t until = host->clock(host) + REST_WAIT;
	for (int i = 0; i < 16 && host->clock(host) < until; i++)
		read_all(cuda);
	gpu_counters_end(cuda->session.counters, host);
	cuda->session.counters = NULL;
	return 0;
}

static int finish(const struct iaprof_host *host, void *instance)
{
	struct cuda *cuda = instance;
	const struct cuda_processor sum = launches_sum(&cuda->launches);
	if (cuda->launches.ring)
		stack_reader_describe(&cuda->launches.stacks, &sum.stacks, "launch stacks unwound");
	host->log(host, IAPROF_LOG_INFO,
		  "%zu processes, %" PRIu64 " samples, %" PRIu64 " executions, %" PRIu64 " launches, %" PRIu64
		  " of their stacks missing, %" PRIu64 " copies",
		  cuda->process_total, cuda->session.samples, cuda->session.executions, cuda->session.launch_count,
		  (uint64_t)sum.stacks.missing, cuda->session.copies);
	int result = 0;
	if (cuda->is_attaching && cuda->process_total <= cuda->session.refusals)
		result = host->fail(host, ENOTCONN, "no CUDA program was attached to%s",
				    cuda->process_total ? ""
							: " (if the library was loaded, the program lacks sockets, "
							  "threads or memory for it)");
	else if (!cuda->process_total)
		host->log(host, IAPROF_LOG_WARNING,
			  "no CUDA program ran: the driver loads the library in cuInit() (is libcuda.so.1 there?)");
	if (cuda->refused)
		host->lost(host, "processes: too many at one time", 0, cuda->refused, 0, 0);
	if (cuda->session.strangers)
		host->log(host, IAPROF_LOG_WARNING, "%" PRIu64 " connections of other programs were refused",
			  cuda->session.strangers);
	if (cuda->session.unkept)
		host->lost(host, "stacks of CUDA graphs: too many different ones", 0, cuda->session.unkept, 0, 0);
	if (cuda->session.unknown)
		host->lost(host, "records of the library that could not be used", 0, cuda->session.unknown, 0, 0);
	return result;
}

static void destroy(const struct iaprof_host *host, void *instance)
{
	struct cuda *cuda = instance;
	(void)host;
	for (size_t i = 0; i < cuda->process_count; i++)
		process_free(cuda->processes[i]);
	session_forget_files(&cuda->session, UINT64_MAX);
	array_free(&cuda->session.files);
	range_frames_free(&cuda->session.ranges);
	launches_close(&cuda->launches);
	record_batch_free(&cuda->batch);
	for (size_t i = 0; i < cuda->socket_count; i++)
		close(cuda->sockets[i]);
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.prepare = prepare,
	.start = start,
	.stop = stop,
	.finish = finish,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags =
		IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_TARGETS | IAPROF_PLUGIN_JOBS,
	.name = "cuda",
	.version = "0.1",
	.description = "Stall samples and kernel launches of CUDA programs, with launch stacks (CUPTI)",
	.instance_size = sizeof(struct cuda),
	.source = &operations,
	.destroy = destroy,
};
IAPROF_REGISTER_PLUGIN(plugin)
