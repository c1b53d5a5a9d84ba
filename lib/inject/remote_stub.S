/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of remote_stub.h: position-independent, copied into the other process. It starts with all registers of the
 * thread, except the instruction pointer and the stack pointer, which points to the end of the stub's stack.
 */
#include "remote_stub.h"

	.section .rodata
	.globl remote_stub_begin, remote_stub_system_call, remote_stub_end
	.hidden remote_stub_begin, remote_stub_system_call, remote_stub_end
	.balign 16
remote_stub_begin:
.Lbegin:
	pushq %rax
	pushq %rbx
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %rbp
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	pushfq
	cld
	xorl %ebp, %ebp			/* ends stack walks by frame pointer */
	leaq .Lbegin + REMOTE_STUB_DATA(%rip), %rbx
	movl $-1, %eax
	movl $-1, %edx
	xsave64 REMOTE_STUB_DATA_SIZE(%rbx)

	callq *16(%rbx)			/* __errno_location() */
	movl (%rax), %ecx
	movl %ecx, 72(%rbx)
	movq 5776(%rbx), %rax		/* of a library that is loaded already */
	testq %rax, %rax
	jnz 4f
	leaq 80(%rbx), %rdi		/* dlopen(path, open_flags) */
	movq 64(%rbx), %rsi
	callq *(%rbx)
	movq %rax, 24(%rbx)
	testq %rax, %rax
	jz 3f
	cmpb $0, 4688(%rbx)		/* no function is to be called */
	je 1f
	movq %rax, %rdi			/* dlsym(handle, function) */
	leaq 4688(%rbx), %rsi
	callq *32(%rbx)
	movq %rax, 24(%rbx)
	testq %rax, %rax
	jz 3f
4:	movq %rax, 24(%rbx)
	leaq 4752(%rbx), %rdi
	callq *%rax			/* function(argument) */
	jmp 1f
3:	callq *8(%rbx)			/* dlerror() */
	testq %rax, %rax
	jz 1f
	leaq 4176(%rbx), %rdi		/* copies the text, so that the injector need not follow pointers */
	movl $REMOTE_STUB_TEXT_SIZE - 1, %ecx
2:	movb (%rax), %dl
	movb %dl, (%rdi)
	incq %rax
	incq %rdi
	testb %dl, %dl
	jz 1f
	decl %ecx
	jnz 2b
1:	callq *16(%rbx)
	movl 72(%rbx), %ecx
	movl %ecx, (%rax)
	movl $1, 76(%rbx)

	movl $39, %eax			/* getpid(), of this PID namespace */
	syscall
	movl %eax, %edi
	movl $186, %eax			/* gettid() */
	syscall
	movl %eax, %esi
	movl $REMOTE_STUB_SIGNAL, %edx
	movl $234, %eax			/* tgkill() */
	syscall
	/* The injector restores the thread here. If it has exited, the rest of the stub does. */

	movl $14, %eax			/* rt_sigprocmask(SIG_SETMASK, &signal_mask, NULL, 8) */
	movl $2, %edi
	leaq 40(%rbx), %rsi
	xorl %edx, %edx
	movl $8, %r10d
remote_stub_system_call:
	syscall
	movl $-1, %eax
	movl $-1, %edx
	xrstor64 REMOTE_STUB_DATA_SIZE(%rbx)
	popfq
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rbp
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rbx
	popq %rax
	movq .Lbegin + REMOTE_STUB_DATA + 56(%rip), %rsp
	jmpq *.Lbegin + REMOTE_STUB_DATA + 48(%rip)
remote_stub_end:

	.section .note.GNU-stack, "", @progbits
