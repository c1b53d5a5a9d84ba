/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of ../probes.h: one function each. Its arguments are in the registers that the probe's note names. */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#undef _SDT_NOP
#define _SDT_NOP nop

/* Numbers of attached tracers: the Linux kernel finds them by the notes, and increments them in each process. */
	.macro SEMAPHORE name
	.globl level_zero_\name\()_semaphore
	.hidden level_zero_\name\()_semaphore
	.type level_zero_\name\()_semaphore, @object
	.size level_zero_\name\()_semaphore, 2
level_zero_\name\()_semaphore:
	.short 0
	.endm

	.section .probes, "aw", @progbits
	.balign 2
	SEMAPHORE compile_kernel
	SEMAPHORE launch_kernel
	SEMAPHORE new_launch
	SEMAPHORE execute_list
	SEMAPHORE unload_module
	SEMAPHORE kernel_time
	SEMAPHORE time_all
	.set level_zero_timed_launch_semaphore, level_zero_kernel_time_semaphore
	.set level_zero_compile_kernel_again_semaphore, level_zero_compile_kernel_semaphore
	.set level_zero_launch_kernel_nop10_semaphore, level_zero_launch_kernel_semaphore
	.set level_zero_new_launch_nop10_semaphore, level_zero_new_launch_semaphore
	.set level_zero_share_counts_semaphore, level_zero_new_launch_semaphore

	.macro NOP10
	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	.endm

	.macro FUNCTION name
	.globl \name
	.hidden \name
	.type \name, @function
	.balign 64 /* no site crosses a page, which Linux could not replace by a call */
\name:
	.cfi_startproc
	endbr64
	.endm
	.macro END name
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

	.text
	FUNCTION probe_compile_kernel
	STAP_PROBE2(level_zero, compile_kernel, 8@%rdi, 8@%rsi)
	END probe_compile_kernel

/* Never called: its site raises the semaphore of probe_compile_kernel again. */
	FUNCTION probe_compile_kernel_again
	STAP_PROBE(level_zero, compile_kernel_again)
	END probe_compile_kernel_again

/* The eighth argument, on the stack after the seventh, is the frame pointer during the probe. */
	FUNCTION probe_launch_kernel
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	mov 16(%rsp), %rax
	mov 24(%rsp), %rbp
	STAP_PROBE7(level_zero, launch_kernel, 8@%rdi, 8@%rsi, 8@%rdx, 8@%rcx, 8@%r8, 8@%r9, 8@%rax)
#undef _SDT_NOP
#define _SDT_NOP NOP10
	STAP_PROBE7(level_zero, launch_kernel_nop10, 8@%rdi, 8@%rsi, 8@%rdx, 8@%rcx, 8@%r8, 8@%r9, 8@%rax)
#undef _SDT_NOP
#define _SDT_NOP nop
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	END probe_launch_kernel

/* As probe_launch_kernel, with a ninth argument. */
	FUNCTION probe_new_launch
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	mov 16(%rsp), %rax
	mov 32(%rsp), %r10
	mov 24(%rsp), %rbp
	STAP_PROBE8(level_zero, new_launch, 8@%rdi, 8@%rsi, 8@%rdx, 8@%rcx, 8@%r8, 8@%r9, 8@%rax, 8@%r10)
#undef _SDT_NOP
#define _SDT_NOP NOP10
	STAP_PROBE8(level_zero, new_launch_nop10, 8@%rdi, 8@%rsi, 8@%rdx, 8@%rcx, 8@%r8, 8@%r9, 8@%rax, 8@%r10)
#undef _SDT_NOP
#define _SDT_NOP nop
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	END probe_new_launch

	FUNCTION probe_share_counts
	STAP_PROBE1(level_zero, share_counts, 8@%rdi)
	END probe_share_counts

	FUNCTION probe_execute_list
	STAP_PROBE3(level_zero, execute_list, 8@%rdi, 8@%rsi, 8@%rdx)
	END probe_execute_list

	FUNCTION probe_unload_module
	STAP_PROBE1(level_zero, unload_module, 8@%rdi)
	END probe_unload_module

	FUNCTION probe_timed_launch
	STAP_PROBE1(level_zero, timed_launch, 8@%rdi)
	END probe_timed_launch

	FUNCTION probe_kernel_time
	STAP_PROBE4(level_zero, kernel_time, 8@%rdi, 8@%rsi, 8@%rdx, 8@%rcx)
	END probe_kernel_time

/* Never called: its site raises its semaphore. */
	FUNCTION probe_time_all
	STAP_PROBE(level_zero, time_all)
	END probe_time_all

	.section .note.GNU-stack, "", @progbits
