#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The captures of the demonstration, which were made in the lab: the answer names the kernel and line that are slow by
construction, the difference shows what the fix gained, every view of the page has what it should, and every other reader
has the same totals. TAP."""
import collections
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from firefox_profile import FirefoxProfile
from perfetto_trace import Trace
from reader import REASONS, THIN, Reader, run_file
from stacks import Skip, equal
from test_pprof import pprof, top

TREE = pathlib.Path(os.environ['TEST_SOURCE_FOLDER'])
DECODER, DECODER_FIXED = TREE / 'examples/decoder.iaprof', TREE / 'examples/decoder-fixed.iaprof'
CAPTURE, FIXED = TREE / 'examples/demo.iaprof', TREE / 'examples/demo-fixed.iaprof'
SOURCES = TREE / 'tests/lab/demo'
# What is slow, by construction, and what launches it.
KERNEL, LAUNCH = 'feed_forward', 'FeedForward.project_up'
PYTHON = '<module>', 'main', 'answer_question', 'LanguageModel.plan_token'
VALUE_TYPES = 'gpu-stalls', 'cpu', 'npu-time', 'npu-calls'


def line_of(path, text, after=''):
    """The number of the first line with this text, behind the one with the other."""
    lines = (SOURCES / path).read_text(encoding='utf-8').splitlines()
    begin = next(number for number, line in enumerate(lines) if after in line)
    return next(number for number, line in enumerate(lines[begin:], begin + 1) if text in line)


def launch_line():
    return line_of('assistant/model.py', 'gpu.launch', f'def {LAUNCH.rpartition(".")[2]}')


def iaprof(*arguments, capture=CAPTURE, read='--replay'):
    """-> what it printed on standard error"""
    files = capture if isinstance(capture, tuple) else (capture,)
    outcome = subprocess.run([os.environ['TEST_IAPROF'], read, *files, *arguments], check=True,
                             stderr=subprocess.PIPE, encoding='utf-8')
    return outcome.stderr


def folded(value, capture=CAPTURE, options=''):
    """-> {stack: value}"""
    iaprof('-q', '-k', f'folded:value={value}{options}', '-o', 'out.folded', capture=capture)
    lines = pathlib.Path('out.folded').read_text(encoding='utf-8').splitlines()
    return {stack: int(number) for stack, _, number in (line.rpartition(' ') for line in lines)}


def device_frames(stack):
    """-> kernel, frames of the device without their suffix"""
    frames = [frame.removesuffix('_[G]').removesuffix('_[g]') for frame in stack.split(';-;')[1].split(';')]
    return next(frame for frame in frames if '.cl' not in frame), frames


def by_kernel(capture=CAPTURE):
    """-> {kernel: Counter of its stall reasons}"""
    found = collections.defaultdict(collections.Counter)
    for stack, number in folded('gpu-stalls', capture).items():
        kernel, frames = device_frames(stack)
        found[kernel][next(frame for frame in frames if frame in REASONS)] += number
    return found


def the_answer_names_what_is_slow():
    line, site = line_of('kernels/decoder.cl', 'sum = fma(', '#ifndef TILED'), launch_line()
    iaprof('-q', '-k', 'summary:format=json', '-o', 'summary.json')
    cause = json.loads(pathlib.Path('summary.json').read_text(encoding='utf-8'))['causes'][0]
    equal([cause['kernel'], pathlib.Path(cause['file']).name, cause['line'], cause['hardware_name']],
          [KERNEL, 'decoder.cl', line, 'sbid'], 'the cause')
    equal([pathlib.Path(cause['waits_for']['file']).name, cause['waits_for']['line']], ['decoder.cl', line], 'waits for')
    assert 'load' in cause['waits_for']['name'], cause
    launched = cause['launched_by']
    equal([launched['name'], pathlib.Path(launched['file']).name, launched['line']], [LAUNCH, 'model.py', site], 'launch')
    iaprof('-q', '-k', 'summary', '-o', 'summary.txt')
    text = pathlib.Path('summary.txt').read_text(encoding='utf-8')
    answer = re.match(rf'(\d+\.\d) % of GPU samples wait for data in {KERNEL}, decoder\.cl:{line}, until the load completes\.\n'
                      rf'  Launch site: {LAUNCH}, model\.py:{site}\n  Stall reason: Data dependency \(sbid\)\n'
                      rf'  Producer: .*load, decoder\.cl:{line}\n  What to try: .*stage data in local memory', text)
    assert answer and 35 < float(answer.group(1)) < 60, text
    assert re.search(r'^GPU samples by class: matrix product \d.*, softmax \d.*, attention \d.*, normalization [\d.]+ %$', text, re.MULTILINE), text
    assert re.search(r'^NPU IPC storm: \d+ firmware messages .*the firmware sends more than jobs need .*\.$', text, re.M), text


def stalls_follow_the_code():
    """What each kernel has, and cannot have, by its source."""
    reasons = by_kernel()
    equal(set(reasons), {'rms_norm', 'attention_scores', 'softmax', KERNEL, 'bias_gelu'}, 'kernels')
    for kernel, counts in reasons.items():
        assert counts['sbid'] and counts['active'] and not counts['tdr'], f'{kernel}: {counts}'
        assert bool(counts['sync']) == (kernel == 'rms_norm'), f'{kernel}: barriers: {counts}'
        # rms_norm has one root in a launch, which is rarely met.
        assert kernel == 'rms_norm' or bool(counts['pipestall']) == (kernel in ('softmax', 'bias_gelu')), (
            f'{kernel}: {counts}')
    assert by_kernel(FIXED)[KERNEL]['sync'], 'the fixed kernel has barriers'
    for capture in CAPTURE, FIXED:
        stacks = folded('gpu-stalls', capture, ',blame=producer')
        waiting = [stack for stack in stacks if ';sbid_[g]' in stack]
        alone = [stack for stack in waiting if not re.search(r'send|math|sync', stack.split(';-;')[1])]
        equal(alone[:3], [], 'data dependencies without a message or a math instruction')


def exports_have_classes():
    """By the installed rules and one of the user's."""
    pathlib.Path('my.rules').write_text(f'class dense layer: {KERNEL}\n', encoding='utf-8')
    expected = {'rms_norm': 'normalization', 'softmax': 'softmax', 'attention_scores': 'attention', 'bias_gelu': 'activation'}
    for options, own in ((), 'matrix product'), (('--rules', 'my.rules'), 'dense layer'):
        iaprof('-q', *options, '-k', 'csv', '-o', 'classes.csv')
        sums = collections.Counter()
        with open('classes.csv', newline='', encoding='utf-8') as file:
            for row in csv.DictReader(file):
                if row['value_type'] == 'gpu-stalls':
                    sums[device_frames(row['stack'])[0], row['kernel_class']] += int(row['value'])
                else:
                    equal(row['kernel_class'], '', row['stack'])
        equal({kernel: name for kernel, name in sums}, expected | {KERNEL: own}, 'classes in CSV')
        iaprof('-q', *options, '-k', 'pprof', '-o', 'classes.pb.gz')
        for (kernel, name), value in sums.items():
            if name:
                found = top('classes.pb.gz', '-sample_index=gpu-stalls', f'-tagfocus=kernel_class=^{name}$')[1]
                equal(sum(flat for flat, _ in found.values()), value, f'pprof: {kernel}')
        iaprof('-q', *options, '-k', 'folded:output=classes.folded,value=gpu-stalls,classes=yes,annotate=no')
        above = collections.Counter()
        for line in pathlib.Path('classes.folded').read_text(encoding='utf-8').splitlines():
            stack, _, number = line.rpartition(' ')
            source, name, kernel, *_ = stack.split(';-;')[1].split(';')
            assert source.endswith('.cl'), stack
            above[kernel, name] += int(number)
        equal(above, sums, 'folded: class above the kernel')
        iaprof('-q', *options, '-k', 'perfetto:output=classes.pftrace', '-k', 'firefox:output=classes.json.gz',
               '-k', 'summary:output=classes.json,format=json')
        found = {(name, path) for sample in Trace('classes.pftrace').samples for path, name in sample.stack if name in dict(sums.keys())}
        equal(found, {(kernel, f'[kernel class: {name}]') for kernel, name in sums}, 'perfetto: mappings')
        profile = FirefoxProfile('classes.json.gz')
        found = {(frame.name, frame.subcategory) for thread in profile.threads for _, frames, _ in profile.samples(thread)
                 for frame in frames if frame.category == 'GPU' and frame.name in dict(sums.keys())}
        equal(found, set(sums), 'firefox: subcategories')
        summary = json.loads(pathlib.Path('classes.json').read_text(encoding='utf-8'))
        equal({(kernel['name'], kernel['class']): kernel['value'] for kernel in summary['kernels']}, dict(sums), 'summary')


def stacks_are_complete():
    for capture in CAPTURE, FIXED:
        for stack in folded('gpu-stalls', capture, ',pid=no'):
            frames = stack.split(';')
            python = [frame for frame in frames if frame in PYTHON or re.match(r'(Attention|FeedForward)\.\w+$', frame)]
            equal(python[:len(PYTHON)], list(PYTHON), stack)
            equal(len(python), len(PYTHON) + 2, f'a layer and its launch site: {stack}')
            assert frames.index('gpu_launch') > frames.index(python[-1]), stack
            assert not re.search(r'\[(unknown|truncated|launch not seen|lib|ld)|unmatched', stack), stack
        lines = [stack for stack in folded('gpu-stalls', capture, ',lines=yes')
                 if not re.search(r';-;.*\.(cl|h):[1-9]', stack)]
        equal(lines[:3], [], 'stacks without a line')
        cpu = collections.Counter()
        for stack, number in folded('cpu', capture).items():
            whole = (stack.startswith('irq/') or ';main;' in stack and '[unknown]' not in stack or
                     '_[k]' in stack.split(';')[1])
            cpu[whole] += number
        assert cpu[False] < 0.05 * cpu.total(), f'{capture.name}: {cpu}'


def difference():
    """-> what the fixed program gains, a share; its kernels are otherwise the same"""
    before, after = by_kernel(), by_kernel(FIXED)
    sums = [{kernel: counts.total() for kernel, counts in found.items()} for found in (before, after)]
    assert sums[1][KERNEL] < 0.25 * sums[0][KERNEL], sums
    for kernel in sums[0].keys() - {KERNEL}:
        assert abs(sums[1][kernel] / sums[0][kernel] - 1) < 0.03, f'{kernel}: {sums}'
    gain = 1 - sum(sums[1].values()) / sum(sums[0].values())
    assert 0.4 < gain < 0.6, sums
    return gain


def the_fix_is_seen(window):
    gain = difference()
    iaprof('-q', '-k', 'flamegraph', '-o', 'diff.html', capture=(CAPTURE, FIXED), read='--diff')
    panel = Reader(window, 'diff.html').text('panel')
    assert f'\u2212{100 * gain:.1f}{THIN}% GPU samples' in panel, panel
    assert f'Less{KERNEL}' in re.sub(r'\s', '', panel), panel
    equal(window.wrong(), [], 'errors')


def total(value):
    return sum(folded(value).values())


def the_page_has_every_view(window):
    said = iaprof('-k', 'flamegraph', '-o', 'demo.html')
    reader = Reader(window, 'demo.html')
    equal(reader.texts('#tabs button'), ['Flame graph', 'Table', 'GPU code', 'NPU'], 'views')
    options = reader.evaluate('[...document.getElementById("value").options].map(({ value }) => value)')
    equal(set(options), set(VALUE_TYPES), 'value types')
    equal(reader.is_seen('#strip'), True, 'time')
    for value in options:
        reader.choose('value', value)
        if reader.evaluate('window.iaprof.model.unit') == 'count':
            what = 'NPU driver calls' if value == 'npu-calls' else 'samples'
            equal(reader.text('whole-sum'), f'{total(value):,} {what}', value)
        assert 'Resolution' in reader.text('facts-shown'), value
    reader = Reader(window, 'demo.html')
    panel = reader.text('panel')
    line = line_of('kernels/decoder.cl', 'sum = fma(', '#ifndef TILED')
    site = launch_line()
    for value in 'gpu-stalls', 'cpu':
        iaprof('-q', '-k', f'summary:value={value},output=answer.txt', '-k', f'flamegraph:value={value},output=answer.html')
        answer = pathlib.Path('answer.txt').read_text(encoding='utf-8').splitlines()
        reader = Reader(window, 'answer.html')
        panel = reader.text('panel')
        shown = [' '.join(reader.texts('#panel .lead, #panel section:first-child .say')).replace(THIN, ' ')]
        equal(shown, answer[:1], f'the answer of {value}')
        for label, text in (line[2:].split(': ', 1) for line in answer if re.match('  [A-Z](?!here it goes)', line)):
            place = text.rpartition(', ')[2]
            assert label in panel and place.partition(' (')[0] in panel, f'{label}: {text} is not in: {panel}'
        bars = reader.bars()
        for heading, shares in (line.strip().split(': ', 1) for line in answer if re.search('( by .*|Where it goes): ', line)):
            equal(bars[heading].split(', ')[:5], shares.split(', ')[:5], f'{heading} of {value}')
    reader = Reader(window, 'demo.html')
    panel = reader.text('panel')
    for part in (rf'[\d.]+{THIN}%\s*of GPU samples\s*wait for', f'in {KERNEL}, decoder.cl:{line}', f'model.py:{site}',
                 f'decoder.cl:{line}', r'sum = fma\(input', r'Data dependency', 'stage data in local memory'):
        assert re.search(part, panel), f'{part} is not in: {panel}'
    assert any(name == 'NPU IPC storm' for name in reader.texts('#panel .finding b')), reader.texts('#panel .finding b')
    stalls = {kernel: counts.total() for kernel, counts in by_kernel().items()}
    reader.view('GPU code')
    assert 'sum = fma(input' in reader.text('code'), 'the source is in the page'
    shown = reader.evaluate('[...document.querySelectorAll("#code-kernels b")].map(name => name.textContent)')
    equal(shown, sorted(stalls, key=lambda name: -stalls[name]), 'kernels')
    reader.view('Table')
    reader.choose('table-group', 'kernel')
    rows = dict(reader.evaluate('[...document.querySelectorAll("#table-body tr.pick")].map(row => [row.cells[0].title, '
                                'Number(row.cells[2].title.replace(/,/g, ""))])'))
    equal(rows, stalls, 'stalls of kernels')
    reader.view('NPU')
    figures = dict(reader.evaluate('[...document.querySelectorAll("#npu-figures .kpi")].map(figure => ['
                                   'figure.lastChild.textContent, figure.firstChild.textContent])'))
    jobs = re.search(r'^jobs: (\d+) done, (\d+) aborted', said, re.M)
    if jobs:
        equal((figures['jobs done'], figures.get('aborted', '0')), (f'{int(jobs.group(1)):,}', jobs.group(2)), 'jobs')
    equal(window.wrong(), [], 'errors')


TABLE_ROWS = '''[...document.querySelectorAll("#table-body tbody tr")].map(row =>
  [row.className.split(" ")[0], row.cells[0].title, Number(row.cells[2].dataset.value)])'''


def the_table_has_classes(window):
    """Kernels below their class, the largest first and other kernels last, with the sums of sink csv."""
    pathlib.Path('other.rules').write_text('class other: *multi_tensor_apply*\n', encoding='utf-8')
    iaprof('-q', '--rules', 'other.rules', '-k', 'csv:output=classes.csv', '-k', 'flamegraph:output=classes.html', capture=DECODER)
    kernels, classes = collections.Counter(), collections.Counter()
    with open('classes.csv', newline='', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['value_type'] == 'gpu-time' and ';-;' in row['stack']:
                name = row['stack'].split(';-;')[1].split(';')[0].removesuffix('_[G]')
                kernels[row['kernel_class'], name] += int(row['value'])
                classes[row['kernel_class']] += int(row['value'])
    expected = []
    for name, value in sorted(classes.items(), key=lambda item: (item[0] == 'other', -item[1])):
        expected += [['class', name, value], *(['pick', kernel, part] for (own, kernel), part in kernels.most_common() if own == name)]
    assert expected[-2] == ['class', 'other', max(classes.values())], expected
    reader = Reader(window, 'classes.html', '#view=table&group=kernel')
    equal(reader.evaluate(TABLE_ROWS), expected, 'rows')
    first = sum(own == expected[0][1] for own, _ in kernels)
    reader.click_on('#table-body tr.class button')
    equal(reader.evaluate(TABLE_ROWS), expected[:1] + expected[1 + first:], 'folded')
    equal(reader.evaluate('document.activeElement.getAttribute("aria-expanded")'), 'false', 'the focus stays')
    reader.click_on('#table-body tr.class button')
    equal(reader.evaluate(TABLE_ROWS), expected, 'unfolded')
    # Arrow keys go from one class to the next.
    reader.evaluate(f'document.querySelectorAll("#table-body tr.pick")[{first - 1}].click()')
    reader.evaluate('document.querySelector("#table-body tr.sel").focus()')
    window.press('ArrowDown')
    reader.drawn()
    equal(reader.evaluate('document.querySelector("#table-body tr.sel td").title'), expected[first + 2][1], 'the next class')
    # Boxes have as much of a name as fits, and the end of one without brackets.
    shown = reader.evaluate("""(() => { const { pen } = window.iaprof.flame.drawing, { frames } = window.iaprof.model;
      const find = word => frames.names.find((name, frame) => name.includes(word) && frames.classes[frame]);
      pen.setFont(12);
      return ['nvjet', 'multi_tensor'].flatMap(word => [160, 400].map(room => pen.shortenName(find(word), room))); })()""")
    for wanted, name in zip((r'nvjet_.*….*TNT', r'nvjet_[^…]*TNT', r'multi_tensor_apply_k.*', r'multi_tensor_apply_kernel<TensorList.*'), shown, strict=True):
        assert re.fullmatch(wanted, name), f'{name!r} is not {wanted}'
    reader.type_into('table-filter', 'matrix')
    at = next(i for i, row in enumerate(expected) if row[1] == 'matrix product')
    equal(reader.evaluate(TABLE_ROWS), expected[at:at + 1 + sum(own == 'matrix product' for own, _ in kernels)], 'a class was looked for')
    equal(window.wrong(), [], 'errors')


def pprof_has_the_same_totals():
    iaprof('-q', '-k', 'pprof', '-o', 'demo.pb.gz')
    for value in VALUE_TYPES:
        raw = pprof('demo.pb.gz', '-raw', f'-sample_index={value}')
        head, _, samples = raw.partition('Samples:\n')
        names = [name.split('/')[0] for name in samples.splitlines()[0].replace('[dflt]', '').split()]
        column = names.index(value)
        numbers = [line.partition(':')[0].split() for line in samples.partition('Locations')[0].splitlines()[1:]]
        equal(sum(int(row[column]) for row in numbers if row and all(number.isdecimal() for number in row)),
              total(value), f'{value}: {head[:80]}')


def flamegraph_pl_draws_it():
    program = os.environ.get('FLAMEGRAPH_PL') or shutil.which('flamegraph.pl')
    if not program:
        raise Skip('flamegraph.pl is not in the PATH, nor named by FLAMEGRAPH_PL')
    expected = total('gpu-stalls')
    picture = subprocess.run([program, 'out.folded'], check=True, stdout=subprocess.PIPE, encoding='utf-8').stdout
    assert f'<title>all ({expected:,} samples, 100%)</title>' in picture, picture[-2000:]


def others_read_it():
    """The formats' own tests have their readers; here, that there is something in each."""
    for sink, file, least in (('speedscope', 'demo.speedscope.json', 50000), ('perfetto', 'demo.pftrace', 10000),
                              ('iaprof', 'demo.txt', 10000)):
        iaprof('-q', '-k', sink, '-o', file)
        size = pathlib.Path(file).stat().st_size
        assert size > least, f'{sink}: {size} bytes'
    profiles = json.loads(pathlib.Path('demo.speedscope.json').read_text(encoding='utf-8'))['profiles']
    sums = [sum(profile['weights']) for profile in profiles if profile['type'] == 'sampled']
    for value in VALUE_TYPES:
        assert total(value) in sums, f'speedscope: {value}: {total(value)} is not among {sums}'
    lines = pathlib.Path('demo.txt').read_text(encoding='utf-8').splitlines()
    rows = [line.split('\t') for line in lines if line.startswith('eustall\t')]
    equal(sum(sum(map(int, row[3:])) for row in rows), total('gpu-stalls'), 'stalls in the stream')


def the_decoder_copies_its_cache():
    """Recorded on an H200: the copies of a CUDA graph's inputs are most of the time, below the line that calls the graph, and
    gone with the fix. Kernels in graphs are below where they were captured, too."""
    path = TREE / 'examples/cuda/decoder.py'
    call = next(number for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1) if 'scaled_dot_product' in line)
    shares = []
    for capture in DECODER, DECODER_FIXED:
        iaprof('-q', '-k', 'summary:format=json', '-o', 'out.json', capture=capture)
        found = json.loads(pathlib.Path('out.json').read_text(encoding='utf-8'))
        equal(found['matched'], found['total'], 'all is matched')
        shares.append(next(item['value'] for item in found['kernel_classes'] if item['name'] == 'copy') / found['total'])
        site = found['causes'][0]['launched_by']
        assert site['file'].endswith('/decoder.py') and call - 3 <= site['line'] <= call, site
    assert 0.6 < shares[0] < 0.7 and shares[1] < 0.05, shares
    found = folded('gpu-time', DECODER)
    captured = sum(value for stack, value in found.items() if ';[captured at];' in stack)
    assert captured > 0.2 * sum(found.values()), 'kernels of graphs'


def kernels_have_short_names():
    """In boxes and tables; in titles and data for programs, whole ones."""
    iaprof('-q', '-k', 'summary:format=functions,output=functions.txt', '-k', 'summary.json:format=json,output=names.json',
           '-k', 'flamegraph:format=svg,value=gpu-time,output=names.svg', capture=DECODER)
    names = [kernel['name'] for kernel in json.loads(pathlib.Path('names.json').read_text(encoding='utf-8'))['kernels']]
    longest, whole = 'multi_tensor_apply_kernel<TensorListMetad', 'at::native::(anonymous namespace)::multi_tensor_apply_kernel<'
    assert names[0].startswith(whole), names[0]
    text = pathlib.Path('functions.txt').read_text(encoding='utf-8')
    assert re.search(rf'^ *66\.70% +66\.70%  {longest}', text, re.M) and '(anonymous' not in text, text
    picture = xml.etree.ElementTree.parse('names.svg').getroot()
    found = {element.tag.rpartition('}')[2]: set() for element in picture.iter()}
    for element in picture.iter():
        found[element.tag.rpartition('}')[2]].add(element.text or '')
    assert any(name.startswith(names[0]) for name in found['title']), 'titles'
    assert any(name.startswith('multi_tensor_apply_kernel<') for name in found['text']), found['text']
    assert not any(name.startswith(whole) for name in found['text']), found['text']


CASES = (the_answer_names_what_is_slow, stalls_follow_the_code, exports_have_classes, stacks_are_complete, pprof_has_the_same_totals,
         flamegraph_pl_draws_it, others_read_it, kernels_have_short_names,
         the_decoder_copies_its_cache)
PAGE_CASES = (the_fix_is_seen, the_page_has_every_view, the_table_has_classes)
WINDOW = 1280, 800


if __name__ == '__main__':
    sys.exit(run_file(CASES))
