#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples have links to the spans that programs publish, wherever their variable is.

The function that runs identifies the span: a link is right or wrong for each single sample. Shares are those of the
CPU time that the program gives each span.
"""
import collections
import csv
import math
import os
import re
import signal
import subprocess

from harness import (COMPLETE, SOURCE, case, equal, iaprof, main, needs_program, needs_root, needs_sampling, read,
                     require, start, wait_until)
from otlp_request import Request
from web_server import Receiver

FOLDER = os.path.join(SOURCE, 'tests/cli/spans')
WEIGHTS = {'span_1': 1, 'span_2': 2, 'span_3': 3, 'span_4': 4}
OTHERS = {'no_record', 'no_span', 'being_written', 'half_a_span', 'wild_pointer', 'kernel_pointer',
          'end_of_page'}
SIGMAS = 6
FREQUENCY = 2999
CPU_TIME = 0.25  # s of each run: 750 samples, 40 or so in each of the shortest functions
NEEDS = [needs_root, needs_sampling, needs_program('gcc')]
EXPORT = '-Wl,--export-dynamic-symbol=otel_thread_ctx_v1'
GNU, GNU2 = '-mtls-dialect=gnu', '-mtls-dialect=gnu2'


def build(output, *arguments, compiler='gcc'):
    subprocess.run([compiler, '-O1', '-g', '-pthread', '-o', output, *arguments], check=True)
    return os.path.abspath(output)


def library(*arguments):
    return build('libspans.so', '-shared', '-fPIC', f'{FOLDER}/variable.c', *arguments)


def program(*arguments):
    return build('program', f'{FOLDER}/program.c', *arguments)


def within_program(*arguments):
    return [program(f'{FOLDER}/variable.c', EXPORT, *arguments)]


def linked(*arguments):
    return [program('-Wl,--no-as-needed', library(*arguments), '-Wl,-rpath,$ORIGIN')]


def loaded(*arguments):
    return [program(), library(*arguments)]


About = collections.namedtuple('About', 'early counts')
COUNTS = re.compile(r'(\d+) samples with one, (\d+) without, (\d+) with an invalid record, (\d+) not readable, '
                    r'(\d+) with thread-local storage that is not supported; processes refused 0')


def about_run():
    """-> About: samples that were taken before the files of the program were known, and counts by what was found"""
    with open('events.csv', encoding='utf-8', newline='') as file:
        texts = {row['name']: row['text'] for row in csv.DictReader(file) if row['record'] == 'metadata'}
    early = re.search(r'(\d+) before tables were ready', texts['user stacks']).group(1)
    counts = COUNTS.fullmatch(texts.get('spans of threads', ''))
    return About(int(early), [int(number) for number in counts.groups()] if counts else None)


def cpu_time(pid):
    return sum(map(int, read(f'/proc/{pid}/stat').rpartition(')')[2].split()[11:13])) / os.sysconf('SC_CLK_TCK')


def profile(command, sink='otlp:lines=no', source='cpu-stack:'):
    """Profiles a program that runs already, and is stopped while iaprof starts and ends. -> requests, About"""
    with Receiver() as server:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
            try:
                equal(target.stdout.readline(), b'ready\n', 'the program')
                target.send_signal(signal.SIGSTOP)
                process = start('-p', str(target.pid), '-s', f'{source}frequency={FREQUENCY},clock=software', '-k',
                                f'{sink},endpoint={server.url}', '-k', 'csv:output=events.csv,rows=events,newline=lf',
                                '--record', 'run')
                wait_until(lambda: os.path.exists('run') or process.poll() is not None, 'the beginning of the run')
                wanted = cpu_time(target.pid) + CPU_TIME
                target.send_signal(signal.SIGCONT)
                wait_until(lambda: cpu_time(target.pid) > wanted or process.poll() is not None, 'CPU time')
                target.send_signal(signal.SIGSTOP)
                process.send_signal(signal.SIGINT)
                process.communicate()
            finally:
                target.send_signal(signal.SIGCONT)
                target.stdin.close()
        equal(process.returncode, COMPLETE, 'exit status')
        return [Request(body) for body in server.bodies], about_run()


def samples_of(requests):
    """-> (attributes, stack), samples"""
    for request in requests:
        for _, name, *_, samples in request.profiles:
            if name == 'samples':
                yield from samples.items()


def links_of(requests):
    """-> {(thread, function, link): samples}"""
    found = collections.Counter()
    for (attributes, stack), count in samples_of(requests):
        function = next((frame for frame in stack if frame in WEIGHTS or frame in OTHERS), None)
        if function:
            attributes = dict(attributes)
            found[attributes['thread.name'], function, attributes.get('link')] += count
    return found


def link_to(thread, function):
    """As program.c makes them."""
    name = thread[:1].encode()
    return name.hex() * 16, f'{name.hex()}{"00" * 6}{int(function[-1]):02x}'


def check(found, early):
    """-> {function: samples}"""
    shares, without = collections.Counter(), 0
    for (thread, function, link), count in found.items():
        shares[function] += count
        if function in WEIGHTS and link is None:
            without += count
        else:
            equal(link, link_to(thread, function) if function in WEIGHTS else None, f'link of {count} in {function}')
    require(without <= early, f'{without} samples have no link, and {early} were early')
    total = sum(shares[function] for function in WEIGHTS)
    for function, weight in WEIGHTS.items():
        share = weight / sum(WEIGHTS.values())
        error = math.sqrt(share * (1 - share) / total) if total else 0
        require(abs(shares[function] / max(total, 1) - share) < SIGMAS * error,
                f'{function}: {shares[function]} of {total} samples, not {share}')
    equal({function for function in shares if function in OTHERS}, OTHERS, 'functions without a span')
    equal({thread for thread, *_ in found}, {'first', 'second'}, 'threads')
    return shares


def check_total(requests, about):
    # Spans are looked up from a little earlier on than stacks are unwound.
    total = sum(count for _, count in samples_of(requests))
    require(sum(about.counts) <= total <= sum(about.counts) + about.early, f'{total} samples, counts: {about}')


def check_counts(shares, requests, about):
    """Each sample but the early ones is counted once, by what was found; between two functions that is anything."""
    require(about.counts, 'no counts of spans')
    least = [sum(shares[name] for name in names) for names in (WEIGHTS, ('no_record', 'no_span'),
             ('being_written', 'half_a_span'), ('wild_pointer', 'kernel_pointer', 'end_of_page'))]
    missing = sum(max(0, wanted - count) for count, wanted in zip(about.counts, least))
    require(missing <= about.early, f'counts {about.counts}, and at least {least} but {about.early}')
    equal(about.counts[-1], 0, 'not supported')
    check_total(requests, about)


def check_program(command):
    requests, about = profile(command)
    check_counts(check(links_of(requests), about.early), requests, about)


@case('of a program with the variable', ['-pie', '-fPIE'], needs=NEEDS)
@case('of a program at a fixed address', ['-no-pie', '-fno-pie', '-DPADDING=200'], needs=NEEDS)
@case('of a program without libraries', ['-static-pie', '-fPIE'], needs=NEEDS)
def in_program(arguments):
    check_program(within_program(*arguments))


@case('of a program that does not export the variable', [], needs=NEEDS)
@case('of a program without a dynamic symbol table', ['-static'], needs=NEEDS)
def not_exported(arguments):
    command = [program(f'{FOLDER}/variable.c', '-fno-pie', '-no-pie', *arguments)]
    symbols = subprocess.run(['nm', '-D', *command], check=True, capture_output=True, text=True).stdout
    require('otel_thread_ctx_v1' not in symbols, 'the program exports the variable')
    check_program(command)


@case('of a library with TLS descriptors', [GNU2], needs=NEEDS)
@case('of a library with the traditional access', [GNU], needs=NEEDS)
@case('of a library with static access', ['-ftls-model=initial-exec'], needs=NEEDS)
@case('of a library that has its own name for it', [GNU2, '-DHIDDEN'], needs=NEEDS)
def in_library(arguments):
    check_program(linked(*arguments))


@case('of a library that is loaded later, with TLS descriptors', [GNU2], needs=NEEDS)
@case('of a large library that is loaded later, with TLS descriptors', [GNU2, '-DPADDING=65536'], needs=NEEDS)
@case('of a library that is loaded later, with the traditional access', [GNU, '-DPADDING=65536'], needs=NEEDS)
def in_loaded_library(arguments):
    check_program(loaded(*arguments))


@case('of a library of musl that is loaded later, with TLS descriptors', [GNU2], needs=[*NEEDS, needs_program('musl-gcc')])
@case('of a library of musl that is loaded later, with the traditional access', [GNU],
      needs=[*NEEDS, needs_program('musl-gcc')])
def in_library_of_musl(arguments):
    requests, about = profile([build('program', f'{FOLDER}/program.c', compiler='musl-gcc'),
                               build('libspans.so', '-shared', '-fPIC', f'{FOLDER}/variable.c', *arguments,
                                     compiler='musl-gcc')])
    # musl has no .eh_frame: stacks that begin in it count as early, too.
    check(links_of(requests), about.early)
    equal(about.counts[-1], 0, 'not supported')
    require(about.counts[0], f'counts of spans: {about.counts}')


@case('a variable that the file does not tell the place of is counted, and there are no links', needs=NEEDS)
def unknown():
    # The library finds its own variable by the module alone (Local Dynamic, which the proposal excludes).
    requests, about = profile(linked(GNU, '-DHIDDEN'))
    equal({link for *_, link in links_of(requests)}, {None}, 'links')
    equal(about.counts[:-1], [0, 0, 0, 0], 'counts of what is supported')
    check_total(requests, about)


@case('a replay has the same links', needs=NEEDS)
def replayed():
    live, about = profile(within_program())
    with Receiver() as server:
        iaprof('--replay', 'run', '-k', f'otlp:lines=no,endpoint={server.url}').completes()
    found = links_of([Request(body) for body in server.bodies])
    check(found, about.early)
    equal(found, links_of(live), 'links')


@case('nobody has spans who does not want them: links=no, spans=no', needs=NEEDS)
def unwanted():
    command = within_program()
    for sink, source in (('otlp:links=no', 'cpu-stack:'), ('otlp:lines=no', 'cpu-stack:spans=no,')):
        requests, about = profile(command, sink, source)
        os.remove('run')
        equal({link for *_, link in links_of(requests)}, {None}, 'links')
        equal(about.counts is None, source != 'cpu-stack:', 'no counts of spans')


if __name__ == '__main__':
    main()
