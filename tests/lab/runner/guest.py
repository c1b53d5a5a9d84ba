# SPDX-License-Identifier: Apache-2.0
"""Boots a kernel in QEMU, by software emulation, over this machine's own root file system, and runs tests in it as root.

Nothing in the guest can change the machine: its root is read only below an overlay that ends with it. The one folder
that both write is the plan's: what to run goes in, output and exit statuses come out while the guest runs.
"""
import gzip
import lzma
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import time

from . import chroot, kernels, pieces

HERE = pathlib.Path(__file__).parent.parent / 'guest'
MEMORY_MIB = 3072
# The doubles and the tests of the real drivers each find a PCI device of their own, at these slots.
EDU_SLOTS = ('10', '11', '12')
# Software emulation on a busy machine is slow, which is not the guest kernel's fault: its watchdogs get more time.
# no_timer_check: at boot, Linux expects ten timer interrupts within a time that a busy machine exceeds, and panics.
# damon_stat: samples accesses to memory all the time, for statistics.
# norandmaps: QEMU finds translated code by its virtual address, and would translate every program anew at each start.
KERNEL_ARGUMENTS = ('console=ttyS0 panic=-1 loglevel=4 mitigations=off tsc=reliable watchdog_thresh=60 log_buf_len=16M '
                    'rcupdate.rcu_cpu_stall_timeout=120 no_timer_check norandmaps damon_stat.enabled=N')
# A model that is older than all kernels: Linux 6.1 ends while it boots on the one that QEMU 11 calls max. It has no smap, which
# makes each access of the Linux kernel to a program's memory leave translated code twice; erms has memory copied and
# cleared byte by byte, slowly under emulation.
PROCESSOR = 'Haswell-v4,erms=off'
# A guest hangs if it has not booted after so much CPU time, or if it does nothing for so long.
BOOT_PROCESSOR_SECONDS = 240
HANG_SECONDS = 3600
END_SECONDS = 60  # after a test's own limit
KEPT = '/run/lab/kept'  # of the plan's folder, in the guest
RAM_DISK_MODULES = ('virtio_pci', '9pnet_virtio', '9p', 'overlay')


def emulator():
    """Returns the command line of QEMU in the chroot and its environment. QEMU before 8.1, as in Debian 12, executes stale code
    if one processor writes to a page while another translates it: the Linux kernel then crashes when it patches itself."""
    root = chroot.folder()
    libraries = root / 'usr/lib/x86_64-linux-gnu'
    data = [word for name in ('share/qemu', 'share/seabios') for word in ('-L', str(root / 'usr' / name))]
    return ([str(root / 'usr/lib64/ld-linux-x86-64.so.2'), '--library-path', str(libraries),
             str(root / 'usr/bin/qemu-system-x86_64'), *data], {**os.environ, 'QEMU_MODULE_DIR': str(libraries / 'qemu')})


def uncompressed(path):
    if path.suffix == '.xz':
        return lzma.decompress(path.read_bytes())
    return gzip.decompress(path.read_bytes()) if path.suffix == '.gz' else path.read_bytes()


def ram_disk(folder):
    """The guest's initial RAM disk: busybox, init, and the modules that mounting the root needs. Kept with the kernel."""
    init = HERE / 'init'
    made = folder / 'ram-disk'
    newest = max(path.stat().st_mtime for path in (init, pathlib.Path(__file__)))
    if made.exists() and made.stat().st_mtime > newest:
        return made
    pieces.need_programs('busybox=busybox-static', 'cpio=cpio', 'modprobe=kmod')
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for part in 'bin', 'proc', 'sys', 'dev', 'mnt', 'modules':
            (root / part).mkdir()
        shutil.copy(shutil.which('busybox'), root / 'bin/busybox')
        shutil.copy(init, root / 'init')
        os.chmod(root / 'init', 0o755)
        paths = []
        for module in RAM_DISK_MODULES:
            shown = pieces.command('modprobe', '-d', folder, '-S', kernels.version_in(folder), '--show-depends', module)
            paths += [line.split()[1] for line in shown.splitlines() if line.startswith('insmod')]
        for number, path in enumerate(dict.fromkeys(paths)):
            file = pathlib.Path(path)
            plain = file.name.split('.ko')[0]
            (root / 'modules' / f'{number:02}-{plain}.ko').write_bytes(uncompressed(file))
        files = '\n'.join(str(path.relative_to(root)) for path in sorted(root.rglob('*')))
        archive = subprocess.run(['cpio', '-o', '-H', 'newc', '--quiet'], input=files.encode(), cwd=root, check=True,
                                 stdout=subprocess.PIPE).stdout
        fresh = made.with_name(f'{made.name}.{os.getpid()}')
        fresh.write_bytes(gzip.compress(archive, 1))
        fresh.rename(made)
    return made


class Guest:
    """One boot: plan in, results out."""

    def __init__(self, kernel, environment, visible, root='/'):
        self.kernel = kernel
        command, self.environment = emulator()
        folder = kernel.folder()
        image, disk = kernels.image(folder), ram_disk(folder)
        self.process = None
        self.has_booted = False
        self.plan = pathlib.Path(tempfile.mkdtemp(prefix='iaprof-lab-'))
        standard = {'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/root',
                    'LC_ALL': 'C.UTF-8', 'PYTHONDONTWRITEBYTECODE': '1'}
        (self.plan / 'kept').mkdir()
        self.write('run-plan', (HERE / 'run-plan').read_text(encoding='utf-8'))
        self.write('environment', ''.join(f'export {name}={shlex.quote(str(value))}\n'
                                          for name, value in {**standard, 'LAB_KEEP': KEPT, **environment}.items()))
        self.write('visible', ''.join(f'{path}\n' for path in visible))
        modules = folder / 'lib/modules' / kernels.version_in(folder)
        self.line = [*command, '-accel', 'tcg,thread=multi', '-cpu', PROCESSOR + kernel.processor, '-smp', '2',
                     '-m', str(MEMORY_MIB), '-nographic', '-no-reboot', '-nic', 'none',
                     '-kernel', str(image), '-initrd', str(disk),
                     '-append', KERNEL_ARGUMENTS,
                     *self.share('root', root, True), *self.share('modules', modules, True),
                     *self.share('plan', self.plan, False)]
        for slot in EDU_SLOTS:
            self.line += ['-device', f'edu,addr=0x{slot}']

    @staticmethod
    def share(tag, path, readonly):
        escaped = str(path).replace(',', ',,')
        return ['-virtfs', f'local,path={escaped},mount_tag={tag},security_model=none,multidevs=remap'
                           f'{",readonly=on" if readonly else ""}']

    def write(self, name, text):
        (self.plan / name).write_text(text, encoding='utf-8')

    def read(self, name):
        """The contents of a file that the guest has written so far; only regular files, because a test may have created
        device files."""
        path = self.plan / name
        return path.read_bytes().decode(errors='replace') if path.is_file() and not path.is_symlink() else ''

    def copy_kept(self, folder):
        """Files that tests left."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in (self.plan / 'kept').iterdir():
            if path.is_file() and not path.is_symlink():
                shutil.copyfile(path, folder / path.name)

    def shell(self):
        """A shell in the guest on this terminal."""
        self.write('shell', '')
        return subprocess.run(self.line, env=self.environment, check=False).returncode

    def start(self, lines):
        self.write('plan', ''.join('\t'.join(str(word) for word in line) + '\n' for line in lines))
        with open(self.plan / 'console', 'wb') as console:
            self.process = subprocess.Popen(self.line, stdin=subprocess.DEVNULL, stdout=console,
                                            stderr=subprocess.STDOUT, env=self.environment)

    def processor_seconds(self):
        """CPU time that the emulator has spent so far."""
        try:
            words = pathlib.Path(f'/proc/{self.process.pid}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
        except OSError:
            return 0
        return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')  # utime and stime

    def wait_for(self, number, seconds):
        """Waits for one test's end -> its status, or nothing when the guest ended or hung before."""
        begun = time.monotonic()
        while True:
            alive = self.process.poll() is None
            status = self.read(f'{number}.status').strip()
            if not self.has_booted and (status or self.read('running')):
                begun, self.has_booted = time.monotonic(), True
            if status:
                return int(status)
            limit = seconds + END_SECONDS if self.has_booted else HANG_SECONDS
            is_late = time.monotonic() - begun > limit or (not self.has_booted and
                                                           self.processor_seconds() > BOOT_PROCESSOR_SECONDS)
            if not alive or is_late:
                return None
            time.sleep(0.05)

    def finish(self):
        """Waits until the guest is off -> whether it went by itself."""
        try:
            self.process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return bool(self.read('dmesg'))

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.plan, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
