# SPDX-License-Identifier: Apache-2.0
"""The labelled scenarios of tests/cli/npu_scenarios.py in the language of the double of the NPU. Its processors are
emulated, so that rates are reached only nearly, and times are longer."""
from .npu_double import SCENARIOS

STEADY = (SCENARIOS / 'steady.txt').read_text(encoding='ascii')
HANG = (SCENARIOS / 'hang.txt').read_text(encoding='ascii')
HEAD = STEADY[STEADY.index('open\n'):STEADY.index('# The driver maps')]
REST = STEADY[STEADY.index('ioctl BO_WAIT\n'):STEADY.index('process ')]
RECOVERY = HANG[HANG.index('work timeout\n'):HANG.index('process ')]
BUFFER = '64K'


def submits(pins, pages=8, times=1000000, ends=('job_done after 1ms',)):
    """A tree of submissions, each of which maps so many buffers. ends: what each starts; a completion is of the oldest job."""
    starts = ''.join(f'        start {event}\n' for event in ends)
    mapped = (f'        ivpu_bo_pin x{pins}\n            ivpu_mmu_context_map_sgt\n'
              f'                ivpu_mmu_context_map_page x{pages}\n                ivpu_mmu_invalidate_tlb\n'
              '                    ivpu_mmu_cmdq_sync\n                        ivpu_mmu_cmdq_cmd_write\n') if pins else ''
    return (f'ioctl SUBMIT times {times}\n    ivpu_submit_ioctl\n        ivpu_file_priv_get\n{mapped}        ivpu_rpm_get\n'
            '        ivpu_start_job_timeout_detection\n        ivpu_hw_ip_db_set\n        job submit\n'
            f'{starts}')


def lines(*texts, deep=4):
    return ''.join(f'{" " * deep}{text}\n' for text in texts)


def process(name, buffers, *steps):
    """A program with buffers b0, b1, ... that it frees at its end. steps: lines with their own indentation."""
    names = [f'b{i}' for i in range(buffers)]
    return (f'process {name}\n' + lines('open', 'bo_create command 4K', *(f'bo_create {b} {BUFFER}' for b in names)) +
            ''.join(steps) + lines(*(f'bo_destroy {b}' for b in names), 'bo_destroy command', 'close'))


def repeat(times, *steps, rate=None):
    return lines(f'repeat {times}' + (f' rate {rate}' if rate else '')) + lines(*steps, deep=8)


INFERENCE = ('submit command b0 b1 b2', 'wait command status 0')


def scenario(trees, *processes, polls=20, poll='', asleep_after=2000, more=''):
    """poll: how long each of the driver's polls for the firmware is; asleep_after: ms without a job, by default more than a
    slow machine has between two jobs."""
    rest = REST.replace('repeat 20\n', f'repeat {polls}\n', 1)
    if poll:
        rest = rest.replace('ivpu_ipc_receive\n', f'ivpu_ipc_receive for {poll}\n', 1)
    return f'generation 6.13\nset autosuspend_ms {asleep_after}\n{HEAD}{trees}{rest}{more}' + '\n'.join(processes)


def steady(rate, jobs, **options):
    return scenario(submits(4, times=1) + submits(0), process('matmul', 3, repeat(jobs, *INFERENCE, rate=rate)), **options)


def cold_start():
    return scenario(submits(25, 172, ends=['job_done after 40ms']),
                    process('matmul', 24, lines('submit command ' + ' '.join(f'b{i}' for i in range(24)),
                                                'wait command status 0')), polls=942)


def growth():
    return (SCENARIOS / 'leak.txt').read_text(encoding='ascii').replace('\nopen\n', '\nset autosuspend_ms 2000\nopen\n', 1)


def thrash():
    names = 'b0', 'b1', 'b2'
    return scenario(submits(3), process('matmul', 0, repeat(
        60, *(f'bo_create {b} {BUFFER}' for b in names), *INFERENCE, *(f'bo_destroy {b}' for b in names), rate=30)))


def faults():
    jobs = 40
    return scenario(submits(1, 512), process('matmul', jobs, *(
        lines(f'submit command b{i}', 'wait command status 0') for i in range(jobs)))).replace(BUFFER, '2M')


def hang():
    return scenario(submits(4, times=1) + submits(0, times=9) + submits(0, times=1, ends=['timeout after 6s']) + submits(0),
                    process('matmul', 3, repeat(10, *INFERENCE), lines(
                        INFERENCE[0], 'wait command timeout 5ms expect ETIMEDOUT', 'wait command status 256'),
                            repeat(5, *INFERENCE)), more=RECOVERY)


def boot_loop():
    return steady(8, 40, polls=400, poll='100us', asleep_after=1)


def polling():
    return steady(20, 20, polls=400, poll='2ms')


def turns():
    """A program with two models, each in a context of its own: one submits while the other one's job is on the NPU. However
    slow the machine is, a job ends only after the next one is submitted, and so each waits."""
    done = 'job_done after 5ms'
    trees = (submits(1, times=1, ends=[]) + submits(1, times=1, ends=[done]) + submits(0, times=48, ends=[done]) +
             submits(0, times=1, ends=[done, done]))
    steps = lines('open', 'open file other', 'bo_create one 4K', 'bo_create two 4K file other', 'submit one')
    steps += repeat(25, 'submit two file other', 'wait one status 0', 'submit one', 'wait two status 0 file other')
    steps += lines('wait one status 0', 'bo_destroy two file other', 'bo_destroy one', 'close file other', 'close')
    return scenario(trees, f'process models\n{steps}')


LABELLED = {
    'healthy at 1 a second': lambda: steady(1, 8, asleep_after=100),
    'healthy at 30 a second': lambda: steady(30, 60),
    'healthy at 500 a second': lambda: steady(500, 500),
    'healthy at 2,000 a second': lambda: steady(2000, 1000),
    'cold start': cold_start,
    'steady growth': growth,
    'mapping thrash': thrash,
    'page faults at submission': faults,
    'hang and recovery': hang,
    'boot loop': boot_loop,
    'firmware polling': polling,
    'two models that take turns': turns,
}
