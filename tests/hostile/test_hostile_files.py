#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that lead iaprof to files which are not theirs, which do not answer, or which are very large: debug files,
perf maps, a FUSE file system, and the build id of somebody else's program."""
import os

import attack
import attacks
from harness import Skip, case, main, write


@case('debug-file-kmsg', needs=[*attack.needs(), attack.needs_tracing])
def debug_file_kmsg():
    with attack.Programs() as programs:
        os.symlink('/proc/kmsg', os.path.join(attack.attack_folder(), 'kmsg-link'))
        programs.start(attacks.image_with_debug_link('debug-file-kmsg', 'kmsg-link'))
        run = attack.attacked(programs, **attack.TRACED_END,
                              refused=[('debug-file-kmsg', 'kmsg-link', '/proc/kmsg')], wrap=attack.TRACED)
        run.requires('/proc/kmsg' not in attack.traced_opens(), '/proc/kmsg was opened').judge()


def generated_frames():
    return {frames[-1] for frames, _ in attack.folded('profile') if frames[0] == attacks.GENERATED_NAME}


@case('perf-map-bind', needs=attack.needs())
def perf_map_bind():
    secret = os.path.abspath(write('secret', f'{attacks.GENERATED_ADDRESS:x} 1000 secret_of_root\n', 0o600))
    binary = attacks.generated_program()
    script = f': > /tmp/perf-$$.map && mount --bind {secret} /tmp/perf-$$.map && exec {binary}'
    with attack.Programs() as programs:
        command = ['unshare', '--map-root-user', '--mount', '--user', 'sh', '-c', script]
        try:
            process = programs.start(*command, ready=True)
        except Skip:
            # Without user namespaces the mount needs root; the program is the user's all the same.
            command[1:4] = ['--mount']
            user = f'exec setpriv --reuid {attack.USER} --regid {attack.USER} --clear-groups '
            command[-1] = script.replace('exec ', user)
            process = programs.start(*command, user=0, ready=True)
        path = attacks.perf_map_path(programs, process.pid)
        attacks.generated_begin(process)
        run = attack.attacked(programs, refused=[path])
        with open('profile', 'rb') as file:
            run.requires(b'secret_of_root' not in file.read(), "a line of root's file is in the profile")
        run.requires('secret_of_root' not in run.err, "a line of root's file is in a message")
        run.requires(run.killed or generated_frames(), 'the program was not sampled').judge()


@case('perf-map-57m', 1, needs=attack.needs())
@case('perf-map-links', 4, needs=attack.needs())
def perf_maps(count):
    with attack.Programs() as programs:
        paths = attacks.perf_map_attackers(programs, count)
        run = attack.attacked(programs)
        # A map may be read, when that fits into what a run may use, or refused; it may not be passed over in silence.
        if not run.killed and generated_frames() != {'generated_loop_[j]'}:
            run.names(*paths)
        run.judge()


def program_with_build_id_of_truth(name):
    """The program of known truth, its build id included, with other names for its functions and sources."""
    path = os.path.join(attack.attack_folder(), name)
    with open(attack.TRUTH, 'rb') as file:
        write(path, file.read().replace(b'truth_', b'wrong_').replace(b'truth.c', b'wrong.c'), 0o755)
    return attack.give(path)


def are_sampled(pids):
    return all(attack.cpu_time(pid) > attack.SAMPLED_TIME for pid in pids)


@case('build-id-of-another', True, needs=attack.needs())
@case('build-id-of-another: it runs first', False, needs=attack.needs())
def build_id_of_another(stays):
    """All of them begin during the run, because the Linux kernel reports the build ids of new mappings."""
    with attack.Programs() as programs:
        paths = [program_with_build_id_of_truth(f'other-{number}') for number in range(3)]
        started, truth = [], []

        def follow(recorded, _):
            if recorded > 0.4 and not started:
                started.extend(programs.start(path, ready=True) for path in paths)
            if started and not truth and are_sampled(process.pid for process in started):
                for process in [] if stays else started:
                    programs.kill(process)
                truth.extend(attack.start_truth(programs))
        run = attack.Run(*attack.PROFILE, signal_at=1, programs=programs, during=follow,
                         until=lambda: truth and are_sampled(truth))
        run.requires(run.killed or any(frames[0].startswith('other-') for frames, _ in attack.folded('profile')),
                     'the other program was not sampled')
        run.completes(chain='(truth|wrong)_').judge()


@case('fuse-silent', needs=[*attack.needs(), attacks.needs_fuse])
def fuse_silent():
    with attack.Programs() as programs:
        path = attacks.start_silent_program(programs)
        attack.attacked(programs, refused=[os.path.basename(path)]).judge()


if __name__ == '__main__':
    main()
