// SPDX-License-Identifier: Apache-2.0
// SCALE makes two programs whose kernels have the same names and different code.
__attribute__((noinline)) float helper(float x, int n)
{
	float sum = x;
	for (int i = 0; i < n; i++)
		sum = sum * x + (float)i;
	return sum;
}

__kernel void scale(__global float *values, int n)
{
	values[n] = helper(values[0], n) * SCALE;
}

__kernel void add(__global float *values, int n)
{
	for (int i = 0; i < n * SCALE; i++)
		values[i] += helper(values[1], i);
}
