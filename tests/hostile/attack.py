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
from harness import (Failure, Skip, children, library, needs_program, needs_root, needs_sampling,  # noqa: E402
                     read, start)

PROGRAMS = os.environ['TEST_HOSTILE_PROGRAMS']
TRUTH, BURNER, GENERATED, MANY_MAPPINGS, INVENTED_PATHS = (os.path.join(PROGRAMS, name) for name in (
    'truth', 'burner', 'generated_code', 'many_mappings', 'invented_paths'))

# An id that no account has. Not 65534, which user namespaces show for every id that they lack.
USER = 61234
# A run ends within 2 s of its duration or of the first signal; twice that, for a machine that is busy.
GRACE = 4
# A run without an attack shows how busy the machine is; one that needs longer than this is of no use for that.
ALONE_GRACE = 30
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
    r'too slow|stopped|checksum|mismatch|permission|symbolic link|device|fifo', re.I)


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
    """The program of known truth, as root and as the attacker."""
    for user, name in TRUTH_NAMES.items():
        path = os.path.abspath(name) if user == 0 else os.path.join(attack_folder(), name)
        if not os.path.exists(path):
            shutil.copyfile(TRUTH, path)
            os.chmod(path, 0o755)
            os.chown(path, user, user)
        programs.start(path, user=user, ready=True)


def tree(pid):
    """A process and all below it."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f'/proc/{parent}/task'):
                found += map(int, read(f'/proc/{parent}/task/{task}/children').split())
    return found


def memory_of(pid):
    """Peak of what a process had in memory. Its status needs no lock that a blocked page fault may hold."""
    with contextlib.suppress(OSError):
        match = re.search(r'^VmHWM:\s*(\d+) kB', read(f'/proc/{pid}/status'), re.M)
        return int(match[1]) << 10 if match else 0
    return 0


class Run:
    """A run of iaprof: its status, messages, and what was wrong with it."""

    overrun = 0  # seconds that a run without an attack takes longer than its duration: this machine is as busy as that

    def __init__(self, *arguments, programs=None, seconds=1, grace=GRACE, signal_at=None, during=None, wrap=(),
                 clean=True, **options):
        """Runs until it ends, seconds + grace are over, or it uses too much memory. signal_at sends SIGTERM when it has
        recorded for about so many seconds, and the run has to end grace later; during(recorded, pid) is called all the
        time, with about the seconds that it has recorded."""
        if during or signal_at is not None:
            truth_alone()  # how long this machine takes to start
        self.arguments, self.problems, self.peak, self.killed = arguments, [], 0, False
        self.status = None
        due = (signal_at if signal_at is not None else seconds) + grace + Run.overrun
        with open('iaprof.err', 'wb') as err, open('iaprof.out', 'wb') as out:
            begin = time.monotonic()
            options = {'stdout': out, 'stderr': err, **options}
            process = start(*arguments, wrap=wrap, **options)
            self.pid, signalled, worst = process.pid, False, {}
            while self.poll(process) is None:
                elapsed = time.monotonic() - begin
                members = tree(process.pid)
                peaks = {pid: memory_of(pid) for pid in members}
                worst |= {pid: max(worst.get(pid, 0), peak) for pid, peak in peaks.items()}
                # One that has ended and is not yet waited for has no memory any more.
                self.peak = max(self.peak, sum(worst[pid] for pid, peak in peaks.items() if peak))
                if elapsed > due or self.peak > MEMORY_KILL:
                    self.problems.append(f'runs {elapsed:.1f} s, and uses {self.peak >> 20} MiB: killed')
                    self.kill(process, members)
                    break
                if signal_at is not None and not signalled and elapsed > signal_at + Run.overrun:
                    process.terminate()
                    signalled = True
                if during:
                    during(elapsed - Run.overrun, process.pid)
                time.sleep(POLL)
            self.elapsed = time.monotonic() - begin
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
        deadline = time.monotonic() + 2
        while left := [pid for pid in children() if pid not in own]:
            if time.monotonic() > deadline:
                self.problems.append(f'leaves processes behind: {left}')
                for pid in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                return
            time.sleep(POLL)

    def stacks(self, path='profile'):
        return truth_stacks(path)

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
            start_truth(programs)
            run = Run('-d', '1', *PROFILE, programs=programs, grace=ALONE_GRACE)
        Run.overrun = run.elapsed - 1
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


def attacked(programs, *arguments, refused=(), seconds=1, **options):
    """Profiles the whole machine with default options while programs attack it, and judges all of the run. refused
    has, for each attack, the names of which one line has one."""
    start_truth(programs)
    run = Run('-d', str(seconds), *PROFILE, *arguments, seconds=seconds, programs=programs, **options).completes()
    for names in refused:
        run.names(*([names] if isinstance(names, str) else names))
    return run


# A run under strace, and the paths that it and its children opened for more than to look at their status.
# It is several times slower, and has more time for its end.
TRACED_SECONDS = 20
TRACED_END = ('--finish-within', f'{TRACED_SECONDS}s')
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

