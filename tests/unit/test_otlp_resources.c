/* SPDX-License-Identifier: Apache-2.0 */
/* What the sink otlp says of processes: containers and pods by their cgroups, and attributes that are given. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resources.h"
#include "../run_suite.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "01234567-89ab-cdef-0123-456789abcdef"

static const struct {
	const char *path, *container, *pod;
} cgroups[] = {
	{ "/", "", "" },
	{ "/user.slice/user-1000.slice/session-3.scope", "", "" },
	{ "/system.slice/docker-" ID ".scope", ID, "" },
	{ "/kubepods/burstable/pod" POD "/" ID, ID, POD },
	{ "/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-" ID ".scope", ID,
	  POD },
	{ "/machine.slice/libpod-" ID ".scope/container", ID, "" },
	{ "/pods/podium/pod01234567", "", "" },
	{ "/machine.slice/machine-web.scope", "web", "" },
};

START_TEST(cgroups_name_containers_and_pods)
{
	char container[CONTAINER_NAME_SIZE], pod[POD_UID_SIZE];
	cgroup_names_read(cgroups[_i].path, container, pod);
	ck_assert_str_eq(container, cgroups[_i].container);
	ck_assert_str_eq(pod, cgroups[_i].pod);
}
END_TEST

static const char *of_machine(const struct resources *resources, const char *key)
{
	for (size_t i = 0; i < resources->machine.attributes.count; i++)
		if (strcmp(resources->machine.attributes.items[i].key, key) == 0)
			return resources->machine.attributes.items[i].value;
	return NULL;
}

START_TEST(attributes_are_decoded_and_bounded)
{
	struct resources resources;
	char list[512] = "a=1%202,=none,b,c=, d = x ,a=second,e=";
	memset(list + strlen(list), 'x', 300);
	ck_assert(resources_init(&resources, list, true));
	ck_assert_uint_eq(resources.machine.attributes.count, 3);
	ck_assert_str_eq(of_machine(&resources, "a"), "1 2");
	ck_assert_str_eq(of_machine(&resources, "d"), "x");
	ck_assert_uint_eq(strlen(of_machine(&resources, "e")), 256);
	/* Processes of a recording are not looked up. */
	ck_assert_uint_eq(resources_of_process(&resources, (uint32_t)getpid()), 0);
	ck_assert_uint_eq(resources.processes.count, 0);
	resources_free(&resources);
}
END_TEST

START_TEST(processes_are_forgotten_with_their_samples)
{
	struct resources resources;
	ck_assert(resources_init(&resources, NULL, false));
	ck_assert_str_eq(of_machine(&resources, "os.type"), "linux");
	resources_begin(&resources);
	resources_of_process(&resources, (uint32_t)getpid());
	resources_of_process(&resources, (uint32_t)getppid());
	resources_begin(&resources);
	ck_assert_uint_eq(resources.processes.count, 2);
	resources_of_process(&resources, (uint32_t)getpid());
	resources_begin(&resources);
	ck_assert_uint_eq(resources.processes.count, 1);
	ck_assert_uint_eq(resources.processes.items[0].pid, (uint32_t)getpid());
	resources_free(&resources);
}
END_TEST

/* Its environment is that of the program that it executed last. */
START_TEST(a_process_that_executes_another_program_is_looked_up_again)
{
	struct resources resources;
	struct iaprof_record_process record = { .header = { .type = IAPROF_RECORD_PROCESS },
						.pid = (uint32_t)getpid(),
						.event = IAPROF_PROCESS_EXEC };
	ck_assert(resources_init(&resources, NULL, false));
	resources_take(&resources, &record.header);
	ck_assert_uint_eq(resources.processes.count, 0);
	resources_of_process(&resources, record.pid);
	resources_take(&resources, &record.header);
	ck_assert(resources.processes.items[0].is_stale);
	resources_of_process(&resources, record.pid);
	ck_assert(!resources.processes.items[0].is_stale);
	ck_assert_uint_eq(resources.processes.count, 1);
	resources_free(&resources);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("otlp_resources");
	TCase *tests = tcase_create("otlp_resources");
	tcase_add_loop_test(tests, cgroups_name_containers_and_pods, 0, sizeof cgroups / sizeof *cgroups);
	tcase_add_test(tests, attributes_are_decoded_and_bounded);
	tcase_add_test(tests, processes_are_forgotten_with_their_samples);
	tcase_add_test(tests, a_process_that_executes_another_program_is_looked_up_again);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
