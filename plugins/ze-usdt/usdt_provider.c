/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See usdt_provider.h. The notes have SystemTap's format: owner "stapsdt", type 3, then the addresses of the probe
 * site, of .stapsdt.base and of the semaphore, and three strings: provider, probe and arguments.
 */
#include <stdlib.h>
#include <string.h>
#include "usdt_provider.h"
#include "probes.h"

#define SECTION_NAME ".note.stapsdt"
#define NOTE_OWNER "stapsdt"
#define NOTE_TYPE 3u
#define NOTE_ADDRESSES (3 * sizeof(uint64_t))
/* libc has about 20 notes in 1 KiB; programs with many (databases, language runtimes) have a few thousand. */
#define NOTES_SIZE_MAX (1024u * 1024)
#define SECTIONS_MAX 4096u

static const char *const probe_names[PROVIDER_PROBE_COUNT] = {
	[PROVIDER_LAUNCH_KERNEL] = ZE_PROBE_LAUNCH_KERNEL,
	[PROVIDER_EXECUTE_LIST] = ZE_PROBE_EXECUTE_LIST,
	[PROVIDER_COMPILE_KERNEL] = ZE_PROBE_COMPILE_KERNEL,
	[PROVIDER_UNLOAD_MODULE] = ZE_PROBE_UNLOAD_MODULE,
	[PROVIDER_SHARE_COUNTS] = ZE_PROBE_SHARE_COUNTS,
	[PROVIDER_COMPILE_KERNEL_AGAIN] = ZE_PROBE_COMPILE_KERNEL_AGAIN,
	[PROVIDER_TIMED_LAUNCH] = ZE_PROBE_TIMED_LAUNCH,
	[PROVIDER_KERNEL_TIME] = ZE_PROBE_KERNEL_TIME,
	[PROVIDER_TIME_ALL] = ZE_PROBE_TIME_ALL,
};

const char *provider_probe_name(enum provider_probe probe)
{
	return probe_names[probe];
}

/* Returns whether what remains of a note is this text, of size bytes with its NUL. */
static bool is_text(const char *begin, const char *end, const char *text, size_t size)
{
	return (size_t)(end - begin) == size && memcmp(begin, text, size) == 0;
}

/* Counts the probe that a note describes. */
static void note_count(const char *description, size_t size, struct usdt_provider *provider)
{
	if (size <= NOTE_ADDRESSES)
		return;
	const char *name = description + NOTE_ADDRESSES, *end = description + size;
	size_t length = strnlen(name, (size_t)(end - name));
	if (name + length == end || strcmp(name, ZE_PROBE_PROVIDER) != 0)
		return;
	name += length + 1;
	length = strnlen(name, (size_t)(end - name));
	if (name + length == end)
		return;
	const char *arguments = name + length + 1;
	for (int i = 0; i < PROVIDER_PROBE_COUNT; i++)
		provider->sites[i] += strcmp(name, probe_names[i]) == 0;
	if (is_text(arguments, end, ZE_LAUNCH_REGISTERS, sizeof ZE_LAUNCH_REGISTERS)) {
		provider->in_registers += strcmp(name, ZE_PROBE_LAUNCH_KERNEL) == 0;
		provider->nop10_sites += strcmp(name, ZE_PROBE_LAUNCH_KERNEL_NOP10) == 0;
	} else if (is_text(arguments, end, ZE_NEW_LAUNCH_REGISTERS, sizeof ZE_NEW_LAUNCH_REGISTERS)) {
		provider->new_sites += strcmp(name, ZE_PROBE_NEW_LAUNCH) == 0;
		provider->new_nop10_sites += strcmp(name, ZE_PROBE_NEW_LAUNCH_NOP10) == 0;
	}
}

static size_t note_round(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static void notes_walk(const char *notes, size_t size, struct usdt_provider *provider)
{
	Elf64_Nhdr header;

	for (size_t offset = 0; size - offset >= sizeof header;) {
		memcpy(&header, notes + offset, sizeof header);
		offset += sizeof header;
		size_t owner = note_round(header.n_namesz), description = note_round(header.n_descsz);
		if (owner > size - offset || header.n_descsz > size - offset - owner)
			return;
		if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof NOTE_OWNER &&
		    memcmp(notes + offset, NOTE_OWNER, sizeof NOTE_OWNER) == 0)
			note_count(notes + offset + owner, header.n_descsz, provider);
		if (description > size - offset - owner)
			return;
		offset += owner + description;
	}
}

static bool name_is(const struct elf_reader *bytes, const struct elf_sections *sections, const Elf64_Shdr *section)
{
	char name[sizeof SECTION_NAME];
	const Elf64_Shdr *names = &sections->items[sections->header.e_shstrndx];

	return section->sh_name < names->sh_size && sizeof name <= names->sh_size - section->sh_name &&
	       names->sh_offset <= UINT64_MAX - section->sh_name &&
	       bytes->read(bytes, names->sh_offset + section->sh_name, name, sizeof name) &&
	       memcmp(name, SECTION_NAME, sizeof name) == 0;
}

bool usdt_provider_find(const struct elf_reader *bytes, struct usdt_provider *provider)
{
	struct elf_sections sections;
	bool found = false;

	*provider = (struct usdt_provider){ 0 };
	if (!elf_sections_read(bytes, SECTIONS_MAX, &sections))
		return false;
	for (size_t i = 0; i < sections.count && sections.header.e_shstrndx < sections.count; i++) {
		const Elf64_Shdr *section = &sections.items[i];
		if (section->sh_type != SHT_NOTE || section->sh_size > NOTES_SIZE_MAX ||
		    !name_is(bytes, &sections, section))
			continue;
		char *notes = malloc(section->sh_size ? section->sh_size : 1);
		if (notes && bytes->read(bytes, section->sh_offset, notes, section->sh_size))
			notes_walk(notes, section->sh_size, provider);
		free(notes);
		break;
	}
	free(sections.items);
	for (int i = 0; i < PROVIDER_PROBE_COUNT; i++) {
		if (provider->sites[i] > PROVIDER_SITES_MAX)
			return false;
		found |= provider->sites[i] > 0;
	}
	return found;
}
