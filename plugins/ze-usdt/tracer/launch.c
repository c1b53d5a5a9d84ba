/* SPDX-License-Identifier: Apache-2.0 */
/* See launch.h. */
#include "launch.h"

#include <stdlib.h>

static __thread struct thread *this_thread;
static __thread bool this_thread_ended;

/* glibc 2.18: runs at thread exit, and keeps this library loaded until then. */
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void thread_end(void *object)
{
	struct thread *thread = object;

	this_thread = NULL;
	this_thread_ended = true;
	stack_memory_free(thread->stacks);
	launch_counts_release(&thread->counts);
	free(thread);
}

struct thread *thread_get(void)
{
	if (this_thread || this_thread_ended)
		return this_thread;
	struct thread *thread = calloc(1, sizeof *thread);
	if (!thread)
		return NULL;
	if (__cxa_thread_atexit_impl(thread_end, thread, &__dso_handle) != 0) {
		free(thread);
		return NULL;
	}
	thread->stacks = stack_memory_create(&tracer.stacks);
	this_thread = thread;
	return thread;
}

void listeners_check(void)
{
	if (announcer_is_behind(&tracer.announcer, compile_kernel_listeners()))
		announcer_check(&tracer.announcer);
}

void launch_report(struct thread *thread, struct kernel *kernel, uintptr_t handle, uint64_t recording,
		   struct stack_chain stack, struct timed_launch *timed)
{
	uint32_t epoch = atomic_load_explicit(&tracer.announcer.epoch, memory_order_relaxed), tag = 0;

	if (handle && atomic_load_explicit(&kernel->prepared, memory_order_acquire) != epoch)
		announce_kernel(&tracer.announcer, kernel, handle);
	/* NULL temporarily, while another thread destroys the kernel and a new one takes its place. */
	const struct module *module = __atomic_load_n(&kernel->module, __ATOMIC_RELAXED);
	uint64_t number = module ? module->number : 0, base = kernel->instruction_base;
	if (timed)
		probe_timed_launch(timed->number);
	if (level_zero_launch_kernel_semaphore > 0)
		probe_launch_kernel(base, kernel->address, kernel->size, kernel->name, number, recording,
				    stack.identity, stack.innermost);
	if (level_zero_new_launch_semaphore == 0)
		return;
	const struct counted_launch launch = { kernel, number, kernel->address, recording, stack.identity };
	if (timed || !launch_counts_add(&tracer.counts, thread ? &thread->counts : NULL, &launch, epoch, &tag))
		probe_new_launch(base, kernel->address, kernel->size, kernel->name, number, recording, stack.identity,
				 stack.innermost, tag);
}
