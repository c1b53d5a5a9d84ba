/* SPDX-License-Identifier: Apache-2.0 */
/* A library with the probes of plugins/ze-usdt/probes.h, fired by whoever calls its functions: see ze_fire.c. */
#define _SDT_HAS_SEMAPHORES 1
#include <stdint.h>
#include <sys/sdt.h>
#include "ze_probes.h"

#define SEMAPHORE(name) __attribute__((section(".probes"))) volatile unsigned short level_zero_##name##_semaphore
SEMAPHORE(launch_kernel);
SEMAPHORE(execute_list);
SEMAPHORE(compile_kernel);
SEMAPHORE(unload_module);

int ze_probes_on(void)
{
	return level_zero_launch_kernel_semaphore;
}

void ze_probes_launch(const struct ze_probes_launch *launch)
{
	if (level_zero_launch_kernel_semaphore)
		STAP_PROBE6(level_zero, launch_kernel, launch->instruction_base, launch->address, launch->size,
			    launch->name, launch->module, launch->list);
}

void ze_probes_launch_short(const struct ze_probes_launch *launch)
{
	if (level_zero_launch_kernel_semaphore)
		STAP_PROBE4(level_zero, launch_kernel, launch->instruction_base, launch->address, launch->size,
			    launch->name);
}

void ze_probes_compile(const char *path, uint64_t module)
{
	if (level_zero_compile_kernel_semaphore)
		STAP_PROBE2(level_zero, compile_kernel, path, module);
}

void ze_probes_compile_short(const char *path)
{
	if (level_zero_compile_kernel_semaphore)
		STAP_PROBE1(level_zero, compile_kernel, path);
}

void ze_probes_execute(uint64_t list, uint64_t parent, uint64_t launches)
{
	if (level_zero_execute_list_semaphore && !parent && !launches)
		STAP_PROBE1(level_zero, execute_list, list);
	else if (level_zero_execute_list_semaphore)
		STAP_PROBE3(level_zero, execute_list, list, parent, launches);
}

void ze_probes_unload(uint64_t module)
{
	if (level_zero_unload_module_semaphore)
		STAP_PROBE1(level_zero, unload_module, module);
}
