/* SPDX-License-Identifier: Apache-2.0 */
/* An eBPF program with a load of a 64-bit number, which nobody runs. */
__attribute__((section("program"))) long long scale(long long *values, long long count)
{
	for (long long i = 0; i < count; i++)
		values[i] = values[i] * 3 + 0x123456789abcdef;
	return values[0];
}
