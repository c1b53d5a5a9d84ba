/* SPDX-License-Identifier: Apache-2.0 */
/* See seccomp_filter.h. */
#include "seccomp_filter.h"

#include <linux/audit.h>
#include <string.h>

/* More than Linux has on x86-64, also in the coming years. */
#define SYSTEM_CALLS_MAX 1024

struct machine {
	uint32_t a, x;
	uint32_t memory[BPF_MEMWORDS];
};

/* Returns whether the instruction is one that loads or stores, and executes it. */
static bool move(struct machine *machine, const struct sock_filter *step, const struct seccomp_data *call)
{
	uint32_t k = step->k;
	bool is_memory =
		BPF_MODE(step->code) == BPF_MEM || BPF_CLASS(step->code) == BPF_ST || BPF_CLASS(step->code) == BPF_STX;
	if (is_memory && k >= BPF_MEMWORDS)
		return false;
	switch (step->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		if (k > sizeof *call - sizeof machine->a || k % sizeof machine->a)
			return false;
		memcpy(&machine->a, (const char *)call + k, sizeof machine->a);
		return true;
	case BPF_LD | BPF_W | BPF_LEN:
		machine->a = sizeof *call;
		return true;
	case BPF_LDX | BPF_W | BPF_LEN:
		machine->x = sizeof *call;
		return true;
	case BPF_LD | BPF_IMM:
		machine->a = k;
		return true;
	case BPF_LDX | BPF_IMM:
		machine->x = k;
		return true;
	case BPF_LD | BPF_MEM:
		machine->a = machine->memory[k];
		return true;
	case BPF_LDX | BPF_MEM:
		machine->x = machine->memory[k];
		return true;
	case BPF_ST:
		machine->memory[k] = machine->a;
		return true;
	case BPF_STX:
		machine->memory[k] = machine->x;
		return true;
	case BPF_MISC | BPF_TAX:
		machine->x = machine->a;
		return true;
	case BPF_MISC | BPF_TXA:
		machine->a = machine->x;
		return true;
	default:
		return false;
	}
}

/* Returns false for a division by 0, which ends the program with 0, and for other instructions. */
static bool calculate(struct machine *machine, const struct sock_filter *step)
{
	uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine->x : step->k;
	switch (BPF_OP(step->code)) {
	case BPF_ADD:
		machine->a += operand;
		return true;
	case BPF_SUB:
		machine->a -= operand;
		return true;
	case BPF_MUL:
		machine->a *= operand;
		return true;
	case BPF_DIV:
		machine->a = operand ? machine->a / operand : 0;
		return operand;
	case BPF_AND:
		machine->a &= operand;
		return true;
	case BPF_OR:
		machine->a |= operand;
		return true;
	case BPF_XOR:
		machine->a ^= operand;
		return true;
	case BPF_LSH:
		machine->a = operand < 32 ? machine->a << operand : 0;
		return true;
	case BPF_RSH:
		machine->a = operand < 32 ? machine->a >> operand : 0;
		return true;
	case BPF_NEG:
		machine->a = -machine->a;
		return true;
	default:
		return false;
	}
}

/* Returns how many instructions a jump skips. */
static uint32_t jump(const struct machine *machine, const struct sock_filter *step)
{
	uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine->x : step->k;
	switch (BPF_OP(step->code)) {
	case BPF_JA:
		return step->k;
	case BPF_JEQ:
		return machine->a == operand ? step->jt : step->jf;
	case BPF_JGT:
		return machine->a > operand ? step->jt : step->jf;
	case BPF_JGE:
		return machine->a >= operand ? step->jt : step->jf;
	case BPF_JSET:
		return machine->a & operand ? step->jt : step->jf;
	default:
		return UINT32_MAX;
	}
}

uint32_t seccomp_filter_run(const struct sock_filter *program, size_t count, const struct seccomp_data *call)
{
	struct machine machine = { 0 };
	/* Jumps go forward only. */
	for (uint64_t at = 0; at < count; at++) {
		const struct sock_filter *step = &program[at];
		switch (BPF_CLASS(step->code)) {
		case BPF_RET:
			return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
		case BPF_JMP:
			at += jump(&machine, step);
			break;
		case BPF_ALU:
			if (!calculate(&machine, step))
				return SECCOMP_RET_KILL_PROCESS;
			break;
		default:
			if (!move(&machine, step, call))
				return SECCOMP_RET_KILL_PROCESS;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* Instructions that are followed for a system call, over all paths. */
#define STEPS_MAX 65536u

/* A path through a program whose arguments are not known: which of its values depend on them. */
struct path {
	struct machine machine;
	bool a_unknown, x_unknown, memory_unknown[BPF_MEMWORDS];
};

static void follow_unknown(struct path *path, const struct sock_filter *step)
{
	bool of_operand = BPF_SRC(step->code) == BPF_X && path->x_unknown;
	switch (step->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		path->a_unknown = step->k >= offsetof(struct seccomp_data, instruction_pointer);
		break;
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LD | BPF_IMM:
		path->a_unknown = false;
		break;
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_IMM:
		path->x_unknown = false;
		break;
	case BPF_LD | BPF_MEM:
		path->a_unknown = path->memory_unknown[step->k];
		break;
	case BPF_LDX | BPF_MEM:
		path->x_unknown = path->memory_unknown[step->k];
		break;
	case BPF_ST:
		path->memory_unknown[step->k] = path->a_unknown;
		break;
	case BPF_STX:
		path->memory_unknown[step->k] = path->x_unknown;
		break;
	case BPF_MISC | BPF_TAX:
		path->x_unknown = path->a_unknown;
		break;
	case BPF_MISC | BPF_TXA:
		path->a_unknown = path->x_unknown;
		break;
	default:
		path->a_unknown |= BPF_CLASS(step->code) == BPF_ALU && of_operand;
	}
}

static bool is_deadly(uint32_t result)
{
	uint32_t action = result & SECCOMP_RET_ACTION_FULL;
	return action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG && action != SECCOMP_RET_ERRNO;
}

/* Follows a program from an instruction on, both ways where a jump depends on arguments. */
static bool can_be_deadly(const struct sock_filter *program, size_t count, uint64_t at, struct path path,
			  const struct seccomp_data *call, uint32_t *steps)
{
	for (; at < count && *steps; at++, --*steps) {
		const struct sock_filter *step = &program[at];
		bool is_unknown = path.a_unknown || (BPF_SRC(step->code) == BPF_X && path.x_unknown);
		switch (BPF_CLASS(step->code)) {
		case BPF_RET:
			return BPF_RVAL(step->code) == BPF_A ? path.a_unknown || is_deadly(path.machine.a)
							     : is_deadly(step->k);
		case BPF_JMP:
			if (is_unknown && BPF_OP(step->code) != BPF_JA) {
				if (can_be_deadly(program, count, at + 1 + step->jt, path, call, steps))
					return true;
				at += step->jf;
				break;
			}
			at += jump(&path.machine, step);
			break;
		case BPF_ALU:
			/* A division by an unknown number may be one by 0. */
			if (is_unknown && BPF_OP(step->code) == BPF_DIV)
				return true;
			if (!calculate(&path.machine, step))
				return true;
			follow_unknown(&path, step);
			break;
		default:
			if (!move(&path.machine, step, call))
				return true;
			follow_unknown(&path, step);
		}
	}
	return true;
}

bool seccomp_filter_is_deadly(const struct sock_filter *program, size_t count)
{
	struct seccomp_data call = { .arch = AUDIT_ARCH_X86_64 };
	for (call.nr = 0; call.nr < SYSTEM_CALLS_MAX; call.nr++) {
		uint32_t steps = STEPS_MAX;
		if (can_be_deadly(program, count, 0, (struct path){ 0 }, &call, &steps))
			return true;
	}
	return false;
}
