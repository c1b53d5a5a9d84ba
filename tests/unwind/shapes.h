/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose frames are of different kinds, for programs with known call chains. They call INNERMOST(), and the
 * frameless ones INNERMOST_FRAMELESS(): include this behind their definitions.
 */
#pragma once

#include <alloca.h>
#include <csignal>
#include <cstring>

KEEP void frameless_two(void)
{
	INNERMOST_FRAMELESS();
	AFTER;
}

KEEP void frameless_one(void)
{
	frameless_two();
	AFTER;
}

KEEP void with_alloca(size_t size)
{
	char *room = (char *)alloca(size);
	memset(room, 1, size);
	asm volatile("" ::"r"(room) : "memory");
	INNERMOST();
	AFTER;
}

/* Its stack is realigned: the CFA is a value in the frame. */
KEEP void realigned(size_t size)
{
	alignas(128) char aligned[256];
	char *room = (char *)alloca(size);
	memset(aligned, 2, sizeof aligned);
	memset(room, 3, size);
	asm volatile("" ::"r"(room), "r"(aligned) : "memory");
	INNERMOST();
	AFTER;
}

KEEP void recursive(int depth)
{
	if (depth)
		recursive(depth - 1);
	else
		INNERMOST();
	AFTER;
}

KEEP void tail_end(void)
{
	INNERMOST();
	AFTER;
}

KEEP void tail_jump(void)
{
	return tail_end();
}

KEEP void handler(int)
{
	INNERMOST();
	AFTER;
}

KEEP void interrupted(void)
{
	raise(SIGUSR1);
	AFTER;
}

KEEP void thrower(int depth)
{
	if (!depth)
		throw depth;
	thrower(depth - 1);
	AFTER;
}

KEEP void catcher(void)
{
	try {
		thrower(5);
	} catch (int) {
		INNERMOST();
	}
	AFTER;
}
