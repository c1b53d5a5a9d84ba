# SPDX-License-Identifier: Apache-2.0
"""Event lists of the driver intel_vpu, made by a model of it, and rendered in the forms in which tools write them.

The forms are those of real tools: tests/data/npu has samples, recorded in the lab on the double of the NPU.
"""
import collections
import subprocess

MODULE, US, MS, SECOND = 'intel_vpu', 1000, 1000 * 1000, 1000 * 1000 * 1000
CALL = 2 * US  # a call without the calls in it: what bpftrace's probe takes
PAGE = 4096

# name, depth: entry; duration: None until it returned. path: names from the outermost call, as iaprof places them.
Call = collections.namedtuple('Call', 'time pid comm cpu name depth caller path duration')
Return = collections.namedtuple('Return', 'time pid comm cpu name depth duration')
Job = collections.namedtuple('Job', 'time pid comm cpu event context number')


class Run:
    """The driver: what it does for programs, in time. Events are in self.events, in order of time."""

    def __init__(self, begin=5000 * SECOND):
        self.time, self.events, self.stacks, self.ready, self.numbers = begin, [], {}, False, {}
        self.program = (1234, 'matmul', 1)
        self.waiting = []  # jobs in flight: (context, number, end)
        self.engine_free = 0

    def emit(self, event):
        self.events.append(event)

    def call(self, name, *inner, task=None, after=0, cost=CALL):
        """A function of the driver with what it calls: names, or functions of no arguments."""
        pid, comm, cpu = task or self.program
        stack = self.stacks.setdefault((pid, cpu), [])
        self.time += after
        begin, depth = self.time, len(stack)
        caller = stack[-1][0] if stack else None
        roots = {'hw_irq_handler': ['[interrupt]'], 'pm_runtime_resume_cb': ['[boot]']}
        outer = roots.get(name) or (stack[-1][1] if stack else [])
        path = [*outer, f'ivpu_{name}']
        position = len(self.events)
        self.emit(None)
        stack.append((f'ivpu_{name}', path))
        self.time += cost
        for part in inner:
            if callable(part):
                part()
            else:
                self.call(part, task=task)
        stack.pop()
        duration = self.time - begin
        self.events[position] = Call(begin, pid, comm, cpu, f'ivpu_{name}', depth, caller, tuple(path), duration)
        self.emit(Return(self.time, pid, comm, cpu, f'ivpu_{name}', depth, duration))

    # Parts of the driver.

    def nest(self, name, *inner, **options):
        return lambda: self.call(name, *inner, **options)

    def open(self):
        self.call('open', 'mmu_context_init')
        for _ in range(3):
            self.call('get_param_ioctl')

    def allocate(self, buffers=1):
        for _ in range(buffers):
            self.call('bo_create_ioctl', 'gem_create_object', self.nest('gem_bo_open', self.nest(
                'bo_alloc_vpu_addr', 'mmu_context_insert_node')))
            self.call('bo_info_ioctl')

    def free(self, buffers=1):
        for _ in range(buffers):
            self.call('gem_bo_free', self.nest('bo_unbind_locked', self.nest(
                'mmu_context_unmap_sgt', self.tlb()), 'mmu_context_remove_node'))

    def tlb(self):
        return self.nest('mmu_invalidate_tlb', 'mmu_cmdq_cmd_write', self.nest('mmu_cmdq_sync', 'mmu_cmdq_cmd_write'))

    def boot(self, polls, poll_time):
        """Runtime resume: power, the firmware's boot, and polling for its first message."""
        def poll():
            for _ in range(polls):
                self.call('ipc_irq_handler', 'hw_ip_ipc_rx_count_get', cost=CALL + poll_time)
                self.call('ipc_receive')
            self.call('ipc_irq_handler', 'hw_ip_ipc_rx_count_get', 'hw_ip_ipc_rx_addr_get', 'hw_ip_ipc_rx_count_get')
            self.call('ipc_receive', 'ipc_rx_msg_del')
        self.call('pm_runtime_resume_cb', self.nest(
            'resume', self.nest('hw_power_up', 'hw_btrs_wp_drive'), self.nest('mmu_enable', 'mmu_cmdq_cmd_write'),
            self.nest('boot', self.nest('hw_boot_fw', 'hw_ip_soc_cpu_boot'), self.nest(
                'wait_for_ready', 'ipc_consumer_add', poll, 'ipc_consumer_del'), 'hw_irq_enable', 'ipc_enable')))
        self.ready = True

    def submit(self, pins=0, pages=0, polls=30, poll_time=0, length=500 * US):
        """A job that maps buffers, wakes the device if it sleeps, and ends after length."""
        pid, comm, cpu = self.program
        context = 2 + pid % 64

        def pin():
            for _ in range(pins):
                self.call('bo_pin', self.nest('mmu_context_map_sgt', *['mmu_context_map_page'] * pages, self.tlb()))

        def wake():
            if not self.ready:
                self.boot(polls, poll_time)

        number = self.numbers[context] = self.numbers.get(context, 0) + 1
        self.emit(Job(self.time, pid, comm, cpu, 'create', context, 0))
        self.call('submit_ioctl', 'file_priv_get', pin, 'rpm_get', wake, 'start_job_timeout_detection', 'hw_ip_db_set')
        self.emit(Job(self.time, pid, comm, cpu, 'submit', context, context << 8 | number % 256))
        self.engine_free = max(self.engine_free, self.time) + length
        self.waiting.append((context, context << 8 | number % 256, self.engine_free))

    def message(self):
        """An interrupt that says that the firmware sent a message."""
        self.call('hw_irq_handler', 'hw_btrs_global_int_disable', 'hw_btrs_irq_handler_lnl', self.nest(
            'hw_ip_irq_handler_40xx', self.nest('ipc_irq_handler', 'hw_ip_ipc_rx_count_get', 'hw_ip_ipc_rx_addr_get',
                                                'hw_ip_ipc_rx_count_get', task=(0, '<idle>', 0)),
            task=(0, '<idle>', 0)), 'hw_btrs_global_int_enable', task=(0, '<idle>', 0))

    def finish(self, task=(155, 'irq/30-intel_vpu', 0)):
        """The oldest job ends."""
        context, number, end = self.waiting.pop(0)
        self.time = max(self.time, end)
        self.message()

        def done():
            self.emit(Job(self.time, *task, 'done', context, number))
        self.call('irq_thread_handler', self.nest('ipc_irq_thread_handler', self.nest(
            'job_done_callback', self.nest('job_signal_and_destroy', done, self.nest(
                'job_destroy', 'file_priv_put', task=task), 'stop_job_timeout_detection', 'rpm_put', task=task),
            task=task), 'ipc_rx_msg_del', task=task), task=task)

    def wait(self):
        self.call('bo_wait_ioctl')

    def suspend(self, task=(77, 'kworker/0:1', 0)):
        self.call('pm_runtime_suspend_cb', 'mmu_disable', self.nest('shutdown', 'hw_power_down', task=task), task=task)
        self.ready = False

    def recover(self, task=(77, 'kworker/0:1', 0)):
        """The driver gives up: it resets the device and aborts all jobs."""
        def jobs():
            for context, number, _ in self.waiting:
                self.call('job_signal_and_destroy', lambda c=context, n=number: self.emit(
                    Job(self.time, *task, 'done', c, n)), 'job_destroy', task=task)
            self.waiting.clear()
        self.call('pm_recovery_work', 'dev_coredump', self.nest('jobs_abort_all', jobs, task=task), task=task)
        self.ready, self.engine_free = True, self.time

    def close(self):
        self.call('postclose', 'ms_cleanup', self.nest('file_priv_put', 'cmdq_release_all_locked', self.nest(
            'mmu_context_fini', *['pgtable_free_page'] * 4)))

    def sleep_until(self, time):
        self.time = max(self.time, time)

    # What is in the list.

    def calls(self):
        return [event for event in self.events if isinstance(event, Call)]

    def jobs(self):
        return [event for event in self.events if isinstance(event, Job)]

    def counts(self):
        return collections.Counter(call.name for call in self.calls())

    def paths(self):
        return collections.Counter(call.path for call in self.calls())


# The forms. Each returns text.


def probe(call):
    return f'kprobe:{MODULE}:{call.name}'


def bpftrace_map(run):
    lines = sorted((count, name) for name, count in run.counts().items())
    return 'Attaching 223 probes...\n\n\n' + ''.join(f'@[kprobe:{MODULE}:{name}]: {count}\n' for count, name in lines)


def bpftrace_lines(run):
    return 'Attaching 223 probes...\n' + ''.join(f'{probe(call)}\n' for call in run.calls())


def bpftrace_columns(run, unit=1, name='ns', heading=True):
    head = f'{f"TIME({name})":<18} {"PID":<8} {"COMM":<16} FUNCTION\n' if heading else ''
    return 'Attaching 224 probes...\n' + head + ''.join(
        f'{call.time // unit:<18} {call.pid:<8} {call.comm:<16} {call.name}\n' for call in run.calls())


def tutorial(run, unit=MS, name='ms'):
    """The script of the published tutorial, and its 20 largest counts."""
    head = 'Attaching 225 probes...\nTracing Intel NPU kernel driver... Hit Ctrl-C to end.\n'
    head += f'{f"TIME({name})":<10} {"FUNCTION":<40}\n'
    top = sorted((count, name) for name, count in run.counts().items())[-20:]
    return head + ''.join(f'{call.time // unit:<10} {probe(call):<40}\n' for call in run.calls()) + (
        '\n=== Intel NPU Function Call Statistics ===\n\nTop functions by call count:\n') + ''.join(
            f'@calls[kprobe:{MODULE}:{name}]: {count}\n' for count, name in top)


def uniq(run):
    """sort | uniq -c, by these programs."""
    text = ''.join(f'{probe(call)}\n' for call in run.calls())
    return subprocess.run('sort | uniq -c', shell=True, input=text, stdout=subprocess.PIPE, encoding='utf-8',
                          check=True).stdout


def bound(number):
    for letter, shift in ('M', 20), ('K', 10):
        if number >> shift:
            return f'{number >> shift}{letter}'
    return str(number)


def histogram(run, functions=('ivpu_submit_ioctl', 'ivpu_bo_create_ioctl')):
    """@usecs[func] = hist(duration in us)"""
    text = 'Attaching 4 probes...\n\n\n'
    for function in functions:
        buckets = collections.Counter((call.duration // US).bit_length() for call in run.calls() if call.name == function)
        text += f'@usecs[{function}]: \n'
        for bits in range(min(buckets), max(buckets) + 1):
            low = f'[{bits}]' if bits < 2 else f'[{bound(1 << bits - 1)}, {bound(1 << bits)})'
            text += f'{low:<16} {buckets[bits]:>9} |{"@" * (52 * buckets[bits] // max(buckets.values())):<52}|\n'
        text += '\n'
    return text + '\n'


def seconds(time):
    return f'{time // SECOND}.{time // US % 1000000:06}'


def ftrace_task(event):
    return f'{f"{event.comm}-{event.pid}":>22} [{event.cpu:03}] .....  {seconds(event.time):>12}: '


def ftrace_function(run):
    head = '# tracer: function\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n'
    return head + ''.join(f'{ftrace_task(call)}{call.name} <-{call.caller or "drm_ioctl_kernel"}\n'
                          for call in run.calls())


def graph_duration(duration):
    mark = '!' if duration > 100 * US else '+' if duration > 10 * US else ' '
    return f'{mark} {duration / US:.3f} us'


def graph_lines(run, prefix, suffix=''):
    """prefix(event, kind): text before the duration."""
    lines, events = [], [event for event in run.events if not isinstance(event, Job)]
    for i, event in enumerate(events):
        indent = '  ' * (event.depth + 1)
        following = events[i + 1] if i + 1 < len(events) else None
        is_leaf = isinstance(event, Call) and isinstance(following, Return) and (
            following.name == event.name and following.pid == event.pid and following.depth == event.depth)
        before = events[i - 1] if i else None
        was_leaf = isinstance(event, Return) and isinstance(before, Call) and (
            before.name == event.name and before.pid == event.pid and before.depth == event.depth)
        if was_leaf:
            continue
        if isinstance(event, Return):
            lines.append(f'{prefix(event, "exit")}{graph_duration(event.duration):<13} |{indent}}}')
        elif is_leaf:
            lines.append(f'{prefix(event, "entry")}{graph_duration(event.duration):<13} |{indent}{event.name}{suffix}();')
        else:
            lines.append(f'{prefix(event, "entry")}{"":<13} |{indent}{event.name}{suffix}() {{')
    return lines


def function_graph(run):
    lines, tasks = ['# tracer: function_graph', '#', '# CPU  DURATION                  FUNCTION CALLS'], {}

    def prefix(event, _):
        task = f'{event.comm[:7]}-{event.pid}'
        if tasks.get(event.cpu) not in (None, task):
            ruler = ' ------------------------------------------'
            lines.extend([ruler, f' {event.cpu})  {tasks[event.cpu]}    =>  {task}  ', ruler, ''])
        tasks[event.cpu] = task
        return f' {event.cpu}) '
    # Lines are appended in order: those of a switch precede the line that has it.
    for event_line in graph_iterate(run, prefix, lines):
        lines.append(event_line)
    return '\n'.join(lines) + '\n'


def graph_iterate(run, prefix, lines):
    """As graph_lines(), one at a time, so that prefix() can add lines of its own."""
    pending = []

    def collect(event, kind):
        pending.append((event, kind))
        return '\0'
    for line in graph_lines(run, collect, f' [{MODULE}]'):
        event, kind = pending.pop(0)
        yield prefix(event, kind) + line.removeprefix('\0')


def trace_cmd(run):
    def prefix(event, kind):
        return f'{f"{event.comm}-{event.pid}":>22} [{event.cpu:03}] {seconds(event.time):>12}: funcgraph_{kind}:' + (
            '      ' if kind == 'entry' else '       ')
    return 'cpus=2\n' + '\n'.join(graph_lines(run, prefix)) + '\n'


def perf_vpu(run):
    """perf prints the address of the event's name."""
    addresses = {'create': 'ffffffffc08fa07c', 'submit': 'ffffffffc08fa083', 'done': 'ffffffffc08fa08a'}
    return ''.join(f'{job.comm:>16} {job.pid:5} [{job.cpu:03}] {seconds(job.time):>12}:  vpu:job: '
                   f'{addresses[job.event]} context:{job.context} engine:0 job:{job.number}\n' for job in run.jobs())


def ftrace_vpu(run):
    return '# tracer: nop\n#\n' + ''.join(
        f'{ftrace_task(job)}job: {job.event} context:{job.context} engine:0 job:{job.number}\n' for job in run.jobs())


def drm_sched(run):
    """gpu_scheduler's events, as in events/gpu_scheduler/*/format of Linux 7.2; their jobs have fences from the start."""
    text, fences = '# tracer: nop\n#\n', {}
    for job in run.jobs():
        created, submitted, done = fences.setdefault(job.context, [0, 0, 0])
        ring = f'ring=compute, job count:1, hw job count:0, client_id:{job.context}'
        if job.event == 'create':
            fences[job.context][0] += 1
            text += f'{ftrace_task(job)}drm_sched_job_queue: dev=0000:00:0b.0, fence={job.context}:{created + 1}, {ring}\n'
        elif job.event == 'submit':
            fences[job.context][1] += 1
            text += f'{ftrace_task(job)}drm_sched_job_run: dev=0000:00:0b.0, fence={job.context}:{submitted + 1}, {ring}\n'
        else:
            fences[job.context][2] += 1
            text += f'{ftrace_task(job)}drm_sched_job_done: fence={job.context}:{done + 1} signaled\n'
    return text
