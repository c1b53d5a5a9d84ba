# SPDX-License-Identifier: Apache-2.0
"""The Linux kernels of the lab: Debian's packages, unpacked and never installed, and what builds modules for them."""
import dataclasses
import os
import shutil

from . import chroot, pieces


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What one of the lab's kernels is called, where it comes from, and who can build modules for it."""
    name: str
    suite: str
    builder: str  # 'machine': its headers are for the compiler of Debian 12; 'chroot': for that of sid; '': nobody
    base: str = ''  # the kernel whose packages these are, when it has them from another one
    processor: str = ''  # features that the guest's processor has besides

    def _make(self, folder):
        archive = pieces.Archive(self.suite)
        wanted = [package for package in archive.dependencies('linux-image-amd64') if package.startswith('linux-image-')]
        wanted += [package for package in archive.dependencies(wanted[0])
                   if package.startswith(('linux-base-', 'linux-binary-', 'linux-modules-'))]
        if self.builder == 'machine':
            headers = [name.replace('linux-image-', 'linux-headers-') for name in wanted[:1]]
            headers += [package for package in archive.dependencies(headers[0])
                        if package.startswith(('linux-headers-', 'linux-kbuild-'))]
            wanted += headers
        archive.unpack(wanted, folder)
        if not (folder / 'lib').exists():
            (folder / 'lib').symlink_to('usr/lib')
        version = version_in(folder)
        pieces.command('depmod', '-b', folder, version)
        # The headers name their other half by where a package would have installed it.
        for makefile in folder.glob('usr/src/linux-headers-*/Makefile'):
            text = makefile.read_text(encoding='utf-8')
            if text.startswith('include /usr/src/'):
                makefile.write_text(text.replace('/usr/src/', f'{pieces.cache_folder()}/{self.piece()}/usr/src/', 1),
                                    encoding='utf-8')

    def piece(self):
        return f'kernels/{self.base or self.name}'

    def folder(self):
        """The unpacked kernel, fetched when it is not there."""
        pieces.need_programs('apt-get=apt', 'dpkg=dpkg', 'depmod=kmod')
        return pieces.piece(self.piece(), f'linux-image-amd64 of {self.suite} in {pieces.cache_folder()}', self._make)

    def version(self):
        return version_in(self.folder())


KERNELS = {kernel.name: kernel for kernel in (
    Kernel('6.1', 'bookworm', ''),
    Kernel('6.12', 'bookworm-backports', 'machine'),
    Kernel('newest', 'sid', 'chroot'),
    # Page tables of five levels: programs can have addresses above 2^47.
    Kernel('newest-la57', 'sid', 'chroot', base='newest', processor=',+la57'),
)}
DEFAULT = ('6.12', 'newest', 'newest-la57')


def version_in(folder):
    versions = sorted(os.listdir(folder / 'lib/modules'))
    if len(versions) != 1:
        raise pieces.Missing(f'{folder}/lib/modules has {len(versions)} versions, not 1; delete {folder} and run again')
    return versions[0]


def image(folder):
    """The file that QEMU boots."""
    version = version_in(folder)
    for path in folder / 'lib/modules' / version / 'vmlinuz', folder / f'boot/vmlinuz-{version}':
        if path.exists():
            return path
    raise pieces.Missing(f'{folder}: no vmlinuz; delete the folder and run again')


def modules_folder(kernel, build):
    return build / 'tests/lab/doubles' / kernel.name


def build_module(kernel, source, build, double):
    """Builds a double for a kernel if its sources changed, and copies its module to modules_folder()."""
    if not kernel.builder:
        raise pieces.Missing(f'nothing builds modules for Linux {kernel.name} here')
    sources = source / 'tests/lab/doubles' / double

    def make(new):
        pieces.say(f'builds the double {double} for Linux {kernel.version()}')
        for path in sources.iterdir():
            if path.is_file():
                shutil.copyfile(path, new / path.name)
        arguments = [f'M={new}', f'-j{os.cpu_count()}', '--no-print-directory', 'modules']
        if kernel.builder == 'machine':
            pieces.need_programs('make=make', 'gcc-12=gcc-12', 'pahole=dwarves')
            headers = next(kernel.folder().glob(f'usr/src/linux-headers-{kernel.version()}'))
            pieces.build(pieces.command, 'make', '-C', headers, *arguments)
        else:
            pieces.build(chroot.command, ['make', '-C', f'/lib/modules/{kernel.version()}/build', *arguments], writable=[new])
    made = pieces.piece(f'doubles/{kernel.base or kernel.name}-{double}', f'{kernel.version()} {pieces.digest(sources)}\n', make)
    result = modules_folder(kernel, build)
    result.mkdir(parents=True, exist_ok=True)
    for module in made.glob('*.ko'):
        fresh = result / f'{module.name}.new'
        shutil.copyfile(module, fresh)
        fresh.rename(result / module.name)
