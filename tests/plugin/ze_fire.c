/* SPDX-License-Identifier: Apache-2.0 */
/* See ze_fire.h. */
#include "ze_fire.h"

#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

const char *ze_fire_program(char copy)
{
	return getenv(copy == '1' ? "TEST_ZE_FIRE_1" : "TEST_ZE_FIRE_2");
}

const char *ze_fire_library(char copy)
{
	return getenv(copy == '1' ? "TEST_ZE_PROBES_1" : "TEST_ZE_PROBES_2");
}

struct ze_fire ze_fire_start_path(const char *path, void (*enter)(void *context), void *context)
{
	struct ze_fire fire = { 0 };
	int input[2], output[2];

	ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
	fire.pid = fork();
	ck_assert_int_ge(fire.pid, 0);
	if (fire.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		unsetenv("LD_LIBRARY_PATH"); /* the library beside the program */
		if (enter)
			enter(context);
		execl(path, "ze_fire", (char *)NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	fire.input = fdopen(input[1], "w");
	fire.output = fdopen(output[0], "r");
	for (int i = 0; i < 2; i++) {
		char line[128] = "", name[16];
		ck_assert_ptr_nonnull(fgets(line, sizeof line, fire.output));
		ck_assert_int_eq(
			sscanf(line, "%15s %" SCNx64 " %" SCNx64, name, &fire.sites[i].start, &fire.sites[i].end), 3);
		ck_assert_str_eq(name, i ? "site_b" : "site_a");
	}
	return fire;
}

struct ze_fire ze_fire_start(char copy)
{
	return ze_fire_start_path(ze_fire_program(copy), NULL, NULL);
}

void ze_fire_do(struct ze_fire *fire, const char *format, ...)
{
	char line[8192];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	fprintf(fire->input, "%s\n", line);
	ck_assert_int_eq(fflush(fire->input), 0);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, fire->output));
	ck_assert_str_eq(line, "done\n");
}

void ze_fire_announce(const struct ze_fire *fire, struct test_host *host)
{
	char path[64], line[4352], file[4096];
	struct iaprof_mapped_file mapped = { .size = sizeof mapped, .pid = (uint32_t)fire->pid, .path = file };
	uint64_t end;
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/maps", fire->pid);
	FILE *maps = fopen(path, "re");
	ck_assert_ptr_nonnull(maps);
	while (!found && fgets(line, sizeof line, maps))
		found = sscanf(line,
			       "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64
			       " %4095[^\n]",
			       &mapped.start, &end, &mapped.file_offset, &mapped.device_major, &mapped.device_minor,
			       &mapped.inode, file) == 7 &&
			strstr(file, "libze-probes");
	fclose(maps);
	ck_assert(found);
	mapped.length = end - mapped.start;
	ck_assert_ptr_nonnull((void *)host->on_mapped_file);
	ck_assert_int_eq(host->on_mapped_file(&host->host, host->instance, &mapped), 0);
}

void ze_fire_stop(struct ze_fire *fire)
{
	int status = 0;

	if (fire->pid <= 0)
		return;
	fclose(fire->input);
	ck_assert_int_eq(waitpid(fire->pid, &status, 0), fire->pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "ze_fire ended with status %#x", status);
	fclose(fire->output);
	fire->pid = 0;
}

char ze_fire_site(const struct ze_fire *fire, uint64_t address)
{
	for (int i = 0; i < 2; i++)
		if (address >= fire->sites[i].start && address < fire->sites[i].end)
			return i ? 'b' : 'a';
	return 0;
}
