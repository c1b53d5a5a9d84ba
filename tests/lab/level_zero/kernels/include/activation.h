/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions, each made of the one before, so that what is inlined into a kernel is nested. */

#define SQRT_2_OVER_PI 0.7978845608f

inline float cube(float x)
{
	return x * x * x;
}

/* The argument of tanh in GELU's approximation. */
inline float gelu_inner(float x)
{
	return SQRT_2_OVER_PI * (x + 0.044715f * cube(x));
}

inline float gelu(float x)
{
	return 0.5f * x * (1.0f + tanh(gelu_inner(x)));
}
