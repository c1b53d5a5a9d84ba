/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of known behaviour for the self-test; compile-kernels makes kernels_spirv.inc of them. */

/* Almost all time is spent waiting for one load, whose address depends on the value loaded before. */
__kernel void self_test_memory(__global uint *data, uint turns, uint mask)
{
	uint place = get_global_id(0) * 2654435761u & mask;

	for (uint i = 0; i < turns; i++)
		place = (place * 1664525u + 1013904223u + data[place]) & mask;
	data[get_global_id(0) & mask] = place;
}

/* Independent multiply-adds: threads rarely wait, and never for memory. */
#define MULTIPLY_ADDS(turns)                                                                                           \
	float a = get_global_id(0), b = a + 1, c = a + 2, d = a + 3;                                                   \
	for (uint i = 0; i < turns; i++) {                                                                             \
		a = fma(a, 0.5f, 1.0f);                                                                                \
		b = fma(b, 0.5f, 2.0f);                                                                                \
		c = fma(c, 0.5f, 3.0f);                                                                                \
		d = fma(d, 0.5f, 4.0f);                                                                                \
	}                                                                                                              \
	data[get_global_id(0) & mask] = (uint)(a + b + c + d)

/* Launched with more threads than the GPU holds. */
__kernel void self_test_wide(__global uint *data, uint turns, uint mask)
{
	MULTIPLY_ADDS(turns);
}

/* Launched with one thread. */
__kernel void self_test_narrow(__global uint *data, uint turns, uint mask)
{
	MULTIPLY_ADDS(turns);
}

/* One work-item computes while all others of its group wait at a barrier. */
__kernel void self_test_barrier(__global uint *data, uint turns, uint mask)
{
	__local uint shared;
	uint value = get_global_id(0);

	for (uint i = 0; i < turns; i++) {
		if (get_local_id(0) == 0) {
			for (uint j = 0; j < 64; j++)
				value = value * 1664525u + 1013904223u;
			shared = value;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		value += shared;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	data[get_global_id(0) & mask] = value;
}

__attribute__((noinline)) float self_test_callee(float value, uint turns)
{
	for (uint i = 0; i < turns; i++)
		value = native_exp(-value);
	return value;
}

/* Almost all time is spent in a function that is called, not inlined. */
__kernel void self_test_caller(__global uint *data, uint turns, uint mask)
{
	data[get_global_id(0) & mask] = (uint)self_test_callee(get_global_id(0), turns);
}
