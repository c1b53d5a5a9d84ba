/* SPDX-License-Identifier: Apache-2.0 */
/* A module with one kernel: the matrix engine's dpas. */
#pragma OPENCL EXTENSION cl_intel_subgroup_matrix_multiply_accumulate : enable

__kernel __attribute__((intel_reqd_sub_group_size(16))) void matmul_dpas(__global const short *a, __global const int *b,
									 __global float *c, int steps)
{
	int lane = get_sub_group_local_id();
	float8 sum = 0.0f;

	for (int step = 0; step < steps; step++) {
		short8 left = vload8(step * 16 + lane, a);
		int8 right = vload8(step * 16 + lane, b);
		sum = intel_sub_group_f16_f16_matrix_mad_k16(left, right, sum);
	}
	vstore8(sum, get_global_id(0), c);
}
