#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes headers of another version of the interface: every struct that may grow has one member more, or one less.

usage: header_set.py more|less INCLUDE_FOLDER OUTPUT_FOLDER

A plugin that is built with them meets a core that is older or newer than its headers.
"""
import os
import re
import sys

# Structs that never grow: headers of records, elements without a stride, and what lies inside other structs.
FIXED = {
    "iaprof_record", "iaprof_span", "iaprof_attribute", "iaprof_producer", "iaprof_image_attribute", "iaprof_relocation",
    "iaprof_record_stack_origin", "iaprof_stack_origin",
}

# Structs that plugins write and that have not grown since their first version: every plugin has all members.
FIRST_VERSION = {
    "iaprof_batch", "iaprof_named_frame", "iaprof_injection", "iaprof_delivery", "iaprof_image_function",
    "iaprof_record_string", "iaprof_record_stack", "iaprof_record_named_frame", "iaprof_record_source",
    "iaprof_record_metadata", "iaprof_record_process", "iaprof_record_mapping", "iaprof_record_code_object_unload",
    "iaprof_record_stall_sample", "iaprof_record_call_function", "iaprof_record_call_node", "iaprof_record_histogram",
    "iaprof_record_counter_value", "iaprof_record_finding", "iaprof_record_lost", "iaprof_record_frame",
    "iaprof_record_frames", "iaprof_record_progress", "iaprof_record_sync", "iaprof_record_code_function",
    "iaprof_listed_instruction", "iaprof_record_code_listing", "iaprof_record_stack_frames",
    "iaprof_record_device_activity", "iaprof_record_profile_stack", "iaprof_record_module",
    "iaprof_record_source_text",
}

# Structs whose last members the examples use.
USED = {"iaprof_record_stall_reason", "iaprof_code_instruction", "iaprof_image", "iaprof_image_symbol"}

# Not stable: an extension, or read by BPF programs.
LEFT_ALONE = {"unwind.h", "python.h"}

SIZES = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8, "int64_t": 8, "size_t": 8, "double": 8, "char": 1,
         "struct iaprof_span": 24, "struct iaprof_stack_origin": 24}

STRUCT = re.compile(r"^struct (iaprof_\w+) \{\n(.*?)^\};\nIAPROF_ASSERT_SIZE\(\1, (\d+)\);\n", re.M | re.S)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def members_of(body):
    """Returns (begin, end, names, bytes) of each declaration of a struct's body, whose comments are blanked."""
    plain = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), body)
    found, begin = [], 0
    for end in (match.end() for match in re.finditer(";", plain)):
        text = " ".join(plain[begin:end - 1].split())
        if "(*" in text:
            names, size = [re.search(r"\(\*(\w+)\)", text).group(1)], 8
        else:
            kind = re.match(r"(?:const )?((?:struct )?\w+)", text).group(1)
            names = [re.sub(r".*[ *]", "", re.sub(r"\[.*", "", part).strip()) for part in text.split(",")]
            count = re.search(r"\[(\w+)\]", text)
            one = 8 if "*" in text else SIZES.get(kind, 0)
            size = one * len(names) * (int(count.group(1)) if count and count.group(1).isdigit() else 1)
        found.append((begin, end, names, size))
        begin = end
    return found


def without_last_member(body):
    """Removes the last member, and padding, up to a multiple of 8 bytes. Returns the body, the names and the bytes."""
    members, names, size = members_of(body), [], 0
    while not names or size % 8 or all(name.startswith("pad") for name in names):
        begin, _, removed, bytes_removed = members.pop()
        body, names, size = body[:begin] + "\n", names + removed, size + bytes_removed
    return body, names, size


def remove_functions(text, uses):
    """Removes the inline functions for which uses() returns true. Returns the text and their names."""
    removed = []
    function = re.compile(r"^(?:/\*(?:(?!\*/).)*?\*/\n)?static inline (?:(?!^\}).)*?^\}\n", re.M | re.S)

    def replace(match):
        if not uses(match.group()):
            return match.group()
        removed.append(re.search(r"(iaprof_\w+)\(", match.group()[match.group().index("static inline"):]).group(1))
        return ""
    return function.sub(replace, text), removed


def change(text, more, changed):
    lost = []

    def replace(match):
        name, body, size = match.group(1), match.group(2), int(match.group(3))
        if name in FIXED or (not more and name in FIRST_VERSION | USED):
            return match.group()
        changed.append(name)
        if more:
            body, size = body + "\tuint64_t appended;\n", size + 8
        else:
            body, names, removed = without_last_member(body)
            size -= removed
            lost.append((name, names))
        return f"struct {name} {{\n{body}}};\nIAPROF_ASSERT_SIZE({name}, {size});\n"
    text = STRUCT.sub(replace, text)
    calls = []
    for name, names in lost:
        text, removed = remove_functions(text, lambda function: name.removeprefix("iaprof_") in function and any(
            re.search(rf"(->|, ){member}\b", function) for member in names))
        calls += removed
    while calls:
        text, calls = remove_functions(text, lambda function: any(f"{call}(" in function for call in calls))
    return text


def main():
    version, include, output = sys.argv[1:]
    changed = []
    os.makedirs(f"{output}/iaprof", exist_ok=True)
    for name in sorted(os.listdir(f"{include}/iaprof")):
        with open(f"{include}/iaprof/{name}", encoding="utf-8") as file:
            text = file.read()
        if name not in LEFT_ALONE:
            text = change(text, version == "more", changed)
        with open(f"{output}/iaprof/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    print(f"{len(changed)} structs changed: {' '.join(changed)}")


main()
