/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a transformer's layer, small ones: several in one module, each with something of its own to test. */
#include "include/activation.h"

#define TILE 16

/* Shared memory, a loop and two barriers. */
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void matmul_tile(__global const float *a,
									       __global const float *b,
									       __global float *c, int n)
{
	__local float tile_a[TILE][TILE], tile_b[TILE][TILE];
	int row = get_global_id(1), column = get_global_id(0);
	int y = get_local_id(1), x = get_local_id(0);
	float sum = 0.0f;

	for (int t = 0; t < n / TILE; t++) {
		tile_a[y][x] = a[row * n + t * TILE + x];
		tile_b[y][x] = b[(t * TILE + y) * n + column];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < TILE; k++)
			sum = fma(tile_a[y][k], tile_b[k][x], sum);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[row * n + column] = sum;
}

/* Functions inlined into functions, from a file of their own. */
__kernel void bias_gelu(__global float *values, __global const float *bias, int width)
{
	int i = get_global_id(0);
	values[i] = gelu(values[i] + bias[i % width]);
}

/* Called, not inlined: a function of its own in the kernel's code. */
__attribute__((noinline)) float swish(float x)
{
	return x / (1.0f + native_exp(-x));
}

/* Exponentials, a square root and a division: the math pipe. */
__kernel void softmax_row(__global float *scores, int width)
{
	__global float *row = scores + (size_t)get_global_id(0) * width;
	float largest = row[0], sum = 0.0f;

	for (int i = 1; i < width; i++)
		largest = fmax(largest, row[i]);
	for (int i = 0; i < width; i++) {
		row[i] = exp(row[i] - largest);
		sum += row[i];
	}
	for (int i = 0; i < width; i++)
		row[i] = swish(row[i]) * rsqrt(sum * sum + 1e-6f);
}

/* Atomics on shared and on global memory. */
__kernel void histogram(__global const uint *tokens, __global uint *counts, int bins)
{
	__local uint seen;

	if (get_local_id(0) == 0)
		seen = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	uint bin = tokens[get_global_id(0)] % bins;
	atomic_add(&counts[bin], 1u);
	atomic_inc(&seen);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) == 0)
		atomic_max(&counts[bins], seen);
}

/* More values than registers: the compiler has to spill. */
#define VALUES 68

__kernel __attribute__((intel_reqd_sub_group_size(32))) void rotate_spill(__global float *values, int steps)
{
	float state[VALUES];
	__global float *mine = values + (size_t)get_global_id(0) * VALUES;

#pragma unroll
	for (int i = 0; i < VALUES; i++)
		state[i] = mine[i];
	for (int step = 0; step < steps; step++) {
#pragma unroll
		for (int i = 0; i < VALUES; i++)
			state[i] = fma(state[(i + 17) % VALUES], state[(i + 41) % VALUES], state[i]);
	}
#pragma unroll
	for (int i = 0; i < VALUES; i++)
		mine[i] = state[i];
}

/* As little as a kernel can be. */
__kernel void tiny(__global int *out)
{
	*out = 1;
}

/* The name that a SYCL compiler gives the kernel of a C++ class template: "typeinfo name for scale<float>". */
__kernel void _ZTS5scaleIfE(__global float *values, float factor)
{
	values[get_global_id(0)] *= factor;
}

/* A name with a character that is not a letter for everyone. */
__kernel void add$residual(__global float *values, __global const float *residual)
{
	int i = get_global_id(0);
	values[i] += residual[i];
}
