/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the functions of a compilation unit and their inlined functions: see debug_unit.h. */
#include "symbolizer/debug_unit.h"

#include <dwarf.h>
#include <errno.h>

/* Limit on nesting, deeper than any compiler's: beyond it, the data is damaged, or meant to exhaust the stack. */
#define DEPTH_MAX 256
/* A unit of a very large program has about 200,000. Many entries could refer to one long list of ranges. */
#define RANGE_COUNT_MAX ((size_t)4 << 20)

struct walk {
	struct debug_unit *unit;
	const struct debug_placement *placement;
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

/* Returns the linkage name if there is one, because it includes namespace, class and template arguments. */
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

/* Adds the ranges of an entry; returns false if it has none, as the abstract form of an inlined function. */
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
		if (end <= walk->placement->size) {
			start += walk->placement->address;
			end += walk->placement->address;
		}
		/* Linkers write 0 or the highest addresses for functions that they dropped. */
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

/* Moves to the next entry; returns 0, 1 if there is none, or -1. */
static int next_sibling(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);
	int result = dwarf_siblingof(die, die);
	/* A DW_AT_sibling that points backwards would cause an endless loop. */
	return result == 0 && dwarf_dieoffset(die) <= before ? -1 : result;
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
		result = next_sibling(&die);
	} while (result == 0);
	if (result < 0)
		walk->code = -ENOEXEC;
}

int debug_unit_read_scopes(struct debug_unit *unit, Dwarf_Die *die, const struct debug_placement *placement)
{
	struct walk walk = { .unit = unit, .placement = placement };
	walk_children(&walk, die, RANGE_NONE, 0);
	range_table_sort(&unit->ranges);
	range_table_link(&unit->ranges);
	return walk.code;
}

int debug_unit_list_functions(Dwarf_Die *unit, debug_function_array *functions)
{
	Dwarf_Die die;
	int result = dwarf_child(unit, &die);
	while (result == 0) {
		Dwarf_Addr start, end;
		const char *name = dwarf_tag(&die) == DW_TAG_subprogram ? scope_name(&die) : NULL;
		if (name && dwarf_lowpc(&die, &start) == 0 && dwarf_highpc(&die, &end) == 0 && start < end &&
		    !array_push(functions, ((struct debug_function){ name, start, end })))
			return -ENOMEM;
		result = next_sibling(&die);
	}
	return result < 0 ? -ENOEXEC : 0;
}
