/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that call functions, which call others: without optimization, every function is called. */
__attribute__((noinline)) float decay(float x, int n)
{
	float sum = x;

	for (int i = 0; i < n; i++)
		sum = sum * 1.5f + native_exp(-sum);
	return sum;
}

__attribute__((noinline)) float decay_all(__global float *values, int n)
{
	float sum = 0.0f;

	for (int i = 0; i < n; i++)
		sum += decay(values[i], i);
	return sum;
}

static inline float square(float x)
{
	return x * x + 3.0f;
}

/* Calls a function that only it calls. */
__kernel void sums(__global float *values, int n)
{
	values[get_global_id(0)] = decay_all(values, n) + square(values[0]);
}

/* Calls a function that the other kernel reaches, too. */
__kernel void scales(__global float *values, int n)
{
	values[get_global_id(0)] = decay(values[1], n) * 2.0f;
}

/* Calls none that is not inlined. */
__kernel void squares(__global float *values, int n)
{
	values[get_global_id(0)] *= square(values[n]);
}
