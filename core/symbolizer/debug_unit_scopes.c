/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding the functions of a compilation unit, and what is inlined into them: see debug_unit.h. */
#include "symbolizer/debug_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/* Deeper nesting than compilers make is damage, or meant to exhaust the stack. */
#define DEPTH_MAX 256
/* A unit of a very large program has some 200,000. Many entries could name one long list of ranges. */
#define RANGE_COUNT_MAX ((size_t)4 << 20)

struct walk {
	struct debug_unit *unit;
	size_t ranges_seen;
	int code; /* 0 so far */
};

static uint32_t unsigned_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* The linker's name if there is one, as that says the namespace, the class and the template's arguments too. */
static const char *scope_name(Dwarf_Die *die)
{
	static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		Dwarf_Attribute attribute;
		/* Follows DW_AT_abstract_origin and DW_AT_specification, a bounded number of times. */
		const char *name =
			dwarf_attr_integrate(die, names[i], &attribute) ? dwarf_formstring(&attribute) : NULL;
		if (name && *name)
			return name;
	}
	return NULL;
}

/* Adds what the entry covers; false when it covers nothing, as the abstract form of an inlined function. */
static bool add_ranges(struct walk *walk, Dwarf_Die *die, uint32_t scope)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	bool covers = false;
	while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		if (++walk->ranges_seen > RANGE_COUNT_MAX) {
			walk->code = -ENOEXEC;
			return false;
		}
		/* Linkers leave 0 or the highest addresses where they dropped a function. */
		if (start >= end || start == 0)
			continue;
		if (!range_table_add(&walk->unit->ranges, start, end, scope)) {
			walk->code = -ENOMEM;
			return false;
		}
		covers = true;
	}
	return covers;
}

/* Adds a function or an inlined call and returns its position, or RANGE_NONE. */
static uint32_t add_scope(struct walk *walk, Dwarf_Die *die, bool inlined, uint32_t parent)
{
	struct debug_scope scope = { .parent = inlined ? parent : RANGE_NONE };
	uint32_t position = (uint32_t)walk->unit->scopes.count;
	if (!add_ranges(walk, die, position))
		return RANGE_NONE;
	scope.name = scope_name(die);
	if (inlined) {
		scope.call_file = unsigned_attribute(die, DW_AT_call_file);
		scope.call_line = unsigned_attribute(die, DW_AT_call_line);
	}
	if (!array_push(&walk->unit->scopes, scope)) {
		walk->code = -ENOMEM;
		return RANGE_NONE;
	}
	return position;
}

static void walk_children(struct walk *walk, Dwarf_Die *parent_die, uint32_t parent, unsigned depth);

static void walk_entry(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
	uint32_t scope;
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		scope = add_scope(walk, die, dwarf_tag(die) == DW_TAG_inlined_subroutine, parent);
		if (scope != RANGE_NONE)
			walk_children(walk, die, scope, depth + 1);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		walk_children(walk, die, parent, depth + 1);
		break;
	default:
		break;
	}
}

static void walk_children(struct walk *walk, Dwarf_Die *parent_die, uint32_t parent, unsigned depth)
{
	Dwarf_Die die;
	int result = dwarf_child(parent_die, &die);
	if (result > 0)
		return;
	if (result < 0 || depth > DEPTH_MAX) {
		walk->code = -ENOEXEC;
		return;
	}
	do {
		walk_entry(walk, &die, parent, depth);
		if (walk->code)
			return;
		Dwarf_Off before = dwarf_dieoffset(&die);
		result = dwarf_siblingof(&die, &die);
		/* A DW_AT_sibling that points back would never end. */
		if (result == 0 && dwarf_dieoffset(&die) <= before)
			result = -1;
	} while (result == 0);
	if (result < 0)
		walk->code = -ENOEXEC;
}

int debug_unit_read_scopes(struct debug_unit *unit, Dwarf_Die *die)
{
	struct walk walk = { .unit = unit };
	walk_children(&walk, die, RANGE_NONE, 0);
	range_table_sort(&unit->ranges);
	range_table_link(&unit->ranges);
	return walk.code;
}
