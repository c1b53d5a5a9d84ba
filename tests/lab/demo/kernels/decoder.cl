/* SPDX-License-Identifier: Apache-2.0 */
/* One decoder layer of a small language model. TILED: feed_forward reads its operands through local memory. */
#include "activation.h"

#define GROUP 64
#define TILE 16
#define HEAD 64

#define GROUPS __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#define TILES __attribute__((reqd_work_group_size(TILE, TILE, 1)))
#define LANES __attribute__((intel_reqd_sub_group_size(16)))

/* Root mean square normalization: one work-group per row. */
__kernel GROUPS void rms_norm(__global const float *input, __global const float *weight, __global float *output,
			      int width)
{
	__local float partial[GROUP];
	int lane = get_local_id(0), row = get_group_id(0) * width;
	float sum = 0.0f;

	for (int i = lane; i < width; i += GROUP)
		sum = fma(input[row + i], input[row + i], sum);
	partial[lane] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int step = GROUP / 2; step > 0; step /= 2) {
		if (lane < step)
			partial[lane] += partial[lane + step];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	float scale = rsqrt(partial[0] / width + 1e-5f);
	for (int i = lane; i < width; i += GROUP)
		output[row + i] = input[row + i] * scale * weight[i];
}

/* Dot products of a query with all keys; neighbouring lanes read neighbouring addresses. */
__kernel LANES void attention_scores(__global const float *query, __global const float *keys, __global float *scores,
				     int length)
{
	int token = get_global_id(0);
	float score = 0.0f;

	for (int i = 0; i < HEAD; i++)
		score = fma(query[i], keys[i * length + token], score);
	scores[token] = score * 0.125f;
}

/* Exponentials: the math pipeline. */
__kernel LANES void softmax(__global float *scores, int length)
{
	__global float *row = scores + get_global_id(0);
	float largest = row[0], sum = 0.0f;

	for (int i = 1; i < length; i++)
		largest = fmax(largest, row[i * length]);
	for (int i = 0; i < length; i++)
		sum += native_exp(row[i * length] - largest);
	for (int i = 0; i < length; i++)
		row[i * length] = native_exp(row[i * length] - largest) * native_recip(sum);
}

/* Matrix multiplication. */
__kernel TILES void feed_forward(__global const float *input, __global const float *weights, __global float *output,
				 int n)
{
	int row = get_global_id(1), column = get_global_id(0);
	float sum = 0.0f;

#ifndef TILED
	for (int k = 0; k < n; k++)
		sum = fma(input[row * n + k], weights[k * n + column], sum);
#else
	__local float tile_a[TILE][TILE], tile_w[TILE][TILE];
	int y = get_local_id(1), x = get_local_id(0);

	for (int t = 0; t < n; t += TILE) {
		tile_a[y][x] = input[row * n + t + x];
		tile_w[y][x] = weights[(t + y) * n + column];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < TILE; k++)
			sum = fma(tile_a[y][k], tile_w[k][x], sum);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
#endif
	output[row * n + column] = sum;
}

/* The activation, from a file of its own and inlined. */
__kernel LANES void bias_gelu(__global float *values, __global const float *bias, int width)
{
	int i = get_global_id(0);

	values[i] = gelu(values[i] + bias[i % width]);
}
