/* Source of the recorded line tables: several kernels, calls inlined two deep, a function that is not inlined. */
__device__ __forceinline__ float weight(const float *values, int i)
{
	return values[i] * 2.0f;
}

__device__ __forceinline__ float pair(const float *values, int i)
{
	return weight(values, i) +
	       weight(values, i + 1);
}

__device__ __noinline__ float series(const float *values, int n)
{
	float sum = 0;
	for (int i = 0; i < n; i++)
		sum += pair(values, i) / (sum + 3.0f);
	return sum;
}

__global__ void first(float *out, const float *values, int n)
{
	int i = threadIdx.x;
	if (i < n)
		out[i] = pair(values, i);
	else
		out[i] = weight(values, 0);
}

__global__ void second(float *out, const float *values, int n)
{
	out[threadIdx.x] = series(values, n) +
			   weight(values, 7);
}

__global__ void third(float *out, const float *values)
{
	out[threadIdx.x] = pair(values, blockIdx.x);
}
