/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose unwind information is as that of hand-written assembler: the CFA is in another register, or a value on
 * the stack. Each calls spin() or spins itself, until *stop is not 0. x86-64; the expressions are those of DWARF 5, 2.5.
 */
	.text

/* The CFA is in r11, in which the function keeps its stack pointer; rbp is saved and used for something else. */
	.globl	in_register
	.type	in_register, @function
in_register:
	.cfi_startproc
	movq	%rsp, %r11
	.cfi_def_cfa_register %r11
	pushq	%rbp
	.cfi_offset %rbp, -16
	subq	$1000, %rsp
	andq	$-64, %rsp
	xorl	%ebp, %ebp
1:	incq	%rbp
	cmpl	$0, (%rdi)
	je	1b
	movq	-8(%r11), %rbp
	movq	%r11, %rsp
	.cfi_def_cfa_register %rsp
	ret
	.cfi_endproc
	.size	in_register, .-in_register

/* Changes nothing but rcx, on which its caller relies. */
	.type	helper, @function
helper:
	.cfi_startproc
1:	incq	%rcx
	cmpl	$0, (%rdi)
	je	1b
	ret
	.cfi_endproc
	.size	helper, .-helper

/* The same below a call. */
	.globl	register_behind_call
	.type	register_behind_call, @function
register_behind_call:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register %rax
	subq	$640, %rsp
	andq	$-64, %rsp
	call	helper
	movq	%rax, %rsp
	.cfi_def_cfa_register %rsp
	ret
	.cfi_endproc
	.size	register_behind_call, .-register_behind_call

/* breg7 24, deref, plus_uconst 8 */
	.globl	value_on_stack
	.type	value_on_stack, @function
value_on_stack:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register %rax
	subq	$328, %rsp
	andq	$-64, %rsp
	movq	%rax, 24(%rsp)
	.cfi_escape 0x0f, 0x05, 0x77, 24, 0x06, 0x23, 0x08
	call	spin
	movq	24(%rsp), %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	value_on_stack, .-value_on_stack

/* breg7 -8, deref, plus_uconst 8: below the stack pointer, in a function that calls none */
	.globl	value_below_stack
	.type	value_below_stack, @function
value_below_stack:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register %rax
	subq	$512, %rsp
	andq	$-64, %rsp
	movq	%rax, -8(%rsp)
	.cfi_escape 0x0f, 0x05, 0x77, 0x78, 0x06, 0x23, 0x08
	xorl	%eax, %eax
1:	incq	%rax
	cmpl	$0, (%rdi)
	je	1b
	movq	-8(%rsp), %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	value_below_stack, .-value_below_stack

/* breg6 16, deref, plus_uconst 16 */
	.globl	value_in_frame
	.type	value_in_frame, @function
value_in_frame:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbp, -16
	movq	%rsp, %rax
	.cfi_def_cfa %rax, 16
	subq	$576, %rsp
	andq	$-64, %rsp
	movq	%rsp, %rbp
	movq	%rax, 16(%rbp)
	.cfi_escape 0x0f, 0x05, 0x76, 16, 0x06, 0x23, 16
	call	spin
	movq	16(%rbp), %rsp
	.cfi_def_cfa %rsp, 16
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	value_in_frame, .-value_in_frame

/* breg7 8, breg9 0, lit8, mul, plus, deref, plus_uconst 8, as bn_mul_mont() of OpenSSL */
	.globl	indexed_value
	.type	indexed_value, @function
indexed_value:
	.cfi_startproc
	movq	%rsp, %rax
	.cfi_def_cfa_register %rax
	movl	$5, %r9d
	subq	$640, %rsp
	andq	$-64, %rsp
	movq	%rax, 8(%rsp, %r9, 8)
	.cfi_escape 0x0f, 0x0a, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8
	xorl	%eax, %eax
1:	incq	%rax
	cmpl	$0, (%rdi)
	je	1b
	movq	8(%rsp, %r9, 8), %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	indexed_value, .-indexed_value

	.section	.note.GNU-stack, "", @progbits
