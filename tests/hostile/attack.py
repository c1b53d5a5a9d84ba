# SPDX-License-Identifier: Apache-2.0
"""What the hostile tests share: programs of an unprivileged user, runs of iaprof beside them, and what is required of
each run: it ends in time, uses little memory, leaves nothing behind, has the stacks of a program of known truth, and
names on one line what it refused and why.
"""
import contextlib
import ctypes
import functools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ['TEST_SOURCE_FOLDER'], 'tests/cli'))
from harness import (PROGRAM, Failure, Skip, children, library, needs_program, needs_root, needs_sampling,  # noqa: E402
                     read, start)
import processes  # noqa: E402

PROGRAMS = os.environ['TEST_HOSTILE_PROGRAMS']
# BURNER keeps a CPU busy; TRUTH and SAMPLED sleep most of the time.
TRUTH, BURNER, SAMPLED, GENERATED, MANY_MAPPINGS, INVENTED_PATHS = (os.path.join(PROGRAMS, name) for name in (
    'truth', 'burner', 'sampled', 'generated_code', 'many_mappings', 'invented_paths'))

# An id that no account has. Not 65534, which user namespaces show for every id that they lack.
USER = 61234
# A run ends within 2 s of its duration or of the first signal; twice that. Time in which its processes wait for a CPU
# does not count.
GRACE = 4
# iaprof's own limit, s. On a busy machine it is stretched, at most to so many times; then names may be missing.
FINISH_WITHIN = 2
STRETCH_MAX = 3
# Enough for the names of a few programs on any machine, s.
LONG = 60
# CPU time of a program in which it is certainly sampled, s: 20 samples on average.
SAMPLED_TIME = 0.2
# Ends only what hangs.
HANG_SECONDS = 300
# All processes together, shared pages counted in each: up to 300 MiB, and 100 MiB for unwinding, which copies stacks (32
# MiB) and reads tables in processes of its own.
MEMORY_MAX = 400 << 20
# A run that uses this much has failed; it is killed before it harms the machine.
MEMORY_KILL = 1 << 30
POLL = 0.01
CPU_SECONDS_MAX = 300
REASON = re.compile(
    r'refus|reject|skip|ignor|discard|limit|exceed|budget|quota|too (large|big|many|long|deep)|larger|longer|deadline|'
    r'time[- ]?out|timed out|not (a )?(regular|trusted|allowed|permitted|read|opened|followed|answer)|damag|invalid|'
    r'malformed|corrupt|truncat|cannot|could not|untrusted|owner|unsupported|died|killed|crash|file ?system|mount|'
    r'too slow|d(oes|id) not return|stopped|checksum|mismatch|permission|symbolic link|device|fifo', re.I)


def as_user(user, niceness=0):
    """Options of Popen for a process of this user that dies with this one."""
    def prepare():
        PR_SET_PDEATHSIG = 1
        os.nice(niceness)
        library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_MAX, CPU_SECONDS_MAX))
    return {'user': user, 'group': user, 'extra_groups': [], 'preexec_fn': prepare}


class Programs(contextlib.ExitStack):
    """Programs that run beside iaprof; all of them are killed at the end."""

    def __init__(self):
        super().__init__()
        self.pids = set()

    def start(self, *command, user=USER, ready=False, niceness=0, **options):
        """Starts a program, and with ready waits until it has printed that it is."""
        process = subprocess.Popen(command, **as_user(user, niceness), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE if ready else subprocess.DEVNULL, **options)
        self.pids.add(process.pid)
        self.callback(self.kill, process)
        if ready:
            line = process.stdout.readline()
            if line != b'ready\n':
                raise Skip(f'{command[0]} does not start here: {line.decode(errors="replace")}')
        return process

    def kill(self, process):
        process.kill()
        process.wait()
        self.pids.discard(process.pid)
        for stream in process.stdin, process.stdout:
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


def attack_folder():
    """A folder that the user owns, where the user's files go."""
    if not os.path.isdir('attack'):
        os.mkdir('attack')
        os.chown('attack', USER, USER)
        if subprocess.run(['test', '-w', os.path.abspath('attack')], **as_user(USER), check=False).returncode:
            raise Skip(f'user {USER} cannot reach {os.getcwd()}: set TMPDIR to a folder that everybody can')
    return os.path.abspath('attack')


def give(path):
    """Makes the user the owner of a file that this script made for it."""
    os.chown(path, USER, USER, follow_symlinks=False)
    return path


def user_program(name, source=BURNER):
    """A copy of a program that is the user's own."""
    path = os.path.join(attack_folder(), name)
    shutil.copyfile(source, path)
    os.chmod(path, 0o755)
    return give(path)


def sparse_file(path, sizes=(15 << 40, 7 << 40, 1 << 40, 64 << 30, 8 << 30)):
    """A file of zeros that uses no disk, as large as the file system takes."""
    with open(path, 'wb') as file:
        for size in sizes:
            with contextlib.suppress(OSError):
                file.truncate(size)
                return give(path)
    raise Skip('the file system takes no sparse file of 8 GiB')


def own_name(name):
    """A program's name that no other run of these tests on the same machine has, in the 15 bytes that Linux keeps."""
    return f'{name}-{os.getpid():x}'[:15]


TRUTH_NAMES = {0: own_name('truth-r'), USER: own_name('truth-u')}


def start_truth(programs):
    """The program of known truth, as root and as the attacker. Returns their process ids."""
    pids = []
    for user, name in TRUTH_NAMES.items():
        path = os.path.abspath(name) if user == 0 else os.path.join(attack_folder(), name)
        if not os.path.exists(path):
            shutil.copyfile(TRUTH, path)
            os.chmod(path, 0o755)
            os.chown(path, user, user)
        pids.append(programs.start(path, user=user, ready=True).pid)
    return pids


def memory_of(pid):
    """Peak of what a process had in memory. Its status needs no lock that a blocked page fault may hold."""
    with contextlib.suppress(OSError):
        match = re.search(r'^VmHWM:\s*(\d+) kB', read(f'/proc/{pid}/status'), re.M)
        return int(match[1]) << 10 if match else 0
    return 0


def schedule_times(pids):
    """-> {(process, thread): (ns on a CPU, ns runnable without a CPU)}"""
    times = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for task in os.listdir(f'/proc/{pid}/task'):
                run, delay, _ = read(f'/proc/{pid}/task/{task}/schedstat').split()
                times[pid, task] = int(run), int(delay)
    return times


def cpu_time(pid):
    """CPU time of a process, s"""
    return sum(run for run, _ in schedule_times([pid]).values()) / 1e9


def name_of(pid):
    with contextlib.suppress(OSError):
        return read(f'/proc/{pid}/comm').strip()
    return ''


def is_running(pid):
    """Whether a process runs, or sleeps between two turns of work (next_turn.h)."""
    with contextlib.suppress(OSError):
        return read(f'/proc/{pid}/stat').rpartition(')')[2].split()[0] == 'R' or 'nanosleep' in read(f'/proc/{pid}/wchan')
    return False


def link_target(path):
    with contextlib.suppress(OSError):
        return os.readlink(path)
    return ''


def recorder(members):
    """The process that records, when it does: then it has events of the Linux kernel for samples as well as for
    processes, of each CPU. It is the first one that runs iaprof; others are helpers that it has just forked."""
    for pid in members:
        if os.path.basename(link_target(f'/proc/{pid}/exe')) != os.path.basename(PROGRAM):
            continue
        with contextlib.suppress(OSError):
            links = [link_target(f'/proc/{pid}/fd/{name}') for name in os.listdir(f'/proc/{pid}/fd')]
            return pid if links.count('anon_inode:[perf_event]') >= 2 * os.cpu_count() else 0
        return 0
    return 0


class Patience:
    """Measures time without that in which processes wait for a CPU, from its creation on."""

    def __init__(self, pids):
        self.begin = time.monotonic()
        self.base = schedule_times(pids)
        self.times = dict(self.base)

    def sums(self, pids):
        """-> CPU time and time without a CPU of all of these processes, s. Those that have ended count, too."""
        self.times |= schedule_times(pids)
        return [sum(times[kind] - self.base.get(task, (0, 0))[kind] for task, times in self.times.items()) / 1e9
                for kind in range(2)]

    def is_over(self, pids, seconds):
        elapsed = time.monotonic() - self.begin
        if elapsed <= seconds:
            return False
        run, delay = self.sums(pids)
        return elapsed - delay > seconds or run > seconds * os.cpu_count()


class Run:
    """A run of iaprof: its status, messages, and what was wrong with it."""

    def __init__(self, *arguments, programs=None, seconds=1, finish_within=FINISH_WITHIN, grace=GRACE, signal_at=None, sampled=(), until=None,
                 sampled_time=SAMPLED_TIME, during=None, wrap=(), clean=True, **options):
        """Runs until it ends, grace after its duration of seconds, or until it uses too much memory. signal_at sends
        SIGTERM when it has recorded for so many seconds, the processes in sampled have used sampled_time since it
        began to, and until() holds; the run has to end grace later. during(recorded, pid) is called all the time, with
        the seconds that it has recorded, below 0 before it records."""
        if finish_within != FINISH_WITHIN:
            arguments += ('--finish-within', f'{finish_within * 1000:.0f}ms')
        self.finish_within = finish_within
        self.arguments, self.problems, self.peak, self.killed = arguments, [], 0, False
        self.status, self.ending = None, None
        records = '--replay' not in arguments
        with open('iaprof.err', 'wb') as err, open('iaprof.out', 'wb') as out:
            begin = time.monotonic()
            options = {'stdout': out, 'stderr': err, **options}
            process = start(*arguments, wrap=wrap, **options)
            self.pid, worst, recording, used = process.pid, {}, None if records else begin, {}
            while self.poll(process) is None:
                elapsed = time.monotonic() - begin
                members = processes.descendants(process.pid)
                peaks = {pid: memory_of(pid) for pid in members}
                worst |= {pid: max(worst.get(pid, 0), peak) for pid, peak in peaks.items()}
                # One that has ended and is not yet waited for has no memory any more.
                self.peak = max(self.peak, sum(worst[pid] for pid, peak in peaks.items() if peak))
                if recording is None and (profiler := recorder(members)):
                    recording = time.monotonic()
                    used = {pid: cpu_time(pid) for pid in sampled}
                recorded = time.monotonic() - recording if recording is not None else -1
                if self.ending is None and signal_at is not None and recorded >= signal_at and all(
                        cpu_time(pid) - before >= sampled_time for pid, before in used.items()) and (not until or until()):
                    self.ending = Patience(members)
                    os.kill(profiler, signal.SIGTERM)
                if self.ending is None and signal_at is None and recorded >= seconds:
                    self.ending = Patience(members)
                if (self.ending and self.ending.is_over(members, grace)) or elapsed > HANG_SECONDS or self.peak > MEMORY_KILL:
                    self.problems.append(f'runs {elapsed:.1f} s, and uses {self.peak >> 20} MiB: killed')
                    self.kill(process, members)
                    break
                if during:
                    during(recorded, process.pid)
                time.sleep(POLL)
            self.elapsed = time.monotonic() - begin
            self.end_elapsed = time.monotonic() - self.ending.begin if self.ending else 0
        self.err, self.out = read('iaprof.err'), read('iaprof.out')
        if os.environ.get('TEST_SANITIZERS', 'none') == 'none' and MEMORY_MAX < self.peak <= MEMORY_KILL:
            self.problems.append(f'uses {self.peak >> 20} MiB, more than {MEMORY_MAX >> 20}')
        if clean and not self.killed:
            self.leaves_no_process(programs)

    def poll(self, process):
        self.status = process.poll()
        return self.status

    def kill(self, process, members):
        self.killed = True
        for pid in reversed(members):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            # What waits for a file system dies when the case takes it away.
            self.status = process.wait(2)

    def leaves_no_process(self, programs):
        own = programs.pids if programs else set()
        patience = Patience([])
        while left := [pid for pid in children() if pid not in own]:
            if patience.is_over(left, 2):
                self.problems.append(f'leaves processes behind: {left}')
                for pid in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                return
            time.sleep(POLL)

    def is_cut_short(self):
        """Whether iaprof waited as long as it may for names, which on a busy machine may not be enough."""
        return self.end_elapsed >= STRETCH_MAX * self.finish_within

    def requires(self, condition, text):
        if not condition:
            self.problems.append(text)
        return self

    def completes(self, path='profile', chain=''):
        """The run's status is that of a complete profile, which has the truth. Where the programs of known truth begin
        during the run, chain is the pattern of the stacks of interest."""
        if self.killed:
            return self
        self.requires(self.status == 0, f'exit status {self.status}')
        found = {stack for stack in truth_stacks(path) if re.search(chain, stack)}
        wanted = truth_alone()
        missing, more = wanted - found, found - wanted
        if self.is_cut_short():
            return self
        self.requires(not missing, 'stacks are missing: ' + '; '.join(sorted(missing)))
        return self.requires(not more, 'stacks that are not true: ' + '; '.join(sorted(more)[:5]))

    def names(self, *names):
        """One line of standard error has one of these names and a reason."""
        return self.requires(
            any(any(name in line for name in names) and REASON.search(line) for line in self.err.splitlines()),
            f'no message that {" or ".join(names)} was refused, and why')

    def judge(self):
        run_text = (f'iaprof {" ".join(self.arguments)}: status {self.status}, {self.elapsed:.1f} s, '
                    f'{self.peak >> 20} MiB')
        print(f'# {run_text}')
        if self.problems:
            raise Failure('\n'.join([*self.problems, run_text, *self.err.splitlines()[:12]]))


def folded(path):
    """(frames, value) of each line of a folded profile; none when it is not there."""
    with contextlib.suppress(FileNotFoundError):
        for line in read(path).splitlines():
            stack, _, value = line.rpartition(' ')
            yield stack.split(';'), int(value)


def from_main(frames):
    """Without what called main: until there are unwind tables, frame pointers do not reach it."""
    begin = next((at for at, frame in enumerate(frames) if frame.startswith('main:')), 1)
    return [frames[0], *frames[begin:]]


def truth_stacks(path='profile'):
    """User stacks of the programs of known truth. They are in one chain of calls before the run begins, so that there
    are no others; the Linux kernel's frames, of whatever interrupts them, are left out."""
    return {';'.join(frame for frame in from_main(frames) if not frame.endswith('_[k]'))
            for frames, _ in folded(path) if frames[0] in TRUTH_NAMES.values()}


PROFILE = ('-k', 'folded:lines=yes', '-o', 'profile')


@functools.cache
def truth_alone():
    """The stacks of the programs of known truth in a run without an attack."""
    folder = 'truth-alone'
    os.mkdir(folder)
    home = os.getcwd()
    os.chdir(folder)
    try:
        with Programs() as programs:
            pids = start_truth(programs)
            run = Run(*PROFILE, '-p', ','.join(map(str, pids)), programs=programs, finish_within=LONG, grace=HANG_SECONDS,
                      signal_at=0, sampled=pids)
        found = truth_stacks()
        chain = ';'.join(fr'{name}:truth\.c:\d+' for name in ('main', 'truth_a', 'truth_b', 'truth_c', 'truth_spin'))
        chain += r'_\[i\]$'
        for name in TRUTH_NAMES.values():
            of_name = [stack for stack in found if stack.startswith(f'{name};')]
            run.requires(len(of_name) == 1 and re.search(chain, of_name[0]),
                         f'without an attack the stacks of {name} are {of_name}')
        run.judge()
        return found
    finally:
        os.chdir(home)


def attacked(programs, *arguments, refused=(), seconds=1, sampled=None, **options):
    """Profiles the whole machine with default options while programs attack it, and judges all of the run. refused
    has, for each attack, the names of which one line has one; sampled the processes that are sampled if they run,
    without a value all of them."""
    sampled = [*start_truth(programs), *filter(is_running, programs.pids if sampled is None else sampled)]
    run = Run(*PROFILE, *arguments, signal_at=seconds, sampled=sampled, programs=programs, **options).completes()
    for names in refused:
        run.names(*([names] if isinstance(names, str) else names))
    return run


# A run under strace, and the paths that it and its children opened for more than to look at their status.
# It is several times slower, and has more time for its end.
TRACED_END = {'finish_within': 20, 'grace': 20 + GRACE}
TRACED = ('strace', '-f', '-qq', '-y', '-o', 'trace', '-e', 'trace=open,openat,openat2,open_by_handle_at')


def traced_opens():
    return {match[1] for line in read('trace').splitlines()
            if 'O_PATH' not in line and (match := re.search(r'= \d+<(.*)>$', line))}


def needs_tracing():
    needs_program('strace')()
    result = subprocess.run(['strace', '-f', 'true'], capture_output=True, check=False)
    if result.returncode:
        raise Skip(f'strace cannot trace here: {result.stderr.decode().splitlines()[-1:]}')


@functools.cache
def machine_runs_image_attacks():
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != 'little':
        raise Skip('the ELF files of these tests have 64 bits, little-endian')


def ends_in_order():
    """SIGTERM, such as at the end of the time that the test has, ends programs and mounts as well."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(f'signal {number}'))


def needs():
    """What every case needs; the run without an attack comes before the case starts anything."""
    return [ends_in_order, needs_root, needs_sampling, machine_runs_image_attacks, truth_alone]

