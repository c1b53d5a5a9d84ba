/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel calls what. Without optimization the compiler puts a function that one kernel calls into the kernel's
 * section, and one that several call into a section of its own.
 */
float only_inverse(float x)
{
	return 1.0f / x;
}

float decay(float x)
{
	return x * 1.5f + native_exp(-x);
}

float decay_often(float x, int n)
{
	for (int i = 0; i < n; i++)
		x += decay(x);
	return x;
}

float scale(float x)
{
	return x * 7.5f;
}

__kernel void rows(__global float *v, int n)
{
	v[get_global_id(0)] = decay_often(v[0], n);
}

__kernel void columns(__global float *v, int n)
{
	v[get_global_id(0)] = decay_often(v[1], n) * only_inverse(v[2]);
}

__kernel void both(__global float *v, int n)
{
	v[get_global_id(0)] = decay(v[1]) + scale(v[2]);
}

__kernel void scaled(__global float *v, int n)
{
	v[get_global_id(0)] = scale(v[1]);
}
