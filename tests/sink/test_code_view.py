#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page's view of GPU code in a real browser. TAP.

Its instructions are held against what Intel's disassembler and eu-addr2line say of a real image (tests/data/zebin), its
numbers against the stalls that the run was given, and its source against the files. Words on the command line choose
cases.
"""
import atexit
import collections
import functools
import json
import lzma
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import reader as sink_reader
from reader import REASONS as LABELS, THIN, run_file, share
from stacks import (COUNT, FUNCTION, INSTRUCTION, NANOSECONDS, OFFSET, PROGRAM, REASON, SEPARATOR, Frame, equal, write_profile)

TREE = pathlib.Path(os.environ['TEST_SOURCE_FOLDER'])
FIXTURE = TREE / 'tests/data/zebin/bmg/transformer'
KERNELS = TREE / 'tests/lab/level_zero/kernels'
REASONS = 'active', 'sbid', 'send'

Instruction = collections.namedtuple('Instruction', 'address kernel offset size name file line')


@functools.cache
def image_instructions():
    """What independent tools say of the image."""
    found = []
    with lzma.open(f'{FIXTURE}.instructions.tsv.xz', 'rt') as text:
        for row in text:
            if row.startswith('#'):
                continue
            address, kernel, offset, size, name, innermost, *_ = row.rstrip('\n').split('\t')
            place = re.fullmatch(r'(.*) (\S+) (\d+)', innermost)
            found.append(Instruction(int(address, 16), kernel, int(offset, 16), int(size), name, place[2],
                                     int(place[3])))
    return found


def kernel_attribute(kernel, name):
    """What the compiler wrote into the image's section .ze_info."""
    text = pathlib.Path(f'{FIXTURE}.bin').read_bytes()
    kernels = re.split(rb'\n *- name: +', text[text.index(b'kernels:'):])
    own = next(part for part in kernels if part.split(b'\n')[0].strip(b"' ") == kernel.encode())
    value = re.search(rb'\b' + name.encode() + rb': +(\d+)', own)
    return int(value[1]) if value else None


def chosen_stalls():
    """Some instructions of two kernels -> { (kernel, offset): counts of the reasons }"""
    stalls = {}
    for number, one in enumerate(image_instructions()):
        if one.kernel == 'matmul_tile' and number % 3 == 0:
            stalls[one.kernel, one.offset] = (number, 7 * number + 1, 3)
        elif one.kernel == 'bias_gelu' and number % 5 == 0:
            stalls[one.kernel, one.offset] = (1, 0, 2)
    return stalls


@functools.cache
def run_pages():
    """The pages of a run, of its replay, and of a capture that embeds sources: for all cases, each of which has a folder that goes with it."""
    folder = tempfile.TemporaryDirectory(prefix='iaprof-code-view-')
    atexit.register(folder.cleanup)
    run, replay, embedded, capture, given = (pathlib.Path(folder.name, name) for name in (
        'run.html', 'replay.html', 'embedded.html', 'run.iaprof', 'stalls.txt'))
    stalls = chosen_stalls()
    addresses = {(one.kernel, one.offset): one.address for one in image_instructions()}
    given.write_text(''.join(f'{addresses[place]:#x} {" ".join(map(str, counts))}\n'
                             for place, counts in stalls.items()), encoding='utf-8')
    iaprof = os.environ['TEST_IAPROF']
    sink = f'flamegraph:sources={KERNELS}'
    subprocess.run([iaprof, '-q', '-s', f'{os.environ["TEST_STALL_SOURCE"]}:image={FIXTURE}.loaded-debug.elf,'
                    f'stalls={given}', '-k', sink, '-o', run, '--record', f'{capture},sources={KERNELS}'], check=True)
    subprocess.run([iaprof, '-q', '--replay', capture, '-k', sink, '-o', replay], check=True)
    subprocess.run([iaprof, '-q', '--replay', capture, '-o', embedded], check=True)
    return run, replay, embedded


def capture_of(folder, name, stalls, image=f'{FIXTURE}.loaded-debug.elf'):
    """A capture of a run with stalls: { (kernel, offset): counts of the reasons }"""
    addresses = {(one.kernel, one.offset): one.address for one in image_instructions()}
    given, capture = pathlib.Path(folder, f'{name}.txt'), pathlib.Path(folder, f'{name}.iaprof')
    given.write_text(''.join(f'{addresses[place]:#x} {" ".join(map(str, counts))}\n' for place, counts in stalls.items()),
                     encoding='utf-8')
    subprocess.run([os.environ['TEST_IAPROF'], '-q', '-s', f'{os.environ["TEST_STALL_SOURCE"]}:image={image},stalls={given}',
                    '--record', f'{capture},sources={KERNELS}'], check=True)
    return capture


class Reader(sink_reader.Reader):
    """Somebody who looks at GPU code."""

    def __init__(self, window, page, view=True, fragment=''):
        super().__init__(window, page, fragment)
        if view:
            self.view('GPU code')
            equal(self.is_seen('#code'), True, 'the view is seen')

    def kernels(self):
        """-> names and shares of the functions"""
        return self.evaluate('[...document.querySelectorAll("#code-kernels button")].map(button => ['
                             'button.querySelector("b").title, button.querySelector("i").textContent])')

    def choose_kernel(self, name):
        position = [own for own, _ in self.kernels()].index(name)
        self.click_on('#code-kernels button', position)

    def facts(self):
        """-> what is known of the function: { label: text }"""
        return dict(self.evaluate('[...document.querySelectorAll("#code-why .fact b")].map(value => ['
                                  'value.nextSibling.textContent, value.textContent])'))

    def rows(self, pane):
        """-> of each row: texts of the cells, exact value, { reason: value }"""
        rows = self.evaluate(f'[...document.querySelectorAll("#{pane} tbody tr:not(.gap)")].map(row => ['
                             '[...row.cells].map(cell => cell.textContent), row.querySelector(".share").title, '
                             '[...row.querySelectorAll(".mix i")].map(part => [part.dataset.reason, '
                             'parseFloat(part.style.width)])])')
        found = []
        for texts, exact, parts in rows:
            total = int(exact.split()[0].replace(',', '')) if exact else 0
            found.append((texts, total, {name: round(total * part / 100) for name, part in parts}))
        return found

    def marked(self, pane, kind):
        return self.evaluate(f'[...document.querySelectorAll("#{pane} tr.{kind} td:first-child")].map('
                             'cell => cell.textContent)')

    def click_row(self, selector):
        for _ in range(2):  # parts that come into sight get their true height
            self.evaluate(f'document.querySelector({json.dumps(selector)}).scrollIntoView({{ block: "center" }})')
        left, top, width, height = self.evaluate(f'(() => {{ const box = document.querySelector({json.dumps(selector)})'
                                                 '.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()')
        self.window.click(left + min(4, width / 2), top + height / 2)
        self.drawn()


def check_kernel(reader, kernel, stalls):
    own = [one for one in image_instructions() if one.kernel == kernel]
    rows = reader.rows('code-instructions')
    equal(len(rows), len(own), f'instructions of {kernel}')
    whole = sum(sum(counts) for (name, _), counts in stalls.items() if name == kernel)
    for one, ((offset, part, _, text, _, line), total, reasons) in zip(own, rows):
        equal(int(offset, 16), one.offset, 'offset')
        assert re.split(r'[ .]', text)[0] == one.name.split('.')[0] or one.name in text, f'{one}: {text}'
        equal(line, str(one.line) if one.line else '', f'line at {one.offset:#x}')
        counts = stalls.get((kernel, one.offset), (0, 0, 0))
        equal((total, part), (sum(counts), share(sum(counts), whole) if sum(counts) else ''), f'stalls at {one.offset:#x}')
        equal(reasons, {LABELS[name]: count for name, count in zip(REASONS, counts) if count}, f'reasons at {one.offset:#x}')


def check_lines(reader, kernel, stalls):
    """Each line has the sum of its instructions, and is what the file has."""
    lines = collections.Counter()
    for one in image_instructions():
        if one.kernel == kernel:
            lines[pathlib.Path(one.file).name, one.line] += sum(stalls.get((kernel, one.offset), [0]))
    files = reader.evaluate('[...document.querySelectorAll("#code-sources .file")].map(file => file.title)')
    equal({pathlib.Path(file).name for file in files}, {file for file, line in lines if line}, 'files')
    for position, file in enumerate(files):
        tables = reader.evaluate('(() => { const tables = document.querySelectorAll("#code-sources table");'
                                 f'return [...tables[{position}].querySelectorAll("tbody tr:not(.gap)")].map(row => ['
                                 'row.cells[0].textContent, row.cells[1].title, row.cells[3].textContent]); })()')
        source = next(KERNELS.rglob(pathlib.Path(file).name)).read_text(encoding='utf-8').split('\n')
        shown = {}
        for line, exact, text in tables:
            shown[int(line)] = int(exact.replace(',', '')) if exact else 0
            equal(text, source[int(line) - 1].expandtabs(4), f'text of line {line}')
        for (name, line), total in lines.items():
            if name == pathlib.Path(file).name and line:
                equal(shown[line], total, f'stalls of {name}:{line}')


def a_real_image_is_shown(window):
    stalls = chosen_stalls()
    totals = {kernel: sum(sum(counts) for (own, _), counts in stalls.items() if own == kernel)
              for kernel in ('matmul_tile', 'bias_gelu')}
    whole = sum(totals.values())
    for page in run_pages():
        reader = Reader(window, page)
        equal(reader.kernels(), [[kernel, share(total, whole)] for kernel, total in totals.items()], 'kernels, hottest first')
        for kernel in totals:
            reader.choose_kernel(kernel)
            facts = reader.facts()
            for name, label, unit in (('simd_size', 'SIMD', ''), ('grf_count', 'Registers', '')):
                value = kernel_attribute(kernel, name)
                equal(facts.get(label), None if value is None else f'{value}{unit}', f'{kernel}: {name}')
            for name, label in (('spill_size', 'Spill'), ('slm_size', 'Local memory')):
                value = kernel_attribute(kernel, name)
                expected = None if value is None else f'{value // 1024}{THIN}KiB' if value and value % 1024 == 0 else \
                    f'{value}{THIN}B'
                equal(facts.get(label), expected, f'{kernel}: {name}')
            check_kernel(reader, kernel, stalls)
            check_lines(reader, kernel, stalls)
        equal(window.wrong(), [], 'errors')


def bars_are_as_long_as_they_say(window):
    stalls = chosen_stalls()
    reader = Reader(window, run_pages()[0])
    bars = reader.evaluate('[...document.querySelectorAll("#code-instructions tr")].flatMap(row => {'
                           'const bar = row.querySelector(".mix");'
                           'return bar ? [[parseInt(row.firstChild.textContent, 16),'
                           'row.querySelector(".heat").clientWidth, bar.getBoundingClientRect().width,'
                           '[...bar.children].map(part => [part.dataset.reason, part.getBoundingClientRect().width])]]'
                           ' : []; })')
    own = {offset: counts for (kernel, offset), counts in stalls.items() if kernel == 'matmul_tile'}
    longest = max(map(sum, own.values()))
    equal({bar[0] for bar in bars}, set(own), 'instructions with a bar')
    padding = 13 * 0.91  # on both sides of the cell
    for offset, cell, width, parts in bars:
        total, counts = sum(own[offset]), dict(zip((LABELS[name] for name in REASONS), own[offset]))
        wanted = max(2, (cell - padding) * total / longest)
        assert abs(width - wanted) < 1.5, f'{offset:#x}: {width}, not {wanted}'
        equal([name for name, _ in parts], [LABELS[name] for name in LABELS if counts.get(LABELS[name])], 'in their order')
        for reason, part in parts if wanted > 20 else []:
            assert abs(part - width * counts[reason] / total) < 1, f'{offset:#x}: {reason}: {part}'


def columns_are_columns(window):
    """Cells of a row are side by side, those of a column below each other, and what is chosen is in sight."""
    reader = Reader(window, run_pages()[0])
    for pane, count in ('code-instructions', 6), ('code-sources', 4):
        places = reader.evaluate(f'[...document.querySelectorAll("#{pane} tr:not(.gap)")].map(row => '
                                 '[...row.children].map(cell => cell.getBoundingClientRect())'
                                 '.map(place => [place.left, place.top]))')
        chosen = reader.evaluate(f'(() => {{ const own = document.getElementById("{pane}");'
                                 'const pane = own.getBoundingClientRect();'
                                 'const row = own.querySelector(".on, .related").getBoundingClientRect();'
                                 'return row.top >= pane.top && row.bottom <= pane.bottom + 1; })()')
        equal({len(row) for row in places}, {count}, f'columns of {pane}')
        equal([len({round(row[column][0]) for row in places}) for column in range(count)], [1] * count, 'left edges')
        equal({len({round(top) for _, top in row}) for row in places}, {1}, 'top edges of a row')
        assert [left for left, _ in places[0]] == sorted(left for left, _ in places[0]), places[0]
        equal(chosen, True, f'what is marked in {pane} is in sight')


def a_line_and_its_instructions_belong_together(window):
    reader = Reader(window, run_pages()[0])
    own = [one for one in image_instructions() if one.kernel == 'matmul_tile' and one.line]
    one = own[10]
    position = [row.offset for row in own].index(one.offset)
    reader.click_row(f'#code-instructions tr[data-row="{position}"] td.text')
    equal(reader.marked('code-instructions', 'on'), [f'{one.offset:#x}'], 'on')
    equal(reader.marked('code-sources', 'related'), [str(one.line)], 'its line')
    window.press('Enter')
    equal(reader.marked('code-sources', 'on'), [str(one.line)], 'the line, by the keyboard')
    equal(reader.marked('code-instructions', 'related'),
          [f'{other.offset:#x}' for other in own if other.line == one.line], 'its instructions')
    assert reader.text('said').startswith(f'{one.file}:{one.line}, '), reader.text('said')
    window.press('Enter')
    first = next(position for position, other in enumerate(own) if other.line == one.line)
    equal(reader.marked('code-instructions', 'on'), [f'{own[first].offset:#x}'], 'back to the first')
    window.press('ArrowDown')
    equal(reader.marked('code-instructions', 'on'), [f'{own[first + 1].offset:#x}'], 'the next one')
    assert reader.text('said').startswith(f'{own[first + 1].offset:#x} '), reader.text('said')
    equal(reader.evaluate('document.activeElement.dataset.row'), str(first + 1), 'where the keyboard is')
    other_line = next(other.line for other in own if other.line != one.line)
    reader.click_row(f'#code-sources tr[data-place$=":{other_line}"] td.text')
    equal(reader.marked('code-instructions', 'related'), [f'{row.offset:#x}' for row in own if row.line == other_line],
          'instructions of a line that was clicked')


def what_is_waited_for_is_one_click_away(window):
    """The first load's result ($0 in Intel's disassembly) is waited for by the first that says $0.dst."""
    with lzma.open(f'{FIXTURE}.disassembly.txt.xz', 'rt') as text:
        kernel = text.read().split('=== matmul_tile ===')[1].split('===')[0]
    lines = [(int(found[1], 16), found[2]) for found in re.finditer(r'/\* \[([0-9A-F]+)\] +\*/(.*)', kernel)]
    load = next(offset for offset, line in lines if re.search(r'[{,]\$0[,}]', line))
    waiter = next(offset for offset, line in lines if '$0.dst' in line)
    reader = Reader(window, run_pages()[0])
    position = [offset for offset, _ in lines].index(waiter)
    row = f'#code-instructions tr[data-row="{position}"]'
    buttons = reader.evaluate(f'[...document.querySelectorAll(\'{row} button\')].map('
                              'button => button.getAttribute("aria-label"))')
    assert any(label.startswith(f'waits for {load:#x} send') and 'its result' in label for label in buttons), buttons
    reader.click_row(f'{row} button[data-offset="{load}"]')
    equal(reader.marked('code-instructions', 'on'), [f'{load:#x}'], 'what it waits for')
    reader.click_row(f'{row} td.text')
    window.press('p')
    equal(reader.evaluate(f'document.querySelector(\'{row} button\').textContent'),
          reader.marked('code-instructions', 'on')[0], 'by the keyboard')


def the_flame_graph_leads_to_code(window):
    reader = Reader(window, run_pages()[0], view=False)
    reader.press('c')
    equal(reader.is_seen('#flame'), True, 'the root has no code')
    hottest = max(chosen_stalls().items(), key=lambda item: sum(item[1]))[0]
    for _ in range(20):
        if reader.press('ArrowUp').startswith('matmul_tile, '):
            break
    reader.press('ArrowUp')
    line = reader.text('said')
    reader.window.press('c')
    reader.drawn()
    equal(reader.is_seen('#code'), True, 'the view of code')
    equal(reader.evaluate('document.querySelector("#code-kernels [aria-pressed=true] b").textContent'), 'matmul_tile', 'kernel')
    place = re.match(r'(\S+):(\d+), ', line)
    equal(reader.marked('code-sources', 'on'), [place[2]], f'the line: {line}')
    offsets = reader.marked('code-instructions', 'related')
    own = [f'{one.offset:#x}' for one in image_instructions() if one.kernel == 'matmul_tile' and str(one.line) == place[2]]
    equal(set(offsets), set(own), 'its instructions')
    reader.undo()
    equal(reader.is_seen('#flame'), True, 'back')
    # A double click on the kernel, and its instruction by a link.
    for _ in range(3):
        reader.press('0')
    reader.window.click(*reader.at(0.1, 'kernel'), times=2)
    reader.drawn()
    equal(reader.is_seen('#code'), True, 'by a double click')
    reader = Reader(window, run_pages()[0], view=False, fragment=f'#view=code&kernel=matmul_tile&row={hottest[1]:#x}')
    equal(reader.marked('code-instructions', 'on'), [f'{hottest[1]:#x}'], 'by a link')


class Records:
    """Records as a capture may have them, include/iaprof/record.h."""

    def __init__(self):
        self.list, self.strings = [], {}

    def add(self, kind, body):
        body += b'\0' * (-len(body) % 8)
        self.list.append(struct.pack('<IHHQ', 16 + len(body), kind, 0, 1) + body)

    def string(self, text):
        text = text if isinstance(text, bytes) else text.encode()
        if text and text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.add(1, struct.pack('<II', self.strings[text], len(text)) + text + b'\0')
        return self.strings.get(text, 0)

    def listing(self, number, name, instructions, attributes=(), size=64, left_out=0):
        """instructions: (offset, name, text, file, line, producers)"""
        name = self.string(name)
        rows, producers = b'', b''
        for offset, mnemonic, text, file, line, waits in instructions:
            rows += struct.pack('<QIIIIIIIIQ', offset, 16, self.string(mnemonic), self.string(text), 0,
                                self.string(file), line, len(waits), 0, 0)
            producers += b''.join(struct.pack('<QII', other, 1, 3) for other in waits)
        values = b''.join(struct.pack('<IIq', self.string(key), 0, value) for key, value in attributes)
        self.add(32, struct.pack('<IIIIQQIIII', number, name, name, 1, size, left_out, len(attributes),
                                 len(instructions), len(producers) // 16, 0) + values + rows + producers)


def stalled(listing, function, instruction, reason, offset, value, kind=0, file='', line=0):
    return (kind, value, [Frame('model', PROGRAM), Frame('-', SEPARATOR), Frame(function, FUNCTION),
                          Frame(instruction, INSTRUCTION, file=file, line=line), Frame(reason, REASON),
                          Frame(f'{offset:#x}', OFFSET, pid=listing, offset=offset)])


def make_page(records, stacks, types=(COUNT,), options=(), **how):
    return write_profile('flamegraph', pathlib.Path('code.html'), types, stacks, options=options, records=records,
                         **how)


NASTY = ['</script><script>throw 1</script>', '"><img src=x onerror=alert(1)>', "'--><!--", '🔥', 'a' * 10000,
         b'\xff\xfe \x80', b'\x1b[31m \x07', '\u202e reversed', '${1+1}`']


def a_wide_window_has_the_hottest_code_beside_the_graph(window):
    """From 1800 pixels on: source and hottest instructions of the largest kernel, or of the zoomed one."""
    page = run_pages()[0]
    reader = Reader(window, page, view=False)
    equal(reader.is_seen('#side'), False, 'in a narrow window')
    stalls = chosen_stalls()
    sums, lines = collections.Counter(), collections.Counter()
    for one in image_instructions():
        value = sum(stalls.get((one.kernel, one.offset), [0]))
        sums[one.kernel] += value
        lines[one.kernel, one.file, one.line] += value
    try:
        reader.size(1920, 1080)
        for kernel in [name for name, _ in sums.most_common(2)]:
            equal(reader.evaluate('document.querySelector("#side h3").textContent'), kernel, 'kernel')
            (_, file, line), value = max(((place, value) for place, value in lines.items() if place[0] == kernel),
                                         key=lambda item: item[1])
            text = next(KERNELS.rglob(pathlib.Path(file).name)).read_text(encoding='utf-8').split('\n')[line - 1]
            equal(reader.evaluate('[...document.querySelectorAll("#side tr.on td")].map(cell => cell.textContent)'),
                  [str(line), share(value, sums[kernel]), '', text.expandtabs(4)], 'hottest line')
            hottest = sorted((sum(counts) for (name, offset), counts in stalls.items() if name == kernel and any(
                one.offset == offset and one.kernel == kernel and one.line == line for one in image_instructions())),
                reverse=True)[:6]
            equal(reader.evaluate('[...document.querySelectorAll("#side tr[data-offset] .share")].map(cell => cell.textContent)'),
                  [share(value, sums[kernel]) for value in hottest], 'its instructions')
            other = sums.most_common(2)[1][0]
            reader.click(next(left + width / 2 for left, width in reader.places_of('kernel')
                              if reader.point(left + width / 2, 'kernel').title == other), 'kernel')
        reader.click_on('#side tr[data-line]')
        equal(reader.is_seen('#code'), True, 'a line opens the code')
        equal(window.wrong(), [], 'errors')
    finally:
        reader.size(1400, 900)


def a_comparison_has_the_change_of_each_line_and_instruction(window):
    """Of the share that a function had in the baseline; expected values are subtracted here."""
    stalls = chosen_stalls()
    kernel = 'matmul_tile'
    before = {place: counts for place, counts in stalls.items() if place[0] == kernel}
    chosen = sorted(before, key=lambda place: sum(before[place]))[-1]
    after = {place: (counts[0], counts[1] // 10 if place == chosen else counts[1], counts[2] + 1000)
             for place, counts in before.items()}
    lines = {(one.kernel, one.offset): (pathlib.Path(one.file).name, one.line) for one in image_instructions()}
    with tempfile.TemporaryDirectory() as folder:
        captures = [capture_of(folder, 'before', before), capture_of(folder, 'after', after)]
        page = pathlib.Path(folder, 'page.html')
        subprocess.run([os.environ['TEST_IAPROF'], '-q', '--diff', *captures, '-k', f'flamegraph:sources={KERNELS}', '-o', page],
                       check=True)
        reader = Reader(window, page)
        whole = [sum(map(sum, run.values())) for run in (before, after)]
        growth = f'+{float(f"{100 * (whole[1] - whole[0]) / whole[0]:.3g}"):g}{THIN}%'
        equal(reader.kernels(), [[kernel, growth]], 'change of the kernel')

        def text(change):
            return f'{"+" if change > 0 else "−" if change < 0 else ""}{share(abs(change), whole[0])}' if change else f'0{THIN}%'

        def changes(pane):
            return dict(reader.evaluate(f'[...document.querySelectorAll("#{pane} tbody tr:not(.gap)")].map(row => ['
                                        'row.cells[0].textContent, row.querySelector(".change").textContent]).filter('
                                        '([, text]) => text)'))
        equal(changes('code-instructions'), {f'{offset:#x}': text(sum(after[name, offset]) - sum(before[name, offset]))
                                             for name, offset in before}, 'instructions')
        own = collections.defaultdict(lambda: [0, 0])
        for place in before:
            own[lines[place]][0] += sum(before[place])
            own[lines[place]][1] += sum(after[place])
        shown = changes('code-sources')
        equal(shown, {str(line): text(now - then) for (_, line), (then, now) in own.items() if line}, 'lines')
        first, own = f'{chosen[1]:#x}', [one.offset for one in image_instructions() if one.kernel == kernel]
        reader.click_row(f'#code-instructions tr[data-row="{own.index(chosen[1])}"]')
        assert first in reader.text('said'), reader.text('said')
        # The graph has lines, too.
        reader.view('Compare')
        assert all(not cell.title.startswith('[no line]') for cell in reader.all_tips('inner')), 'lines in the graph'
        equal(window.wrong(), [], 'errors')


def hostile_names_stay_names(window):
    records, stacks = Records(), []
    for listing, name in enumerate(NASTY, 1):
        records.listing(listing, name, [(0, name, name, name, 1, [0, 16, 1 << 60]),
                                        (16, name, name, name, 2**32 - 1, [])],
                        [(name, -2**63)], size=2**64 - 1, left_out=2**64 - 1)
        stacks.append(stalled(listing, name, name, name, 16, 100 - listing))
    with tempfile.TemporaryDirectory() as folder:
        page = make_page(records.list, stacks, options=[f'sources={folder}'])
    equal(page.read_bytes().count(b'<script'), 2, 'script elements')
    reader = Reader(window, page)
    names = [name for name, _ in reader.kernels()]
    equal(len(set(names)), len(NASTY), 'functions')
    for wanted, name in zip(NASTY[:5], names):
        equal(name, wanted, 'name')
    for name in names:
        reader.choose_kernel(name)
        rows = reader.rows('code-instructions')
        equal([row[0][0] for row in rows], ['0x0', '0x10'], 'offsets')
        assert rows[1][0][3] == name and list(rows[1][2]) == ['Other'], rows[1]
        assert not re.search('[\x00-\x09\x0b-\x1f\x7f\u202e\ufffd]', reader.text('code')), 'signs that are not text'
        window.press('p')
    equal(window.wrong(), [], 'nothing of it was code')


def totals_are_those_of_the_profile(window):
    """What is not listed, listed twice, or in no listing is reported and counted; value types are kept apart. Ids
    come in any order."""
    records = Records()
    records.listing(5, 'five', [(0, 'mov', '', '', 0, [])])
    records.listing(1, 'one', [(16, 'mov', '', 'a.cl', 3, []), (0, 'send', 'send (1) r0', 'a.cl', 2, [])], left_out=24)
    records.listing(4, 'four', [(0, 'mov', '', '', 0, [])])
    records.listing(1, 'one', [(16, 'other', '', '', 0, []), (32, 'add', '', '', 0, [16])])
    stacks = [stalled(1, 'one', 'send', 'sbid', 0, 60), stalled(1, 'one', 'send', 'send', 0, 5),
              stalled(1, 'one', 'dpas', 'sbid', 40, 30, file='b.cl', line=7), stalled(9, 'far', 'mov', 'sbid', 0, 7),
              stalled(0, '[unknown device code]', 'mov', 'sbid', 0, 11),
              stalled(1, 'one', 'mov', 'sbid', 16, 900, kind=1)]
    stacks.append((0, 60, stacks[0][2][:1] + [Frame('main')] + stacks[0][2][1:]))
    page = make_page(records.list, stacks, [COUNT, NANOSECONDS], options=['sources=no'])
    reader = Reader(window, page)
    equal(reader.kernels(), [['one', share(155, 173)]], 'functions')
    assert f'{share(18, 173)} of GPU samples in code that is not known' in reader.text('code-why'), reader.text('code-why')
    rows = reader.rows('code-instructions')
    equal([(row[0][0], row[1], row[0][3]) for row in rows],
          [('0x0', 125, 'send (1) r0'), ('0x10', 0, 'mov'), ('0x20', 0, 'add'), ('0x28', 30, 'dpas')], 'rows')
    equal(rows[0][2], {'Data dependency': 120, 'Send queue': 5}, 'reasons, of two stacks')
    for part in f'24{THIN}B not decoded', '1 instruction known from samples only':
        assert part in reader.text('code-why'), reader.text('code-why')
    assert 'b.cl' in reader.text('code-sources'), reader.text('code-sources')
    assert 'Source file not found: disabled by sources=no' in reader.text('code-sources'), reader.text('code-sources')
    reader.choose('value', 'cpu')
    equal(reader.kernels(), [['one', f'100{THIN}%']], 'the other value type')
    equal([row[1] for row in reader.rows('code-instructions')], [0, 900, 0, 0], 'its stalls')


def without_listings_there_is_no_view(window):
    reader = Reader(window, make_page([], [stalled(3, 'old', 'mov', 'sbid', 16, 5)]), view=False)
    equal(reader.texts('#tabs button'), ['Flame graph', 'Table'], 'views')
    for _ in range(4):
        reader.press('ArrowUp')
    reader.press('c')
    equal(reader.is_seen('#flame'), True, 'where the reader is')
    equal(window.wrong(), [], 'errors')


def shown_sources(reader):
    """-> { path: (first line, or why there is none) }"""
    return reader.evaluate('(() => { const found = {};'
                           'for (const head of document.querySelectorAll("#code-sources .file")) {'
                           'let next = head.nextElementSibling; found[head.title] = next.tagName === "P" ? '
                           'next.textContent : next.querySelector("td.text").textContent; } return found; })()')


def missing_text(why):
    return f'Source file not found: {why}.' + ('' if 'sources=' in why else ' Set flamegraph:sources=FOLDER.')


def page_of_sources(window, paths, options, **how):
    records = Records()
    records.listing(1, 'f', [(16 * i, 'mov', '', path, 1, []) for i, path in enumerate(paths)])
    stacks = [stalled(1, 'f', 'mov', 'sbid', 16 * i, 100 - i) for i in range(len(paths))]
    return shown_sources(Reader(window, make_page(records.list, stacks, options=options, **how)))


def sources_are_found_below_their_folder_alone(window):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        outside = folder / 'outside.cl'
        outside.write_text('secret', encoding='utf-8')
        for path, text in (('tree/a/b/x.cl', 'of a/b'), ('tree/b/x.cl', 'of b'), ('tree/x.cl', 'of nothing'),
                           ('second/only.h', '\t  tab'), ('tree/big.cl', 'x' * (1 << 20) + 'x'),
                           ('tree/just.cl', 'y' * (1 << 20)), ('tree/nul.cl', 'a\0b'), ('tree/empty.cl', ''),
                           ('tree/two.cl', 'crlf\r\nand \x1b[31m\u202e')):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text.encode())
        (folder / 'tree/link.cl').symlink_to(outside)
        (folder / 'tree/up.cl').symlink_to('../outside.cl')
        (folder / 'tree/within.cl').symlink_to('a/b/x.cl')
        os.mkfifo(folder / 'tree/fifo.cl')
        (folder / 'tree/folder.cl').mkdir()
        paths = ['/build/a/b/x.cl', '/build/c/b/x.cl', 'x.cl', '/z/../a/b/x.cl', 'only.h', 'big.cl', 'just.cl',
                 'nul.cl', 'empty.cl', 'two.cl', 'link.cl', 'up.cl', 'within.cl', 'fifo.cl', 'folder.cl',
                 '../outside.cl', 'none.cl']
        found = page_of_sources(window, paths, [f'sources={folder}/tree:{folder}/second'])
    missing = 'Source file not found: not found'
    for path, wanted in {'/build/a/b/x.cl': 'of a/b', '/build/c/b/x.cl': 'of b', 'x.cl': 'of nothing',
                         'only.h': ' ' * 6 + 'tab', '/z/../a/b/x.cl': 'of a/b', 'two.cl': 'crlf',
                         'within.cl': 'of a/b',
                         'just.cl': 'y' * (1 << 20)}.items():
        equal(found[path], wanted, path)
    for path, wanted in {'big.cl': 'larger than 1 MiB', 'nul.cl': 'not a text file', 'empty.cl': 'empty file',
                         'fifo.cl': 'not a regular file', 'folder.cl': 'not a regular file'}.items():
        equal(found[path], missing_text(wanted), path)
    for path in 'link.cl', 'up.cl', '../outside.cl', 'none.cl':
        assert found[path].startswith(missing), f'{path}: {found[path]}'
    assert 'secret' not in ''.join(found.values())


def a_live_run_reads_only_what_all_users_can_read(window):
    """Paths come from other users' programs: what they cannot read, iaprof does not read for them."""
    with tempfile.TemporaryDirectory(dir='/var/tmp') as name:
        folder = pathlib.Path(os.path.realpath(name))
        folder.chmod(0o755)
        texts = {'public.cl': 0o644, 'private.cl': 0o600, 'group.cl': 0o640, 'closed/public.cl': 0o644}
        for path, mode in texts.items():
            (folder / path).parent.mkdir(mode=0o750, exist_ok=True)
            (folder / path).write_text(f'text of {path}', encoding='utf-8')
            (folder / path).chmod(mode)
        (folder / 'closed').chmod(0o750)
        (folder / 'link.cl').symlink_to('public.cl')
        (folder / 'linked').symlink_to('.')
        os.mkfifo(folder / 'fifo.cl', 0o666)
        (folder / 'fifo.cl').chmod(0o666)
        why = 'not readable by all users (set sources=FOLDER)'
        link = 'path contains a symbolic link (set sources=FOLDER)'
        wanted = {'public.cl': None, 'private.cl': why, 'group.cl': why, 'closed/public.cl': why, 'link.cl': link,
                  'linked/public.cl': link, 'fifo.cl': 'not a regular file', 'none.cl': 'not found',
                  'closed/../public.cl': why, '../public.cl': 'not found'}
        paths = [f'{folder}/{path}' for path in wanted]
        others = ['/proc/self/environ', '/sys/kernel/notes', 'public.cl']
        for options in [], ['sources=yes']:
            found = page_of_sources(window, paths + others, options)
            for path, reason in wanted.items():
                shown = missing_text(reason) if reason else f'text of {path}'
                equal(found[f'{folder}/{path}'], shown, path)
            for path in others[:2]:
                equal(found[path], missing_text('not on a local file system (set sources=FOLDER)'), path)
            equal(found['public.cl'], missing_text('path is not absolute (set sources=FOLDER)'), 'relative')
        equal(page_of_sources(window, paths, ['sources=no'])[paths[0]],
              missing_text('disabled by sources=no'), 'no')


def texts(records, path, text, parts=(65000,)):
    """Adds the records of the text of a source file, in parts of these sizes."""
    offset = 0
    for part in parts:
        data = text[offset:offset + part]
        records.add(34, struct.pack('<IIII', records.string(path), len(text), offset, len(data)) + data)
        offset += part


def a_replay_shows_the_texts_of_its_capture_and_opens_no_file(window):
    with tempfile.TemporaryDirectory(dir='/var/tmp') as name:
        folder = pathlib.Path(os.path.realpath(name))
        folder.chmod(0o755)
        for path in 'x.cl', 'both.cl':
            (folder / path).write_text('on the disk', encoding='utf-8')
            (folder / path).chmod(0o644)
        paths = [f'{folder}/x.cl', f'{folder}/both.cl', '/gone/one.cl', '/gone/parts.cl', '/gone/half.cl', 'again.cl']
        records = Records()
        texts(records, paths[1], b'in the capture')
        texts(records, paths[2], b'one part')
        texts(records, paths[3], b'several parts\nof it', (5, 1, 500))
        texts(records, paths[4], b'the end is missing', (5,))
        texts(records, paths[5], b'only half', (5,))
        texts(records, paths[5], b'then all of it', (5, 20))
        records.listing(1, 'f', [(16 * i, 'mov', '', path, 1, []) for i, path in enumerate(paths)])
        stacks = [stalled(1, 'f', 'mov', 'sbid', 16 * i, 100 - i) for i in range(len(paths))]

        def shown(*options):
            return shown_sources(Reader(window, make_page(records.list, stacks, options=options, recorded=True)))
        missing = missing_text('not in the capture (record with sources=yes, or set sources=FOLDER)')
        embedded = [missing, 'in the capture', 'one part', 'several parts', missing, 'then all of it']
        found = shown()
        equal([found[path] for path in paths], embedded, 'texts of the capture')
        found = shown(f'sources={folder}')
        equal([found[path] for path in paths[:3]], ['on the disk', 'on the disk', 'one part'], 'a named folder')
        equal(set(shown('sources=no').values()), {missing_text('disabled by sources=no')}, 'no')
    failed = subprocess.run([os.environ['TEST_PROFILE_WRITE'], 'flamegraph', 'sources=yes'], input=b'recorded yes\n',
                            capture_output=True, check=False)
    assert b'a replay opens no file that a capture names' in failed.stderr, failed.stderr


def all_sources_together_are_bounded(window):
    with tempfile.TemporaryDirectory() as folder:
        paths = [f'{i:02}.cl' for i in range(18)]
        for path in paths:
            pathlib.Path(folder, path).write_bytes(b'line\n' + (b'x' * 99 + b'\n') * 10000)
        found = page_of_sources(window, paths, [f'sources={folder}'])
    equal([path for path in paths if found[path] == 'line'], paths[:16], 'the hottest have their text')
    equal(found[paths[17]], missing_text('all sources together exceed 16 MiB'), 'why the others not')


def cpu_functions_have_their_source_too(window):
    """Self and total by line, of which recursion counts once; files are read as those of GPU code are."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'tree').mkdir()
        (folder / 'tree/app.c').write_text(''.join(f'\tline {i}\n' for i in range(1, 30)), encoding='utf-8')
        (folder / 'outside.c').write_text('secret', encoding='utf-8')
        (folder / 'tree/link.c').symlink_to(folder / 'outside.c')
        path, link = '/build/app.c', '/build/link.c'
        at = lambda function, line, file=path: Frame(function, file=file, line=line)
        stacks = [(0, 500, [Frame('p', PROGRAM, pid=7), at('main', 3), at('work', 11)]),
                  (0, 300, [Frame('p', PROGRAM, pid=7), at('main', 3), at('work', 12), at('leaf', 21)]),
                  (0, 150, [Frame('p', PROGRAM, pid=7), at('main', 4), at('work', 12), at('work', 12), at('work', 11)]),
                  (0, 50, [Frame('p', PROGRAM, pid=7), at('main', 4), at('other', 1, link)])]
        page = write_profile('flamegraph', pathlib.Path('page.html'), [NANOSECONDS], stacks, options=[f'sources={folder}/tree'])
        reader = sink_reader.Reader(window, page)
        equal(reader.texts('#tabs button'), ['Flame graph', 'Table', 'CPU source'], 'views')
        reader.view('CPU source')
        cards = lambda: reader.evaluate('[...document.querySelectorAll("#code-kernels button")].map(button => ['
                                        'button.querySelector("b").title, button.querySelector("i").textContent])')
        equal(cards(), [['work', share(650, 1000)], ['leaf', share(300, 1000)], ['other', share(50, 1000)], ['main', f'0{THIN}%']],
              'functions, by self')

        def lines():
            return {cells[0]: cells[1:] for cells in reader.evaluate(
                '[...document.querySelectorAll("#code-sources tbody tr:not(.gap)")].filter(row => row.dataset.place).map(row => '
                '[0, 1, 2, 4].map(i => row.cells[i].textContent))')}
        equal(lines(), {'11': [share(650, 950), share(650, 950), ' ' * 4 + 'line 11'], '12': ['', share(450, 950), ' ' * 4 + 'line 12']},
              'lines of work: self, total, text')
        equal(reader.evaluate('document.querySelector("#code-sources tr.on td").textContent'), '11', 'the hottest one is chosen')
        equal(reader.is_seen('#code-instructions'), False, 'there are no instructions')
        reader.click_on('#code-kernels button', 3)
        equal({line: cells[:2] for line, cells in lines().items()}, {'3': ['', share(800, 1000)], '4': ['', share(200, 1000)]}, 'main')
        reader.click_on('#code-kernels button', 2)
        assert reader.text('code-sources').startswith('link.cSource file not found: not found'), reader.text('code-sources')
        assert 'secret' not in page.read_text(encoding='utf-8'), 'what is outside of the folder'
        # From the graph, by keys, to the line of the frame.
        reader.view('Flame graph')
        for _ in range(3):
            reader.press('ArrowUp')
        said = reader.text('said')
        assert said.startswith('work, '), said
        reader.press('c')
        equal(reader.is_seen('#code'), True, 'its code')
        assert reader.text('said').startswith('/build/app.c:1'), reader.text('said')
        equal(window.wrong(), [], 'errors')


def without_lines_cpu_functions_have_no_source(window):
    page = write_profile('flamegraph', pathlib.Path('page.html'), [NANOSECONDS], [(0, 5, [Frame('p', PROGRAM), Frame('main', file='a.c')])])
    equal(sink_reader.Reader(window, page).texts('#tabs button'), ['Flame graph', 'Table'], 'views')


def a_changed_source_file_is_marked(window):
    records = Records()
    records.listing(1, 'f', [(0, 'mov', '', 'x.cl', 9, [])])
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, 'x.cl').write_text('one\ntwo\n', encoding='utf-8')
        page = make_page(records.list, [stalled(1, 'f', 'mov', 'sbid', 0, 5)], options=[f'sources={folder}'])
    reader = Reader(window, page)
    equal(reader.evaluate('document.querySelector("#code-sources .missing").textContent'),
          'The code has line 9, but the file has 2: it is not the file that was compiled.', 'message')
    equal([row[0][0] for row in reader.rows('code-sources')], ['1', '2', '9'], 'lines')


PAGE_CASES = (cpu_functions_have_their_source_too, without_lines_cpu_functions_have_no_source,
              a_real_image_is_shown, bars_are_as_long_as_they_say, columns_are_columns,
              a_line_and_its_instructions_belong_together, what_is_waited_for_is_one_click_away,
              the_flame_graph_leads_to_code, a_wide_window_has_the_hottest_code_beside_the_graph,
              a_comparison_has_the_change_of_each_line_and_instruction, hostile_names_stay_names,
              totals_are_those_of_the_profile, without_listings_there_is_no_view,
              sources_are_found_below_their_folder_alone, a_live_run_reads_only_what_all_users_can_read,
              a_replay_shows_the_texts_of_its_capture_and_opens_no_file, all_sources_together_are_bounded,
              a_changed_source_file_is_marked)
WINDOW = 1400, 900


if __name__ == '__main__':
    sys.exit(run_file())
