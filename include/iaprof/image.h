/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/image.h - interface for decoders that read ELF images of their machine: see image_read() in iaprof/plugin.h.
 *
 * The core reads the generic parts of an ELF file: sections, functions in the symbol table (STT_FUNC) and debug
 * information (DWARF). The decoder handles the conventions of the machine's compilers and loaders: which functions are
 * kernels and the attributes they were compiled with, which kernel the code of a section belongs to, relocation of
 * debug information, and the meaning of an image's addresses. Decoders run in the unprivileged process that reads
 * images of other users.
 *
 * Structs begin with their size as compiled by the writer, so that members can be appended. Array elements must be
 * accessed with the functions below, which use the strides section_size and symbol_size.
 */
#ifndef IAPROF_IMAGE_H
#define IAPROF_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A section; its number is its array index, the same as in the file; 0: none. */
struct iaprof_image_section {
	const char *name;  /* "" if it has no usable name */
	uint32_t type;     /* sh_type */
	uint32_t link;     /* sh_link */
	uint64_t flags;    /* sh_flags */
	uint64_t address;  /* sh_addr */
	uint64_t size;     /* sh_size; the size of bytes, if not NULL */
	const void *bytes; /* in the image; NULL: none (SHT_NOBITS), compressed, or outside the file */
};
IAPROF_ASSERT_SIZE(iaprof_image_section, 48);

/* A symbol of .symtab; its number is its array index, the same as in the file. */
struct iaprof_image_symbol {
	const char *name; /* "" if it has no usable name */
	uint64_t value;   /* st_value */
	uint64_t size;    /* st_size */
	uint32_t section; /* st_shndx: not necessarily a valid section number */
	uint8_t type;     /* STT_FUNC, ... */
	uint8_t binding;  /* STB_GLOBAL, ... */
	uint8_t pad[2];
};
IAPROF_ASSERT_SIZE(iaprof_image_symbol, 32);

/*
 * An image, borrowed for the duration of the call. Only offsets and names were validated: everything else is untrusted
 * and may be corrupt or malicious.
 */
struct iaprof_image {
	uint32_t size;    /* sizeof(struct iaprof_image) in the core */
	uint32_t machine; /* e_machine, equal to the decoder's */
	uint32_t type;    /* e_type */
	uint32_t flags;   /* e_flags */
	const void *bytes;
	uint64_t byte_count;
	const struct iaprof_image_section *sections;
	uint64_t section_count, section_size;
	const struct iaprof_image_symbol *symbols;
	uint64_t symbol_count, symbol_size;
};
IAPROF_ASSERT_SIZE(iaprof_image, 80);

static inline const struct iaprof_image_section *iaprof_image_section(const struct iaprof_image *image, uint64_t number)
{
	return (const struct iaprof_image_section *)(const void *)((const char *)image->sections +
								   number * image->section_size);
}

static inline const struct iaprof_image_symbol *iaprof_image_symbol(const struct iaprof_image *image, uint64_t number)
{
	return (const struct iaprof_image_symbol *)(const void *)((const char *)image->symbols +
								  number * image->symbol_size);
}

/* Numeric attribute that a kernel or function was compiled with: "simd_size", "vgpr_count". Never grows: 16 bytes. */
struct iaprof_image_attribute {
	const char *name;
	int64_t value;
};
IAPROF_ASSERT_SIZE(iaprof_image_attribute, 16);

enum iaprof_image_function_flag {
	IAPROF_IMAGE_FUNCTION_KERNEL = 1u << 0 /* launched rather than called */
};

/* A function reported by the decoder. */
struct iaprof_image_function {
	uint32_t size;    /* sizeof(struct iaprof_image_function) in the decoder */
	uint32_t flags;   /* enum iaprof_image_function_flag */
	const char *name; /* as in the symbol table and in KERNEL records */
	/*
	 * Location: a code section and the offset in it. A symbol with this name at this location is the same function;
	 * if there is none, the decoder's function is added. With section 0, applies to all functions with this name,
	 * which are marked as kernels or not according to flags.
	 */
	uint32_t section;
	uint32_t attribute_count; /* IAPROF_ATTRIBUTE_COUNT_MAX (iaprof/record.h) are used; more are counted as
				     malformed */
	uint64_t offset;
	uint64_t byte_count; /* 0: size of the symbol; without a symbol, up to the next function or the section's end */
	const struct iaprof_image_attribute *attributes;
};
IAPROF_ASSERT_SIZE(iaprof_image_function, 48);

/* Meaning of the addresses in an image. */
enum iaprof_image_addresses {
	/* Not reported: RELATIVE for shared objects (ET_DYN); for others DEVICE if a code section has an address,
	   otherwise NONE. */
	IAPROF_IMAGE_ADDRESSES_UNSTATED = 0,
	/* Sections are loaded independently, at the addresses in KERNEL records. Debug information is relocated. */
	IAPROF_IMAGE_ADDRESSES_NONE = 1,
	/* Device addresses. */
	IAPROF_IMAGE_ADDRESSES_DEVICE = 2,
	/* Relative to one load bias: the address of the CODE_OBJECT record minus base; if that record has no address,
	   the address of a KERNEL record minus that of its function. */
	IAPROF_IMAGE_ADDRESSES_RELATIVE = 3
};

/*
 * Callbacks through which the decoder reports its results, valid only during image_read(). They return 0, or a negative
 * errno that image_read() must return in turn: -ENOMEM, -E2BIG after 4,194,304 functions, sections or symbols, or
 * -EINVAL for an unknown value. Names are copied; a function or section whose name is NULL or empty is not used, and
 * counted as malformed.
 */
struct iaprof_image_report {
	uint32_t size; /* sizeof(struct iaprof_image_report) in the core */
	uint32_t pad;
	/* Reports a kernel or function; each location and each name once. */
	int (*function)(const struct iaprof_image_report *report, const struct iaprof_image_function *function);
	/* Assigns all code of a section, including functions that the kernel calls, to one kernel: offsets are relative
	   to the section's start. */
	int (*section)(const struct iaprof_image_report *report, uint32_t section, const char *kernel);
	/* Overrides the section of a symbol: for relocations, its value is relative to this section's start. */
	int (*symbol)(const struct iaprof_image_report *report, uint32_t symbol, uint32_t section);
	/* addresses: enum iaprof_image_addresses; base: for RELATIVE, the image address that corresponds to the address
	   of the CODE_OBJECT record. */
	int (*addresses)(const struct iaprof_image_report *report, uint32_t addresses, uint64_t base);
	/* Counts malformed items that were skipped. */
	void (*refused)(const struct iaprof_image_report *report, uint64_t count);
};
IAPROF_ASSERT_SIZE(iaprof_image_report, 48);

enum iaprof_relocation_formula {
	IAPROF_RELOCATION_NONE = 0,     /* writes nothing */
	IAPROF_RELOCATION_ABSOLUTE = 1, /* symbol + addend */
	IAPROF_RELOCATION_RELATIVE = 2  /* symbol + addend - place */
};

/* A relocation type of the machine. Never grows: 16 bytes. */
struct iaprof_relocation {
	uint32_t type;    /* as in r_info */
	uint32_t width;   /* bytes written: 1, 2, 4 or 8 */
	uint32_t formula; /* enum iaprof_relocation_formula */
	uint32_t shift;   /* 0 to 63: bits by which the result is shifted right, such as 32 for the upper half */
};
IAPROF_ASSERT_SIZE(iaprof_relocation, 16);

#ifdef __cplusplus
}
#endif
#endif
