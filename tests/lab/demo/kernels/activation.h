/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions of the model. */

#define SQRT_2_OVER_PI 0.7978845608f

inline float gelu_inner(float x)
{
	return SQRT_2_OVER_PI * fma(0.044715f * x, x * x, x);
}

inline float gelu(float x)
{
	return 0.5f * x * (1.0f + tanh(gelu_inner(x)));
}
