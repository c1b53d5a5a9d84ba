/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dlsym() that a preloaded tracer exports: entry.c handles the names of Level Zero and OpenCL. All other calls jump to the C
 * library's dlsym(), which then sees the caller's return address: RTLD_NEXT and RTLD_DEFAULT depend on it.
 */
	.text
	.globl dlsym
	.type dlsym, @function
	.globl entry_dlsym_exported
	.hidden entry_dlsym_exported
	.balign 16
dlsym:
entry_dlsym_exported:
	.cfi_startproc
	endbr64
	test %rsi, %rsi
	je .Lhand_on
	cmpb $'z', (%rsi)
	je .Llook
	cmpb $'c', (%rsi)
	je .Llook
.Lhand_on:
	mov entry_dlsym_real(%rip), %rax
	test %rax, %rax
	je .Lfind
	jmp *%rax

/* entry_dlsym() returns in rax whether it found the name, and its address in rdx. */
.Llook:
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	mov 24(%rsp), %rdx
	call entry_dlsym
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
	test %rax, %rax
	je .Lhand_on
	mov %rdx, %rax
	ret

.Lfind:
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call entry_dlsym_find
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
	jmp *%rax
	.cfi_endproc
	.size dlsym, . - dlsym

	.section .note.GNU-stack, "", @progbits
