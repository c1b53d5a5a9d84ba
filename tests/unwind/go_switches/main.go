// SPDX-License-Identifier: Apache-2.0

// Runs Go that calls C, which calls Go again, and Go whose runtime changes to other stacks, until it is killed.
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#include <time.h>

static double cpu_time(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void spin_in_c(double seconds)
{
	double end = cpu_time() + seconds;
	volatile int sum = 0;
	while (cpu_time() < end)
		for (int i = 0; i < 1000; i++)
			sum++;
}

extern void back_in_go(double seconds);

__attribute__((noinline)) static void call_go(double seconds)
{
	back_in_go(seconds);
	__asm__ volatile("");
}
*/
import "C"

import "time"

//export back_in_go
func back_in_go(seconds C.double) { spin_in_go(float64(seconds)) }

var sum int
var kept [][]int

//go:noinline
func spin_in_go(seconds float64) {
	end := time.Now().Add(time.Duration(seconds * 1e9))
	for time.Now().Before(end) {
		for i := 0; i < 1000; i++ {
			sum += i
		}
	}
}

//go:noinline
func calls_c() { C.spin_in_c(0.02) }

//go:noinline
func calls_back() { C.call_go(0.02) }

//go:noinline
func allocates() {
	for i := 0; i < 3000; i++ {
		kept = append(kept, make([]int, 3000))
		if len(kept) > 500 {
			kept = nil
		}
	}
}

func main() {
	for {
		calls_c()
		calls_back()
		allocates()
	}
}
