/* SPDX-License-Identifier: Apache-2.0 */
/* Runs each function of expressions.S in a thread of its own, until it is killed. */
#include <pthread.h>
#include <stddef.h>

typedef void function(volatile int *stop);
function in_register, register_behind_call, value_on_stack, value_below_stack, value_in_frame, indexed_value, spin;

static volatile int stop;

void spin(volatile int *end)
{
	while (!*end)
		;
}

/* The functions leave through it: what follows the call keeps it from being a jump. */
__attribute__((noinline)) static void caller(function *called)
{
	called(&stop);
	__asm__ volatile("" ::: "memory");
}

static void *run(void *called)
{
	caller((function *)called);
	return NULL;
}

int main(void)
{
	static function *const functions[] = { in_register,       register_behind_call, value_on_stack,
					       value_below_stack, value_in_frame,       indexed_value };
	pthread_t threads[sizeof functions / sizeof *functions];
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)functions[i]))
			return 1;
	return pthread_join(threads[0], NULL);
}
