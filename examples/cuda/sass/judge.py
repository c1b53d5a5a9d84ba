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


# Producers: a data flow of the text alone.

VARIABLE = {"LD", "LDG", "LDS", "LDL", "LDC", "LDCU", "LDSM", "ATOM", "ATOMG", "ATOMS", "MUFU", "S2R", "S2UR", "SHFL",
            "F2I", "I2F", "F2F", "FRND", "POPC", "FLO", "BREV", "TEX", "TLD", "SULD", "MATCH", "REDUX"}
REGISTER = re.compile(r"\bU?R\d+\b")


def edges(instructions, labels):
    """Returns the numbers of the instructions that can follow each one, None if not known."""
    numbers = {i.offset: number for number, i in enumerate(instructions)}
    result = []
    for number, instruction in enumerate(instructions):
        text = instruction.text
        guarded = text.startswith("@")
        text = re.sub(r"^@\S+ ", "", text)
        name = text.split()[0].split(".")[0]
        following = [number + 1] if number + 1 < len(instructions) else []
        if name in ("EXIT", "RET", "KILL"):
            result.append(following if guarded else [])
        elif name in ("CALL", "BRX", "BRXU", "JMX"):
            result.append(None)
        elif name in ("BRA", "JMP"):
            match = REFERENCE.search(text)
            to = numbers.get(labels.get(match.group(1))) if match else None
            if to is None:
                result.append(None)
                continue
            always = not guarded and re.match(r"BRA(\.\w+)* `?\(", text) and ".DIV" not in text and ".CONV" not in text
            result.append([to] if always else [to] + following)
        else:
            result.append(following)
    return result


def judge_producers(dump, sm, instructions, labels, counts):
    lines = "".join(f"{sm} {i.offset:x} {i.low:x} {i.high:x}\n" for i in instructions)
    out = subprocess.run([dump, "kernel"], input=lines, capture_output=True, text=True, check=True).stdout
    producers, incomplete = [], []
    for line in out.splitlines():
        found = [entry.split() for entry in line.split(";")[:-1]]
        producers.append([(int(offset, 16) // 16, int(wait), int(token)) for offset, wait, token in found])
        incomplete.append(line.endswith("incomplete"))
    following = edges(instructions, labels)
    registers = []
    names = []
    for instruction in instructions:
        text = re.sub(r"^@\S+ ", "", instruction.text)
        names.append(text.split()[0].split(".")[0])
        registers.append(REGISTER.findall(text.partition(" ")[2].replace("`", "")))
    # Each use of a result of variable latency is preceded by a wait for it, on each path.
    for number, name in enumerate(names):
        if name not in VARIABLE or not registers[number]:
            continue
        written = registers[number][0]
        if not re.match(r"(?:P\w+, )?U?R\d", instructions[number].text.partition(" ")[2] if not instructions[number].text.startswith("@")
                        else instructions[number].text.split(" ", 2)[2]):
            continue
        # Instructions of a unit that completes in order can leave the barrier to the last one of them.
        sets_none = instructions[number].high >> 46 & 7 == 7
        seen, pending = set(), list(following[number] or ())
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            if any(producer == number and wait == 1 for producer, wait, _ in producers[at]):
                counts["found"] += 1
                continue
            if sets_none and any(producer in seen and names[producer] == name and wait == 1 for producer, wait, _ in producers[at]):
                counts["in order"] += 1
                continue
            if written in registers[at]:
                counts["missed"] += 1
                if counts["missed"] <= 3:
                    print(f"    missed: {instructions[number].offset:#x} {instructions[number].text} | "
                          f"{instructions[at].offset:#x} {instructions[at].text}")
                continue
            pending += following[at] or ()
    # Each wait has a producer that shares a register with the instruction.
    for number, found in enumerate(producers):
        barriers = collections.defaultdict(list)
        for producer, wait, token in found:
            barriers[token].append(producer)
        for barrier, several in barriers.items():
            shared = any(set(registers[producer]) & set(registers[number]) for producer in several)
            counts["waits"] += 1
            counts["waits that share a register"] += shared
        mask = instructions[number].high >> 52 & 63
        for barrier in range(6):
            if mask >> barrier & 1 and barrier not in barriers:
                counts["waits without a producer"] += 1
                counts["of them incomplete"] += incomplete[number]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", type=int, help="only sections with an even or odd number")
    parser.add_argument("--show", type=int, default=0, help="print the most frequent N shapes that differ")
    parser.add_argument("--producers", type=int, default=0, help="judge the producers of the first N instructions")
    parser.add_argument("dump")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    for path in arguments.files:
        sm = int(re.search(r"-(\d+)\.txt$", path).group(1))
        sections = read(path)
        if arguments.half is not None:
            sections = sections[arguments.half::2]
        counts = collections.Counter()
        if arguments.producers:
            done = 0
            for instructions, labels in sections:
                if done < arguments.producers and all(i.high is not None for i in instructions):
                    judge_producers(arguments.dump, sm, instructions, labels, counts)
                    done += len(instructions)
            satisfied = counts["found"] + counts["in order"]
            print(f"sm_{sm}: {done} instructions, {satisfied} waits for results before or at their first use ({counts['in order']} "
                  f"for a later one of the same name that completes in order), {counts['missed']} missed ({100 * satisfied / max(satisfied + counts['missed'], 1):.3f} % found); "
                  f"of {counts['waits']} waits, {100 * counts['waits that share a register'] / max(counts['waits'], 1):.2f} % "
                  f"share a register with a producer; {counts['waits without a producer']} have none, "
                  f"{counts['of them incomplete']} of them marked incomplete")
            continue
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
