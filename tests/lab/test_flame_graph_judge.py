#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of AI flame graphs finds what is right, and each way in which a profile can be wrong. TAP."""
import sys

from flame_graph import double, expected, judge
from flame_graph.code import Instruction, read_instructions
from flame_graph.launcher import Truth

TRUTH = Truth('\n'.join([
    'kernel\t7\t0\ttransformer\tbias\t0x8000ffbe1000\t48', 'kernel\t7\t0\ttransformer\ttiny\t0x8000ffbe2000\t16',
    'kernel\t8\t0\ttransformer\tbias\t0x8000ffbe1000\t48',
    'launch\t7\t0\t7\tlauncher\tlayer_a\tsite_a\tzeCommandListAppendLaunchKernel\tbias\t3\t3',
    'launch\t7\t0\t7\tlauncher\tlayer_b\tsite_b\tzeCommandListAppendLaunchKernel\tbias\t1\t1',
    'launch\t7\t0\t7\tlauncher\tlayer_a\tsite_t\tzeCommandListAppendLaunchKernelIndirect\ttiny\t1\t1',
    'launch\t8\t0\t8\tlauncher\tlayer_a\tsite_a\tzeCommandListAppendLaunchKernel\tbias\t2\t2']))
CODE = read_instructions('# address\n'
                         '0xffff8000ffbe1000\tbias\t0x0\t16\tmov\tbias /k/t.cl 8\n'
                         '0xffff8000ffbe1010\tbias\t0x10\t32\tsend\tcube /k/a.h 3\tgelu /k/a.h 9\tbias /k/t.cl 12\n'
                         '0xffff8000ffbe2000\ttiny\t0x0\t16\tmov\ttiny /k/t.cl 90\n')
# Two instructions of a kernel, one of another, and an address that is nobody's.
ROWS = {(0, 0xffbe1000): {'active': 40}, (0, 0xffbe1010): {'sbid': 400}, (0, 0xffbe2000): {'sync': 10},
        (0, 0x100): {'other': 5}}
CPU = 'launcher;7;_start;main;worker_run:workers.c:1;forward:l.c:2;'
SITE_A = CPU + 'layer_a:l.c:3;site_a:l.c:4;append_launch:l.c:5;zeCommandListAppendLaunchKernel;-;'
SITE_B = CPU + 'layer_b;site_b;append_launch;-;'
SITE_T = CPU + 'layer_a;site_t;append_indirect;-;'
MOV = '/k/t.cl_[G];bias:t.cl:8_[G];mov:t.cl:8_[g];active_[g];0x0_[g]'
SEND = '/k/t.cl_[G];bias:t.cl:12_[G];gelu:a.h:9_[G];cube:a.h:3_[G];send.ugm:a.h:3_[g];sbid_[g];0x10_[g]'
TINY = '/k/t.cl_[G];tiny:t.cl:90_[G];mov:t.cl:90_[g];sync_[g];0x0_[g]'
UNKNOWN = '[unknown];-;[unknown device code]_[G];other_[g];0x100_[g]'
GOOD = {SITE_A + MOV: 30, SITE_B + MOV: 10, SITE_A + SEND: 300, SITE_B + SEND: 100, SITE_T + TINY: 10, UNKNOWN: 5}
ONE = [(TRUTH, 7, 0)]
TWO = [(TRUTH, 7, 0), (TRUTH, 8, 0)]
OTHER = SITE_A.replace(';7;', ';8;')
MARK = '[ambiguous];'


def changed(changes):
    """The good profile with stacks replaced: {stack: (count taken from it, what it becomes)}."""
    stacks = dict(GOOD)
    for stack, (count, other) in changes.items():
        stacks[stack] -= count
        stacks[other] = stacks.get(other, 0) + count
    return stacks


# What is wrong with a profile -> its stacks, who ran, and then right, ambiguous, unmatched and wrong samples.
CASES = {
    'all is right': (GOOD, ONE, (455, 0, 0, 0)),
    'another line': (changed({SITE_A + MOV: (30, SITE_A + MOV.replace(':8', ':9'))}), ONE, (425, 0, 0, 30)),
    'another line of the instruction': (changed({
        SITE_A + SEND: (300, SITE_A + SEND.replace('ugm:a.h:3', 'ugm:a.h:4'))}), ONE, (155, 0, 0, 300)),
    'no line': (changed({SITE_A + MOV: (30, SITE_A + MOV.replace(':8', ''))}), ONE, (425, 0, 0, 30)),
    'the line of a call': (changed({SITE_A + SEND: (1, SITE_A + SEND.replace('a.h:9', 'a.h:8'))}), ONE, (454, 0, 0, 1)),
    'another function': (changed({SITE_A + MOV: (30, SITE_A + MOV.replace('bias', 'tiny'))}), ONE, (425, 0, 0, 30)),
    'an inlined function left out': (changed({SITE_B + SEND: (100, SITE_B + SEND.replace('gelu:a.h:9_[G];', ''))}), ONE,
                                     (355, 0, 0, 100)),
    'another source file': (changed({SITE_A + MOV: (30, SITE_A + MOV.replace('/k/t', '/k/u'))}), ONE, (425, 0, 0, 30)),
    'another instruction': (changed({SITE_A + MOV: (30, SITE_A + MOV.replace('mov', 'add'))}), ONE, (425, 0, 0, 30)),
    'another reason': (changed({SITE_A + MOV: (30, SITE_A + MOV.replace('active', 'tdr'))}), ONE, (425, 0, 0, 30)),
    'another offset': (changed({SITE_A + MOV: (30, SITE_A + MOV.replace('0x0', '0x10'))}), ONE, (425, 0, 0, 30)),
    'a stack that did not launch it': (changed({SITE_A + MOV: (30, SITE_T + MOV)}), ONE, (425, 0, 0, 30)),
    'a site in another layer': (changed({SITE_A + MOV: (30, SITE_A.replace('layer_a', 'layer_b') + MOV)}), ONE,
                                (425, 0, 0, 30)),
    'a stack that ends before its thread begins': (changed({
        SITE_A + MOV: (30, SITE_A.replace('worker_run:workers.c:1;', '') + MOV)}), ONE, (425, 0, 0, 30)),
    'no launch stack': (changed({SITE_A + MOV: (30, 'launcher;7;-;' + MOV)}), ONE, (425, 0, 0, 30)),
    'another program': (changed({SITE_A + MOV: (30, SITE_A.replace('launcher;', 'sh;') + MOV)}), ONE, (425, 0, 0, 30)),
    'a process that did not run': (changed({SITE_A + MOV: (30, OTHER + MOV)}), ONE, (425, 0, 0, 30)),
    'samples of one instruction at another': (changed({SITE_A + SEND: (7, SITE_A + MOV)}), ONE, (448, 0, 0, 7)),
    'samples that there were not': ({**GOOD, SITE_A + MOV: 130}, ONE, (455, 0, 0, 100)),
    'a mark without need': (changed({SITE_A + MOV: (30, SITE_A + MARK + MOV)}), ONE, (425, 30, 0, 0)),
    'samples that were not matched': (changed({SITE_A + MOV: (30, UNKNOWN.replace('other', 'active').replace(
        '0x100', '0xffbe1000'))}), ONE, (425, 0, 30, 0)),
    'more unmatched ones than there were': ({**GOOD, UNKNOWN: 9}, ONE, (455, 0, 0, 4)),
    'unmatched ones at an address without rows': (changed({UNKNOWN: (5, UNKNOWN.replace('0x100', '0x108'))}), ONE,
                                                  (450, 0, 0, 5)),
    'a label of nobody': (changed({UNKNOWN: (5, UNKNOWN.replace('[unknown device code]', '[copy]'))}), ONE,
                          (450, 0, 0, 5)),
    'nobody\'s code in a kernel': (changed({UNKNOWN: (5, SITE_A + MOV)}), ONE, (450, 0, 0, 5)),
    'a frame without its mark': (changed({SITE_A + MOV: (30, (SITE_A + MOV).replace('mov:t.cl:8_[g]', 'mov'))}), ONE,
                                 (425, 0, 0, 30)),
    'no device part': (changed({SITE_A + MOV: (30, 'launcher;7;main')}), ONE, (425, 0, 0, 30)),
    'a guess between two processes': (GOOD, TWO, (15, 0, 0, 440)),
    'marked samples of two processes': (changed({
        SITE_A + MOV: (30, SITE_A + MARK + MOV), SITE_B + MOV: (10, OTHER + MARK + MOV),
        SITE_A + SEND: (300, SITE_A + MARK + SEND), SITE_B + SEND: (100, OTHER + MARK + SEND)}), TWO, (15, 440, 0, 0)),
    'what is lost is no sample': ({**GOOD, '[lost];xe-eustall;rows': 3}, ONE, (455, 0, 0, 0)),
}


def verdict_of(stacks, present):
    text = ''.join(f'{stack} {count}\n' for stack, count in stacks.items() if count)
    return judge.judge(text, expected.expect(ROWS, CODE, present), 'launcher')


def judge_case(case):
    stacks, present, wanted = case
    verdict = verdict_of(stacks, present)
    found = verdict.right, verdict.ambiguous, verdict.unmatched, verdict.wrong
    listed = sum(count for count, why, _stack in verdict.examples if why != 'not matched')
    samples = sum(count for stack, count in stacks.items() if not stack.startswith('[lost]'))
    return found == wanted and listed == verdict.wrong and verdict.total == samples and verdict.expected == 455, found


def shares():
    """Of 440 samples of the kernel, three quarters are launched at one site."""
    launches = TRUTH.launches[7, 0, 'bias']
    good = expected.share_errors(verdict_of(GOOD, ONE), 7, 'bias', launches)
    bad = expected.share_errors(verdict_of(changed({SITE_A + SEND: (22, SITE_B + SEND)}), ONE), 7, 'bias', launches)
    return all(abs(error) < 1e-9 for error in good.values()) and max(bad.values()) == 5.0, (good, bad)


def plain():
    """Without lines=yes."""
    text = f'{SITE_A}{MOV} 40\n'.replace(':t.cl:8', '').replace(':l.c:3', '')
    wanted = expected.expect(ROWS, CODE, ONE)
    found = [judge.judge(text, wanted, 'launcher', lines) for lines in (False, True)]
    return [(verdict.right, verdict.wrong) for verdict in found] == [(40, 0), (0, 40)], found


def linux():
    """The Linux kernel's functions follow the program's, where they are wanted, and only there."""
    before, call = SITE_A.removesuffix('-;'), 'do_syscall_64_[k];xe_exec_ioctl_[k];push_job_[k];'
    first = before.replace('append_launch', 'xe_exec_ioctl_[k];append_launch')
    stacks = [before + call, before, first, before + call.replace('xe_exec_', 'xe_gem_create_')]
    wanted = expected.expect(ROWS, CODE, ONE)
    found = [[judge.judge(f'{stack}-;{MOV} 40\n', wanted, 'launcher', linux=taken).right for stack in stacks]
             for taken in (True, False)]
    return found == [[40, 0, 0, 0], [0, 40, 0, 0]], found


def phases():
    """Rows of two phases: what one process cannot have had is wrong, though the other had it."""
    later = {key: {reason: 2 * count for reason, count in counts.items()} for key, counts in ROWS.items()}
    wanted = expected.expect(ROWS, CODE, ONE) + expected.expect(expected.difference(later, ROWS), CODE, [(TRUTH, 8, 0)])
    own = f'{SITE_A}{MOV} 40\n{OTHER}{MOV} 40\n'
    stolen = f'{SITE_A}{MOV} 10\n{OTHER}{MOV} 70\n'
    verdicts = [judge.judge(text, wanted, 'launcher') for text in (own, stolen)]
    return [(verdict.right, verdict.wrong) for verdict in verdicts] == [(80, 0), (50, 30)], verdicts


def double_truth():
    """Messages and commands of the double."""
    samples, totals = double.read_truth(
        'player loops 1 late 0\ngt 1 totals produced 9 written 8 dropped 1\ngt 1 produced rows 9 active 20\n'
        'gt 1 read rows 8 active 19\ngt 1 address 0x10 produced rows 9 active 20 sbid 0\n'
        'gt 1 address 0x10 read rows 8 active 19 sbid 0\n')
    text = double.scenario_text('pvc', [double.Row(0, '0-3', 0x1000, {'sbid': 700})], ['pace 20000'])
    return (samples == {(1, 0x10): {'active': 19}} and totals == {1: {'produced': 9, 'written': 8, 'dropped': 1}} and
            text == 'platform pvc\npace 20000\nrow gt 0 core 0-3 address 0x1000 sbid 700\nend\n' and
            all('tdr' not in double.make_counts('pvc', number) for number in range(99)) and
            any('tdr' in double.make_counts('bmg', number) for number in range(99))), (samples, totals, text)


def places():
    """Only instructions have samples, and only in kernels that are loaded."""
    find = expected.find
    found = [find(CODE, TRUTH, 7, 0, address) for address in (0xffbe1010, 0xffbe1018, 0xffbe1030, 0xffbe2000)]
    rows = expected.row_addresses(CODE, TRUTH.kernels[7, 0], ['bias', 'tiny'], 5)
    return (found == [('bias', CODE['bias'][1]), None, None, ('tiny', CODE['tiny'][0])] and
            CODE['tiny'][0] == Instruction(0, 'mov', (('tiny', '/k/t.cl', 90),)) and
            find(CODE, TRUTH, 8, 0, 0xffbe2000) is None and rows == [0xffbe1000, 0xffbe1010, 0xffbe2000]), (found, rows)


def main():
    checks = [(what, lambda case=case: judge_case(case)) for what, case in CASES.items()]
    checks += [('shares of launches', shares), ('a profile without lines', plain),
               ('the Linux kernel\'s functions', linux), ('samples of two phases', phases),
               ('the double\'s words', double_truth), ('addresses of rows', places)]
    print(f'1..{len(checks)}')
    failed = False
    for number, (what, check) in enumerate(checks, 1):
        good, found = check()
        failed = failed or not good
        print(f'{"ok" if good else "not ok"} {number} - {what}' + ('' if good else f'\n# {found}'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
