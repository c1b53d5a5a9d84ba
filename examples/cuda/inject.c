/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library that the CUDA driver loads into a program (CUDA_INJECTION64_PATH) and whose InitializeInjection() it
 * calls in cuInit(), or that iaprof loads into a running program, where it calls CUDA_ATTACH. It subscribes to CUPTI,
 * samples PCs and counts launches, and sends all that to the plugin (transport.h), until the plugin closes its socket.
 * If anything fails, the library does nothing more, and the program runs as without it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "copy_calls.h"
#include "cupti.h"
#include "executions.h"
#include "find_cupti.h"
#include "launch_counts.h"
#include "sampling.h"
#include "writer.h"

#define EXPORT __attribute__((visibility("default")))

#define CUBIN_SIZE_MAX (UINT64_C(256) << 20)
/* Number of consecutive calls of one thread after which other threads are assumed not to call. */
#define CALLS_ALONE 16
/* Duration of a slice in which launch callbacks are on, and of the initial time in which they are always on. */
#define SLICE_MS 10
#define ALL_LAUNCHES_MS 1000
/*
 * Upper bound of the time that a callback adds to a launch, and the reciprocal of the share of the program's time that
 * all callbacks may take.
 */
#define CALLBACK_NS 1000
#define PART_OF_TIME 400
/* Maximum interval in slices: they are at most 300 ms apart, so that launches are reported in time. */
#define INTERVAL_MAX 30
#define READ_MS 250
/* Minimum size of a memory operation whose kernel in the driver is counted: smaller ones take little time. */
#define LARGE_MEMORY (UINT64_C(256) << 10)
#define NANOSECONDS 1000000000ull
#define EXIT_WAIT_SECONDS 5
/* Number of calls after which the share of overlapping ones is judged. */
#define CALLS_JUDGED 10000u
/* How long the end of a profile waits for threads to leave their calls, and the program's end for that. */
#define CALLS_WAIT_MS 2000
/* In which the plugin gets the unwind tables of a running program: without them, stacks end in the driver. */
#define TABLES_MS 300
/* After it, the plugin has read the ring. */
#define RELEASE_SECONDS 5
/* Contexts that existed before the library, and are to be sampled. */
#define EARLIER_CONTEXTS_MAX 16
/* Launches per second from which the cost of their times, 1 us each, is reported: 2 % of a thread. */
#define MANY_LAUNCHES 20000

struct library {
	struct cupti_functions cupti;
	cupti_subscriber subscriber;
	struct writer writer;
	struct sampling *sampling;
	struct sampling_settings settings;
	struct launch_counts launches;
	uint32_t take_cubins, is_sampling;
	uint32_t takes_times; /* enum cuda_times */

	pthread_mutex_t callbacks_lock;
	bool has_callbacks, is_disabling;
	uint32_t inside;      /* threads within a call */
	uint32_t copying;     /* those within one that copies, which may wait for the copy */
	uint32_t captures;    /* of streams, in progress */
	uint32_t overlapping; /* calls that began while another thread was within one */
	bool is_overlap_reported, is_cost_reported;
	uint32_t last_thread, alone; /* the last thread that made a call, and the number of its consecutive calls */

	/* Contexts in which the launching threads are: of those that existed before, nobody tells. */
	cupti_context earlier[EARLIER_CONTEXTS_MAX];
	uint32_t earlier_count, earlier_sampled;
	bool is_attached; /* to a running program */

	pthread_mutex_t stop_lock; /* for the next four */
	pthread_cond_t stop;
	bool is_stopping; /* the program ends */
	bool is_active;   /* there is a profile */
	bool is_ending;   /* whose plugin is gone */
	bool is_off;      /* nothing is done in callbacks */
	bool is_forked;   /* CUDA does not work in this child */
};
/* The driver calls back without context; the library exists once in a process. */
static struct library library = { .writer = WRITER_NONE,
				  .launches.lock = PTHREAD_MUTEX_INITIALIZER,
				  .callbacks_lock = PTHREAD_MUTEX_INITIALIZER,
				  .stop_lock = PTHREAD_MUTEX_INITIALIZER,
				  .is_off = true };

static void module_loaded(const struct cupti_module_data *module)
{
	struct cupti_crc crc = { .size = sizeof crc, .cubin_size = module->size, .cubin = module->cubin };
	if (!library.take_cubins || !module->cubin || !module->size || module->size > CUBIN_SIZE_MAX ||
	    library.cupti.cubin_crc(&crc))
		return;
	struct cuda_cubin cubin = { .magic = CUDA_MAGIC,
				    .type = CUDA_CUBIN,
				    .module = module->id,
				    .crc = crc.crc,
				    .size = module->size,
				    .time = sampling_clock() };
	writer_send_cubin(&library.writer, &cubin, module->cubin);
}

static void module_unloaded(const struct cupti_module_data *module)
{
	struct cuda_unload record = { .header = { sizeof record, CUDA_RECORD_UNLOAD },
				      .time = sampling_clock(),
				      .module = module->id };
	writer_put(&library.writer, &record, sizeof record, NULL, 0, CUDA_DROP_RECORDS, 1);
}

/* Of the call that this thread makes: whether it became a node of a graph, and whether it is counted at its end. */
static __thread bool is_captured, is_undecided;

/* Returns whether executions of a node have times. */
static bool is_timed(const struct cupti_graph_data *node)
{
	bool is_copy = node->node_type == CUPTI_NODE_COPY || node->node_type == CUPTI_NODE_SET;
	return library.takes_times >= (is_copy ? CUDA_TIMES_COPIES : CUDA_TIMES_KERNELS) &&
	       (is_copy || node->node_type == CUPTI_NODE_KERNEL);
}

/* What happens to nodes while programs run is seldom: they make their graphs at the start. */
static void node_made(const struct cupti_graph_data *made)
{
	uint64_t id;
	is_captured = true;
	if (made && is_timed(made) && !library.cupti.graph_node_id(made->node, &id))
		launch_counts_add_node(&library.launches, id);
}

static void node_cloned(const struct cupti_graph_data *made)
{
	struct cuda_node record = { .header = { sizeof record, CUDA_RECORD_NODE } };
	if (made && is_timed(made) && !library.cupti.graph_node_id(made->node, &record.id) &&
	    !library.cupti.graph_node_id(made->original_node, &record.original))
		writer_put(&library.writer, &record, sizeof record, NULL, 0, CUDA_DROP_RECORDS, 1);
}

static void resource_changed(uint32_t id, const struct cupti_resource_data *resource)
{
	switch (id) {
	case CUPTI_CONTEXT_CREATED:
		if (library.is_sampling)
			sampling_add(library.sampling, resource->context);
		break;
	case CUPTI_CONTEXT_DESTROY_STARTING:
		sampling_remove(library.sampling, resource->context);
		break;
	case CUPTI_GRAPH_NODE_CREATED:
		node_made(resource->descriptor);
		break;
	case CUPTI_GRAPH_NODE_CLONED:
		node_cloned(resource->descriptor);
		break;
	case CUPTI_MODULE_LOADED:
		if (resource->descriptor)
			module_loaded(resource->descriptor);
		break;
	case CUPTI_MODULE_UNLOAD_STARTING:
		if (resource->descriptor)
			module_unloaded(resource->descriptor);
		break;
	default:
		break;
	}
}

static const struct {
	uint32_t id;
	uint32_t size; /* of the elements that it sets or copies on the device; 0: it launches a kernel */
} calls[] = {
	{ CUPTI_LAUNCH_KERNEL, 0 },
	{ CUPTI_LAUNCH_KERNEL_PTSZ, 0 },
	{ CUPTI_LAUNCH_COOPERATIVE, 0 },
	{ CUPTI_LAUNCH_COOPERATIVE_PTSZ, 0 },
	{ CUPTI_LAUNCH_KERNEL_EX, 0 },
	{ CUPTI_LAUNCH_KERNEL_EX_PTSZ, 0 },
	{ CUPTI_MEMSET_D8, 1 },
	{ CUPTI_MEMSET_D16, 2 },
	{ CUPTI_MEMSET_D32, 4 },
	{ CUPTI_MEMSET_D8_ASYNC, 1 },
	{ CUPTI_MEMSET_D16_ASYNC, 2 },
	{ CUPTI_MEMSET_D32_ASYNC, 4 },
	{ CUPTI_MEMSET_D8_ASYNC_PTSZ, 1 },
	{ CUPTI_MEMSET_D16_ASYNC_PTSZ, 2 },
	{ CUPTI_MEMSET_D32_ASYNC_PTSZ, 4 },
	{ CUPTI_COPY_ON_DEVICE, 1 },
	{ CUPTI_COPY_ON_DEVICE_ASYNC, 1 },
	{ CUPTI_COPY_ON_DEVICE_ASYNC_PTSZ, 1 },
};

/* In place of a size: such copies are no kernels of the driver. */
#define NO_KERNEL UINT32_MAX
/* Likewise, with parameters that begin as struct cupti_memory_call, in bytes. */
#define LINEAR_COPY (UINT32_MAX - 1)
/* Larger copies have stacks at a rate of their own: few calls may copy most of what is copied. */
#define LARGE_COPY (UINT64_C(1) << 20)

static bool takes_copies(void)
{
	return library.takes_times >= CUDA_TIMES_COPIES;
}

/* Older versions lack some of these. */
static void enable_call(bool enable, uint32_t id)
{
	(void)library.cupti.enable_callback(enable, library.subscriber, CUPTI_DOMAIN_DRIVER, id);
}

/* Of copies, all are seen: they take longer than a callback. */
static void enable_copies(void)
{
#define ENABLE(NAME, NUMBER) enable_call(true, NUMBER);
	COPY_CALLS(ENABLE)
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].size)
			enable_call(true, calls[i].id);
}

static void set_callbacks(bool enable)
{
	if (enable == library.has_callbacks)
		return;
	library.has_callbacks = enable;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (!calls[i].size || !takes_copies())
			enable_call(enable, calls[i].id);
}

/*
 * CUPTI 13 makes no further callbacks on a thread if they are disabled during one of its calls. Therefore a thread
 * disables them at the end of a call, when no other thread is within a call or has made one lately; until then,
 * callbacks do nothing.
 */
static __thread bool is_in_call, is_copying;

static void begin_call(bool copies)
{
	uint32_t thread = launch_thread();
	is_in_call = true;
	is_copying = copies;
	uint32_t copying = copies ? __atomic_add_fetch(&library.copying, 1, __ATOMIC_RELAXED)
				  : __atomic_load_n(&library.copying, __ATOMIC_RELAXED);
	if (__atomic_fetch_add(&library.inside, 1, __ATOMIC_RELAXED) > copying && !copies)
		__atomic_fetch_add(&library.overlapping, 1, __ATOMIC_RELAXED);
	bool is_last = __atomic_load_n(&library.last_thread, __ATOMIC_RELAXED) == thread;
	uint32_t alone = is_last ? __atomic_load_n(&library.alone, __ATOMIC_RELAXED) + 1 : 0;
	__atomic_store_n(&library.last_thread, thread, __ATOMIC_RELAXED);
	__atomic_store_n(&library.alone, alone, __ATOMIC_RELAXED);
}

/* Subtracts one, unless that is of an earlier profile. Returns the number before. */
static uint32_t leave(uint32_t *count)
{
	uint32_t before = __atomic_load_n(count, __ATOMIC_RELAXED);
	while (before &&
	       !__atomic_compare_exchange_n(count, &before, before - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return before;
}

static void end_call(void)
{
	if (!is_in_call)
		return;
	is_in_call = false;
	if (is_copying)
		(void)leave(&library.copying);
	uint32_t inside = leave(&library.inside);
	bool is_alone = inside <= 1 && __atomic_load_n(&library.last_thread, __ATOMIC_RELAXED) == launch_thread() &&
			__atomic_load_n(&library.alone, __ATOMIC_RELAXED) >= CALLS_ALONE;
	if (!is_alone || !__atomic_load_n(&library.is_disabling, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&library.callbacks_lock))
		return;
	if (library.is_disabling)
		set_callbacks(false);
	pthread_mutex_unlock(&library.callbacks_lock);
}

/* Calls of which all are seen. */
enum graph_call { BEGINS_CAPTURE, ENDS_CAPTURE, LAUNCHES_GRAPH };
static const struct {
	uint32_t id;
	enum graph_call call;
} graph_calls[] = {
	{ CUPTI_BEGIN_CAPTURE, BEGINS_CAPTURE },
	{ CUPTI_BEGIN_CAPTURE_PTSZ, BEGINS_CAPTURE },
	{ CUPTI_BEGIN_CAPTURE_2, BEGINS_CAPTURE },
	{ CUPTI_BEGIN_CAPTURE_2_PTSZ, BEGINS_CAPTURE },
	{ CUPTI_BEGIN_CAPTURE_TO_GRAPH, BEGINS_CAPTURE },
	{ CUPTI_BEGIN_CAPTURE_TO_GRAPH_PTSZ, BEGINS_CAPTURE },
	{ CUPTI_END_CAPTURE, ENDS_CAPTURE },
	{ CUPTI_END_CAPTURE_PTSZ, ENDS_CAPTURE },
	{ CUPTI_GRAPH_LAUNCH, LAUNCHES_GRAPH },
	{ CUPTI_GRAPH_LAUNCH_PTSZ, LAUNCHES_GRAPH },
};

static void handle_graph_call(enum graph_call call, const struct cupti_callback_data *data)
{
	bool is_begin = data->site == CUPTI_SITE_ENTER;
	if (is_begin)
		begin_call(false);
	if (is_begin && call == BEGINS_CAPTURE)
		__atomic_fetch_add(&library.captures, 1, __ATOMIC_RELAXED);
	/* One that failed to begin has no end: launches are then counted at the end of their call, which is right, too.
	 */
	if (!is_begin && call == ENDS_CAPTURE && __atomic_load_n(&library.captures, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&library.captures, 1, __ATOMIC_RELAXED);
	if (is_begin && call == LAUNCHES_GRAPH)
		launch_counts_add_graph(&library.launches, data->correlation);
	if (!is_begin)
		end_call();
}

/* On a launching thread; contexts are few, and each is noted once. */
static void note_context(cupti_context context)
{
	uint32_t count = __atomic_load_n(&library.earlier_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count; i++)
		if (library.earlier[i] == context)
			return;
	if (!context || pthread_mutex_trylock(&library.callbacks_lock))
		return;
	if (library.earlier_count == count && count < EARLIER_CONTEXTS_MAX) {
		library.earlier[count] = context;
		__atomic_store_n(&library.earlier_count, count + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&library.callbacks_lock);
}

static void sample_earlier_contexts(void)
{
	uint32_t count = __atomic_load_n(&library.earlier_count, __ATOMIC_ACQUIRE);
	for (; library.earlier_sampled < count; library.earlier_sampled++)
		if (!sampling_has(library.sampling, library.earlier[library.earlier_sampled]))
			sampling_add(library.sampling, library.earlier[library.earlier_sampled]);
}

static void count_launch(uint32_t element_size, const struct cupti_callback_data *call)
{
	const struct cupti_memory_call *memory = element_size == NO_KERNEL ? NULL : call->parameters;
	uint64_t unit = element_size == LINEAR_COPY ? 1 : element_size;
	if (element_size && takes_copies())
		launch_counts_add_copy(&library.launches, call->correlation,
				       memory && memory->count >= LARGE_COPY / unit);
	if (!element_size && call->symbol)
		launch_counts_add(&library.launches, call->symbol, call->correlation);
	else if (element_size && element_size != LINEAR_COPY && memory && memory->count >= LARGE_MEMORY / element_size)
		launch_counts_add(&library.launches, CUDA_DRIVER_KERNELS, call->correlation);
}

/* A call that becomes a node of a graph launches nothing. */
static void handle_launch(uint32_t element_size, const struct cupti_callback_data *call)
{
	if (call->site == CUPTI_SITE_ENTER) {
		begin_call(element_size);
		if (library.is_attached && library.is_sampling)
			note_context(call->context);
		is_captured = false;
		is_undecided = __atomic_load_n(&library.captures, __ATOMIC_RELAXED);
		if (!is_undecided)
			count_launch(element_size, call);
		return;
	}
	if (is_in_call && is_undecided && !is_captured)
		count_launch(element_size, call);
	is_undecided = false;
	end_call();
}

/* Returns what handle_launch() needs to know of a call that copies, in place of a size; 0: it is another call. */
static uint32_t copy_kind(uint32_t id)
{
	switch (id) {
#define CASE(NAME, NUMBER) case NUMBER:
		LINEAR_COPY_CALLS(CASE)
		return LINEAR_COPY;
		OTHER_COPY_CALLS(CASE)
		BATCH_COPY_CALLS(CASE)
		return NO_KERNEL;
	default:
		return 0;
	}
}

static void handle_call(uint32_t id, const struct cupti_callback_data *call)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].id == id)
			return handle_launch(calls[i].size, call);
	for (size_t i = 0; i < sizeof graph_calls / sizeof *graph_calls; i++)
		if (graph_calls[i].id == id)
			return handle_graph_call(graph_calls[i].call, call);
	if (copy_kind(id))
		handle_launch(copy_kind(id), call);
}

static void called_back(void *data, uint32_t domain, uint32_t id, const void *parameters)
{
	(void)data;
	if (__atomic_load_n(&library.is_off, __ATOMIC_RELAXED) || !parameters)
		return;
	if (domain == CUPTI_DOMAIN_RESOURCE)
		resource_changed(id, parameters);
	else if (domain == CUPTI_DOMAIN_DRIVER)
		handle_call(id, parameters);
}

static void count_launches(uint64_t weight)
{
	pthread_mutex_lock(&library.callbacks_lock);
	__atomic_store_n(&library.is_disabling, false, __ATOMIC_RELAXED);
	__atomic_store_n(&library.launches.weight, weight, __ATOMIC_RELAXED);
	set_callbacks(true);
	pthread_mutex_unlock(&library.callbacks_lock);
}

static void skip_launches(void)
{
	__atomic_store_n(&library.launches.weight, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&library.is_disabling, true, __ATOMIC_RELAXED);
}

/* Waits, with stop_lock held, until the time is over or the program ends. */
static void wait_ms(uint64_t ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!library.is_stopping && !pthread_cond_timedwait(&library.stop, &library.stop_lock, &until))
		;
}

/* Launch rate of the program, measured while callbacks are on. */
struct launch_rate {
	uint64_t from, callbacks; /* when they were switched on */
	double per_second;
};

static void measure_from(struct launch_rate *rate)
{
	rate->from = sampling_clock();
	rate->callbacks = __atomic_load_n(&library.launches.callbacks, __ATOMIC_RELAXED);
}

/* Ends a measurement. Averages slices, because one may coincide with a pause of the program. */
static void measure(struct launch_rate *rate)
{
	uint64_t elapsed = sampling_clock() - rate->from + 1;
	uint64_t callbacks = __atomic_load_n(&library.launches.callbacks, __ATOMIC_RELAXED) - rate->callbacks;
	double now = (double)callbacks * NANOSECONDS / (double)elapsed;
	rate->per_second = rate->per_second ? (7 * rate->per_second + now) / 8 : now;
}

/* Warns that launches of several threads wait for each other while CUPTI samples, even if nothing is sampled. */
static void report_overlap(void)
{
	uint64_t callbacks = __atomic_load_n(&library.launches.callbacks, __ATOMIC_RELAXED);
	uint64_t overlapping = __atomic_load_n(&library.overlapping, __ATOMIC_RELAXED);
	if (library.is_overlap_reported || !library.is_sampling || callbacks < CALLS_JUDGED ||
	    overlapping < callbacks / 4)
		return;
	library.is_overlap_reported = true;
	writer_send_message(
		&library.writer, CUDA_TEXT_WARNING,
		"several threads launch kernels at the same time, which CUPTI makes wait for each other while it "
		"samples: the program may be several times slower (sampling=no records only launches)");
}

/* Warns where the records of executions slow a program that is limited by its launches. */
static void report_cost(const struct launch_rate *rate)
{
	if (library.is_cost_reported || !library.takes_times || rate->per_second < MANY_LAUNCHES)
		return;
	library.is_cost_reported = true;
	writer_send_message(&library.writer, CUDA_TEXT_FACT,
			    "%.0f launches a second: the time of each execution takes about 1 us of the thread that "
			    "launches it (time=off records samples alone)",
			    rate->per_second);
}

/* Returns the interval between slices, in slices, at which callbacks use 1/PART_OF_TIME of the program's time. */
static uint64_t interval_of(const struct launch_rate *rate)
{
	double interval = 1 + rate->per_second * CALLBACK_NS * PART_OF_TIME / NANOSECONDS;
	return interval < INTERVAL_MAX ? (uint64_t)interval : INTERVAL_MAX;
}

/*
 * Returns the number of launches that one launch in a slice represents: itself and those since the previous slice. A
 * fraction is rounded at random, so that sums are right.
 */
static uint64_t weight_of(uint64_t since, uint64_t length, uint64_t random)
{
	double fraction = (double)(random >> 40) / (1 << 24);
	return 1 + (uint64_t)((double)since / (double)length + fraction);
}

/*
 * Callbacks slow each launch. Unless all launches are requested, or the program launches rarely, they are on in short
 * slices, which begin at random times, and a launch in a slice represents those since the previous slice. Samples are
 * read as often as CUPTI itself reads them: each time, there is a record for each instruction that was sampled.
 */
static void read_all(void)
{
	uint64_t random = sampling_clock() | 1, slices_from = sampling_clock() + ALL_LAUNCHES_MS * 1000000ull;
	uint64_t read_next = sampling_clock(), flush_next = read_next, counted_until = sampling_clock();
	uint64_t length = SLICE_MS * 1000000ull; /* of a slice, on average */
	bool has_slices = library.launches.mode != CUDA_LAUNCHES_NONE && library.launches.rate;
	struct launch_rate rate = { 0 };
	pthread_mutex_lock(&library.stop_lock);
	while (!library.is_stopping && !writer_is_finished(&library.writer)) {
		uint64_t interval = has_slices && sampling_clock() > slices_from ? interval_of(&rate) : 1;
		uint64_t pause = SLICE_MS * (interval - 1);
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		if (interval > 1) {
			skip_launches();
			wait_ms(pause / 2 + (random >> 33) % (pause + 1));
		}
		uint64_t begin = sampling_clock();
		if (has_slices)
			count_launches(interval > 1 ? weight_of(begin - counted_until, length, random) : 1);
		measure_from(&rate);
		wait_ms(interval > 1 ? SLICE_MS : READ_MS);
		measure(&rate);
		if (interval > 1) {
			skip_launches();
			length = (7 * length + sampling_clock() - begin) / 8;
		}
		counted_until = sampling_clock();
		pthread_mutex_unlock(&library.stop_lock);
		report_overlap();
		report_cost(&rate);
		sample_earlier_contexts();
		if (sampling_clock() >= flush_next) {
			flush_next = sampling_clock() + READ_MS * 1000000ull;
			executions_send(false);
		}
		if (sampling_clock() >= read_next) {
			read_next = sampling_clock() + library.settings.sleep * 1000000ull;
			sampling_read(library.sampling);
		}
		if (library.launches.mode == CUDA_LAUNCHES_RING)
			launch_counts_send(&library.launches);
		pthread_mutex_lock(&library.stop_lock);
	}
	pthread_mutex_unlock(&library.stop_lock);
}

/* Ends callbacks where no thread is within a call, if that comes soon: see end_call(). */
static void unsubscribe(void)
{
	for (int i = 0; i < CALLS_WAIT_MS && __atomic_load_n(&library.has_callbacks, __ATOMIC_RELAXED) &&
			(i < READ_MS || __atomic_load_n(&library.inside, __ATOMIC_RELAXED));
	     i++)
		usleep(1000);
	pthread_mutex_lock(&library.callbacks_lock);
	set_callbacks(false);
	pthread_mutex_unlock(&library.callbacks_lock);
	for (int i = 0; i < CALLS_WAIT_MS && __atomic_load_n(&library.inside, __ATOMIC_RELAXED); i++)
		usleep(1000);
	__atomic_store_n(&library.is_off, true, __ATOMIC_RELAXED);
	(void)library.cupti.unsubscribe(library.subscriber);
}

/*
 * The plugin reads no more: CUPTI is unsubscribed, but stays in the program. cuptiFinalize() would remove what is left
 * of its cost, 30 ns for each kernel of a graph, but a program of PyTorch with CUDA graphs crashed when it was attached
 * to again (CUPTI 13.0). Sampling goes on: CUPTI cannot end it in a running context.
 */
static void end_profile(void)
{
	skip_launches();
	executions_stop();
	sampling_read(library.sampling);
	launch_counts_send(&library.launches);
	writer_close(&library.writer);
	unsubscribe();
}

static void at_exit(void)
{
	struct timespec until;
	if (library.is_forked)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += EXIT_WAIT_SECONDS;
	pthread_mutex_lock(&library.stop_lock);
	bool was_active = library.is_active;
	library.is_stopping = true;
	pthread_cond_broadcast(&library.stop);
	while (was_active && library.is_active && !pthread_cond_timedwait(&library.stop, &library.stop_lock, &until))
		;
	was_active &= !library.is_active;
	pthread_mutex_unlock(&library.stop_lock);
	if (!was_active || library.is_off)
		return;
	executions_send(true);
	sampling_end(library.sampling);
	launch_counts_send(&library.launches);
	__atomic_store_n(&library.is_off, true, __ATOMIC_RELAXED);
}

/* Locks may be held by threads that the child does not have: nothing here is used in it any more. */
static void in_child(void)
{
	library.is_off = library.is_forked = true;
	writer_abandon(&library.writer);
}

static void send_range(void)
{
	struct cuda_cupti record = { .header = { sizeof record, CUDA_RECORD_CUPTI } };
	if (cupti_range(&library.cupti, &record.begin, &record.end))
		writer_put(&library.writer, &record, sizeof record, NULL, 0, CUDA_DROP_RECORDS, 1);
}

static bool subscribe(void)
{
	static const uint32_t resources[] = { CUPTI_CONTEXT_CREATED,    CUPTI_CONTEXT_DESTROY_STARTING,
					      CUPTI_MODULE_LOADED,      CUPTI_MODULE_UNLOAD_STARTING,
					      CUPTI_GRAPH_NODE_CREATED, CUPTI_GRAPH_NODE_CLONED };
	int error = library.cupti.subscribe(&library.subscriber, called_back, NULL);
	if (error) {
		bool is_held = error == CUPTI_MULTIPLE_SUBSCRIBERS;
		writer_send_message(&library.writer, CUDA_TEXT_NOT_PROFILED, "%s%s (CUPTI error %d)",
				    is_held ? cupti_holder() : "cuptiSubscribe failed", is_held ? " holds CUPTI" : "",
				    error);
		return false;
	}
	for (size_t i = 0; !error && i < sizeof resources / sizeof *resources; i++)
		error = library.cupti.enable_callback(1, library.subscriber, CUPTI_DOMAIN_RESOURCE, resources[i]);
	if (error) {
		writer_send_message(&library.writer, CUDA_TEXT_NOT_PROFILED,
				    "cuptiEnableCallback failed (CUPTI error %d)", error);
		(void)library.cupti.unsubscribe(library.subscriber);
		return false;
	}
	if (library.launches.mode != CUDA_LAUNCHES_NONE) {
		for (size_t i = 0; i < sizeof graph_calls / sizeof *graph_calls; i++)
			enable_call(true, graph_calls[i].id);
		if (takes_copies())
			enable_copies();
		count_launches(1);
	}
	return true;
}

static void start_executions(void)
{
	int error = executions_start(&library.cupti, &library.writer, &library.launches, library.sampling);
	if (error == CUPTI_NOT_COMPATIBLE && sampling_has(library.sampling, NULL))
		writer_send_message(&library.writer, CUDA_TEXT_WARNING,
				    "kernels have no times: CUPTI goes on sampling after an earlier profile with "
				    "sampling=yes, and refuses times then");
	else if (error)
		writer_send_message(&library.writer, CUDA_TEXT_WARNING,
				    "kernels have no times: cuptiActivityEnable failed (CUPTI error %d)", error);
	else if (takes_copies() && (error = executions_start_copies()))
		writer_send_message(&library.writer, CUDA_TEXT_WARNING,
				    "not all copies have times: cuptiActivityEnable failed (CUPTI error %d)", error);
}

/* Connects to the plugin and takes the settings. Returns false if there is none. */
static bool take_settings(const char *settings)
{
	char name[96], token[CUDA_TOKEN_SIZE], cupti[CUDA_SETTINGS_SIZE] = "";
	_Static_assert(CUDA_SETTINGS_SIZE == 1024, "%1023[^\n]");
	if (!settings ||
	    sscanf(settings, "%95s %32s %u %u %u %u %u %u %u %u %1023[^\n]", name, token, &library.settings.period,
		   &library.settings.sleep, &library.settings.mode, &library.launches.mode, &library.launches.rate,
		   &library.take_cubins, &library.is_sampling, &library.takes_times, cupti) < 10)
		return false;
	/* Of the time since the last profile. */
	if (library.sampling)
		sampling_read(library.sampling);
	if (!writer_open(&library.writer, name, token, sampling_clock()))
		return false;
	if (library.cupti.subscribe || cupti_find(&library.cupti, cupti))
		return true;
	writer_send_message(&library.writer, CUDA_TEXT_NOT_PROFILED,
			    "no libcupti.so found (set cupti=, or " CUDA_CUPTI_VARIABLE ")");
	return false;
}

/* After CUPTI was loaded, so that the handler runs before CUPTI's own. */
static void handle_exit(void)
{
	atexit(at_exit);
}

/* Returns false if nothing is profiled; the reason was sent. */
static bool begin_profile(const char *settings)
{
	library.launches.writer = &library.writer;
	if (!take_settings(settings))
		return false;
	if (library.sampling)
		sampling_resume(library.sampling);
	else
		library.sampling = sampling_new(&library.cupti, &library.writer, &library.settings);
	if (!library.sampling)
		return false;
	launch_counts_announce(&library.launches);
	send_range();
	/* Asks for the unwind tables of the program. One that starts has time until its first launch. */
	iaprof_cuda_launched(0, 0, 0, NULL);
	if (library.is_attached)
		usleep(TABLES_MS * 1000);
	/* Of calls whose end was not seen. */
	library.inside = library.copying = library.captures = 0;
	library.has_callbacks = false;
	__atomic_store_n(&library.is_off, false, __ATOMIC_RELAXED);
	if (!subscribe())
		return false;
	if (library.takes_times)
		start_executions();
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, handle_exit);
	return true;
}

/* The last thing that a profile's thread does with the library's state. */
static void set_inactive(void)
{
	pthread_mutex_lock(&library.stop_lock);
	library.is_active = false;
	pthread_cond_broadcast(&library.stop);
	pthread_mutex_unlock(&library.stop_lock);
}

static void initialize(void)
{
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&library.stop, &clock);
	pthread_condattr_destroy(&clock);
	pthread_atfork(NULL, NULL, in_child);
}

/* Returns whether the caller may begin a profile. */
static bool set_active(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (library.is_forked)
		return false;
	pthread_once(&once, initialize);
	pthread_mutex_lock(&library.stop_lock);
	bool may = !library.is_active && !library.is_stopping;
	library.is_active |= may;
	library.is_ending &= !may;
	pthread_mutex_unlock(&library.stop_lock);
	return may;
}

/* To a plugin whose profile cannot begin. */
static void refuse(const char *settings)
{
	static struct writer other = WRITER_NONE;
	char name[96], token[CUDA_TOKEN_SIZE];
	if (sscanf(settings, "%95s %32s", name, token) != 2 || !writer_open(&other, name, token, sampling_clock()))
		return;
	writer_send_message(&other, CUDA_TEXT_NOT_PROFILED, "%s",
			    library.is_forked ? "it was forked by one that used CUDA, which does not work then"
					      : "another iaprof profiles it");
	writer_close(&other);
}

/* Waits for the end of the profile before, if its plugin is gone already. Returns whether there is none. */
static bool wait_for_end(void)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += EXIT_WAIT_SECONDS;
	pthread_mutex_lock(&library.stop_lock);
	while (library.is_active && (library.is_ending || writer_is_finished(&library.writer)) &&
	       !pthread_cond_timedwait(&library.stop, &library.stop_lock, &until))
		;
	pthread_mutex_unlock(&library.stop_lock);
	return set_active();
}

/* Until the plugin or the program ends. settings: those of a profile to begin; NULL: it has begun. */
static void *run_profile(void *settings)
{
	bool has_begun = !settings || begin_profile(settings);
	free(settings);
	if (!has_begun)
		writer_close(&library.writer);
	else
		read_all();
	pthread_mutex_lock(&library.stop_lock);
	library.is_ending = true;
	pthread_mutex_unlock(&library.stop_lock);
	if (has_begun && !library.is_stopping)
		end_profile();
	uint64_t opened = library.writer.opened;
	set_inactive();
	if (!library.is_stopping) {
		sleep(RELEASE_SECONDS);
		writer_release(&library.writer, opened);
	}
	return NULL;
}

static void *wait_and_run_profile(void *settings)
{
	if (wait_for_end())
		return run_profile(settings);
	refuse(settings);
	free(settings);
	return NULL;
}

static bool start_thread(void *(*run)(void *), char *settings)
{
	sigset_t all, before;
	pthread_t thread;
	/* The program's handlers run on its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool done = !pthread_create(&thread, NULL, run, settings);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (done) {
		pthread_setname_np(thread, "iaprof-cuda");
		pthread_detach(thread);
	}
	return done;
}

EXPORT int InitializeInjection(void)
{
	if (!getenv(CUDA_VARIABLE) || !set_active())
		return 1;
	if (!begin_profile(getenv(CUDA_VARIABLE))) {
		writer_close(&library.writer);
		set_inactive();
	} else if (!start_thread(run_profile, NULL)) {
		end_profile();
		set_inactive();
	}
	return 1;
}

EXPORT void iaprof_cuda_attach(const char *settings)
{
	bool may = set_active();
	if (library.is_forked)
		return refuse(settings);
	char *copy = strdup(settings);
	library.is_attached = true;
	if (copy && start_thread(may ? run_profile : wait_and_run_profile, copy))
		return;
	free(copy);
	if (may)
		set_inactive();
}
