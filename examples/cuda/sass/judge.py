#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the decoder with disassembly of nvdisasm, and its producers with a data flow of that text.

    judge.py [--half 0|1] dump FILE-75.txt ...

Each file is named *-SM.txt and has the output of `nvdisasm -hex -c` (two lines an instruction, or both words in one
comment). Prints the share of instructions whose text is equal, was not decoded, and is wrong. Normalisations, all on
the side of nvdisasm:
 - comments "(*...*)" and blanks at the end are removed;
 - a label is replaced by its offset in its section, in hexadecimal; a symbol that is not a label of the section is
   compared as "any offset";
 - an operand with a relocation, such as 32@lo(symbol), is compared as "any integer".
"""
import argparse
import collections
import re
import subprocess
import sys

INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16})(?: 0x([0-9a-f]{16}))? \*/")
SECOND = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")
LABEL = re.compile(r"^([.$\w]+):")
SECTION = re.compile(r"^\s*\.section\s+([^\s,]+)|^//-+ (\.text\S*)")
REFERENCE = re.compile(r"`?\(([^()\s]+)\)")
RELOCATED = re.compile(r"\S*@\S+\([^()]*\)(?:@\w+)?|\w+@\([^()]*\)")


class Instruction:
    __slots__ = ("offset", "low", "high", "text", "section", "targets")


def read(path):
    """Returns the instructions of a file; a section is a list of them and its labels."""
    sections = []
    instructions, labels = [], {}
    pending = []
    last = None

    def start():
        nonlocal instructions, labels, pending
        instructions, labels, pending = [], {}, []
        sections.append((instructions, labels))

    start()
    for line in open(path, errors="replace"):
        match = INSTRUCTION.match(line)
        if match:
            last = Instruction()
            last.offset = int(match.group(1), 16)
            if instructions and last.offset <= instructions[-1].offset:
                kept = pending
                start()
                pending = kept
            for label in pending:
                labels[label] = last.offset
            pending.clear()
            last.text = match.group(2)
            last.low = int(match.group(3), 16)
            last.high = int(match.group(4), 16) if match.group(4) else None
            instructions.append(last)
            continue
        match = SECOND.match(line)
        if match and last is not None and last.high is None:
            last.high = int(match.group(1), 16)
            continue
        match = SECTION.match(line)
        if match:
            if instructions:
                start()
            continue
        match = LABEL.match(line.strip())
        if match:
            pending.append(match.group(1))
    return [(instructions, labels) for instructions, labels in sections if instructions]


def expectation(text, labels):
    """Returns the text as a regular expression, and whether it is exact."""
    text = re.sub(r"\s*\(\*.*", "", text).strip()
    exact = True
    result = ""
    at = 0
    for match in re.finditer(RELOCATED.pattern + "|" + REFERENCE.pattern, text):
        result += re.escape(text[at:match.start()])
        name = match.group(1)
        if name is not None and name in labels:
            result += "0x%x" % labels[name]
        else:
            result += r"-?0x[0-9a-f]+"
            exact = False
        at = match.end()
    return result + re.escape(text[at:]), exact


def decode(dump, sm, instructions):
    lines = "".join(f"{sm} {i.offset:x} {i.low:x} {i.high:x}\n" for i in instructions)
    out = subprocess.run([dump], input=lines, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", type=int, help="only sections with an even or odd number")
    parser.add_argument("--show", type=int, default=0, help="print the most frequent N shapes that differ")
    parser.add_argument("dump")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    for path in arguments.files:
        sm = int(re.search(r"-(\d+)\.txt$", path).group(1))
        sections = read(path)
        if arguments.half is not None:
            sections = sections[arguments.half::2]
        counts = collections.Counter()
        shapes = collections.Counter()
        example = {}
        for instructions, labels in sections:
            instructions = [i for i in instructions if i.high is not None]
            for instruction, (name, _, _, text) in zip(instructions, decode(arguments.dump, sm, instructions)):
                expected, exact = expectation(instruction.text, labels)
                outcome = "equal" if re.fullmatch(expected, text) else "none" if not text else "wrong"
                counts[outcome] += 1
                counts["any offset or integer"] += not exact
                base = re.sub(r"^@\S+ ", "", instruction.text).split()[0].split(".")[0]
                counts["name"] += name == base
                if outcome != "equal":
                    key = outcome, base, hex(instruction.low & 0xFFF)
                    shapes[key] += 1
                    example.setdefault(key, f"{instruction.high:016x}{instruction.low:016x} {instruction.text[:100]} | {text}")
        total = counts["equal"] + counts["none"] + counts["wrong"]
        print(f"sm_{sm}: {total} instructions in {len(sections)} sections, {100 * counts['equal'] / total:.3f} % equal, "
              f"{counts['none']} not decoded, {counts['wrong']} wrong, {total - counts['name']} names differ; "
              f"{counts['any offset or integer']} with a relocation")
        for key, count in shapes.most_common(arguments.show):
            print("   ", count, *key, example[key])


if __name__ == "__main__":
    main()
