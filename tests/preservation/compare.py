#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays captures recorded by commit 3560f6e, and inputs that it read, and compares stacks, values and events with
that commit's output. README.md describes the files. Prints TAP; arguments select cases by name.

    TEST_IAPROF=build/iaprof tests/preservation/compare.py [CASE...]
"""
import argparse
import collections
import csv
import hashlib
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile

csv.field_size_limit(1 << 26)

HERE = pathlib.Path(__file__).resolve().parent
SHOWN = 40  # differences of a case that are printed
TIMEOUT = 300  # seconds after which a run counts as hanging

# Sinks of the first run: instance, options. Folded stacks have a file for each value type.
SINKS = {
    'stacks': ('csv.stacks', 'rows=stacks,newline=lf,escape=no'),
    'detailed': ('csv.detailed', 'rows=stacks,newline=lf,escape=no,lines=yes,module=yes,pid=yes,blame=producer'),
    'events': ('csv.events', 'rows=events,newline=lf,escape=no'),
    'folded': ('folded', ''),
}
INTERVALS = ('csv.intervals', 'rows=stacks,newline=lf,escape=no')  # of the second run, which has -i 1s
# Timestamps: reproducible in the replay of a capture only.
TIMES = ('time', 'begin', 'end', 'begin_realtime')
SUMS = ('count', 'value', 'duration')
FRAMES = ('stack', 'functions')
LIVE_SOURCE = 'attribution-source'
# Records whose numbers differ between runs of an input without timestamps, such as rates.
MEASURED = ('counter-value', 'finding', 'metadata')
# Metadata of such a run whose text identifies the machine, the time or the file.
PLACE = ('boot id', 'input', 'kernel release', 'machine', 'realtime offset')


def plugins():
    """Returns the folder with the sources of live cases."""
    return pathlib.Path(os.environ.get('TEST_PRESERVATION_PLUGINS', HERE)).resolve()


class Wrong(Exception):
    """A case or table that cannot be used."""


class Case:
    """One line of cases.txt: name, kind of input, file, options of the source."""

    def __init__(self, line):
        self.name, self.how, file, *options = line.split()
        if self.how not in ('capture', 'text', 'ivpu-trace', 'live'):
            raise Wrong(f'{self.name}: {self.how!r} is neither capture, text, ivpu-trace nor live')
        self.file, self.options = HERE / file, options
        self.reader = 'ivpu-trace'  # of traces

    def has_times(self):
        return self.how == 'capture'

    def arguments(self, folder):
        """Returns the source as arguments, after copying the input into the folder."""
        if self.how == 'live':
            paths = {name: HERE / path for name, path in (option.split('=', 1) for option in self.options)}
            for name, path in paths.items():
                if path.suffix == '.xz':
                    paths[name] = folder / name
                    paths[name].write_bytes(lzma.decompress(path.read_bytes()))
            options = ','.join(f'{name}={path}' for name, path in paths.items())
            return ['-d', '60s', '-s', f'{plugins() / self.file.name}:{options}']
        file = folder / 'input'
        data = self.file.read_bytes()
        file.write_bytes(lzma.decompress(data) if self.file.suffix == '.xz' else data)
        if self.how == 'ivpu-trace':
            return ['-s', ','.join([f'{self.reader}:input={file}', *self.options])]
        return ['-s', ','.join([f'replay:file={file}', *self.options])]

    def expected(self, folder):
        return folder / f'{self.name}.txt.xz'


def read_cases(path, words):
    lines = path.read_text(encoding='utf-8').splitlines()
    cases = [Case(line) for line in lines if line and not line.startswith('#')]
    unknown = set(words) - {case.name for case in cases}
    if unknown:
        raise Wrong(f'no case named {sorted(unknown)[0]}')
    return [case for case in cases if not words or case.name in words]


# A fact is (view, ((column, text), ...)); a run's output is a Counter of facts.


def run(program, arguments, folder):
    command = [str(program), '-q', *arguments]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               encoding='utf-8', errors='replace', cwd=folder, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise Wrong(f'no end after {TIMEOUT} s: {" ".join(command)}') from None
    if ended.returncode:
        raise Wrong(f'{" ".join(command)}: status {ended.returncode}: {ended.stdout}')


def rows(path):
    if not path.exists():
        raise Wrong(f'{path.name} was not written')
    with open(path, encoding='utf-8', errors='surrogateescape', newline='') as file:
        return list(csv.DictReader(file))


def node_paths(events):
    """Returns {(source, id of a call node): names from the outermost call}."""
    nodes = {(row['source'], row['id']): row for row in events if row['record'] == 'call-node'}
    paths = {}
    for key, row in nodes.items():
        names = [row['name']]
        while row['parent'] and (row['source'], row['parent']) in nodes and len(names) < 1000:
            row = nodes[row['source'], row['parent']]
            names.append(row['name'])
        paths[key] = ';'.join(reversed(names))
    return paths


def without_ids(events):
    """Replaces ids, which only link rows, by what they refer to: the stack of a profile value, the path of a call."""
    stacks = {row['id']: row['functions'] for row in events if row.get('record') == 'profile-stack'}
    paths = node_paths(events)
    for row in events:
        if row['record'] == 'profile-value':
            row['functions'] = stacks.get(row['id'], '?')
        elif row['record'] in ('call', 'call-node'):
            row['functions'] = f'{paths.get((row["source"], row["id"]), "?")};{row["functions"]}'
        if row['record'] != 'job':  # the driver's ids
            row['id'] = row['parent'] = ''
    return events


def summed(view, row, has_times):
    """Returns the columns that form the key of a sum, or None for a row that is not summed.

    Device samples are summed over time, and interval rows by program, to keep expectations small; digests() covers
    their numbers. An input without timestamps is summed because how a run divides it into rows is random.
    """
    if view == 'intervals':
        return [name for name in ('interval', 'begin', 'end', 'value_type', 'program', 'pid') if row[name]]
    if has_times and row.get('record') not in ('stall-sample', 'profile-value'):
        return None
    left_out = ('text', *TIMES, *SUMS) if row.get('record') == 'metadata' and row['name'] in PLACE else TIMES + SUMS
    return [name for name, text in row.items() if text and name not in left_out]


def digests(view, table):
    """Returns a digest of the numbers of all summed rows for each record type, without names, which may change."""
    numbers = collections.defaultdict(list)
    for row in table:
        if summed(view, row, True) is not None:
            numbers[row.get('record')].append('\t'.join(row.get(name) or '' for name in ('interval', *TIMES, *SUMS)))
    facts = collections.Counter()
    for record, lines in numbers.items():
        digest = hashlib.sha256('\n'.join(sorted(lines)).encode()).hexdigest()
        facts[view, (*((('record', record),) if record else ()), ('digest of numbers', digest))] = 1
    return facts


def without_program(stack):
    return ';'.join(['*', *stack.split(';')[1:]])


def of_live_run(view, table):
    """Returns rows of a live run without what differs between runs: other processes, program names, ids, paths."""
    result = []
    for row in table:
        if view == 'events':
            if row['source'] != LIVE_SOURCE and not row['name'].startswith('samples of '):
                continue
            frames, changed = 'functions', {'pid': '', 'stack': ''}
            if row['record'] == 'code-object':
                changed['name'] = ''
        else:
            frames, changed = 'stack', {'pid': '', 'program': '*'}
        if row[frames] and row.get('record') != 'launch':
            changed[frames] = without_program(row[frames])
        result.append({**row, **changed})
    return result


def facts_of(view, table, has_times):
    facts = digests(view, table) if has_times else collections.Counter()
    sums = collections.defaultdict(lambda: [0] * len(SUMS))
    for row in table:
        names = summed(view, row, has_times)
        if names is None:
            facts[view, tuple((name, text) for name, text in row.items() if text)] += 1
            continue
        key = tuple((name, row[name]) for name in names)
        if row.get('record') == 'histogram':  # its value is the range that was counted, not a sum
            key += (('value', row['value']),)
        if row.get('record') in MEASURED:
            facts[view, key] += 1
            continue
        for place, name in enumerate(SUMS):
            if not (row.get('record') == 'histogram' and name == 'value'):
                sums[key][place] += int(row.get(name) or 0)
    for key, values in sums.items():
        facts[view, key + tuple((name, str(value)) for name, value in zip(SUMS, values) if value)] += 1
    return facts


def folded_facts(folder, is_live):
    facts = collections.Counter()
    for path in sorted(folder.glob('folded*')):
        kind = path.name.partition('.')[2]  # empty when there is only one value type
        for line in path.read_text(encoding='utf-8', errors='surrogateescape').splitlines():
            stack, _, value = line.rpartition(' ')
            if is_live:
                stack = without_program(stack)
            facts['folded', (*((('value_type', kind),) if kind else ()), ('stack', stack), ('value', value))] += 1
    return facts


def make_facts(program, case):
    """Returns the facts in a program's output for a case."""
    is_live = case.how == 'live'
    with tempfile.TemporaryDirectory(prefix='iaprof-preservation-') as name:
        folder = pathlib.Path(name)
        source = case.arguments(folder)
        sinks = []
        for view, (sink, options) in SINKS.items():
            if is_live and view != 'events':
                options = ','.join([*filter(None, [options.replace(',pid=yes', '')]), 'pid=no'])
            sinks += ['-k', f'{sink}:output={view}' + (f',{options}' if options else '')]
        run(program, [*source, *sinks], folder)
        facts = folded_facts(folder, is_live)
        for view in 'stacks', 'detailed', 'events':
            table = rows(folder / view)
            if view == 'events':
                table = without_ids(table)
            facts += facts_of(view, of_live_run(view, table) if is_live else table, case.has_times())
        if case.has_times():
            sink, options = INTERVALS
            run(program, [*source, '-i', '1s', '-k', f'{sink}:output=intervals,{options}'], folder)
            facts += facts_of('intervals', rows(folder / 'intervals'), True)
        return facts


# Expectations are text, one line per fact, with tabs between fields.


def escape(text):
    return text.replace('\\', '\\\\').replace('\t', '\\t').replace('\n', '\\n').replace('\r', '\\r')


def unescape(text):
    return text.replace('\\\\', '\0').replace('\\t', '\t').replace('\\n', '\n').replace('\\r', '\r').replace('\0', '\\')


def to_line(fact, count):
    view, columns = fact
    return '\t'.join([str(count), view, *(f'{name}={escape(text)}' for name, text in columns)])


def write_expected(path, facts, preset=9 | lzma.PRESET_EXTREME):
    text = ''.join(f'{line}\n' for line in sorted(to_line(fact, count) for fact, count in facts.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode('utf-8', 'surrogateescape'), preset=preset))


def read_expected(path):
    facts = collections.Counter()
    for line in lzma.decompress(path.read_bytes()).decode('utf-8', 'surrogateescape').split('\n'):
        if line:
            count, view, *columns = line.split('\t')
            pairs = (column.partition('=') for column in columns)
            facts[view, tuple((name, unescape(text)) for name, _, text in pairs)] += int(count)
    return facts


# Intended changes.


class Renamed:
    """renamed.txt, and which of its entries were used."""

    def __init__(self, path):
        self.names, self.used, self.how = collections.defaultdict(dict), set(), ''
        for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
            if not line or line.startswith('#'):
                continue
            fields = [field for field in line.split('\t') if field]
            if len(fields) != 4 or fields[1] == fields[2]:
                raise Wrong(f'{path.name}:{number}: not four fields between tabs: kind, old, new, reason')
            kind, old, new, _ = fields
            key = new if old == '-' else old
            if (old == '-' or new == '-') and kind not in ('column', 'record', 'name', 'job-value'):
                raise Wrong(f'{path.name}:{number}: only columns, records and names can be added or removed')
            if key in self.names[kind]:
                raise Wrong(f'{path.name}:{number}: {kind} {key} is a duplicate')
            self.names[kind][key] = (old, new)

    def entries(self):
        return {(kind, key) for kind, names in self.names.items() for key in names}

    def new_name(self, kind, old):
        """Returns the current name, '-' when it was removed."""
        if kind == 'frame' and self.how == 'live' and old in self.names['live-frame']:
            kind = 'live-frame'
        if kind in ('source', 'name') and self.how == 'ivpu-trace' and old in self.names['trace-source']:
            kind = 'trace-source'
        entry = self.names[kind].get(old)
        if not entry or entry[0] == '-':
            return old
        self.used.add((kind, old))
        return entry[1]

    def new_end(self, text):
        """Returns the stack with other frames at its end, in a live case."""
        for old, (_, new) in self.names['live-frame'].items() if self.how == 'live' else ():
            if ';' in old and text.endswith(f';{old}'):
                self.used.add(('live-frame', old))
                return text[:-len(old)] + new
        return text

    def is_added(self, kind, name):
        entry = self.names[kind].get(name)
        if not entry or entry[0] != '-':
            return False
        self.used.add((kind, name))
        return True

    def new_text(self, view, name, text, record):
        """Returns the current text of a column."""
        if name in FRAMES:
            text = self.new_end(text)
            return ';'.join(self.new_name('frame', frame) for frame in text.split(';'))
        if name in ('program', 'function'):  # the first and the last frame in rows=stacks
            return self.new_name('frame', text)
        if name == 'value_type' or (name == 'name' and record == 'value-type'):
            return self.new_name('value-type', text)
        return self.new_name(name, text) if view == 'events' else text

    def apply(self, facts, how):
        """Returns expected facts of a kind of input under their current names, without removed ones."""
        self.how = how
        result = collections.Counter()
        for (view, columns), count in facts.items():
            record = dict(columns).get('record')
            renamed = []
            if record == 'job' and self.new_name('job-value', dict(columns).get('source')) == '-':
                columns = [pair for pair in columns if pair[0] not in ('value', 'unit')]
            for name, text in columns:
                text = self.new_text(view, name, text, record)
                if view == 'events' and name in ('record', 'name') and text == '-':
                    break
                name = self.new_name('column', name)
                if name != '-':
                    renamed.append((name, text))
            else:
                result[view, tuple(sorted(renamed))] += count
        return result

    def without_added(self, facts):
        """Returns facts of the current output without added columns and rows."""
        result = collections.Counter()
        for (view, columns), count in facts.items():
            row = dict(columns) if view == 'events' else {}
            if not any(name in row and self.is_added(name, row[name]) for name in ('record', 'name')):
                result[view, tuple(sorted(pair for pair in columns if not self.is_added('column', pair[0])))] += count
        return result


def without_wording(facts):
    """Returns facts whose findings have only the numbers of their texts: the sentences around them may be rewritten."""
    result = collections.Counter()
    for (view, columns), count in facts.items():
        is_finding = dict(columns).get('record') == 'finding'
        result[view, tuple((name, ' '.join(re.findall(r'\d+(?:\.\d+)?', text)) if is_finding and name == 'text' else text)
                           for name, text in columns)] += count
    return result


def without_notes(facts):
    """Returns facts without what source ivpu-trace and the run say about a text input besides its calls: since issue 20, the
    groups of the write-up are families, there are phases, and the machine is not the one that read the text.
    tests/plugin/test_ivpu_trace.c and tests/cli/test_npu_forms.py test them."""
    return collections.Counter({
        (view, columns): count for (view, columns), count in facts.items()
        if view != 'events' or (dict(columns).get('record') != 'metadata' and dict(columns).get('kind') != 'note')})


def differences(expected, found):
    """Returns lines "- COUNT VIEW COLUMN=TEXT..." for missing facts and "+ ..." for new ones, similar ones adjacent."""
    lines = [(fact, '-', count) for fact, count in (expected - found).items()]
    lines += [(fact, '+', count) for fact, count in (found - expected).items()]

    def order(entry):
        (view, columns), sign, _ = entry
        return view, [text for name, text in columns if name not in SUMS], sign != '-'
    return [f'{sign} {to_line(fact, count)}' for fact, sign, count in sorted(lines, key=order)]


def compare(program, case, folder, renamed):
    """Returns the differences of a case."""
    expected = renamed.apply(read_expected(case.expected(folder)), case.how)
    if not expected:
        raise Wrong(f'{case.expected(folder).name} contains no facts')
    found = renamed.without_added(make_facts(program, case))
    if case.how == 'ivpu-trace':
        expected, found = without_notes(expected), without_notes(found)
    return differences(without_wording(expected), without_wording(found))


def main():
    parser = argparse.ArgumentParser(prog='compare.py', description='compare replays with the output of 3560f6e')
    parser.add_argument('cases', nargs='*', metavar='CASE')
    parser.add_argument('--program', type=pathlib.Path, default=os.environ.get('TEST_IAPROF'),
                        help='iaprof binary (default $TEST_IAPROF)')
    parser.add_argument('--expected', type=pathlib.Path, default=HERE / 'expected', help='folder with expectations')
    parser.add_argument('--list', type=pathlib.Path, default=HERE / 'cases.txt', help='list of cases')
    parser.add_argument('--renamed', type=pathlib.Path, default=HERE / 'renamed.txt', help='table of intended changes')
    parser.add_argument('--write', action='store_true', help='write expectations instead (only with 3560f6e)')
    options = parser.parse_args()
    if not options.program:
        parser.error('TEST_IAPROF is not set')
    program = options.program.resolve()
    try:
        cases = read_cases(options.list, options.cases)
        if options.write:
            for case in cases:
                case.reader = 'ivpu'  # of 3560f6e
                write_expected(case.expected(options.expected), make_facts(program, case))
            return 0
        renamed = Renamed(options.renamed)
    except (Wrong, OSError) as error:
        print(f'Bail out! {error}')
        return 2
    print(f'1..{len(cases) + (not options.cases)}')
    failed = 0
    for number, case in enumerate(cases, 1):
        try:
            found = compare(program, case, options.expected, renamed)
        except (Wrong, OSError, lzma.LZMAError) as error:
            found = [str(error)]
        failed += bool(found)
        print(f'{"not ok" if found else "ok"} {number} - {case.name}')
        for line in found[:SHOWN]:
            print(f'#   {line}'.encode('utf-8', 'backslashreplace').decode())
        if found:
            print(f'#   {len(found)} differences{f", {SHOWN} of them shown" if len(found) > SHOWN else ""}', flush=True)
    if not options.cases:
        unused = sorted(renamed.entries() - renamed.used)
        failed += bool(unused)
        print(f'{"not ok" if unused else "ok"} {len(cases) + 1} - every entry of renamed.txt is used')
        for kind, key in unused:
            print(f'#   {kind} {key}')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
