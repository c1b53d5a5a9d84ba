/* SPDX-License-Identifier: Apache-2.0 */
/* See shared_memory.h. */
#include "run/isolation/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct shared_memory *map(int descriptor)
{
	void *memory = mmap(NULL, sizeof(struct shared_memory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* Returns false if the text does not fit. */
static bool append_text(struct shared_memory *memory, const char *text)
{
	size_t size = strlen(text) + 1;
	if (size > sizeof memory->settings - memory->settings_size)
		return false;
	memcpy(memory->settings + memory->settings_size, text, size);
	memory->settings_size += (uint32_t)size;
	return true;
}

static bool write_settings(struct shared_memory *memory, const struct instance_configuration *configuration)
{
	bool fits = append_text(memory, configuration->id ? configuration->id : "");
	for (size_t i = 0; i < configuration->settings.count; i++) {
		const struct setting *setting = &configuration->settings.items[i];
		fits = fits && append_text(memory, setting->key) && append_text(memory, setting->value);
	}
	return fits;
}

struct shared_memory *shared_memory_new(const struct instance_configuration *configuration, int *descriptor)
{
	*descriptor = memfd_create("iaprof-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*descriptor < 0 || ftruncate(*descriptor, sizeof(struct shared_memory)) ||
	    fcntl(*descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return NULL;
	struct shared_memory *memory = map(*descriptor);
	if (!memory || write_settings(memory, configuration))
		return memory;
	shared_memory_free(memory);
	errno = E2BIG;
	return NULL;
}

struct shared_memory *shared_memory_open(int descriptor)
{
	struct shared_memory *memory = map(descriptor);
	close(descriptor);
	return memory;
}

void shared_memory_free(struct shared_memory *memory)
{
	if (memory)
		munmap(memory, sizeof *memory);
}

int shared_memory_read_settings(struct shared_memory *memory, struct instance_configuration *configuration)
{
	char *text = memory->settings, *end = text + memory->settings_size;
	configuration->id = *text ? text : NULL;
	for (text += strlen(text) + 1; text < end; text += strlen(text) + 1) {
		struct setting setting = { .key = text, .origin = (char *)"iaprof" };
		text += strlen(text) + 1;
		setting.value = text;
		if (strcmp(setting.key, "isolate") && !array_push(&configuration->settings, setting))
			return -ENOMEM;
	}
	return 0;
}
