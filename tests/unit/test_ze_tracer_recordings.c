/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tracer reports of lists, graphs, mutable lists and times: its callbacks are called as the loader's tracing
 * layer does, with a driver that knows which lists are captured and which events have happened, and the probes write
 * down what they are given.
 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ze-usdt/tracer/extensions.h"
#include "ze-usdt/tracer/probe_sites.h"
#include "ze-usdt/tracer/recording_callbacks.h"
#include "ze-usdt/tracer/tracer.h"

volatile uint16_t level_zero_compile_kernel_semaphore, level_zero_launch_kernel_semaphore,
	level_zero_new_launch_semaphore, level_zero_execute_list_semaphore, level_zero_unload_module_semaphore,
	level_zero_kernel_time_semaphore, level_zero_time_all_semaphore;

/* What the probes were given, as text: "launch NAME RECORDING" and "execute RECORDING PARENT LAUNCHES". */
static char told[1024];

static __attribute__((format(printf, 1, 2))) void tell(const char *format, ...)
{
	size_t length = strlen(told);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(told + length, sizeof told - length, format, arguments);
	va_end(arguments);
}

void probe_compile_kernel(const char *path, uint64_t module)
{
}

void probe_launch_kernel(uint64_t instruction_base, uint64_t address, uint64_t size, const char *name, uint64_t module,
			 uint64_t list, uint64_t stack, const struct stack_frame *innermost)
{
	tell("launch %s %d\n", name, (int)list);
}

void probe_new_launch(uint64_t instruction_base, uint64_t address, uint64_t size, const char *name, uint64_t module,
		      uint64_t list, uint64_t stack, const struct stack_frame *innermost, uint64_t tag)
{
	probe_launch_kernel(instruction_base, address, size, name, module, list, stack, innermost);
}

void probe_share_counts(uint64_t area)
{
}

void probe_execute_list(uint64_t list, uint64_t parent, uint64_t launches)
{
	tell("execute %d %d %d\n", (int)list, (int)parent, (int)launches);
}

void probe_unload_module(uint64_t module)
{
}

void probe_timed_launch(uint64_t number)
{
	tell("timed %d ", (int)number);
}

void probe_kernel_time(uint64_t number, uint64_t begin, uint64_t end, uint64_t device)
{
	tell("time %d %d %x\n", (int)number, begin ? (int)((end - begin) / 1000) : -1, (unsigned)device);
}

#define TOLD(expected)                                                                                                 \
	do {                                                                                                           \
		ck_assert_str_eq(told, expected);                                                                      \
		told[0] = 0;                                                                                           \
	} while (0)

/* The driver: graphs that lists are captured into, by number of the list. */
static uintptr_t captured[16];

static ze_result_t get_graph(ze_command_list_handle_t list, uintptr_t *graph)
{
	/* A driver crashes when it is given another one's list. */
	ck_assert((uintptr_t)list != 7);
	*graph = captured[(uintptr_t)list];
	return *graph ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t is_immediate(ze_command_list_handle_t list, ze_bool_t *immediate)
{
	*immediate = (uintptr_t)list < 8;
	return ZE_RESULT_SUCCESS;
}

/* Lists below 8 are immediate. */
#define LIST(number) ((ze_command_list_handle_t)(uintptr_t)(number))
enum { ONE = 0x100, TWO = 0x200 };

static void listened(bool on)
{
	level_zero_launch_kernel_semaphore = level_zero_execute_list_semaphore = on;
}

static void begin(void)
{
	tracer.calls.zeCommandListGetGraphExt = get_graph;
	tracer.calls.zeCommandListIsImmediate = is_immediate;
	announcer_begin(&tracer.announcer, &tracer.calls, &tracer.opencl, &tracer.registry);
	struct module *module = registry_add_module(&tracer.registry, 0x10, RUNTIME_LEVEL_ZERO);
	registry_add_kernel(&tracer.registry, ONE, "one", module);
	registry_add_kernel(&tracer.registry, TWO, "two", module);
	for (uintptr_t list = 1; list < 16; list++)
		registry_add_list(&tracer.registry, list, list < 8 ? 0 : registry_next_recording(&tracer.registry));
	listened(true);
}

#define CALL(callback, result, ...)                                                                                    \
	do {                                                                                                           \
		const void *arguments_[] = { __VA_ARGS__ };                                                            \
		callback(arguments_, result, &tracer, NULL);                                                           \
	} while (0)

static void launch(int list, uintptr_t kernel)
{
	ze_command_list_handle_t handle = LIST(list);
	CALL(launch_appended, ZE_RESULT_SUCCESS, &handle, &kernel);
}

static void capture_begin(int list, uintptr_t graph)
{
	ze_command_list_handle_t handle = LIST(list);
	captured[list] = graph;
	CALL(capture_has_begun, ZE_RESULT_SUCCESS, &handle);
}

static void capture_end(int list, uintptr_t graph, ze_result_t result)
{
	ze_command_list_handle_t handle = LIST(list);
	uintptr_t *result_place = &graph;
	if (result == ZE_RESULT_SUCCESS)
		for (int i = 0; i < 16; i++)
			captured[i] = captured[i] == graph ? 0 : captured[i];
	CALL(capture_has_ended, result, &handle, NULL, &result_place);
}

static void instantiate(uintptr_t graph, uintptr_t executable)
{
	uintptr_t *place = &executable;
	CALL(graph_instantiated, ZE_RESULT_SUCCESS, &graph, NULL, &place);
}

static void append_graph(int list, uintptr_t executable)
{
	ze_command_list_handle_t handle = LIST(list);
	CALL(graph_appended, ZE_RESULT_SUCCESS, &handle, &executable);
}

static void execute(int list)
{
	ze_command_list_handle_t queue = NULL, handles[] = { LIST(list) }, *lists = handles;
	uint32_t count = 1;
	CALL(lists_executed, ZE_RESULT_SUCCESS, &queue, &count, &lists);
}

static void append_list(int immediate, int list)
{
	ze_command_list_handle_t to = LIST(immediate), handles[] = { LIST(list) }, *lists = handles;
	uint32_t count = 1;
	CALL(lists_appended, ZE_RESULT_SUCCESS, &to, &count, &lists);
}

/* Recordings 1 to 8 are those of lists 8 to 15. */
START_TEST(a_graph_executes_its_launches)
{
	begin();
	launch(1, ONE);
	capture_begin(1, 0xa0);
	launch(1, ONE);
	captured[2] = 0xa0; /* a list that waits for an event of the first */
	launch(2, TWO);
	launch(3, TWO); /* executes */
	capture_end(1, 0xa0, ZE_RESULT_SUCCESS);
	launch(2, ONE);
	TOLD("launch one 0\nlaunch one 9\nlaunch two 9\nlaunch two 0\nlaunch one 0\n");
	instantiate(0xa0, 0xb0);
	instantiate(0xa0, 0xb1);
	uintptr_t graph = 0xa0;
	CALL(graph_destroying, ZE_RESULT_SUCCESS, &graph);
	append_graph(1, 0xb0);
	append_graph(3, 0xb1);
	graph = 0xb0;
	CALL(executable_destroying, ZE_RESULT_SUCCESS, &graph);
	append_graph(1, 0xb0); /* unknown from here on */
	instantiate(0xa0, 0xb1);
	append_graph(1, 0xb1);
	TOLD("execute 9 0 2\nexecute 9 0 2\nexecute 0 0 -1\nexecute 0 0 -1\n");
	ck_assert_uint_eq(tracer.registry.captures, 0);
}
END_TEST

START_TEST(recordings_are_appended_to_recordings)
{
	begin();
	launch(8, ONE);
	launch(8, TWO);
	capture_begin(1, 0xa0);
	append_list(1, 8);
	launch(1, ONE);
	capture_end(1, 0xa0, ZE_RESULT_SUCCESS);
	instantiate(0xa0, 0xb0);
	append_graph(9, 0xb0);
	append_graph(9, 0xb0);
	execute(9);
	append_list(2, 9);
	TOLD("launch one 1\nlaunch two 1\nexecute 1 9 2\nlaunch one 9\nexecute 9 2 3\nexecute 9 2 3\nexecute 2 0 6\n"
	     "execute 2 0 6\n");
	ze_command_list_handle_t list = LIST(9);
	CALL(list_reset, ZE_RESULT_SUCCESS, &list);
	execute(9);
	TOLD("execute 10 0 0\n");
}
END_TEST

START_TEST(captures_that_fail_end_when_the_driver_says_so)
{
	begin();
	capture_begin(1, 0xa0);
	capture_end(2, 0, ZE_RESULT_ERROR_INVALID_ARGUMENT);
	capture_end(1, 0, ZE_RESULT_ERROR_INVALID_ARGUMENT);
	ck_assert_uint_eq(tracer.registry.captures, 1);
	captured[1] = 0;
	capture_end(1, 0, ZE_RESULT_ERROR_INVALID_ARGUMENT);
	ck_assert_uint_eq(tracer.registry.captures, 0);
	launch(1, ONE);
	TOLD("launch one 0\n");
	/* A list that is destroyed meanwhile, and a graph. */
	capture_begin(1, 0xa0);
	capture_begin(2, 0xa1);
	ck_assert_uint_eq(tracer.registry.captures, 2);
	ze_command_list_handle_t list = LIST(1);
	CALL(list_destroying, ZE_RESULT_SUCCESS, &list);
	uintptr_t graph = 0xa1;
	CALL(graph_destroying, ZE_RESULT_SUCCESS, &graph);
	ck_assert_uint_eq(tracer.registry.captures, 0);
}
END_TEST

/* Beside another driver, only lists of contexts in which captures began are asked about. */
START_TEST(lists_of_another_driver_are_left_alone)
{
	begin();
	tracer.calls.driver_count = 2;
	registry_get_list(&tracer.registry, NULL, 1)->context = 0xc0;
	registry_get_list(&tracer.registry, NULL, 2)->context = 0xc0;
	registry_get_list(&tracer.registry, NULL, 7)->context = 0xc1;
	capture_begin(1, 0xa0);
	captured[2] = 0xa0;
	launch(1, ONE);
	launch(2, ONE);
	launch(7, TWO);
	capture_end(7, 0, ZE_RESULT_ERROR_INVALID_ARGUMENT);
	capture_end(1, 0xa0, ZE_RESULT_SUCCESS);
	instantiate(0xa0, 0xb0);
	append_graph(1, 0xb0);
	TOLD("launch one 9\nlaunch one 9\nlaunch two 0\nexecute 9 0 2\n");
	/* A list whose context is unknown: so is what the graph contains. */
	capture_begin(3, 0xa1);
	launch(3, ONE);
	capture_end(3, 0xa1, ZE_RESULT_SUCCESS);
	instantiate(0xa1, 0xb1);
	append_graph(1, 0xb1);
	TOLD("launch one 0\nexecute 10 0 -1\n");
}
END_TEST

/* A later profiler receives the number of launches that it did not see. */
START_TEST(launches_count_while_nobody_listens)
{
	begin();
	listened(false);
	launch(8, ONE);
	capture_begin(1, 0xa0);
	launch(1, ONE);
	append_list(1, 8);
	listened(true);
	launch(1, TWO);
	capture_end(1, 0xa0, ZE_RESULT_SUCCESS);
	listened(false);
	instantiate(0xa0, 0xb0);
	append_graph(9, 0xb0);
	listened(true);
	execute(8);
	append_graph(1, 0xb0);
	execute(9);
	TOLD("launch two 9\nexecute 1 0 1\nexecute 9 0 3\nexecute 2 0 3\n");
	/* A list from before the tracer, until it is recorded again. */
	registry_remove_list(&tracer.registry, 10);
	launch(10, ONE);
	execute(10);
	TOLD("launch one 10\nexecute 10 0 -1\n");
	ze_command_list_handle_t list = LIST(10);
	CALL(list_reset, ZE_RESULT_SUCCESS, &list);
	launch(10, ONE);
	execute(10);
	TOLD("launch one 11\nexecute 11 0 1\n");
}
END_TEST

static void number(int list, uint32_t flags, uint64_t command)
{
	ze_command_list_handle_t handle = LIST(list);
	struct command_id_description description = { .flags = flags };
	const struct command_id_description *place = &description;
	uint64_t *result = &command;
	CALL(command_has_number_and_kernels, ZE_RESULT_SUCCESS, &handle, &place, NULL, NULL, &result);
}

static void change(int list, uint64_t command, uintptr_t kernel)
{
	ze_command_list_handle_t handle = LIST(list);
	uint32_t count = 1;
	uint64_t *commands = &command;
	uintptr_t *kernels = &kernel;
	CALL(kernels_changed, ZE_RESULT_SUCCESS, &handle, &count, &commands, &kernels);
}

/* A launch whose kernel may change has a recording of its own, and another one when it has changed. */
START_TEST(kernels_of_mutable_lists_change)
{
	begin();
	number(8, 0x41, 1);
	launch(8, ONE);
	launch(8, ONE);
	number(8, 0x01, 2); /* only arguments change */
	launch(8, ONE);
	number(8, 0x40, 3);
	launch(8, TWO);
	TOLD("launch one 9\nlaunch one 1\nlaunch one 1\nlaunch two 10\n");
	execute(8);
	TOLD("execute 1 0 2\nexecute 9 0 1\nexecute 10 0 1\n");
	change(8, 1, TWO);
	ze_command_list_handle_t list = LIST(8), clone = LIST(15), *place = &clone;
	CALL(list_cloned, ZE_RESULT_SUCCESS, &list, &place);
	change(8, 3, ONE);
	execute(8);
	execute(15);
	TOLD("launch two 11\nlaunch one 12\nexecute 1 0 2\nexecute 11 0 1\nexecute 12 0 1\nexecute 1 0 2\n"
	     "execute 11 0 1\nexecute 10 0 1\n");
	capture_begin(1, 0xa0);
	append_list(1, 8);
	capture_end(1, 0xa0, ZE_RESULT_SUCCESS);
	instantiate(0xa0, 0xb0);
	append_graph(1, 0xb0);
	TOLD("execute 1 13 2\nexecute 11 13 1\nexecute 12 13 1\nexecute 13 0 4\n");
	change(8, 77, ONE); /* a command that the tracer did not see */
	execute(8);
	TOLD("execute 1 0 -1\nexecute 11 0 1\nexecute 12 0 1\n");
	CALL(list_reset, ZE_RESULT_SUCCESS, &list);
	execute(8);
	TOLD("execute 14 0 0\n");
}
END_TEST

/* More than are kept: they execute, and are unknown when their kernel changes. */
START_TEST(changeable_launches_are_bounded)
{
	begin();
	listened(false);
	for (uint64_t command = 1; command <= 5000; command++) {
		number(8, 0x40, command);
		launch(8, ONE);
	}
	ck_assert_uint_eq(registry_get_list(&tracer.registry, NULL, 8)->changeable_count, 4096);
	ck_assert_uint_eq(registry_get_list(&tracer.registry, NULL, 8)->launches, 5000 - 4096);
	change(8, 5000, TWO);
	ck_assert_uint_eq(registry_get_list(&tracer.registry, NULL, 8)->launches, ZE_LAUNCHES_UNKNOWN);
}
END_TEST

/* The driver's own functions, obtained by name, are wrapped: their arguments and results pass unchanged. */
static uintptr_t passed[6];
static ze_result_t append_of_driver(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f)
{
	memcpy(passed, (uintptr_t[]){ a, b, c, d, e, f }, sizeof passed);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t end_of_driver(uintptr_t list, uintptr_t **graph, void *next)
{
	ck_assert_ptr_null(next);
	captured[list] = 0;
	*graph = (uintptr_t *)0xa0;
	return ZE_RESULT_SUCCESS;
}

static void *found(const char *name, void *function)
{
	ze_driver_handle_t driver = NULL;
	void **place = &function;
	CALL(extension_found, ZE_RESULT_SUCCESS, &driver, &name, &place);
	return function;
}

START_TEST(functions_of_the_driver_are_wrapped)
{
	void *other = (void *)end_of_driver;

	begin();
	tracer.calls.get_graph = get_graph;
	ck_assert_ptr_eq(found("zexKernelGetBaseAddress", other), other);
	ck_assert_ptr_null(found("zeCommandListEndGraphCaptureExp", NULL));
	__typeof__(append_of_driver) *append =
		(__typeof__(append))found("zeCommandListAppendGraphExp", (void *)append_of_driver);
	__typeof__(end_of_driver) *end =
		(__typeof__(end))found("zeCommandListEndGraphCaptureExp", (void *)end_of_driver);
	ck_assert(append != append_of_driver && end != end_of_driver);
	/* Asked again, and by a program with two drivers. */
	ck_assert_ptr_eq(found("zeCommandListAppendGraphExp", (void *)append_of_driver), (void *)append);
	ck_assert_ptr_eq(found("zeCommandListAppendGraphExp", other), other);
	capture_begin(1, 0xa0);
	launch(1, ONE);
	uintptr_t *graph = NULL;
	ck_assert_int_eq(end(1, &graph, NULL), ZE_RESULT_SUCCESS);
	ck_assert_uint_eq((uintptr_t)graph, 0xa0);
	ck_assert_uint_eq(tracer.registry.captures, 0);
	instantiate(0xa0, 0xb0);
	ck_assert_int_eq(append(1, 0xb0, 3, 4, 5, 6), ZE_RESULT_SUCCESS);
	ck_assert_mem_eq(passed, ((uintptr_t[]){ 1, 0xb0, 3, 4, 5, 6 }), sizeof passed);
	TOLD("launch one 9\nexecute 9 0 1\n");
}
END_TEST

/* The device: its clock has 32 bits, and ticks once in 10 ns; wraps a moment after the first launches. */
static struct {
	bool happened, is_counter_based, has_time;
	uint64_t begin; /* ticks */
} events[200];
static ze_event_handle_t signalled; /* behind the last launch */
static int made, destroyed, resets;
static uint64_t now_ticks = UINT32_MAX - 1000;
static ze_result_t status = ZE_RESULT_SUCCESS;
#define EVENT(number) ((ze_event_handle_t)(uintptr_t)(number))
#define EVENT_OF(handle) events[(uintptr_t)(handle)]

static ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *description, uint32_t count,
			       ze_device_handle_t *devices, ze_event_pool_handle_t *pool)
{
	ck_assert(description->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	*pool = (ze_event_pool_handle_t)1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t pool)
{
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *description,
				ze_event_handle_t *event)
{
	*event = EVENT(++made);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t counter_based_create(ze_context_handle_t context, ze_device_handle_t device,
					const struct counter_based_event_description *description,
					ze_event_handle_t *event)
{
	*event = EVENT(++made);
	EVENT_OF(*event).is_counter_based = true;
	EVENT_OF(*event).has_time = description->flags & COUNTER_BASED_DEVICE_TIMESTAMP;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_destroy(ze_event_handle_t event)
{
	destroyed++;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_reset(ze_event_handle_t event)
{
	ck_assert(EVENT_OF(event).happened && !EVENT_OF(event).is_counter_based);
	EVENT_OF(event).happened = false;
	resets++;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append_signal(ze_command_list_handle_t list, ze_event_handle_t event)
{
	ck_assert(!EVENT_OF(event).has_time);
	EVENT_OF(event).happened = false;
	signalled = event;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_status(ze_event_handle_t event)
{
	ck_assert(!EVENT_OF(event).has_time); /* the driver would wait */
	return status != ZE_RESULT_SUCCESS ? status
	       : EVENT_OF(event).happened  ? ZE_RESULT_SUCCESS
					   : ZE_RESULT_NOT_READY;
}

/* Every launch takes 5 us. */
static ze_result_t event_time(ze_event_handle_t event, ze_kernel_timestamp_result_t *stamps)
{
	*stamps = (ze_kernel_timestamp_result_t){ .global = { (uint32_t)EVENT_OF(event).begin,
							      (uint32_t)(EVENT_OF(event).begin + 500) },
						  .context = { 1, 2 } };
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_device(ze_command_list_handle_t list, ze_device_handle_t *device)
{
	*device = (ze_device_handle_t)1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_properties(ze_device_handle_t device, ze_device_properties_t *properties)
{
	ck_assert_int_eq(properties->stype, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
	properties->timerResolution = 100000000;
	properties->timestampValidBits = 36;
	properties->kernelTimestampValidBits = 32;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_clock(ze_device_handle_t device, uint64_t *host, uint64_t *ticks)
{
	*host = 12345; /* another clock */
	*ticks = now_ticks & 0xfffffffff;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_address(ze_device_handle_t device, ze_pci_ext_properties_t *properties)
{
	properties->address = (ze_pci_address_ext_t){ 0, 3, 0, 0 };
	return ZE_RESULT_SUCCESS;
}

static void begin_timing(void)
{
	struct level_zero *calls = &tracer.calls;

	begin();
	calls->zeEventPoolCreate = pool_create;
	calls->zeEventPoolDestroy = pool_destroy;
	calls->zeEventCreate = event_create;
	calls->zeEventCounterBasedCreate = counter_based_create;
	calls->zeEventDestroy = event_destroy;
	calls->zeEventHostReset = event_reset;
	calls->zeEventQueryStatus = event_status;
	calls->zeEventQueryKernelTimestamp = event_time;
	calls->zeCommandListGetDeviceHandle = list_device;
	calls->zeCommandListAppendSignalEvent = append_signal;
	calls->zeDeviceGetProperties = device_properties;
	calls->zeDeviceGetGlobalTimestamps = device_clock;
	calls->zeDevicePciGetPropertiesExt = device_address;
	for (uintptr_t list = 1; list < 16; list++) {
		struct list *known = registry_get_list(&tracer.registry, NULL, list);
		known->context = 0xc0;
		known->in_order = list == 2;
	}
	level_zero_kernel_time_semaphore = level_zero_time_all_semaphore = 1;
}

/* Returns the event that the driver was given. */
static ze_event_handle_t timed_launch(int list, ze_event_handle_t event, ze_result_t result)
{
	ze_command_list_handle_t handle = LIST(list);
	uintptr_t kernel = ONE, groups = 0;
	const void *arguments[] = { &handle, &kernel, &groups, &event };
	void *data = NULL;
	launch_appending(arguments, ZE_RESULT_SUCCESS, &tracer, &data);
	ze_event_handle_t used = event;
	launch_appended(arguments, result, &tracer, &data);
	if (data)
		ck_assert_ptr_null(event); /* other profilers see what the program passed */
	return used;
}

static void happen(ze_event_handle_t event)
{
	EVENT_OF(event).begin = now_ticks;
	EVENT_OF(event).happened = true;
	now_ticks += 600;
}

static void wait_for_list(void)
{
	work_awaited(NULL, ZE_RESULT_SUCCESS, &tracer, NULL);
}

START_TEST(launches_without_an_event_are_timed)
{
	begin_timing();
	ze_event_handle_t first = timed_launch(1, NULL, ZE_RESULT_SUCCESS);
	ze_event_handle_t second = timed_launch(2, NULL, ZE_RESULT_SUCCESS);
	ck_assert(!EVENT_OF(first).is_counter_based && EVENT_OF(second).is_counter_based);
	TOLD("timed 1 launch one 0\ntimed 2 launch one 0\n");
	wait_for_list();
	TOLD(""); /* neither has happened, and nothing waits */
	happen(second);
	happen(signalled);
	wait_for_list();
	TOLD("time 2 5 300\n");
	/* Only the one that was read is used again. */
	ck_assert_ptr_eq(timed_launch(2, NULL, ZE_RESULT_SUCCESS), second);
	ck_assert_ptr_ne(timed_launch(1, NULL, ZE_RESULT_SUCCESS), first);
	happen(first); /* the clock wraps meanwhile */
	told[0] = 0;
	wait_for_list();
	TOLD("time 1 5 300\n");
	ck_assert_int_eq(resets, 1);
	/* An event of the program, and an appended launch that failed: its event may have been used. */
	ck_assert_ptr_eq(timed_launch(1, EVENT(199), ZE_RESULT_SUCCESS), EVENT(199));
	TOLD("launch one 0\n");
	ck_assert_ptr_eq(timed_launch(1, NULL, ZE_RESULT_ERROR_UNKNOWN), first);
	ck_assert_ptr_ne(timed_launch(1, NULL, ZE_RESULT_SUCCESS), first);
	told[0] = 0;
}
END_TEST

START_TEST(launches_that_execute_repeatedly_are_not_timed)
{
	begin_timing();
	ck_assert_ptr_null(timed_launch(9, NULL, ZE_RESULT_SUCCESS));
	capture_begin(1, 0xa0);
	ck_assert_ptr_null(timed_launch(1, NULL, ZE_RESULT_SUCCESS));
	ck_assert_ptr_null(timed_launch(2, NULL, ZE_RESULT_SUCCESS)); /* it may wait for the other list */
	capture_end(1, 0xa0, ZE_RESULT_SUCCESS);
	ck_assert_ptr_nonnull(timed_launch(2, NULL, ZE_RESULT_SUCCESS));
	level_zero_kernel_time_semaphore = 0;
	ck_assert_ptr_null(timed_launch(2, NULL, ZE_RESULT_SUCCESS));
}
END_TEST

START_TEST(launches_on_a_lost_device_are_not_timed)
{
	begin_timing();
	ck_assert_ptr_nonnull(timed_launch(1, NULL, ZE_RESULT_SUCCESS));
	told[0] = 0;
	status = ZE_RESULT_ERROR_DEVICE_LOST;
	wait_for_list();
	TOLD("time 1 -1 300\n");
	ck_assert_ptr_null(timed_launch(1, NULL, ZE_RESULT_SUCCESS));
}
END_TEST

START_TEST(at_most_so_many_launches_are_timed_at_once)
{
	begin_timing();
	tracer.timing.made = TIMED_LAUNCHES_MAX - 2;
	ck_assert_ptr_nonnull(timed_launch(1, NULL, ZE_RESULT_SUCCESS));
	ck_assert_ptr_nonnull(timed_launch(1, NULL, ZE_RESULT_SUCCESS));
	ck_assert_ptr_null(timed_launch(1, NULL, ZE_RESULT_SUCCESS));
}
END_TEST

START_TEST(events_are_left_alone_after_the_end_of_their_list)
{
	begin_timing();
	ze_event_handle_t ended = timed_launch(1, NULL, ZE_RESULT_SUCCESS);
	ze_event_handle_t unfinished = timed_launch(1, NULL, ZE_RESULT_SUCCESS);
	ze_event_handle_t other = timed_launch(3, NULL, ZE_RESULT_SUCCESS);
	ze_command_list_handle_t list = LIST(1);
	happen(ended);
	told[0] = 0;
	CALL(list_destroying, ZE_RESULT_SUCCESS, &list);
	TOLD("time 1 5 300\ntime 2 -1 300\n");
	happen(unfinished); /* its list wrote into it, which nobody asks for */
	happen(other);
	wait_for_list();
	TOLD("time 3 5 300\n");
	ck_assert_int_eq(resets, 2);
}
END_TEST

START_TEST(events_end_with_their_context_and_are_not_inherited)
{
	begin_timing();
	happen(timed_launch(1, NULL, ZE_RESULT_SUCCESS));
	ck_assert_ptr_nonnull(timed_launch(2, NULL, ZE_RESULT_SUCCESS));
	ze_context_handle_t context = (ze_context_handle_t)0xc1;
	CALL(context_destroying, ZE_RESULT_SUCCESS, &context);
	ck_assert_int_eq(destroyed, 0);
	context = (ze_context_handle_t)0xc0;
	told[0] = 0;
	CALL(context_destroying, ZE_RESULT_SUCCESS, &context);
	ck_assert_int_eq(destroyed, 3);
	ck_assert_ptr_eq(timed_launch(1, NULL, ZE_RESULT_SUCCESS), EVENT(4));
	timing_forked(&tracer.timing);
	status = ZE_RESULT_ERROR_DEVICE_LOST; /* the parent's events are not touched */
	told[0] = 0;
	wait_for_list();
	TOLD("");
	ck_assert_ptr_eq(timed_launch(1, NULL, ZE_RESULT_SUCCESS), EVENT(5));
}
END_TEST

START_TEST(launches_are_chosen_with_equal_probability)
{
	enum { LAUNCHES = 400000 };
	struct timing_thread thread = { 0 };
	struct kernel kernel = { .name = "one" };
	unsigned chosen[2] = { 0 };
	/* Every second one would be preferred if the choice depended on the time since the one before. */
	for (unsigned i = 0; i < LAUNCHES; i++)
		chosen[i % 2] += timing_chooses(&thread, &kernel);
	unsigned sum = chosen[0] + chosen[1];
	ck_assert_uint_ge(sum, 100);
	ck_assert_uint_le(sum, LAUNCHES / 100);
	double deviation = chosen[0] - sum / 2.0;
	ck_assert_double_le(deviation * deviation, 25 * sum / 4.0); /* five standard deviations */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ze_tracer_recordings");
	TCase *cases = tcase_create("recordings");
	SRunner *runner = srunner_create(suite);

	/* Each in a process of its own: there is one tracer. */
	tcase_add_test(cases, a_graph_executes_its_launches);
	tcase_add_test(cases, recordings_are_appended_to_recordings);
	tcase_add_test(cases, captures_that_fail_end_when_the_driver_says_so);
	tcase_add_test(cases, lists_of_another_driver_are_left_alone);
	tcase_add_test(cases, launches_count_while_nobody_listens);
	tcase_add_test(cases, kernels_of_mutable_lists_change);
	tcase_add_test(cases, changeable_launches_are_bounded);
	tcase_add_test(cases, functions_of_the_driver_are_wrapped);
	tcase_add_test(cases, launches_without_an_event_are_timed);
	tcase_add_test(cases, launches_that_execute_repeatedly_are_not_timed);
	tcase_add_test(cases, launches_on_a_lost_device_are_not_timed);
	tcase_add_test(cases, at_most_so_many_launches_are_timed_at_once);
	tcase_add_test(cases, events_are_left_alone_after_the_end_of_their_list);
	tcase_add_test(cases, events_end_with_their_context_and_are_not_inherited);
	tcase_add_test(cases, launches_are_chosen_with_equal_probability);
	suite_add_tcase(suite, cases);
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
