/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sass.h. The table was learned by learn.py. Its templates are text with items in braces. POS.WIDTH is a field of
 * the instruction's 128 bits; fields that are joined by "+" are concatenated, the first one lowest.
 *
 *     {73.3/.U8/.S8//?}     text by the value of a field; "?": the value is not known
 *     {72.8=0:.A=16:.B}     the same, only for the values that are listed
 *     {R24} {UR32} {P81} {UP81} {B16} {SB44}   register whose number begins at a bit
 *     {P81!} {P81#}         predicate register that is left out if it is PT; that is never PT
 *     {V64}                 uniform register that follows the one whose number begins at a bit
 *     {S}                   special register
 *     {A}                   modifier that IMAD has for some operands
 *     {L34.48<2}            label: offset from the next instruction, shifted
 *     {i32.32} {i32.32-}    integer, unsigned and signed; with "?FIELD=0:-=1:+" the sign depends on a field
 *     {o40.24-}             the same, as an offset that is added: "+0x8", nothing if it is 0
 *     {z40.24} {y40.24}     the same, with RZ and URZ for 0
 *     {c54.5}               integer
 *     {f32.32} {d32.32} {h32.16} {b32.16}      float, upper half of a double, half, bfloat16
 *     {m32.6}               set of barriers
 */
#include "sass.h"

#include <iaprof/plugin.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SM75 = 1, SM80 = 2, SM86 = 4, SM89 = 8, SM90 = 16, SM100 = 32, SM120 = 64, ALL = 127 };

static const struct sass_form forms[] = {
#define FORM(sms, guard, mask_high, mask_low, value_high, value_low, name, template)                                   \
	{ sms, { mask_low, mask_high }, { value_low, value_high }, guard, name, template },
#include "table.inc"
};

static const char *const special_registers[256] = {
#define SPECIAL(number, name) [number] = name,
#include "table.inc"
};

#define FORM_COUNT (sizeof forms / sizeof *forms)

uint32_t sass_sm_bit(unsigned sm)
{
	static const uint8_t known[] = { 75, 80, 86, 89, 90, 100, 120 };
	for (unsigned i = 0; i < sizeof known; i++)
		if (known[i] == sm)
			return 1u << i;
	return 0;
}

struct sass_word sass_word_read(const void *bytes)
{
	const uint8_t *byte = bytes;
	struct sass_word word = { 0 };
	for (unsigned i = 8; i-- > 0;) {
		word.low = word.low << 8 | byte[i];
		word.high = word.high << 8 | byte[8 + i];
	}
	return word;
}

static uint64_t bits(const struct sass_word *word, unsigned position, unsigned width)
{
	uint64_t value;
	if (position >= 64)
		value = word->high >> (position - 64);
	else
		value = word->low >> position | (position ? word->high << (64 - position) : 0);
	return width < 64 ? value & ((UINT64_C(1) << width) - 1) : value;
}

struct sass_control sass_control_of(const struct sass_word *word)
{
	return (struct sass_control){ .stall = (uint8_t)bits(word, 105, 4),
				      .write_barrier = (uint8_t)bits(word, 110, 3),
				      .read_barrier = (uint8_t)bits(word, 113, 3),
				      .waits = (uint8_t)bits(word, 116, 6) };
}

static unsigned opcode_of(const struct sass_form *form)
{
	return form->value.low & 0xfff;
}

/* Returns the first form of an opcode; the forms are ordered by opcode. */
static size_t first_form(unsigned opcode)
{
	size_t first = 0, end = FORM_COUNT;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (opcode_of(&forms[middle]) < opcode)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

const struct sass_form *sass_form_find(uint32_t sm, const struct sass_word *word)
{
	unsigned opcode = word->low & 0xfff;
	for (size_t i = first_form(opcode); i < FORM_COUNT && opcode_of(&forms[i]) == opcode; i++) {
		const struct sass_form *form = &forms[i];
		if (form->sms & sm && (word->low & form->mask.low) == form->value.low &&
		    (word->high & form->mask.high) == form->value.high)
			return form;
	}
	return NULL;
}

const char *sass_name(uint32_t sm, const struct sass_word *word)
{
	const struct sass_form *form = sass_form_find(sm, word);
	if (form)
		return form->name;
	/* The opcode alone, if it has one name. */
	const char *name = "?";
	unsigned opcode = word->low & 0xfff;
	for (size_t i = first_form(opcode); i < FORM_COUNT && opcode_of(&forms[i]) == opcode; i++) {
		if (!(forms[i].sms & sm))
			continue;
		if (*name != '?' && strcmp(name, forms[i].name) != 0)
			return "?";
		name = forms[i].name;
	}
	return name;
}

struct printer {
	const struct sass_word *word;
	uint32_t sm;
	uint64_t offset;
	char *text;
	size_t length;
	bool failed;
};

static void append(struct printer *printer, const char *text, size_t length)
{
	if (printer->length + length >= SASS_TEXT) {
		printer->failed = true;
		return;
	}
	memcpy(printer->text + printer->length, text, length);
	printer->length += length;
}

__attribute__((format(printf, 2, 3))) static void print(struct printer *printer, const char *format, ...)
{
	char text[64];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof text)
		printer->failed = true;
	else
		append(printer, text, (size_t)length);
}

/* Reads fields such as "16.8+34.48", and moves *at behind them. */
static uint64_t read_fields(const struct sass_word *word, const char **at, unsigned *width)
{
	uint64_t value = 0;
	*width = 0;
	for (;;) {
		char *end;
		unsigned position = (unsigned)strtoul(*at, &end, 10);
		unsigned count = (unsigned)strtoul(end + 1, &end, 10);
		value |= bits(word, position, count) << *width;
		*width += count;
		*at = end;
		if (*end != '+')
			return value;
		*at = end + 1;
	}
}

/* Finds the text of a value behind fields, "/A/B/C}" or "=1:A=5:B}"; NULL if there is none. */
static const char *find_word(const char *at, uint64_t value, size_t *length)
{
	bool listed = *at == '=';
	for (uint64_t i = 0; *at != '}'; i++) {
		char *text = (char *)at + 1;
		if (listed) {
			i = strtoul(at + 1, &text, 10);
			text++;
		}
		*length = strcspn(text, listed ? "=}" : "/}");
		if (i == value)
			return *text == '?' ? NULL : text;
		at = text + *length;
	}
	return NULL;
}

static void print_words(struct printer *printer, const char *at)
{
	unsigned width;
	size_t length;
	uint64_t value = read_fields(printer->word, &at, &width);
	const char *text = find_word(at, value, &length);
	if (text)
		append(printer, text, length);
	else
		printer->failed = true;
}

static void print_register(struct printer *printer, const char *at)
{
	static const struct {
		const char *name;
		uint8_t width;
		char all_ones; /* letter of the register that has all bits set */
	} files[] = { { "UR", 8, 'Z' }, { "UP", 3, 'T' }, { "SB", 3, 0 },
		      { "R", 8, 'Z' },  { "P", 3, 'T' },  { "B", 4, 0 } };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		size_t length = strlen(files[i].name);
		if (strncmp(at, files[i].name, length) != 0)
			continue;
		unsigned width = i == 0 && printer->sm < SM100 ? 6 : files[i].width;
		char *end;
		unsigned value = (unsigned)bits(printer->word, (unsigned)strtoul(at + length, &end, 10), width);
		bool all = files[i].all_ones && value == (1u << width) - 1;
		if (all && *end == '#')
			printer->failed = true;
		else if (all)
			print(printer, "%s%c", files[i].name, files[i].all_ones);
		else
			print(printer, "%s%u", files[i].name, value);
		return;
	}
	printer->failed = true;
}

/* As nvdisasm prints numbers. */
static void print_float(struct printer *printer, double number, bool special, bool negative, bool infinite, bool quiet)
{
	if (special)
		print(printer, "%c%s ", negative ? '-' : '+', infinite ? "INF" : quiet ? "QNAN" : "SNAN");
	else if (number == 0 && negative)
		print(printer, "-0.0 ");
	else
		print(printer, number < 1e9 && number > -1e9 ? "%.20g" : "%.20e", number);
}

static double single_of(uint32_t value)
{
	float number;
	memcpy(&number, &value, sizeof number);
	return (double)number;
}

static double half_of(uint32_t value)
{
	int exponent = value >> 10 & 31;
	double number = exponent ? (double)((value & 1023) | 1024) : (double)(value & 1023);
	for (int i = exponent ? exponent : 1; i < 25; i++)
		number /= 2;
	for (int i = 25; i < exponent; i++)
		number *= 2;
	return value >> 15 ? -number : number;
}

static void print_number(struct printer *printer, char kind, uint64_t value)
{
	uint32_t bits32 = (uint32_t)value;
	if (kind == 'b')
		bits32 <<= 16;
	if (kind == 'h') {
		print_float(printer, half_of(bits32), (bits32 >> 10 & 31) == 31, bits32 >> 15 & 1, !(bits32 & 1023),
			    bits32 >> 9 & 1);
	} else if (kind == 'd') {
		uint64_t bits64 = value << 32;
		double number;
		memcpy(&number, &bits64, sizeof number);
		print_float(printer, number, (bits32 >> 20 & 2047) == 2047, bits32 >> 31, !(bits32 & 0xfffff),
			    bits32 >> 19 & 1);
	} else {
		print_float(printer, single_of(bits32), (bits32 >> 23 & 255) == 255, bits32 >> 31, !(bits32 & 0x7fffff),
			    bits32 >> 22 & 1);
	}
}

static int64_t sign_extend(uint64_t value, unsigned width)
{
	if (width >= 64)
		return (int64_t)value;
	uint64_t sign = UINT64_C(1) << (width - 1);
	return (int64_t)((value ^ sign) - sign);
}

static void print_integer(struct printer *printer, char kind, const char *at)
{
	unsigned width, shift = 0;
	uint64_t value = read_fields(printer->word, &at, &width);
	if (*at == '<') {
		shift = (unsigned)(at[1] - '0');
		at += 2;
	}
	bool is_signed = *at == '-';
	if (*at == '?' && value >> (width - 1) & 1) {
		unsigned ignored;
		size_t length;
		at++;
		uint64_t key = read_fields(printer->word, &at, &ignored);
		const char *sign = find_word(at, key, &length);
		if (!sign)
			printer->failed = true;
		is_signed = sign && *sign == '-';
	}
	int64_t number = is_signed ? sign_extend(value, width) : (int64_t)value;
	number = (int64_t)((uint64_t)number << shift);
	bool negative = is_signed && number < 0;
	uint64_t magnitude = negative ? -(uint64_t)number : (uint64_t)number;
	if (!magnitude && kind == 'o')
		return;
	if (!magnitude && (kind == 'z' || kind == 'y')) {
		print(printer, kind == 'z' ? "RZ" : "URZ");
		return;
	}
	print(printer, "%s%s0x%" PRIx64, kind == 'o' ? "+" : "", negative ? "-" : "", magnitude);
}

static uint64_t target_of(const struct sass_word *word, const char *at, uint64_t offset)
{
	unsigned width;
	uint64_t value = read_fields(word, &at, &width);
	unsigned shift = *at == '<' ? (unsigned)(at[1] - '0') : 0;
	return offset + SASS_SIZE + ((uint64_t)sign_extend(value, width) << shift);
}

static bool is_reset(uint64_t value)
{
	return value && !(value & (value - 1));
}

/* IMAD is named for what it does if an operand is RZ or 1. */
static const char *imad_alias(const struct sass_word *word)
{
	unsigned form = (unsigned)bits(word, 9, 3);
	bool third_is_zero = bits(word, 64, 8) == 255;
	uint64_t immediate = bits(word, 32, 32);
	if (bits(word, 74, 1)) /* .X */
		return "";
	if (bits(word, 24, 8) == 255 &&
	    ((form == 1 && bits(word, 32, 8) == 255) || ((form == 2 || form == 3) && third_is_zero)))
		return ".MOV";
	if (form == 4 && immediate == 1)
		return ".IADD";
	if (form == 4 && third_is_zero && !bits(word, 73, 1) && is_reset(immediate) && immediate != 0x10000 &&
	    immediate != UINT32_C(1) << 31)
		return ".SHL";
	return "";
}

static void print_barriers(struct printer *printer, const char *at)
{
	unsigned width;
	uint64_t value = read_fields(printer->word, &at, &width);
	const char *separator = "{";
	for (unsigned i = width; i-- > 0;) {
		if (!(value >> i & 1))
			continue;
		print(printer, "%s%u", separator, i);
		separator = ",";
	}
	print(printer, "%s", value ? "}" : "{}");
}

static void print_item(struct printer *printer, const char *item)
{
	switch (*item) {
	case 'A':
		print(printer, "%s", imad_alias(printer->word));
		break;
	case 'S':
		if (item[1] == 'B') {
			print_register(printer, item);
		} else {
			const char *name = special_registers[bits(printer->word, 72, 8)];
			if (name)
				print(printer, "%s", name);
			else
				printer->failed = true;
		}
		break;
	case 'L':
		print(printer, "0x%" PRIx64, target_of(printer->word, item + 1, printer->offset));
		break;
	case 'V':
		print(printer, "UR%u", (unsigned)bits(printer->word, (unsigned)atoi(item + 1), 8) + 1);
		break;
	case 'i':
	case 'o':
	case 'z':
	case 'y':
	case 'c':
		print_integer(printer, *item, item + 1);
		break;
	case 'f':
	case 'd':
	case 'h':
	case 'b': {
		unsigned width;
		const char *at = item + 1;
		uint64_t value = read_fields(printer->word, &at, &width);
		print_number(printer, *item, value);
		break;
	}
	case 'm':
		print_barriers(printer, item + 1);
		break;
	default:
		if (*item >= '0' && *item <= '9')
			print_words(printer, item);
		else
			print_register(printer, item);
	}
}

/* A predicate register that is left out if it is PT. Returns the end of what it leaves out, or NULL. */
static const char *left_out(struct printer *printer, const char *item, const char *end)
{
	if (end[-1] != '!' || (*item != 'P' && *item != 'U'))
		return NULL;
	if (bits(printer->word, (unsigned)atoi(item + (*item == 'U' ? 2 : 1)), 3) != 7)
		return NULL;
	if (printer->length && strchr("!-~", printer->text[printer->length - 1])) {
		printer->failed = true;
	} else if (strncmp(end + 1, ", ", 2) == 0) {
		end += 2;
	} else if (printer->length > 1 && memcmp(printer->text + printer->length - 2, ", ", 2) == 0) {
		printer->length -= 2;
	}
	return end;
}

static void print_guard(struct printer *printer, const struct sass_form *form)
{
	unsigned number = (unsigned)bits(printer->word, 12, 3);
	bool negated = bits(printer->word, 15, 1);
	if (number == 7 && !negated)
		return;
	if (*form->guard == '-')
		printer->failed = true;
	else if (number == 7)
		print(printer, "@!%sT ", form->guard);
	else
		print(printer, "@%s%s%u ", negated ? "!" : "", form->guard, number);
}

void sass_text(uint32_t sm, const struct sass_word *word, uint64_t offset, char text[SASS_TEXT])
{
	const struct sass_form *form = sass_form_find(sm, word);
	struct printer printer = { .word = word, .sm = sm, .offset = offset, .text = text, .failed = !form };
	if (form)
		print_guard(&printer, form);
	for (const char *at = form ? form->template : ""; *at && !printer.failed; at++) {
		if (*at != '{') {
			append(&printer, at, 1);
			continue;
		}
		const char *item = at + 1, *end = at + strcspn(at, "}");
		const char *skipped = left_out(&printer, item, end);
		if (!skipped)
			print_item(&printer, item);
		at = skipped ? skipped : end;
	}
	while (printer.length && text[printer.length - 1] == ' ')
		printer.length--;
	text[printer.failed ? 0 : printer.length] = '\0';
}

uint64_t sass_target(const struct sass_form *form, const struct sass_word *word, uint64_t offset)
{
	const char *label = strstr(form->template, "{L");
	return label ? target_of(word, label + 2, offset) : UINT64_MAX;
}

/* Appends a word and a number, if there is room. */
static size_t append_wait(char *text, size_t length, const char *word, unsigned number)
{
	char part[16];
	int size = snprintf(part, sizeof part, "%s%s %u", length ? " " : "", word, number);
	if (size < 0 || length + (size_t)size >= SASS_WAITS)
		return length;
	memcpy(text + length, part, (size_t)size + 1);
	return length + (size_t)size;
}

void sass_waits(const struct sass_word *word, char text[SASS_WAITS])
{
	struct sass_control control = sass_control_of(word);
	size_t length = 0;
	*text = '\0';
	for (unsigned i = 0; i < SASS_BARRIERS; i++) {
		if (control.waits >> i & 1)
			length +=
				(size_t)snprintf(text + length, SASS_WAITS - length, "%s%u", length ? "," : "wait ", i);
	}
	if (control.write_barrier < SASS_BARRIERS)
		length = append_wait(text, length, "wr", control.write_barrier);
	if (control.read_barrier < SASS_BARRIERS)
		length = append_wait(text, length, "rd", control.read_barrier);
	if (control.stall > 1)
		append_wait(text, length, "stall", control.stall);
}

static void add_register(struct sass_registers *registers, const char *item, unsigned number)
{
	bool uniform = *item == 'U';
	uint64_t *general = uniform ? registers->uniform : registers->general;
	uint8_t *predicates = uniform ? &registers->uniform_predicates : &registers->predicates;
	if (item[uniform] == 'R')
		general[number / 64 % 4] |= UINT64_C(1) << number % 64;
	else if (number < 7)
		*predicates |= (uint8_t)(1u << number);
}

bool sass_registers(uint32_t sm, const struct sass_word *word, struct sass_registers *reads,
		    struct sass_registers *writes)
{
	const struct sass_form *form = sass_form_find(sm, word);
	*reads = *writes = (struct sass_registers){ 0 };
	if (!form)
		return false;
	if (*form->guard != '-')
		add_register(reads, form->guard, (unsigned)bits(word, 12, 3));
	bool is_wide = *form->name == 'D' || strstr(form->template, ".WIDE");
	for (const char *at = form->template; (at = strchr(at, '{')); at++) {
		const char *item = at + 1;
		bool uniform = *item == 'U';
		char file = item[uniform];
		if (file != 'R' && file != 'P')
			continue;
		/* Destinations are in bits 16 to 23; predicates in bits 81 to 86. */
		unsigned position = (unsigned)atoi(item + uniform + 1);
		unsigned width = file == 'P' ? 3 : uniform && sm < SM100 ? 6 : 8;
		unsigned number = (unsigned)bits(word, position, width);
		bool is_written = file == 'R' ? position == 16 : position == 81 || position == 84;
		if (number == (1u << width) - 1) /* RZ, PT */
			continue;
		add_register(is_written ? writes : reads, item, number);
		if (is_written && is_wide && file == 'R')
			add_register(writes, item, number + 1);
	}
	return true;
}

static bool listed(const char *name, const char *list)
{
	size_t length = strlen(name);
	for (const char *at = list; (at = strstr(at, name)); at += length)
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

uint32_t sass_group(const char *name)
{
	static const struct {
		uint32_t group;
		const char *names;
	} groups[] = {
		{ IAPROF_INSTRUCTION_OTHER, "? NOP PMTRIG" },
		{ IAPROF_INSTRUCTION_MATH, "MUFU" },
		{ IAPROF_INSTRUCTION_MATRIX,
		  "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCMXQMMA "
		  "MOVM" },
		{ IAPROF_INSTRUCTION_MEMORY,
		  "LD LDG LDL LDS LDSM LDC LDCU ULDC LDGSTS LDTM LDT ST STG STL STS STSM STAS STT STTM ATOM ATOMG "
		  "ATOMS "
		  "RED REDG REDAS REDS CCTL CCTLL CCTLT TEX TLD TLD4 TMML TXD TXQ SULD SUST SUATOM SURED UTMALDG "
		  "UTMASTG "
		  "UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH UTCCP UTCSHIFT UTCATOMSWS UBLKCP UBLKRED UBLKPF QSPC" },
		{ IAPROF_INSTRUCTION_SYNCHRONIZATION,
		  "BAR DEPBAR LDGDEPBAR LDTDEPBAR MEMBAR ERRBAR FENCE SYNCS WARPSYNC WARPGROUP B2R R2B CGAERRBAR "
		  "UCGABAR_ARV UCGABAR_WAIT UTMAWAIT UTCBAR ARRIVES NANOSLEEP ELECT ENDCOLLECTIVE ACQBULK PREEXIT "
		  "WARPGROUPSET USETMAXREG BMOV" },
		{ IAPROF_INSTRUCTION_CONTROL,
		  "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT KILL BSSY BSYNC BREAK BPT YIELD RPCMOV LEPC RTT" },
	};
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (listed(name, groups[i].names))
			return groups[i].group;
	return IAPROF_INSTRUCTION_ARITHMETIC;
}
