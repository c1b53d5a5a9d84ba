/* SPDX-License-Identifier: Apache-2.0 */
/* The code of an image in the form of a cubin: machine code of this machine, which nobody runs or disassembles. */
int scale(int *values, int n)
{
	values[n] = values[0] * SCALE;
	return values[n];
}

/* What a compiler does not inline is a part of its kernel. */
__attribute__((section(".text.scale"))) int helper(int n) __asm__("$scale$helper");
int helper(int n)
{
	return n / SCALE;
}

int add(int *values, int n)
{
	for (int i = 0; i < n * SCALE; i++)
		values[i] += values[1];
	return n;
}
