/* SPDX-License-Identifier: Apache-2.0 */
/* See load_program.h. */
#include "load_program.h"

#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct load_program load_program_start(const char *mode, ...)
{
	struct load_program load = { 0 };
	int input[2], output[2];
	const char *program = getenv("TEST_LOAD_PROGRAM");
	ck_assert_msg(program != NULL, "TEST_LOAD_PROGRAM is not set: run the tests with meson test");

	const char *arguments[8] = { "load", "--gate", mode };
	va_list rest;
	va_start(rest, mode);
	for (size_t i = 3; (arguments[i] = va_arg(rest, const char *)); i++)
		ck_assert_uint_lt(i + 1, sizeof arguments / sizeof arguments[0]);
	va_end(rest);

	ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
	load.pid = fork();
	ck_assert_int_ge(load.pid, 0);
	if (load.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		execv(program, (char *const *)arguments);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	load.gate = input[1];
	load.output = fdopen(output[0], "r");
	ck_assert_ptr_nonnull(load.output);

	static const char *const names[LOAD_FUNCTION_COUNT] = { "burn_50", "burn_30", "burn_15", "burn_5" };
	for (size_t i = 0; i < LOAD_FUNCTION_COUNT; i++) {
		char name[16];
		ck_assert_int_eq(fscanf(load.output, "%15s %" SCNx64 " %" SCNx64, name, &load.functions[i].start,
					&load.functions[i].end),
				 3);
		ck_assert_str_eq(name, names[i]);
	}
	return load;
}

void load_program_go(struct load_program *load)
{
	ck_assert_int_eq(write(load->gate, "\n", 1), 1);
}

bool load_program_ended(struct load_program *load)
{
	int status = 0;

	if (load->pid > 0 && waitpid(load->pid, &status, WNOHANG) == load->pid) {
		load->pid = 0;
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "load ended with status %#x", status);
	}
	return load->pid == 0;
}

uint64_t load_program_exec_time(struct load_program *load)
{
	uint64_t time = 0;

	ck_assert_int_eq(fscanf(load->output, " exec %" SCNu64, &time), 1);
	return time;
}

void load_program_stop(struct load_program *load)
{
	if (load->pid > 0) {
		kill(load->pid, SIGKILL);
		waitpid(load->pid, NULL, 0);
	}
	fclose(load->output);
	close(load->gate);
}

int load_program_function_at(const struct load_program *load, uint64_t address)
{
	for (int function = 0; function < LOAD_FUNCTION_COUNT; function++)
		if (address >= load->functions[function].start && address < load->functions[function].end)
			return function;
	return -1;
}

int load_program_function(const struct load_program *load, const struct iaprof_record_stack *stack)
{
	int function = -1;

	for (uint32_t i = 0; stack && function < 0 && i < stack->count; i++)
		function = load_program_function_at(load, iaprof_record_stack_addresses(stack)[i]);
	return function;
}
