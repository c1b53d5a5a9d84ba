#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts a page's style and scripts into it: make_page.py [--connect] [--optional SCRIPT.js] OUTPUT COLOURS_OUTPUT
page.html STYLE.css... palette.json SCRIPT.js...

Writes a C header with the page's bytes before and after its data, and one with the colours of pictures. The page allows itself nothing but this style and
these scripts, by their hashes (Content Security Policy Level 3, section 2.3.1): whatever a profile has in it, it is
no code. With --connect, its script may read from the server that the page is from. An optional script, which the page
works without, has bytes of its own, between page_end and page_rest.
"""
import argparse
import base64
import hashlib
import json
import pathlib
import sys


def source_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def declaration(name, text):
    numbers = ','.join(str(byte) for byte in text.encode())
    return f'static const unsigned char {name}[] = {{{numbers}}};\n'


def luminance(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colours_header(palette):
    frames = palette['frames']
    groups = ', '.join(f'COLOUR_{name.upper()}' for name in frames)
    fills = ', '.join(f'"{light}"' for light, _ in frames.values())
    # Black text has more contrast than white where the relative luminance (WCAG 2.1) is above 0.179.
    is_light = ', '.join(str(luminance(light) > 0.179).lower() for light, _ in frames.values())
    return (f'/* Made by make_page.py. */\nenum colour_group {{ {groups} }};\n'
            f'static const char *const colour_fills[] = {{ {fills} }};\n'
            f'static const bool colour_is_light[] = {{ {is_light} }};\n')


def together(paths, kind):
    return ''.join(path.read_text(encoding='utf-8') for path in paths if path.suffix == kind)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--connect', action='store_true')
    parser.add_argument('--optional', type=pathlib.Path)
    parser.add_argument('paths', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    output, colours_output, page, *inputs = arguments.paths
    colours = json.loads(together(inputs, '.json'))
    colours_output.write_text(colours_header(colours), encoding='utf-8')
    style = together(inputs, '.css')
    # One script, in which the parts see each other and the page's names stay theirs.
    begin = f"'use strict';\n(() => {{\nconst PALETTE = {json.dumps(colours)};\n{together(inputs, '.js')}"
    optional = arguments.optional.read_text(encoding='utf-8') if arguments.optional else ''
    end = '})();\n'
    script = begin + ('@OPTIONAL@' if optional else '') + end
    allowed = ' '.join(dict.fromkeys(source_of(begin + part + end) for part in ('', optional)))
    if '</' in style or '</script' in (script + optional).lower() or '<!--' in script + optional:
        sys.exit('make_page.py: the style or a script would end its element')
    policy = (f"default-src 'none'; style-src {source_of(style)}; script-src {allowed}; base-uri 'none'; "
              "form-action 'none'" + ("; connect-src 'self'" if arguments.connect else ''))
    text = page.read_text(encoding='utf-8')
    for name, part in ('POLICY', policy), ('STYLE', style), ('SCRIPT', script):
        if text.count(f'@{name}@') != 1:
            sys.exit(f'make_page.py: {page} has to have @{name}@ once')
        text = text.replace(f'@{name}@', part)
    begin, end = text.split('@DATA@')
    end, *rest = end.split('@OPTIONAL@')
    parts = {'page_begin': begin, 'page_end': end, **({'page_optional': optional, 'page_rest': rest[0]} if rest else {})}
    output.write_text('/* Made by make_page.py. */\n' + ''.join(declaration(*part) for part in parts.items()),
                      encoding='utf-8')


if __name__ == '__main__':
    main()
