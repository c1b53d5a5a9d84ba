# SPDX-License-Identifier: Apache-2.0
"""What the tests of the iaprof program share: cases in empty folders, runs, and what a run may leave behind. TAP.

Nothing here passes or fails on time; TIMEOUT only ends a run that hangs.
"""
import contextlib
import ctypes
import functools
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ['TEST_IAPROF']
PLUGINS = os.environ['TEST_CLI_PLUGINS']
SOURCE = os.environ['TEST_SOURCE_FOLDER']
sys.path.insert(0, os.path.join(SOURCE, 'tests'))
LOAD = os.environ['TEST_LOAD_PROGRAM']
CAPTURE = os.path.join(SOURCE, 'tests/fuzz/corpus/capture/two-blocks')
FAILING_SOURCE = os.path.join(PLUGINS, 'iaprof-failing-source.so')
FAILING_SINK = os.path.join(PLUGINS, 'iaprof-failing-sink.so')

COMPLETE, FAILED, USAGE, NOTHING = 0, 1, 2, 3
# With a command: a failure of iaprof itself, and a program that a shell does not find or does not execute.
OWN_FAILURE, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
TIMEOUT = 1800
# Of what a run that has ended leads to in this process, in seconds.
GONE_TIMEOUT = 60

# What a shell starts in the background ignores these, and so would every program that is run here.
for ignored in signal.SIGHUP, signal.SIGINT, signal.SIGQUIT:
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)

library = ctypes.CDLL(None, use_errno=True)
cases = []


class Failure(Exception):
    """What a run did is not what it should have done."""


class Skip(Exception):
    """This machine cannot run a case; the text states what is missing."""


def case(name, *arguments, needs=()):
    """Registers a function as a case, for each of several when it is decorated several times."""
    def register(function):
        cases.append((name, functools.partial(function, *arguments), needs))
        return function
    return register


def require(condition, text):
    if not condition:
        raise Failure(text)


def equal(found, wanted, what='found'):
    require(found == wanted, f'{what}: {found!r}, not {wanted!r}')


def wait_until(condition, what):
    """Waits for something that has to happen; gives up after a time in which only what hangs has not happened, and
    sooner when no process is left that could do it."""
    begin = alive = time.monotonic()
    for turn in itertools.count():
        value = condition()
        if value:
            return value
        now = time.monotonic()
        require(now - begin < TIMEOUT, f'waited in vain for {what}')
        if turn % 200 == 0 and any(children()):
            alive = now
        require(now - alive < GONE_TIMEOUT, f'waited in vain for {what}: no process is left')
        time.sleep(0.005)


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def write(path, contents, mode=0o644):
    with open(path, 'wb') as file:
        file.write(contents if isinstance(contents, bytes) else contents.encode())
    os.chmod(path, mode)
    return path


class Outcome:
    """How a run ended, what it said, and the files it left."""

    def __init__(self, status, out, err, before):
        self.status, self.out, self.err = status, out, err
        self.new_files = sorted(set(files_below('.')) - set(before))

    def __str__(self):
        return (f'status {self.status}\nstdout: {self.out[:2000]}\nstderr: {self.err[:2000]}\n'
                f'new files: {self.new_files}')

    def fails(self, status, *patterns, out='', left=()):
        """One message that contains all of these, and no files except the named ones."""
        equal(self.status, status, 'exit status')
        equal(self.out, out, 'standard output')
        lines = self.err.splitlines()
        require(len(lines) == 1 and self.err.endswith('\n'), f'{len(lines)} lines on standard error, not 1')
        require(lines[0].startswith('iaprof: '), 'the line does not begin with "iaprof: "')
        for pattern in patterns:
            require(re.search(pattern, lines[0]), f'no {pattern!r} in: {lines[0]}')
        self.leaves(*left)
        return self

    def completes(self, *patterns):
        equal(self.status, COMPLETE, 'exit status')
        for pattern in patterns:
            require(re.search(pattern, self.err, re.M), f'no {pattern!r} on standard error')
        return self

    def leaves(self, *names):
        equal(self.new_files, sorted(names), 'new files')
        return self


def files_below(folder):
    return [os.path.normpath(os.path.join(parent, name))
            for parent, _, names in os.walk(folder) for name in names]


def no_children_left():
    """Waits until the run's last child has gone: a child that stays is one that was forgotten."""
    def gone():
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            return False
        return True
    wait_until(gone, 'the end of the processes that the run left behind')


def children():
    """The processes that a run left behind: this process is the reaper of all that begin below it."""
    for folder in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            state, parent = read(f'/proc/{folder}/stat').rpartition(')')[2].split()[:2]
            if int(parent) == os.getpid() and state != 'Z':
                yield int(folder)


def describe(pid):
    """What a process that hangs waits for: the Linux kernel's function for each thread."""
    with contextlib.suppress(OSError):
        command = read(f'/proc/{pid}/cmdline').replace('\0', ' ')
        waits = [f'{read(f"{task}/comm").strip()} in {read(f"{task}/wchan") or "user space"}'
                 for task in (f'/proc/{pid}/task/{number}' for number in os.listdir(f'/proc/{pid}/task'))]
        return f'left behind: {pid} {command[:200]}: {", ".join(waits)}'
    return f'left behind: {pid}'


def end_children():
    """Ends what a failed case left behind, so that it does not affect the next ones, and returns its description."""
    said = []
    with contextlib.suppress(ChildProcessError):
        while True:
            for pid in children():
                said.append(describe(pid))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)
    return said


def start(*arguments, wrap=(), program=PROGRAM, **options):
    """Begins a run; wrap is a command that begins it instead, such as setpriv."""
    options.setdefault('stdin', subprocess.DEVNULL)
    options.setdefault('stdout', subprocess.PIPE)
    options.setdefault('stderr', subprocess.PIPE)
    before = files_below('.')
    process = subprocess.Popen([*wrap, program, *arguments], **options)
    process.files_before = before
    return process


def end(process):
    """Waits for the end of a run that was begun."""
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Failure(f'hangs: {process.args}') from None
    no_children_left()

    def text(stream):
        return (stream or b'').decode(errors='replace')
    return Outcome(process.returncode, text(out), text(err), process.files_before)


def iaprof(*arguments, wrap=(), **options):
    outcome = end(start(*arguments, wrap=wrap, **options))
    run_case.last = (arguments, outcome)
    return outcome


def terminal(*arguments, columns=100):
    """A run with a terminal of 24 rows for standard output and error: status and all that was shown."""
    import fcntl
    import pty
    import struct
    import termios
    try:
        master, slave = pty.openpty()
    except OSError as error:
        raise Skip(f'no pseudo terminal: {error}') from None
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    process = start(*arguments, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b''
    with contextlib.suppress(OSError):  # EIO: the other side is closed
        while chunk := os.read(master, 65536):
            shown += chunk
    os.close(master)
    outcome = end(process)
    outcome.out = shown.decode(errors='replace').replace('\r\n', '\n')
    run_case.last = (arguments, outcome)
    return outcome


def screens(shown, columns=100):
    """What a terminal had on it, each time before something was erased, and at last: lists of lines."""
    lines, row, found = [''], 0, []
    for part in re.split(r'(\x1b\[\d*[A-Z]|[\r\n])', shown):
        if part == '\n':
            row += 1
            lines += [''] * (row + 1 - len(lines))
        elif match := re.fullmatch(r'\x1b\[(\d+)A', part):
            found.append(list(lines))
            row -= int(match[1])
            require(row >= 0, f'the cursor leaves the screen: {lines}')
        elif part == '\x1b[J':
            del lines[row + 1:]
            lines[row] = ''
        elif part == '\x1b[K':
            lines[row] = ''
        elif part != '\r':
            lines[row] += part
            require(len(lines[row]) < columns, f'the terminal breaks a line: {lines[row]!r}')
    return [*found, lines]


def own_mounts():
    """Gives this process a mount namespace of its own, whose mounts end with it."""
    CLONE_NEWNS = 0x20000
    if library.unshare(CLONE_NEWNS):
        raise Skip(f'no mount namespace: {os.strerror(ctypes.get_errno())}')
    result = subprocess.run(['mount', '--make-rprivate', '/'], capture_output=True, check=False)
    if result.returncode:
        raise Skip(f'cannot mount here: {result.stderr.decode().strip()}')


@contextlib.contextmanager
def small_disk(name, options):
    os.mkdir(name)
    result = subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs', name], capture_output=True, check=False)
    if result.returncode:
        raise Skip(f'cannot mount here: {result.stderr.decode().strip()}')
    try:
        yield name
    finally:
        subprocess.run(['umount', name], check=True)


def needs_root():
    if os.geteuid():
        raise Skip('needs root')


def needs_sampling():
    """The reason why this machine cannot be profiled is the one that iaprof gives."""
    result = subprocess.run([PROGRAM, '--check', '-s', 'cpu-stack'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            check=False)
    if result.returncode:
        raise Skip((result.stdout or result.stderr).decode().splitlines()[-1].strip())


def needs_program(name):
    def check():
        if not shutil.which(name):
            raise Skip(f'{name} is not installed')
    return check


def needs_perf():
    needs_program('perf')()
    tried = subprocess.run(['perf', 'record', '-q', '-e', 'cpu-clock', '-a', '-g', '-o', '/dev/null', 'true'],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if tried.returncode:
        raise Skip(f'perf cannot record here: {tried.stderr.decode(errors="replace").strip().splitlines()[:1]}')


def run_case(number, name, function, needs):
    run_case.last = None
    home = os.getcwd()
    scratch = tempfile.mkdtemp(prefix='iaprof-cli-')
    os.chmod(scratch, 0o755)
    os.chdir(scratch)
    try:
        for need in needs:
            need()
        function()
    except Skip as reason:
        print(f'ok {number} - {name} # SKIP {reason}')
    except (Failure, OSError, subprocess.SubprocessError) as failure:
        print(f'not ok {number} - {name}')
        detail = str(failure)
        if run_case.last:
            detail += f'\niaprof {" ".join(run_case.last[0])}\n{run_case.last[1]}'
        detail += ''.join(f'\n{line}' for line in end_children())
        print('\n'.join(f'# {line}' for line in detail.splitlines()))
        return False
    else:
        print(f'ok {number} - {name}')
    finally:
        os.chdir(home)
        shutil.rmtree(scratch, ignore_errors=True)
        sys.stdout.flush()
    return True


def main():
    PR_SET_CHILD_SUBREAPER = 36
    library.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a run leaves behind becomes a child of this
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # whoever runs this may ignore them
        signal.signal(number, signal.SIG_DFL)
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 else '')
    chosen = [entry for entry in cases if wanted.search(entry[0])]
    print(f'1..{len(chosen)}')
    results = [run_case(number, *entry) for number, entry in enumerate(chosen, 1)]
    sys.exit(not all(results))
