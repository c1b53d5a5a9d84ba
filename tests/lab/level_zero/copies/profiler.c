/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preloaded library that traces Level Zero calls as Intel's unitrace does: it opens the loader and initialises it
 * before the program begins, and registers callbacks with the tracing layer, which its environment enables
 * (ZE_ENABLE_TRACING_LAYER=1). Prints at the end how many launches it saw.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/ze_api.h>

static _Atomic unsigned entered, left;

static void launch_begins(ze_command_list_append_launch_kernel_params_t *parameters, ze_result_t result, void *user,
			  void **instance)
{
	(void)parameters, (void)result, (void)user, (void)instance;
	entered++;
}

static void launch_ends(ze_command_list_append_launch_kernel_params_t *parameters, ze_result_t result, void *user,
			void **instance)
{
	(void)parameters, (void)user, (void)instance;
	left += result == ZE_RESULT_SUCCESS;
}

static void check(ze_result_t result, const char *call)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "profiler: %s: 0x%x\n", call, result);
	_Exit(1);
}

#define CALL(name, ...) check(((__typeof__(name) *)dlsym(loader, #name))(__VA_ARGS__), #name)

__attribute__((constructor)) static void profiler_begin(void)
{
	void *loader = getenv("ZE_ENABLE_TRACING_LAYER") ? dlopen("libze_loader.so.1", RTLD_NOW) : NULL;
	zel_tracer_desc_t description = { .stype = ZEL_STRUCTURE_TYPE_TRACER_DESC };
	zel_tracer_handle_t tracer;

	if (!loader)
		return;
	CALL(zeInit, ZE_INIT_FLAG_GPU_ONLY);
	CALL(zelTracerCreate, &description, &tracer);
	CALL(zelTracerCommandListAppendLaunchKernelRegisterCallback, tracer, ZEL_REGISTER_PROLOGUE, launch_begins);
	CALL(zelTracerCommandListAppendLaunchKernelRegisterCallback, tracer, ZEL_REGISTER_EPILOGUE, launch_ends);
	CALL(zelTracerSetEnabled, tracer, 1);
}

__attribute__((destructor)) static void profiler_end(void)
{
	if (entered)
		printf("profiler\t%u\t%u\n", entered, left);
}
