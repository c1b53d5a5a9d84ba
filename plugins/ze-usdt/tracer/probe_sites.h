/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of ../probes.h as functions, and their semaphores. */
#ifndef ZE_TRACER_PROBE_SITES_H
#define ZE_TRACER_PROBE_SITES_H

#include <stdint.h>

struct stack_frame;

/* Updated by the kernel whenever a profiler attaches or detaches. */
extern volatile uint16_t level_zero_compile_kernel_semaphore;
extern volatile uint16_t level_zero_launch_kernel_semaphore;
extern volatile uint16_t level_zero_new_launch_semaphore; /* also of share_counts */
extern volatile uint16_t level_zero_execute_list_semaphore;
extern volatile uint16_t level_zero_unload_module_semaphore;
extern volatile uint16_t level_zero_kernel_time_semaphore; /* also of timed_launch */
extern volatile uint16_t level_zero_time_all_semaphore;

/* Number of attached probes; 0: nobody reads announcements. */
static inline uint32_t compile_kernel_listeners(void)
{
	return level_zero_compile_kernel_semaphore;
}

void probe_compile_kernel(const char *path, uint64_t module);
/* innermost: the innermost frame of the stack to show, or NULL. */
void probe_launch_kernel(uint64_t instruction_base, uint64_t address, uint64_t size, const char *name, uint64_t module,
			 uint64_t list, uint64_t stack, const struct stack_frame *innermost);
/* The same, with the tag of a cell (../count_area.h). */
void probe_new_launch(uint64_t instruction_base, uint64_t address, uint64_t size, const char *name, uint64_t module,
		      uint64_t list, uint64_t stack, const struct stack_frame *innermost, uint64_t tag);
void probe_share_counts(uint64_t area);
void probe_execute_list(uint64_t list, uint64_t parent, uint64_t launches);
void probe_unload_module(uint64_t module);
void probe_timed_launch(uint64_t number);
void probe_kernel_time(uint64_t number, uint64_t begin, uint64_t end, uint64_t device);

#endif
