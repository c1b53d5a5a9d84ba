#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learns the instruction table of the decoder from disassembly, and writes it as C (table.inc).

    learn.py --out table.inc train-75.txt train-80.txt ...

Each input is named *-SM.txt and has one instruction a line: OFFSET LOW HIGH TEXT, where LOW and HIGH are the words of
the instruction in hexadecimal, and TEXT is what the user's own disassembler prints for them. Nothing else is read. The
text is divided into a mnemonic, its modifiers, and operands with holes for values. For each hole, the bits that equal
its value in all lines are searched for; for each modifier, the fewest bits that determine it.
"""
import argparse
import collections
import multiprocessing
import re
import struct
import zlib

PARTITIONS = [
    [[75, 80, 86, 89, 90, 100, 120]],
    [[75], [80, 86, 89, 90, 100, 120]],
    [[75, 80, 86, 89, 90], [100, 120]],
    [[75, 80, 86, 89], [90, 100, 120]],
    [[75], [80, 86, 89, 90], [100, 120]],
    [[75], [80, 86, 89], [90, 100, 120]],
    [[75, 80, 86], [89, 90, 100, 120]],
    [[75], [80, 86], [89, 90, 100, 120]],
    [[75], [80, 86, 89], [90], [100, 120]],
    [[75], [80, 86], [89, 90], [100, 120]],
    [[75], [80, 86, 89], [90], [100], [120]],
]
# A form that is seen on one of them is expected on the others of its group.
ALIKE = [[75, 80, 86, 89], [90], [100, 120]]
ALL = (1 << 128) - 1
CONTROL = sum(1 << bit for bit in range(105, 122))  # stall counts, yield, barriers: no part of the text
GUARD = 0xF << 12
REUSE = range(122, 126)


def bits(word, pos, width):
    return (word >> pos) & ((1 << width) - 1)


def gather(word, spans):
    value = shift = 0
    for pos, width in spans:
        value |= bits(word, pos, width) << shift
        shift += width
    return value


# Text -> template. A hole has a kind and a value, and features: words before and after it.

KIND = re.compile(
    r"(?P<label>`?\(\S+\)(?= *$|,))|(?P<set>\{\d[\d,]*\})|(?P<pre>[-~!]?)(?P<bar>\|?)"
    r"(?:(?P<reg>(?:UR|UP|R|P)(?:\d+|Z|T)(?![A-Za-z0-9_])|SB\d+|B\d+|SR_[\w.]+|SRZ)|(?P<const>c\[0x[0-9a-f]+\] ?\[))"
    r"|(?P<hex>-?0x[0-9a-f]+)|(?P<float>[-+](?:INF|QNAN|SNAN) ?|-0\.0 |-?\d+(?:\.\d+)?(?:e[-+]\d+)?(?![\w.]))"
)
SUFFIX = re.compile(r"(?:\.[A-Za-z0-9_]+)*")
ZERO_OFFSET = re.compile(r"\[((?:U?R(?:\d+|Z)(?:\.\w+)?)(?:\+UR(?:\d+|Z))?)\]")


class Hole:
    def __init__(self, kind, value, **features):
        self.kind, self.value, self.features = kind, value, features


def register(text):
    kind = re.match(r"UR|UP|SB|R|P|B", text).group()
    number = text[len(kind):]
    return kind, -1 if number in "ZT" else int(number)


def parse_operands(base, text):
    """Returns the template, in which \\0 marks holes, and the holes."""
    text = ZERO_OFFSET.sub(r"[\1+0x0]", text)
    template, holes, at, depth = "", [], 0, 0
    closing = []
    while at < len(text):
        match = KIND.match(text, at)
        if not match or (match.group("float") and at and text[at - 1] not in " ,"):
            character = text[at]
            depth += (character in "[{") - (character in "]}")
            template += character
            at += 1
            if character == "]" and closing and closing[-1][0] == depth:
                _, hole, bar = closing.pop()
                if bar:
                    assert text[at] == "|", text
                    at += 1
                after = SUFFIX.match(text, at)
                hole.features["after"] = after.group()
                at = after.end()
                template += "\1"
            continue
        at = match.end()
        if match.group("label"):
            holes.append(Hole("L", match.group()))
        elif match.group("set"):
            holes.append(Hole("M", sum(1 << int(n) for n in match.group("set")[1:-1].split(","))))
        elif match.group("const"):
            hole = Hole("C", int(match.group("const")[2:].split("]")[0], 16), pre=match.group("pre"), bar=match.group("bar"))
            holes.append(hole)
            closing.append((depth, hole, match.group("bar")))
            template += "\0d[" if " " in match.group("const") else "\0c["
            depth += 1
            continue
        elif match.group("reg"):
            name = match.group("reg")
            bar = match.group("bar")
            if bar:
                assert text[at] == "|", text
                at += 1
            after = SUFFIX.match(text, at) if not name.startswith("SR") else None
            words = after.group() if after else ""
            at = after.end() if after else at
            reuse = ""
            if words.startswith(".reuse"):
                reuse, words = ".reuse", words[6:]
            if name.startswith("SR"):
                hole = Hole("S", name)
            else:
                kind, value = register(name)
                hole = Hole(kind, value, pre=match.group("pre"), bar=bar, reuse=reuse, after=words)
            holes.append(hole)
        elif match.group("hex"):
            value = int(match.group("hex"), 16)
            if template.endswith("+") and "[" in template:
                template = template[:-1]
                holes.append(Hole("O", value))
            elif template.endswith("[") and text[at] == "]" and (not closing or base in ("LDC", "LDCU")):
                holes.append(Hole("Y" if base[0] == "U" or base == "LDCU" else "Z", value))
            else:
                holes.append(Hole("I", value))
        else:
            holes.append(Hole("F", match.group("float").strip()))
        template += "\0"
    return template, holes


class Row:
    def __init__(self, sm, offset, word, text):
        self.sm, self.offset, self.word, self.text = sm, offset, word, text
        guard = re.match(r"@(!?)(U?P)(\d|T) ", text)
        self.guard = guard.group(2) if guard else ""
        rest = text[guard.end():] if guard else text
        name, _, operands = rest.partition(" ")
        # A space after the comma of a modifier list is never printed; operands that follow a blank are kept as such.
        self.base, *self.words = name.split(".")
        self.template, self.holes = parse_operands(self.base, operands)
        self.values = {}
        for number, hole in enumerate(self.holes):
            for feature, value in hole.features.items():
                self.values[(number, feature)] = value
            if hole.kind == "S":
                self.values[(number, "special")] = hole.value
        kinds = "".join(hole.kind for hole in self.holes)
        # The format of a floating-point immediate follows from a modifier.
        form = [word for word in self.words if word in ("BF16_V2", "RCP64H", "RSQ64H")] if "F" in kinds else []
        self.signature = (self.base, self.template, kinds, *form)


def clean(text):
    return re.sub(r" *\(\*.*", "", text).strip()


def load(paths):
    rows = []
    for path in paths:
        sm = int(re.search(r"-(\d+)\.txt$", path).group(1))
        for line in open(path):
            parts = line.rstrip("\n").split(" ", 3)
            if len(parts) != 4 or len(parts[1]) != 16 or len(parts[2]) != 16:
                continue
            text = clean(parts[3])
            if re.search(r"@\w+\(|\]0000|@\w+@", text):  # relocated operands, damaged lines
                continue
            row = Row(sm, int(parts[0], 16), int(parts[2], 16) << 64 | int(parts[1], 16), text)
            rows.append(row)
    return rows


# Floats.

def float_text(kind, value):
    if kind == "f":
        number, = struct.unpack("<f", struct.pack("<I", value))
        exponent, mantissa = value >> 23 & 255, value & 0x7FFFFF
        special, sign = exponent == 255, value >> 31
        quiet = mantissa >> 22
    elif kind == "d":
        number, = struct.unpack("<d", struct.pack("<Q", value << 32))
        exponent, mantissa = value >> 20 & 2047, value & 0xFFFFF
        special, sign = exponent == 2047, value >> 31
        quiet = mantissa >> 19
    elif kind == "h":
        number, = struct.unpack("<e", struct.pack("<H", value))
        special, sign, mantissa = (value >> 10 & 31) == 31, value >> 15, value & 1023
        quiet = mantissa >> 9
    else:
        return float_text("f", value << 16)
    if special:
        return ("-" if sign else "+") + ("INF" if not mantissa else "QNAN" if quiet else "SNAN")
    if not number and sign:
        return "-0.0"
    return "%.20g" % number if abs(number) < 1e9 else "%.20e" % number


# Values of holes.

def zero_register(kind, sm):
    if kind == "R":
        return 255
    if kind == "UR":
        return 63 if sm < 100 else 255
    return 7


def register_width(kind, sm):
    return {"R": 8, "UR": 6 if sm < 100 else 8, "P": 3, "UP": 3, "B": 4, "SB": 3}[kind]


PLACES = {
    "R": [16, 24, 32, 64],
    "UR": [32, 16, 24, 64],
    "P": [81, 84, 87, 77, 68, 64, 16],
    "UP": [81, 84, 87, 77, 68, 80],
    "B": [16, 24],
    "SB": [44],
}
INTEGERS = [(32, 32, 0), (40, 24, 0), (54, 5, 0), (38, 16, 0), (40, 14, 2), (37, 17, 0), (72, 8, 0), (38, 15, 0), (32, 16, 0), (34, 48, 0)]


def target(row, spans, scale):
    width = sum(width for _, width in spans)
    value = gather(row.word, spans)
    value -= (value >> (width - 1)) << width
    return (row.offset + 16 + (value << scale)) & 0xFFFFFFFFFFFFFFFF


def find_hole(rows, number, taken, ordinal):
    """Returns (kind, spans, shift) of the bits that have the value of a hole in all rows, or None."""
    kind = rows[0].holes[number].kind
    if kind in ("R", "UR", "P", "UP", "B", "SB"):
        first = PLACES[kind]
        if kind in ("P", "UP") and sum(hole.kind not in ("P", "UP") for hole in rows[0].holes[:number]) > 1:
            first = [87, 77, 68, 81, 84]  # a source
        places = first + [pos for pos in range(16, 104) if pos not in first]
        found = []
        for pos in places:
            for row in rows:
                value = row.holes[number].value
                width = register_width(kind, row.sm)
                if value < 0:
                    value = zero_register(kind, row.sm)
                if bits(row.word, pos, width) != value:
                    break
            else:
                width = max(register_width(kind, row.sm) for row in rows)
                found.append((sum(taken >> pos & ((1 << width) - 1) and [1] or [0]), pos, width))
        if not found and kind == "UR" and number > 1:
            # The second of a pair of registers that is encoded once.
            for back in (1, 2):
                if all(row.holes[number - back].kind == "UR" and row.holes[number].value == row.holes[number - back].value + 1 for row in rows):
                    return "U1", find_hole(rows, number - back, taken, 0)[1], 0
        if not found:
            return None
        found.sort(key=lambda item: item[0])
        _, pos, width = found[0]
        return kind, [(pos, width)], 0
    if kind == "M":
        return ("m", [(32, 6)], 0) if all(bits(row.word, 32, 6) == row.holes[number].value for row in rows) else None
    if kind == "I" and rows[0].base in ("BRX", "BRXU", "JMX"):
        return ("i-", [(34, 48)], 2) if rows[0].sm < 90 else ("i-", [(16, 8), (34, 48)], 2)
    if kind == "S":
        return "S", [(72, 8)], 0
    if kind == "L":
        base = rows[0].base
        if base in ("BSSY", "BSYNC") or (rows[0].sm < 90):
            return "L", [(34, 30 if base == "BSSY" else 48)], 2
        if base == "LEPC":
            return "L", [(24, 40)], 0
        return "L", [(16, 8), (34, 48)], 2
    if kind == "F":
        halves = [("h", 48, 16), ("h", 32, 16), ("b", 48, 16), ("b", 32, 16)]
        if number and rows[0].holes[number - 1].kind == "F":
            halves = [("h", 32, 16), ("b", 32, 16)]
        for form, pos, width in (("f", 32, 32), ("d", 32, 32), *halves):
            if all(float_text(form, bits(row.word, pos, width)) == row.holes[number].value for row in rows):
                return form, [(pos, width)], 0
        return None
    values = [row.holes[number].value for row in rows]
    low, high = min(values), max(values)
    candidates = ([(54, 4, 0), (42, 12, 0)] if rows[0].base == "BAR" else []) + INTEGERS + [(pos, width, 0) for width in (24, 16, 8, 6, 5, 4, 3, 2, 1) for pos in range(16, 105)]
    if kind == "C":
        candidates = [(54, 5, 0)]
    best = None
    for pos, width, scale in candidates:
        span = ((1 << width) - 1) << pos
        if taken & span or span & CONTROL:
            continue
        if high >> scale >= 1 << width or (low < 0 and -(low >> scale) > 1 << (width - 1)):
            continue
        mask = (1 << width) - 1
        if all(bits(row.word, pos, width) << scale == value & (mask << scale | (1 << scale) - 1)
               for row, value in zip(rows, values)):
            best = (pos, width, scale)
            break
    if best:
        pos, width, scale = best
        signed = low < 0
        unsigned = any(value >> scale >= 1 << (width - 1) for value in values)
        if kind == "O":
            signed, unsigned = (True, False) if not unsigned else (signed, unsigned)
        letter = {"I": "i", "O": "o", "Z": "z", "Y": "y", "C": "c"}[kind]
        if signed and unsigned:
            return "?" + letter, [(pos, width)], scale
        return letter + ("-" if signed else "+"), [(pos, width)], scale
    # Bits that are not contiguous: each bit of the value from the lowest bit of the word that equals it.
    if low < 0:
        return None
    spans = []
    previous = None
    for bit in range(max(high.bit_length(), 8)):
        column = [value >> bit & 1 for value in values]
        matching = [pos for pos in range(16, 105)
                    if not taken >> pos & 1 and all(bits(row.word, pos, 1) == c for row, c in zip(rows, column))]
        if not matching:
            return None
        pos = previous + 1 if previous is not None and previous + 1 in matching else matching[0]
        if spans and spans[-1][0] + spans[-1][1] == pos:
            spans[-1] = (spans[-1][0], spans[-1][1] + 1)
        else:
            spans.append((pos, 1))
        previous = pos
    return {"I": "i", "O": "o", "Z": "z", "Y": "y", "C": "c"}[kind] + "+", spans, 0


# Features: words that a few bits determine.

def as_function(rows, value_of, spans):
    mapping = {}
    for row in rows:
        key = gather(row.word, spans)
        value = value_of(row)
        if mapping.setdefault(key, value) != value:
            return None
    return mapping


def prune(spans, check):
    """Leaves out bits that are not needed, and joins the others."""
    kept = [pos for pos, _ in spans]
    for pos in list(kept):
        fewer = [p for p in kept if p != pos]
        if fewer and check([(p, 1) for p in fewer]):
            kept = fewer
    spans = []
    for pos in sorted(kept):
        if spans and sum(spans[-1]) == pos:
            spans[-1] = (spans[-1][0], spans[-1][1] + 1)
        else:
            spans.append((pos, 1))
    return spans, check(spans)


def find_feature(rows, value_of, allowed, prefer=()):
    """Returns (spans, mapping) for the fewest bits of allowed that determine a value, or None."""
    pairs = list({(row.word, value_of(row)) for row in rows})
    if len({value for _, value in pairs}) == 1:
        return [], {0: pairs[0][1]}

    def check(spans):
        mapping = {}
        for word, value in pairs:
            if mapping.setdefault(gather(word, spans), value) != value:
                return None
        return mapping

    for spans in prefer:
        mapping = check(spans)
        if mapping:
            return spans, mapping
    ones = zeros = 0
    for word, _ in pairs:
        ones |= word
        zeros |= ~word
    varying = [pos for pos in list(range(72, 105)) + list(range(64, 72)) + list(range(63, 15, -1)) + list(REUSE)
               if allowed >> pos & 1 and (ones & zeros) >> pos & 1]
    for width in range(1, 9):
        for pos in varying:
            if ((1 << width) - 1) << pos & ~allowed or pos + width > 126:
                continue
            mapping = check([(pos, width)])
            if mapping and width > 4:
                return prune([(bit, 1) for bit in range(pos, pos + width)], check)
            if mapping:
                return [(pos, width)], mapping
    kept = [pos for pos in varying if pos < 105]
    if len({tuple(word >> p & 1 for p in kept) for word, _ in pairs}) == 0 or not check([(p, 1) for p in kept]):
        return None
    spans, mapping = prune([(pos, 1) for pos in sorted(kept, key=lambda p: (p >= 72, p))], check)
    return (spans, mapping) if sum(width for _, width in spans) <= 14 else None


def numbered(words):
    seen = collections.Counter()
    result = []
    for word in words:
        seen[word] += 1
        result.append((word, seen[word]))
    return result


def span_mask(spans):
    return sum(((1 << width) - 1) << pos for pos, width in spans)


ALIASES = {"MOV", "SHL", "IADD"}  # of IMAD: printed for operands that make it one, not for bits of their own


def own_words(row):
    """The modifiers that bits determine."""
    if row.base == "IMAD":
        return [word for word in row.words if word not in ALIASES]
    return row.words


def find_modifiers(rows, allowed):
    """Returns a list of (spans, mapping to text) in the order in which they are printed, or None."""
    lists = [numbered(own_words(row)) for row in rows]
    joint = {id(row): "".join("." + word for word in own_words(row)) for row in rows}
    words = {word for words in lists for word in words}
    order = {(a, b) for words in lists for i, a in enumerate(words) for b in words[i + 1:]}
    sets = {id(row): set(words) for row, words in zip(rows, lists)}
    cyclic = any((b, a) in order for a, b in order)
    slots = []  # [words, spans]
    if not cyclic:
        for word in sorted(words):
            found = find_feature(rows, lambda row: word in sets[id(row)], allowed)
            if not found or len(found[0]) > 2:
                cyclic = True
                break
            slots.append([{word}, span_mask(found[0])])
    if not cyclic:
        constant = [slot for slot in slots if not slot[1]]
        slots = [slot for slot in slots if slot[1]]
        merged = True
        while merged:
            merged = False
            for i, a in enumerate(slots):
                for b in slots[i + 1:]:
                    # Words that exclude each other are values of one field, even if each seems to have bits of its own.
                    near = (a[1] << 2 | a[1] << 1 | a[1] | a[1] >> 1 | a[1] >> 2) & b[1]
                    if near and not any((x, y) in order or (y, x) in order for x in a[0] for y in b[0]):
                        a[0] |= b[0]
                        a[1] |= b[1]
                        gaps = (a[1] << 1 & a[1] >> 1) & allowed
                        a[1] |= gaps
                        slots.remove(b)
                        merged = True
                        break
                if merged:
                    break
        slots += constant
        # Order: a topological sort, by the words that occur together.
        result, left = [], slots
        while left:
            first = [slot for slot in left
                     if not any((x, y) in order for other in left if other is not slot for x in other[0] for y in slot[0])]
            if not first:
                result = None
                break
            result.append(first[0])
            left = [slot for slot in left if slot is not first[0]]
        if result is not None:
            fields = []
            for slot in result:
                mask, spans, pos = slot[1], [], 0
                while mask >> pos:
                    if mask >> pos & 1:
                        width = 1
                        while mask >> (pos + width) & 1:
                            width += 1
                        spans.append((pos, width))
                        pos += width
                    else:
                        pos += 1
                mapping = as_function(rows, lambda row: "".join("." + w[0] for w in numbered(own_words(row)) if w in slot[0]), spans)
                if mapping is None:
                    break
                fields.append((spans, mapping))
            else:
                return fields
    found = find_feature(rows, lambda row: joint[id(row)], allowed)
    return [found] if found else None


def reuse_places(pos):
    return {24: [122, 123, 124], 32: [123, 124, 122], 64: [124, 123, 122], 16: [122, 123, 124]}.get(pos, [122, 123, 124])


class Form:
    pass


def learn_form(rows, shared, shared_mask):
    """Learns the form of rows of one signature."""
    form = Form()
    form.base, form.template = rows[0].base, rows[0].template
    form.sms = sorted({row.sm for row in rows})
    form.opcode = rows[0].word & 0xFFF
    form.holes, taken = [], 0xFFFF
    for number in range(len(rows[0].holes)):
        found = find_hole(rows, number, taken, number)
        if not found:
            return None, f"hole {number} {rows[0].holes[number].kind}"
        form.holes.append(found)
        taken |= span_mask(found[1])
    allowed = ALL & ~taken & ~CONTROL
    form.features = {}
    used = 0
    for number, hole in enumerate(rows[0].holes):
        kind, spans, _ = form.holes[number]
        pos = spans[0][0]
        names = [name for name in hole.features]
        for name in names:
            key = (number, name)
            values = {row.values[key] for row in rows}
            if len(values) == 1:
                form.features[key] = ([], {0: values.pop()})
                continue
            prefer = []
            if name == "reuse":
                prefer = [[(bit, 1)] for bit in reuse_places(pos)]
            elif name == "pre" and kind in ("P", "UP"):
                prefer = [[(pos + 3, 1)]]
            elif name == "after":
                prefer = [[span] for span in {24: [(74, 2)], 32: [(60, 2)], 64: [(81, 2)]}.get(pos, [])]
            elif name == "pre":
                prefer = [[(bit, 1)] for bit in {24: [72, 75, 63], 32: [63, 75, 72], 64: [75, 63, 72]}.get(pos, [63, 72, 75])]
            elif name == "bar":
                prefer = [[(bit, 1)] for bit in {24: [73, 74, 62], 32: [62, 74, 73], 64: [74, 62, 73]}.get(pos, [62, 73, 74])]
            found = find_feature(rows, lambda row: row.values[key], allowed, prefer)
            if not found:
                return None, f"feature {key}"
            form.features[key] = found
            used |= span_mask(found[0])
        if kind == "S":
            form.features[(number, "special")] = ([(72, 8)], as_function(rows, lambda row: row.values[(number, "special")], [(72, 8)]))
        if kind[0] == "?":  # whether an integer is signed depends on other bits
            pos, width = spans[0]
            shift = form.holes[number][2]
            some = [row for row in rows if bits(row.word, pos + width - 1, 1)]
            found = find_feature(some, lambda row: "-" if row.holes[number].value < 0 else "+", allowed, [[(73, 1)]])
            if not found:
                return None, f"sign {number}"
            form.features[(number, "sign")] = found
            used |= span_mask(found[0])
    shared, form.strict = shared
    if shared is not None and not shared_mask & taken:
        form.modifiers = shared
    else:
        form.strict = set(range(32))
        form.modifiers = find_modifiers(rows, allowed)
        if form.modifiers is None:
            return None, "modifiers"
    for spans, _ in form.modifiers:
        used |= span_mask(spans)
    ones, zeros = 0, 0
    for row in rows:
        ones |= row.word
        zeros |= ~row.word
    fixed = ALL & ~(ones & zeros)
    form.mask = fixed & ~taken & ~used & ~CONTROL | 0xFFF
    form.value = rows[0].word & form.mask
    form.elided = set()
    form.rows, form.used = rows, used
    form.never_true = {number for number, (kind, _, _) in enumerate(form.holes)
                       if kind in ("P", "UP") and all(row.holes[number].value >= 0 for row in rows)}
    return form, None


def decode(form, row):
    """Prints a row by a form; None if a value was not learned. The same as sass_decode() in C."""
    word, sm = row.word, row.sm
    text = ""
    modifiers = []
    for spans, mapping in form.modifiers:
        value = mapping.get(gather(word, spans))
        if value is None:
            return None
        modifiers.append(value)
    parts = []
    at = 0
    printed = []
    for number, (kind, spans, scale) in enumerate(form.holes):
        words = {}
        for name in ("pre", "bar", "reuse", "after", "special", "sign"):
            feature = form.features.get((number, name))
            if feature:
                words[name] = feature[1].get(gather(word, feature[0]))
                if words[name] is None and name != "sign":
                    return None
        value = gather(word, spans)
        width = sum(w for _, w in spans)
        if kind in ("R", "UR", "P", "UP", "B", "SB"):
            value &= (1 << register_width(kind, sm)) - 1
            if kind in ("R", "UR") and value == zero_register(kind, sm):
                core = kind + "Z"
            elif kind in ("P", "UP") and value == 7:
                core = kind + "T"
            else:
                core = kind + str(value)
            if number in form.never_true and value == 7:
                if number not in form.elided or words["pre"]:
                    return None
                printed.append(None)
                continue
            bar = words["bar"]
            printed.append(words["pre"] + bar + core + bar + words["reuse"] + words["after"])
        elif kind == "U1":
            printed.append(words["pre"] + "UR%d" % (value + 1) + words["after"])
        elif kind == "m":
            printed.append("{" + ",".join(str(n) for n in range(5, -1, -1) if value >> n & 1) + "}")
        elif kind == "S":
            printed.append(words["special"])
        elif kind == "L":
            printed.append("0x%x" % target(row, spans, scale))
        elif kind in "fdhb":
            out = float_text(kind, value)
            printed.append(out + (" " if out[1:2] in ("I", "Q", "S") or out == "-0.0" else ""))
        elif kind[0] == "c":
            printed.append((words["pre"] + words["bar"] + "c[0x%x][" % value, words["bar"] + words["after"]))
        else:
            letter, sign = kind[0], kind[1:]
            if letter == "?":
                letter = sign
                sign = words["sign"]
                if sign is None:
                    if value >> (width - 1):
                        return None
                    sign = "+"
            value <<= scale
            if sign == "-" and value >> (width + scale - 1):
                value -= 1 << (width + scale)
            out = "-0x%x" % -value if value < 0 else "0x%x" % value
            if letter == "o":
                out = "+" + out if value else ""
            elif letter in "zy" and not value:
                out = "RZ" if letter == "z" else "URZ"
            printed.append(out)
    result, number, open_const = "", 0, []
    template = form.template
    i = 0
    while i < len(template):
        c = template[i]
        if c == "\0":
            p = printed[number]
            number += 1
            if p is None:
                if template[i + 1:i + 3] == ", ":
                    i += 2
                elif result.endswith(", "):
                    result = result[:-2]
                i += 1
                continue
            if isinstance(p, tuple):
                result += p[0] if template[i + 1] == "c" else p[0][:-1] + " ["
                open_const.append(p[1])
                i += 3  # the hole, "c["
                continue
            result += p
        elif c == "\1":
            result += open_const.pop()
        else:
            result += c
        i += 1
    if form.base == "IMAD":
        name = imad_alias(word) if form.opcode & 0x1FF == 0x24 else ""
        text = form.base + name + "".join(modifiers)
    else:
        text = form.base + "".join(modifiers)
    return (text + " " + result).strip() if result else text


def imad_alias(word):
    """Returns the modifier that IMAD has for some operands."""
    form, rc = bits(word, 9, 3), bits(word, 64, 8)
    if bits(word, 74, 1):
        return ""  # .X
    if bits(word, 24, 8) == 255 and (form == 1 and bits(word, 32, 8) == 255 or form in (2, 3) and rc == 255):
        return ".MOV"
    immediate = bits(word, 32, 32)
    if form == 4 and immediate == 1:
        return ".IADD"
    if form == 4 and rc == 255 and not bits(word, 73, 1) and immediate not in (0, 0x10000, 1 << 31) and not immediate & (immediate - 1):
        return ".SHL"
    return ""


def guard_text(row, kind):
    number, negated = bits(row.word, 12, 3), bits(row.word, 15, 1)
    if number == 7 and not negated:
        return ""
    if not kind:
        return None
    return "@%s%s%s " % ("!" if negated else "", kind, "T" if number == 7 else number)


class Table:
    def __init__(self):
        self.forms = collections.defaultdict(list)  # by (opcode, sm)
        self.guards = {}
        self.all = []

    def add(self, forms):
        self.all += forms
        for form in forms:
            for sm in form.sms:
                self.forms[(form.opcode, sm)].append(form)

    def find(self, row):
        for form in self.forms.get((row.word & 0xFFF, row.sm), ()):
            if row.word & form.mask == form.value:
                return form
        return None

    def text(self, row):
        form = self.find(row)
        if not form:
            return None
        guard = guard_text(row, self.guards.get(row.word & 0xFFF, ""))
        text = decode(form, row)
        if guard is None or text is None:
            return None
        return guard + text


def learn_group(rows):
    """Learns all forms of one opcode in one group of architectures."""
    by_signature = collections.defaultdict(list)
    for row in rows:
        by_signature[row.signature].append(row)
    by_base = collections.defaultdict(list)
    for row in rows:
        by_base[row.base].append(row)
    shared = {}
    taken = {}
    for base, some in by_base.items():
        mask = 0xFFFF
        for signature, members in by_signature.items():
            if signature[0] == base:
                for number in range(len(members[0].holes)):
                    found = find_hole(members, number, 0xFFFF, number)
                    if found:
                        mask |= span_mask(found[1])
        modifiers = find_modifiers(some, ALL & ~mask & ~CONTROL)
        shared[base] = modifiers
        if modifiers is not None:
            modifiers += unexplained(some, modifiers, mask)
        taken[base] = sum_masks(modifiers)
    seen = {signature: [{gather(row.word, spans) for row in members} for spans, _ in shared[signature[0]] or ()]
            for signature, members in by_signature.items()}

    def own_modifiers(signature):
        result, strict = [], set()
        for slot, (spans, mapping) in enumerate(shared[signature[0]]):
            own = seen[signature][slot]
            if any(other[0] == signature[0] and not own & values[slot] and len(by_signature[other]) > 2
                   for other, values in seen.items()):
                mapping = {value: text for value, text in mapping.items() if value in own}
                strict.add(slot)
            result.append((spans, mapping))
        return result, strict

    forms, failures = [], []
    for signature, members in by_signature.items():
        form, reason = learn_form(members, own_modifiers(signature) if shared[signature[0]] is not None else (None, set()), taken[signature[0]])
        if form:
            forms.append(form)
        else:
            failures.append((signature, reason, len(members)))
    return in_order(forms), failures


def refine(form, other, allowed):
    """Adds to the mask of a form those allowed bits that tell it from another one, if they do."""
    ones = zeros = 0
    for row in form.rows:
        ones |= row.word
        zeros |= ~row.word
    constant = ALL & ~(ones & zeros) & ~form.mask & ~CONTROL & allowed
    mask, every = form.mask, allowed == ALL
    confused = [row for row in other.rows if row.word & form.mask == form.value]
    while confused:
        best = max((bit for bit in range(16, 126) if constant >> bit & 1), default=None,
                   key=lambda bit: (sum((row.word ^ ones) >> bit & 1 for row in confused), bit))
        if best is None or not any((row.word ^ ones) >> best & 1 for row in confused):
            if not every:
                return
            break
        mask |= 1 << best
        confused = [row for row in confused if (row.word ^ ones) & mask == 0]
    form.mask, form.value = mask, form.rows[0].word & mask


def in_order(forms):
    """Orders forms so that each row is matched by its own form first."""
    def matches(form, other):
        return any(row.word & form.mask == form.value for row in other.rows)

    for a in forms:
        for b in forms:
            if a is not b and matches(a, b) and matches(b, a):
                refine(a, b, ALL)
                refine(b, a, ALL)
    for a in forms:
        for b in forms:
            if a is not b and matches(a, b):
                refine(a, b, a.used)
    before = {id(form): set() for form in forms}  # forms that must precede it
    for a in forms:
        for b in forms:
            if a is not b and matches(a, b) and not matches(b, a):
                before[id(a)].add(id(b))
    left = sorted(forms, key=lambda form: -bin(form.mask).count("1"))
    result = []
    while left:
        ids = {id(form) for form in left}
        first = next((form for form in left if not before[id(form)] & ids), left[0])
        result.append(first)
        left.remove(first)
    return result


def unexplained(rows, modifiers, taken):
    """Returns features without text, which accept only those values of varying bits that the rows have."""
    ones = zeros = 0
    for row in rows:
        ones |= row.word
        zeros |= ~row.word
    signs = any(text for row in rows for (_, name), text in row.values.items() if name in ("pre", "bar", "after"))
    usual = {72, 73, 74, 75, 90, 80, 71} if signs else set()  # signs of operands, negations of predicates
    left = [pos for pos in range(72, 105) if (ones & zeros & ~taken & ~sum_masks(modifiers)) >> pos & 1 and pos not in usual]
    runs = []
    for pos in left:
        if runs and sum(runs[-1]) == pos:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((pos, 1))
    checks = []
    for pos, width in runs:
        if width > 4:
            continue
        spans = [(pos, width)]
        for others, _ in modifiers:
            if any(start + size == pos or pos + width == start for start, size in others):
                spans += [span for span in others if span not in spans]
        spans.sort()
        mapping = as_function(rows, lambda row: "", spans)
        if len(mapping) <= 64:
            checks.append((spans, mapping))
    return checks


def sum_masks(modifiers):
    mask = 0
    for spans, _ in modifiers or ():
        mask |= span_mask(spans)
    return mask


def label_free(text):
    return re.sub(r"`?\(\S+\)$|`?\(\S+\)(?=,)", "LABEL", text)


def same(row, text):
    if text is None:
        return False
    if any(hole.kind == "L" for hole in row.holes):
        return label_free(row.text) == re.sub(r"0x[0-9a-f]+$", "LABEL", text)
    return text == row.text


def learn_opcode(some):
    """Returns the forms of one opcode, its guard, and what to say about lines that they do not decode."""
    opcode = some[0].word & 0xFFF
    guards = {row.guard for row in some} - {""}
    guard = guards.pop() if len(guards) == 1 else ""
    best = None
    # Labels are encoded in another way from sm_90 on, which the lines do not show.
    labels = any(hole.kind == "L" for row in some for hole in row.holes) or some[0].base in ("BRX", "BRXU", "JMX")
    for partition in PARTITIONS:
        if labels and any(min(sms) < 90 <= max(sms) for sms in partition):
            continue
        forms, failures = [], []
        for sms in partition:
            members = [row for row in some if row.sm in sms]
            if members:
                found, failed = learn_group(members)
                for form in found:
                    form.sms = [sm for sm in sms if any(set(form.sms) & set(alike) and sm in alike for alike in ALIKE)]
                forms += found
                failures += failed
        trial = Table()
        trial.guards[opcode] = guard
        trial.add(forms)
        bad = [row for row in some if not same(row, trial.text(row))]
        if best is None or len(bad) < len(best[0]) * 0.7 - 0.5:
            best = bad, forms, failures, trial
        if not bad:
            break
    bad, forms, failures, trial = best
    lines = []
    if bad:
        lines.append(f"{opcode:#x} {some[0].base}: {len(bad)} of {len(some)}  {failures[:4]}")
        for row in bad[:5]:
            lines.append(f"     {row.sm} {row.word:032x} {row.text} | {trial.text(row)}")
    for form in forms:
        form.rows = len(form.rows)
    return opcode, guard, forms, lines


def learn(rows):
    table = Table()
    by_opcode = collections.defaultdict(list)
    for row in rows:
        by_opcode[row.word & 0xFFF].append(row)
    with multiprocessing.Pool() as pool:
        groups = sorted(by_opcode.values(), key=lambda some: -len(some))
        for opcode, guard, forms, lines in pool.imap(learn_opcode, groups):
            table.guards[opcode] = guard
            table.add(forms)
            for line in lines:
                print(line)
    share(table)
    return table


# What one form shows of an instruction holds for its other forms, if the bits agree.

def place(form, number):
    kind, spans, _ = form.holes[number]
    return ("P" if kind in ("P", "UP") else "c" if kind[0] == "c" else "R", spans[0][0])


def reuse_bit(form, number):
    pos = form.holes[number][1][0][0]
    third = form.opcode >> 9 in (2, 3, 7)  # the third operand is at bit 32, and the second at bit 64
    return {24: 122, 32: 124 if third else 123, 64: 123 if third else 124}.get(pos)


def adopt(form, key, feature):
    """Makes bits that the form required to be 0 a feature."""
    mask = span_mask(feature[0])
    if form.mask & mask != mask or form.value & mask or feature[1].get(0) != "":
        return
    form.features[key] = feature
    form.mask &= ~mask
    form.value &= ~mask


def find_elided(table):
    """Marks predicates that are not printed if they are PT: some form of the name lacks them."""
    kinds = collections.defaultdict(set)
    for form in table.all:
        kinds[form.base].add((form.opcode, tuple(kind[0] for kind, _, _ in form.holes)))
    lacking = set()
    for base, some in kinds.items():
        for opcode, holes in some:
            for number, kind in enumerate(holes):
                if kind in "PU" and (opcode, holes[:number] + holes[number + 1:]) in some:
                    lacking.add((base, number))
    for form in table.all:
        form.elided = {number for number in form.never_true if (form.base, number) in lacking}


def share(table):
    find_elided(table)
    names = {}
    for form in table.all:
        for (_, name), (_, mapping) in form.features.items():
            if name == "special":
                names.update(mapping)
    for form in table.all:
        for key in form.features:
            if key[1] == "special":
                form.features[key] = ([(72, 8)], names)
    siblings = collections.defaultdict(list)
    for form in table.all:
        siblings[(form.base, form.opcode & 0x1FF)].append(form)
    for forms in siblings.values():
        known = collections.defaultdict(list)
        words = collections.defaultdict(dict)
        clash = set()
        reuse = any(name == "reuse" and spans for form in forms for (_, name), (spans, _) in form.features.items())
        for form in forms:
            for (number, name), feature in form.features.items():
                if feature[0] and name in ("pre", "bar", "after") and len(feature[0]) == 1 and feature[0][0][1] < 3:
                    entry = (place(form, number), name)
                    if feature not in known[entry]:
                        known[entry].append(feature)
            for spans, mapping in form.modifiers:
                for value, text in mapping.items():
                    entry = (tuple(spans), value)
                    if words.setdefault(entry, text) != text:
                        clash.add(entry)
        # With a carry, a sign is the complement.
        inverted = any("~" in feature[1].values() for (_, name), some in known.items() if name == "pre" for feature in some)
        for form in forms:
            for number in range(len(form.holes)):
                for name in ("pre", "bar", "after", "reuse"):
                    key = (number, name)
                    if key not in form.features or form.features[key] != ([], {0: ""}):
                        continue
                    if name == "reuse":
                        bit = reuse_bit(form, number)
                        if reuse and bit and number and form.holes[number][0] == "R":
                            adopt(form, key, ([(bit, 1)], {0: "", 1: ".reuse"}))
                    else:
                        features = known.get((place(form, number), name), [])
                        if len(features) == 1 and not (name == "pre" and inverted):
                            adopt(form, key, features[0])
            modifiers = []
            for slot, (spans, mapping) in enumerate(form.modifiers):
                mapping = dict(mapping)
                if spans and slot not in form.strict:
                    for (other, value), text in words.items():
                        if other == tuple(spans) and (other, value) not in clash and value not in mapping:
                            mapping[value] = text
                modifiers.append((spans, mapping))
            form.modifiers = modifiers


# The table in C: see sass.c for the language of the templates.

def spans_text(spans):
    return "+".join(f"{pos}.{width}" for pos, width in spans)


def feature_text(feature):
    spans, mapping = feature
    if not spans:
        return mapping[0]
    width = sum(width for _, width in spans)
    if width <= 3:
        return "{" + spans_text(spans) + "".join("/" + mapping.get(value, "?") for value in range(1 << width)) + "}"
    return "{" + spans_text(spans) + "".join(f"={value}:{mapping[value]}" for value in sorted(mapping)) + "}"


def template_text(form):
    def feature(number, name):
        found = form.features.get((number, name))
        return feature_text(found) if found else ""

    result = form.base + ("{A}" if form.base == "IMAD" and form.opcode & 0x1FF == 0x24 else "")
    result += "".join(feature_text(modifier) for modifier in form.modifiers)
    operands, number, closing, i = "", 0, [], 0
    while i < len(form.template):
        c = form.template[i]
        i += 1
        if c == "\1":
            operands += closing.pop()
        elif c != "\0":
            operands += c
        else:
            kind, spans, shift = form.holes[number]
            if kind in ("R", "UR", "P", "UP", "B", "SB"):
                mark = "" if number not in form.never_true else "!" if number in form.elided else "#"
                hole = f"{{{kind}{spans[0][0]}{mark}}}"
            elif kind == "U1":
                hole = f"{{V{spans[0][0]}}}"
            elif kind == "S":
                hole = "{S}"
            else:
                letter, sign = (kind[1], "") if kind[0] == "?" else (kind[0], "-" if kind[1:] == "-" else "")
                hole = "{" + letter + spans_text(spans) + (f"<{shift}" if shift else "") + sign
                if kind[0] == "?":
                    spans, mapping = form.features[(number, "sign")]
                    hole += "?" + (spans_text(spans) if spans else "72.1")
                    hole += "".join(f"={v}:{mapping[v]}" for v in sorted(mapping)) if spans else f"=0:{mapping[0]}=1:{mapping[0]}"
                hole += "}"
            before, bar = feature(number, "pre"), feature(number, "bar")
            if kind[0] == "c":
                operands += before + bar + "c[" + hole + ("][" if form.template[i] == "c" else "] [")
                closing.append(bar + feature(number, "after"))
                i += 2
            else:
                operands += before + bar + hole + bar + feature(number, "reuse") + feature(number, "after")
            number += 1
    return result + (" " + operands if operands else "")


def write_table(table, path):
    special = {}
    lines = []
    order = {id(form): number for number, form in enumerate(table.all)}
    for form in sorted(table.all, key=lambda form: (form.opcode, order[id(form)])):
        for (_, name), (_, mapping) in form.features.items():
            if name == "special":
                special.update(mapping)
        sms = " | ".join(f"SM{sm}" for sm in form.sms if sm) if len(form.sms) < 7 else "ALL"
        guard = table.guards[form.opcode] or "-"
        words = ", ".join(f"0x{v:x}" for v in (form.mask >> 64, form.mask & (1 << 64) - 1, form.value >> 64, form.value & (1 << 64) - 1))
        lines.append(f'\tFORM({sms}, "{guard}", {words}, "{form.base}", "{template_text(form)}")\n')
    with open(path, "w") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
        out.write("/* Written by learn.py from disassembly. FORM: architectures, kind of the guard, mask and value (high and low word), name, template. */\n")
        out.write("/* clang-format off */\n")
        out.write("#ifdef FORM\n" + "".join(lines) + "#undef FORM\n#endif\n#ifdef SPECIAL\n")
        out.writelines(f'\tSPECIAL({number}, "{special[number]}")\n' for number in sorted(special))
        out.write("#undef SPECIAL\n#endif\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--hold", type=int, default=0, help="hold out one of N shapes of text, and print how many are decoded")
    parser.add_argument("--only")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    hold = arguments.hold
    def held_out(row):
        return hold and zlib.crc32(re.sub(r"^@\S+ |(?<=[RPx])[0-9a-f]+|\.reuse", "", row.text).encode()) % hold == 1

    rows = [row for row in load(arguments.files) if not held_out(row)]
    if arguments.only:
        rows = [row for row in rows if row.base in arguments.only.split(",")]
    table = learn(rows)
    bad = [row for row in rows if not same(row, table.text(row))]
    print(len(bad), "of the rows learned from are not decoded", [(row.sm, row.text, table.text(row)) for row in bad[:5]])
    print(len(rows), "rows", len(table.all), "forms")
    if arguments.out:
        write_table(table, arguments.out)
    if hold:
        held = [row for row in load(arguments.files) if held_out(row)]
        if arguments.only:
            held = [row for row in held if row.base in arguments.only.split(",")]
        good, wrong, none = collections.Counter(), collections.Counter(), collections.Counter()
        reasons = collections.Counter()
        for row in held:
            text = table.text(row)
            if text is None:
                form = table.find(row)
                reasons[(row.base, hex(row.word & 0xfff), "form" if form else "value")] += 1
                if reasons[(row.base, hex(row.word & 0xfff), "form" if form else "value")] == 1:
                    print("none", row.sm, "%032x" % row.word, row.text, "found" if form else "no form")
            (good if same(row, text) else none if text is None else wrong)[row.sm] += 1
            if text is not None and not same(row, text):
                print("wrong", row.sm, "%032x" % row.word, row.text, "|", text)
        for sm in sorted(good):
            total = good[sm] + wrong[sm] + none[sm]
            print(sm, total, "%.2f %% equal, %d wrong, %d none" % (100 * good[sm] / total, wrong[sm], none[sm]))
