/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double of Level Zero's loader, for tests of what happens at the entry of its functions: they change no register and
 * do nothing. They begin differently, as compilers let functions begin: Linux handles each of these in another way when
 * a probe is there.
 */
#ifdef __x86_64__
	.text
	.macro function name
	.balign 16
	.globl \name
	.type \name, @function
\name:
	.endm

	function zeEventQueryStatus
	endbr64
	ret
	.size zeEventQueryStatus, . - zeEventQueryStatus

	function zeCommandListAppendLaunchKernel
	pushq %rbp
	movq %rsp, %rbp
	popq %rbp
	ret
	.size zeCommandListAppendLaunchKernel, . - zeCommandListAppendLaunchKernel

	function zeCommandQueueExecuteCommandLists
	leaq -0x18(%rsp), %rsp
	leaq 0x18(%rsp), %rsp
	ret
	.size zeCommandQueueExecuteCommandLists, . - zeCommandQueueExecuteCommandLists

	function zeCommandQueueSynchronize
	nopl 0(%rax, %rax, 1)
	ret
	.size zeCommandQueueSynchronize, . - zeCommandQueueSynchronize

	function zeCommandListReset
	jmp 1f
1:	ret
	.size zeCommandListReset, . - zeCommandListReset
#endif
	.section .note.GNU-stack, "", @progbits
