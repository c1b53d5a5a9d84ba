/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the device of an OpenCL program on a machine without a GPU, where Intel's driver accepts launches, and takes
 * each command for ended at once, without time stamps: LD_PRELOAD names it. Launches run one after another, as long as
 * PLAYED_TIMES=KERNEL=MICROSECONDS,... states; every second execution of a kernel takes a quarter more, every other one
 * a quarter less. Events of launches happen at their end, with time stamps of a clock that is not the host's, and calls
 * that wait take until then. It changes the driver's table of functions, which the tracer calls, too, and sees events
 * of launches by the driver's tracing, before the tracer does. At the end, it appends the truth to the file
 * PLAYED_TRUTH: lines of words between tabs, times in ns:
 *
 *     time  KERNEL  LAUNCHES  TIME
 *     idle  TIME                     between the first begin and the last end
 *     event COUNT                    launches that had one of the tracer
 *     alive COUNT                    of these events, those that were not released
 *     wrong COUNT                    questions about an event for which Intel's driver can wait: it has happened, and
 * the program has not waited for it or for a later one
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#define DRIVER "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so"
#define KERNELS_MAX 64
#define EVENTS_MAX 4096
#define QUEUES_MAX 1024
#define CLOCK_AHEAD UINT64_C(5000000000000) /* ns: of the device's clock */

/*
 * Times of half of the launches that found the device idle are those of a third clock: Intel's driver returns such now
 * and then.
 */
#define CLOCK_OTHER UINT64_C(900000000000) /* ns */

/* compute-runtime, opencl/source/tracing/tracing_types.h */
enum { ENQUEUE_ND_RANGE = 43, ENQUEUE_TASK = 55, EVENT_INFO = 68, ENQUEUE_ND_COUNT = 153 };
struct call {
	int32_t is_exit;
	cl_uint correlation;
	cl_ulong *data;
	const char *function;
	void **arguments;
	void *result;
};

struct played_kernel {
	char name[128];
	uint64_t time, launches, busy; /* ns */
};

struct played_event {
	cl_event event; /* NULL: free */
	uint64_t queued, begin, end;
	uint64_t launch; /* its number */
	bool is_tracers, is_unconverted;
	unsigned references;
};

struct played_queue {
	cl_command_queue queue;
	uint64_t end, launch; /* of its last launch */
};

static struct {
	pthread_mutex_t lock;
	cl_icd_dispatch driver;
	struct played_kernel kernels[KERNELS_MAX];
	unsigned kernel_count;
	struct played_event events[EVENTS_MAX];
	size_t event_count; /* places that were used */
	struct played_queue queues[QUEUES_MAX];
	uint64_t first, last, busy, launches, awaited, tracers, wrong;
	pid_t process;
} played = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t clock_now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

static void sleep_until(uint64_t moment)
{
	struct timespec time = { (time_t)(moment / 1000000000), (long)(moment % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static uint64_t device_time(uint64_t host)
{
	return host + CLOCK_AHEAD;
}

/* These are called with the lock. Returns NULL for events that are not of launches, a free place for NULL. */
static struct played_event *event_find(cl_event event)
{
	for (size_t i = 0; i < played.event_count; i++)
		if (played.events[i].event == event)
			return &played.events[i];
	return event || played.event_count == EVENTS_MAX ? NULL : &played.events[played.event_count++];
}

static struct played_queue *queue_find(cl_command_queue queue)
{
	struct played_queue *known = played.queues;

	while (known < played.queues + QUEUES_MAX && known->queue && known->queue != queue)
		known++;
	if (known == played.queues + QUEUES_MAX)
		abort();
	known->queue = queue;
	return known;
}

static struct played_kernel *kernel_named(const char *name)
{
	const char *times = getenv("PLAYED_TIMES");
	struct played_kernel *kernel = played.kernels;
	size_t length = strlen(name);

	while (kernel < played.kernels + played.kernel_count && strcmp(kernel->name, name) != 0)
		kernel++;
	if (kernel < played.kernels + played.kernel_count)
		return kernel;
	if (played.kernel_count == KERNELS_MAX)
		abort();
	played.kernel_count++;
	strcpy(kernel->name, name);
	for (const char *at = times; at && (at = strstr(at, name)); at++)
		if ((at == times || at[-1] == ',') && at[length] == '=')
			kernel->time = strtoull(at + length + 1, NULL, 10) * 1000;
	return kernel;
}

/* A launch was enqueued: it runs after those before. event: its event, or NULL. */
static void launch_play(cl_command_queue queue, cl_kernel handle, cl_event event, uint64_t queued, bool is_tracers)
{
	char name[sizeof played.kernels->name] = "";

	if (played.driver.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS)
		abort();
	pthread_mutex_lock(&played.lock);
	struct played_kernel *kernel = kernel_named(name);
	uint64_t begin = now(), time = kernel->launches++ % 2 ? kernel->time / 4 * 5 : kernel->time / 4 * 3;
	begin = begin > played.last ? begin : played.last;
	bool was_idle = queued > played.last;
	played.first = played.first ? played.first : begin;
	played.last = begin + time;
	played.busy += time;
	played.launches++;
	kernel->busy += time;
	struct played_queue *of_queue = queue_find(queue);
	of_queue->end = played.last;
	of_queue->launch = played.launches;
	struct played_event *known = event ? event_find(NULL) : NULL;
	if (event && !known)
		abort();
	if (known)
		*known = (struct played_event){ .event = event,
						.queued = queued,
						.begin = begin,
						.end = played.last,
						.launch = played.launches,
						.is_tracers = is_tracers,
						.is_unconverted = was_idle && played.launches % 2 == 0,
						.references = 1 };
	played.tracers += known && known->is_tracers;
	pthread_mutex_unlock(&played.lock);
}

/* The program has waited for the launches up to this one. */
static void awaited(uint64_t launch)
{
	played.awaited = launch > played.awaited ? launch : played.awaited;
}

static void queue_await(cl_command_queue queue)
{
	pthread_mutex_lock(&played.lock);
	uint64_t end = queue_find(queue)->end, launch = queue_find(queue)->launch;
	pthread_mutex_unlock(&played.lock);
	sleep_until(end);
	pthread_mutex_lock(&played.lock);
	awaited(launch);
	pthread_mutex_unlock(&played.lock);
}

static cl_int finish(cl_command_queue queue)
{
	queue_await(queue);
	return played.driver.clFinish(queue);
}

static cl_int read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to,
			  cl_uint count, const cl_event *list, cl_event *event)
{
	if (blocking)
		queue_await(queue);
	return played.driver.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, count, list, event);
}

static cl_int wait_for_events(cl_uint count, const cl_event *list)
{
	for (cl_uint i = 0; i < count; i++) {
		pthread_mutex_lock(&played.lock);
		const struct played_event *known = event_find(list[i]);
		uint64_t end = known ? known->end : 0, launch = known ? known->launch : 0;
		pthread_mutex_unlock(&played.lock);
		sleep_until(end);
		pthread_mutex_lock(&played.lock);
		awaited(launch);
		pthread_mutex_unlock(&played.lock);
	}
	return played.driver.clWaitForEvents(count, list);
}

static cl_int release_queue(cl_command_queue queue)
{
	cl_uint references;

	/* The driver waits before it releases the last reference. */
	if (played.driver.clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references,
						NULL) == CL_SUCCESS &&
	    references == 1)
		queue_await(queue);
	return played.driver.clReleaseCommandQueue(queue);
}

static bool event_get(cl_event event, struct played_event *copy)
{
	pthread_mutex_lock(&played.lock);
	const struct played_event *known = event ? event_find(event) : NULL;
	if (known)
		*copy = *known;
	pthread_mutex_unlock(&played.lock);
	return known;
}

/* Questions of the program that this thread passed to the driver, which traces only those. */
static __thread unsigned program_questions;

/* An event has happened only when its launch has ended. */
static void status_play(cl_event event, cl_event_info query, cl_int *value, bool is_tracers)
{
	struct played_event known;

	if (query != CL_EVENT_COMMAND_EXECUTION_STATUS || !value || *value < 0 || !event_get(event, &known))
		return;
	pthread_mutex_lock(&played.lock);
	if (now() < known.end)
		*value = CL_SUBMITTED;
	else if (!is_tracers)
		awaited(known.launch);
	else
		played.wrong += known.launch > played.awaited;
	pthread_mutex_unlock(&played.lock);
}

static void called(int32_t function, struct call *call, void *data)
{
	cl_event *event;

	(void)data;
	if (function == EVENT_INFO) {
		program_questions += !call->is_exit;
		if (call->is_exit && *(cl_int *)call->result == CL_SUCCESS)
			status_play(*(cl_event *)call->arguments[0], *(cl_event_info *)call->arguments[1],
				    *(cl_int **)call->arguments[3], false);
		return;
	}
	event = *(cl_event **)call->arguments[function == ENQUEUE_TASK ? 4 : 8];
	if (!call->is_exit) /* the tracer has not seen the call */
		*call->data = now() << 1 | (event != NULL);
	else if (*(cl_int *)call->result == CL_SUCCESS)
		launch_play(*(cl_command_queue *)call->arguments[0], *(cl_kernel *)call->arguments[1],
			    event ? *event : NULL, *call->data >> 1, !(*call->data & 1));
}

static cl_int event_info(cl_event event, cl_event_info query, size_t size, void *value, size_t *size_returned)
{
	unsigned before = program_questions;
	cl_int result = played.driver.clGetEventInfo(event, query, size, value, size_returned);

	if (result == CL_SUCCESS && program_questions == before)
		status_play(event, query, value, true);
	return result;
}

static cl_int event_times(cl_event event, cl_profiling_info query, size_t size, void *value, size_t *size_returned)
{
	cl_int result = played.driver.clGetEventProfilingInfo(event, query, size, value, size_returned);
	struct played_event known;

	if (result != CL_SUCCESS || !value || !event_get(event, &known))
		return result;
	if (now() < known.end)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	uint64_t time = device_time(query == CL_PROFILING_COMMAND_START ? known.begin
				    : query == CL_PROFILING_COMMAND_END ? known.end
									: known.queued);
	*(cl_ulong *)value = known.is_unconverted ? time + CLOCK_OTHER : time;
	return result;
}

static cl_int device_and_host_timer(cl_device_id device, cl_ulong *device_timer, cl_ulong *host)
{
	(void)device;
	*host = clock_now(CLOCK_MONOTONIC_RAW);
	*device_timer = device_time(now());
	return CL_SUCCESS;
}

static cl_int retain_event(cl_event event)
{
	pthread_mutex_lock(&played.lock);
	struct played_event *known = event ? event_find(event) : NULL;
	if (known)
		known->references++;
	pthread_mutex_unlock(&played.lock);
	return played.driver.clRetainEvent(event);
}

static cl_int release_event(cl_event event)
{
	pthread_mutex_lock(&played.lock);
	struct played_event *known = event ? event_find(event) : NULL;
	if (known && --known->references == 0)
		known->event = NULL;
	pthread_mutex_unlock(&played.lock);
	return played.driver.clReleaseEvent(event);
}

static void table_change(cl_icd_dispatch *table)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)table / page * page;

	if (mprotect((void *)begin, (uintptr_t)(table + 1) - begin, PROT_READ | PROT_WRITE) != 0)
		abort();
	played.driver = *table;
	table->clFinish = finish;
	table->clEnqueueReadBuffer = read_buffer;
	table->clWaitForEvents = wait_for_events;
	table->clReleaseCommandQueue = release_queue;
	table->clGetEventInfo = event_info;
	table->clGetEventProfilingInfo = event_times;
	table->clGetDeviceAndHostTimer = device_and_host_timer;
	table->clRetainEvent = retain_event;
	table->clReleaseEvent = release_event;
}

/* The C library's dlsym(): the tracer's would start it, and the driver calls those that trace it in that order. */
static void *symbol(void *library, const char *name)
{
	void *(*find)(void *, const char *) =
		(void *(*)(void *, const char *))dlvsym(dlopen("libc.so.6", RTLD_NOW), "dlsym", "GLIBC_2.2.5");
	void *found = find ? find(library, name) : NULL;

	if (!found)
		abort();
	return found;
}

__attribute__((constructor)) static void device_begin(void)
{
	typedef cl_int create(cl_device_id, void (*)(int32_t, struct call *, void *), void *, void **);
	typedef cl_int set(void *, int32_t, cl_uint);
	typedef cl_int enable(void *);
	void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL), *tracing;
	cl_platform_id platform;
	cl_device_id device;

	if (!driver)
		abort();
	clIcdGetPlatformIDsKHR_fn platforms = (clIcdGetPlatformIDsKHR_fn)symbol(driver, "clIcdGetPlatformIDsKHR");
	void *(*extension)(const char *) = (void *(*)(const char *))symbol(driver, "clGetExtensionFunctionAddress");
	if (platforms(1, &platform, NULL) != CL_SUCCESS)
		abort();
	cl_icd_dispatch *table = *(cl_icd_dispatch **)platform;
	if (table->clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL) != CL_SUCCESS ||
	    ((create *)extension("clCreateTracingHandleINTEL"))(device, called, NULL, &tracing) != CL_SUCCESS)
		abort();
	set *point = (set *)extension("clSetTracingPointINTEL");
	point(tracing, ENQUEUE_ND_RANGE, 1);
	point(tracing, ENQUEUE_TASK, 1);
	point(tracing, ENQUEUE_ND_COUNT, 1);
	point(tracing, EVENT_INFO, 1);
	if (((enable *)extension("clEnableTracingINTEL"))(tracing) != CL_SUCCESS)
		abort();
	table_change(table);
	played.process = getpid();
}

__attribute__((destructor)) static void truth_write(void)
{
	const char *path = getenv("PLAYED_TRUTH");
	FILE *file = path && played.process == getpid() ? fopen(path, "a") : NULL;
	uint64_t alive = 0;

	if (!file)
		return;
	for (unsigned i = 0; i < played.kernel_count; i++)
		fprintf(file, "time\t%s\t%lu\t%lu\n", played.kernels[i].name, played.kernels[i].launches,
			played.kernels[i].busy);
	for (size_t i = 0; i < played.event_count; i++)
		alive += played.events[i].event && played.events[i].is_tracers;
	fprintf(file, "idle\t%lu\nevent\t%lu\nalive\t%lu\nwrong\t%lu\n", played.last - played.first - played.busy,
		played.tracers, alive, played.wrong);
	fclose(file);
}
