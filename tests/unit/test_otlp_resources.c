/* SPDX-License-Identifier: Apache-2.0 */
/* Resource attributes of processes in sink otlp: containers and pods by their cgroups, and attributes that are given.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_context.h"
#include "resources.h"
#include "../run_suite.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SHORT_ID "0123456789ab"
#define POD "01234567-89ab-cdef-0123-456789abcdef"

static const struct {
	const char *path, *container, *pod, *service;
} cgroups[] = {
	{ "/", "", "", "" },
	{ "/user.slice/user-1000.slice/session-3.scope", "", "", "session-3.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app.service/part", "", "", "app.service" },
	{ "/system.slice/docker-" ID ".scope", ID, "", SHORT_ID },
	{ "/kubepods/burstable/pod" POD "/" ID, ID, POD, SHORT_ID },
	{ "/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-" ID ".scope", ID, POD,
	  SHORT_ID },
	{ "/machine.slice/libpod-" ID ".scope/container", ID, "", SHORT_ID },
	{ "/pods/podium/pod01234567", "", "", "" },
	{ "/.service/.scope", "", "", "" },
	{ "/machine.slice/machine-web.scope", "web", "", "web" },
};

TEST_LOOP(cgroups_name_containers_and_pods, 0, sizeof cgroups / sizeof *cgroups)
{
	char container[CONTAINER_NAME_SIZE], pod[POD_UID_SIZE];
	cgroup_names_read(cgroups[_i].path, container, pod);
	ck_assert_str_eq(container, cgroups[_i].container);
	ck_assert_str_eq(pod, cgroups[_i].pod);
	cgroup_service_read(cgroups[_i].path, container);
	ck_assert_str_eq(container, cgroups[_i].service);
}

static const char *of_machine(const struct resources *resources, const char *key)
{
	for (size_t i = 0; i < resources->machine.attributes.count; i++)
		if (strcmp(resources->machine.attributes.items[i].key, key) == 0)
			return resources->machine.attributes.items[i].value;
	return NULL;
}

TEST(attributes_are_decoded_and_bounded)
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

TEST(processes_are_forgotten_with_their_samples)
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

/* Its environment is that of the program that it executed last. */
TEST(a_process_that_executes_another_program_is_looked_up_again)
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

/* Publishes a context as the proposal has it for Linux kernels that name no anonymous memory. Returns its header. */
static uint8_t *publish(const char *service)
{
	int file = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(file, 8192), 0);
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	uint8_t payload[256];
	size_t length = strlen(service);
	/* resource { attributes { key: "service.name" value { string_value: service } } } */
	const uint8_t head[] = { 0x0a, (uint8_t)(20 + length), 0x0a, (uint8_t)(18 + length), 0x0a, 12 };
	memcpy(payload, head, sizeof head);
	memcpy(payload + sizeof head, "service.name", 12);
	const uint8_t value[] = { 0x12, (uint8_t)(2 + length), 0x0a, (uint8_t)length };
	memcpy(payload + sizeof head + 12, value, sizeof value);
	memcpy(payload + sizeof head + 12 + sizeof value, service, length);
	uint32_t version = 2, size = (uint32_t)(sizeof head + 12 + sizeof value + length);
	uint64_t published = 1, address = (uintptr_t)page + 4096;
	ck_assert_ptr_ne(page, MAP_FAILED);
	memcpy(page, "OTEL_CTX", 8);
	memcpy(page + 8, &version, 4);
	memcpy(page + 12, &size, 4);
	memcpy(page + 16, &published, 8);
	memcpy(page + 24, &address, 8);
	memcpy(page + 4096, payload, size);
	close(file);
	return page;
}

static const char *own_service(struct resources *resources)
{
	uint32_t index = resources_of_process(resources, (uint32_t)getpid());
	const struct resource *resource = &resources->items.items[index];
	for (size_t i = 0; i < resource->attributes.count; i++)
		if (strcmp(resource->attributes.items[i].key, "service.name") == 0)
			return resource->attributes.items[i].value;
	return "none";
}

TEST(a_process_publishes_its_service_when_it_likes)
{
	struct resources resources;
	uint64_t nothing = 0, address = 8;
	ck_assert(resources_init(&resources, NULL, false));
	ck_assert_str_eq(own_service(&resources), "none");
	uint8_t *page = publish("translator");
	/* At the next profile, and not before. */
	ck_assert_str_eq(own_service(&resources), "none");
	resources_begin(&resources);
	ck_assert_str_eq(own_service(&resources), "translator");
	resources_free(&resources);
	/* Being changed; elsewhere; larger than is read. */
	for (int i = 0; i < 3; i++) {
		munmap(page, 8192);
		page = publish("translator");
		if (i == 0)
			memcpy(page + 16, &nothing, 8);
		else if (i == 1)
			memcpy(page + 24, &address, 8);
		else
			memset(page + 12, 0xff, 4);
		ck_assert(resources_init(&resources, NULL, false));
		ck_assert_str_eq(own_service(&resources), "none");
		resources_free(&resources);
	}
	munmap(page, 8192);
}

/* Services that no process has any more make room for others. */
TEST(resources_without_processes_are_forgotten)
{
	struct resources resources;
	struct iaprof_record_process record = { .header = { .type = IAPROF_RECORD_PROCESS },
						.pid = (uint32_t)getpid(),
						.event = IAPROF_PROCESS_EXEC };
	ck_assert(resources_init(&resources, NULL, false));
	for (unsigned i = 0; i < 2 * RESOURCES_MAX; i++) {
		char name[32];
		snprintf(name, sizeof name, "service-%u", i);
		uint8_t *page = publish(name);
		resources_begin(&resources);
		resources_take(&resources, &record.header);
		ck_assert_str_eq(own_service(&resources), name);
		ck_assert_uint_le(resources.items.count, RESOURCES_MAX / 2 + 1);
		ck_assert_uint_eq(resources.items.count, resources.owners.count);
		munmap(page, 8192);
	}
	resources_free(&resources);
}

#define STRANGER 61234

/* Starts a program of a user with a service name, which sleeps. */
static pid_t start_service(uid_t user, unsigned number)
{
	int begun[2];
	char name[64], byte;
	ck_assert_int_eq(pipe2(begun, O_CLOEXEC), 0);
	pid_t child = fork();
	if (!child) {
		snprintf(name, sizeof name, "OTEL_SERVICE_NAME=service-%u-%u", user, number);
		if (!setuid(user))
			execle("/bin/sleep", "sleep", "1000", NULL, (char *[]){ name, NULL });
		_exit(1);
	}
	close(begun[1]);
	/* exec closes the other end. */
	ck_assert_int_eq(read(begun[0], &byte, 1), 0);
	close(begun[0]);
	return child;
}

static bool has_service(struct resources *resources, pid_t pid)
{
	uint32_t index = resources_of_process(resources, (uint32_t)pid);
	return resource_has(&resources->items.items[index], "service.name");
}

TEST(a_user_has_a_share_of_the_resources)
{
	enum { COUNT = RESOURCES_USER_MAX + 2 };
	struct resources resources;
	pid_t children[COUNT + 2];
	uint32_t user = 0;
	if (geteuid() != 0)
		return;
	ck_assert(resources_init(&resources, NULL, false));
	for (unsigned i = 0; i < COUNT; i++) {
		children[i] = start_service(STRANGER, i);
		ck_assert_int_eq(has_service(&resources, children[i]), i < RESOURCES_USER_MAX);
	}
	ck_assert_uint_eq(user_accounts_refused(&resources.users, &user), COUNT - RESOURCES_USER_MAX);
	ck_assert_uint_eq(user, STRANGER);
	children[COUNT] = start_service(STRANGER + 1, 0);
	children[COUNT + 1] = start_service(0, 0);
	ck_assert(has_service(&resources, children[COUNT]));
	ck_assert(has_service(&resources, children[COUNT + 1]));
	for (size_t i = 0; i < COUNT + 2; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	resources_free(&resources);
}

TEST(contexts_that_are_none_do_no_harm)
{
	static const uint8_t bad[][8] = { { 0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f },
					  { 0x0a, 4, 0x0a, 0x7f, 1, 2 },
					  { 0xff } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct resource resource = { 0 };
		ck_assert(process_context_decode(&resource, bad[i], sizeof bad[i]));
		ck_assert_uint_eq(resource.attributes.count, 0);
		resource_free(&resource);
	}
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
