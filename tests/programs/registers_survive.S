/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int registers_survive(void (*function)(void), const struct registers_pattern *pattern): fills every register but the
 * stack pointer with the pattern, calls the function, and returns how many registers have changed. With AVX.
 */
#ifdef __x86_64__
	.text
	.globl registers_survive
	.type registers_survive, @function
/* The pattern: 16 times 32 bytes for the vector registers, then 14 general ones of 8 bytes. */
registers_survive:
	pushq %rbp
	movq %rsp, %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	subq $0x38, %rsp
	movq %rdi, -0x40(%rbp)
	movq %rsi, -0x48(%rbp)
	movq %rsi, %rax
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovdqu \n * 32(%rax), %ymm\n
	.endr
	addq $512, %rax
	movq 0x00(%rax), %rbx
	movq 0x08(%rax), %rcx
	movq 0x10(%rax), %rdx
	movq 0x18(%rax), %rsi
	movq 0x20(%rax), %rdi
	movq 0x28(%rax), %r8
	movq 0x30(%rax), %r9
	movq 0x38(%rax), %r10
	movq 0x40(%rax), %r11
	movq 0x48(%rax), %r12
	movq 0x50(%rax), %r13
	movq 0x58(%rax), %r14
	movq 0x60(%rax), %r15
	movq 0x68(%rax), %rax
	/* Below the stack pointer is the red zone, which is ours until a function is called. */
	callq *-0x40(%rbp)

	movq %rax, -0x50(%rbp)
	movq -0x48(%rbp), %rax
	addq $512, %rax
	movl $0, -0x58(%rbp)
	.macro compare register, offset
	cmpq \offset(%rax), \register
	je 1f
	incl -0x58(%rbp)
1:
	.endm
	compare %rbx, 0x00
	compare %rcx, 0x08
	compare %rdx, 0x10
	compare %rsi, 0x18
	compare %rdi, 0x20
	compare %r8, 0x28
	compare %r9, 0x30
	compare %r10, 0x38
	compare %r11, 0x40
	compare %r12, 0x48
	compare %r13, 0x50
	compare %r14, 0x58
	compare %r15, 0x60
	movq -0x50(%rbp), %rcx
	compare %rcx, 0x68
	subq $512, %rax
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vpcmpeqb \n * 32(%rax), %ymm\n, %ymm\n
	vpmovmskb %ymm\n, %ecx
	cmpl $-1, %ecx
	je 1f
	incl -0x58(%rbp)
1:
	.endr
	vzeroupper
	movl -0x58(%rbp), %eax
	addq $0x38, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size registers_survive, . - registers_survive
#endif
	.section .note.GNU-stack, "", @progbits
