#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a scenario from a flat trace of intel_vpu's calls: lines "kprobe:intel_vpu:FUNCTION" in the order of entry.

    make_scenario.py TRACE > SCENARIO

A flat trace has no nesting, so each function gets the deepest open caller that CALLERS allows. Played once, the
scenario enters every function as often as the trace says, in its order.
"""
import sys

# Who calls whom: the sources of Linux 6.13 (file of drivers/accel/ivpu in the comment), with what the compiler put into
# its caller left out, checked against the call instructions of the module of Debian's Linux 7.2. Names without `ivpu_`.
CALLERS = '''
mmu_context_init: open                                          # ivpu_drv.c
hw_btrs_ratio_to_freq: get_param_ioctl
ms_cleanup: postclose
file_priv_put: postclose job_destroy
cmdq_release_all_locked bo_unbind_all_bos_from_context mmu_context_fini: file_priv_put
boot: resume
fw_boot_params_setup hw_boot_fw wait_for_ready hw_ip_irq_clear hw_irq_enable ipc_enable: boot
ipc_consumer_add: wait_for_ready
prepare_for_reset shutdown: pm_runtime_suspend_cb
hw_irq_disable ipc_disable: prepare_for_reset
mmu_disable: prepare_for_reset pm_runtime_suspend_cb
hw_power_down: shutdown
ipc_irq_thread_handler: irq_thread_handler
resume: pm_runtime_resume_cb                                    # ivpu_pm.c
jsm_pwr_d0i3_enter pm_prepare_warm_boot: pm_runtime_suspend_cb
hw_power_up mmu_enable: resume
hw_btrs_d0i3_disable hw_btrs_wp_drive hw_btrs_profiling_freq_reg_set_lnl: hw_power_up       # ivpu_hw.c
hw_btrs_ats_print_lnl: hw_power_up
hw_ip_host_ss_configure hw_ip_idle_gen_disable hw_btrs_wait_for_clock_res_own_ack: hw_power_up
hw_ip_pwr_domain_enable hw_ip_host_ss_axi_enable hw_btrs_set_port_arbitration_weights_lnl: hw_power_up
hw_ip_top_noc_enable: hw_power_up
hw_ip_read_perf_timer_counter hw_reset hw_btrs_d0i3_enable: hw_power_down
hw_btrs_is_idle: hw_power_down hw_irq_handler pm_runtime_suspend_cb
hw_btrs_ip_reset hw_btrs_wp_drive: hw_reset
hw_ip_snoop_disable hw_ip_tbu_mmu_enable hw_ip_soc_cpu_boot: hw_boot_fw
hw_ip_irq_enable hw_btrs_irq_enable: hw_irq_enable
hw_ip_irq_disable hw_btrs_irq_disable: hw_irq_disable
hw_btrs_global_int_disable hw_btrs_global_int_enable: hw_irq_handler
hw_btrs_irq_handler_lnl hw_ip_irq_handler_40xx: hw_irq_handler
ipc_irq_handler: wait_for_ready hw_ip_irq_handler_40xx          # ivpu_hw_ip.c
hw_ip_ipc_rx_count_get hw_ip_ipc_rx_addr_get: ipc_irq_handler   # ivpu_ipc.c
ipc_msg_dump jsm_msg_dump: ipc_irq_handler ipc_send
ipc_rx_msg_del: ipc_receive ipc_irq_thread_handler ipc_consumer_del
ipc_receive ipc_consumer_del: wait_for_ready ipc_send_receive_internal
ipc_send: ipc_send_receive_internal
hw_ip_ipc_tx_set: ipc_send
ipc_send_receive_internal: ipc_send_receive jsm_pwr_d0i3_enter
ipc_send_receive: jsm_register_db jsm_unregister_db             # ivpu_jsm_msg.c
hw_btrs_wait_for_idle: jsm_pwr_d0i3_enter
rpm_get: submit_ioctl ipc_send_receive
rpm_put: ipc_send_receive job_signal_and_destroy
job_done_callback: ipc_irq_thread_handler
file_priv_get bo_create_global jsm_register_db hw_ip_db_set: submit_ioctl   # ivpu_job.c
start_job_timeout_detection: submit_ioctl job_done_callback
job_signal_and_destroy: job_done_callback
job_destroy stop_job_timeout_detection: job_signal_and_destroy
cmdq_fini.isra.0: cmdq_release_all_locked
jsm_unregister_db bo_free: cmdq_fini.isra.0
gem_create_object: bo_create_ioctl bo_create                    # ivpu_gem.c
gem_bo_open: bo_create_ioctl
bo_alloc_vpu_addr: gem_bo_open bo_create
bo_create: bo_create_global
bo_pin: submit_ioctl bo_create
gem_bo_free: bo_free
bo_unbind_locked: gem_bo_free
mmu_context_insert_node: bo_alloc_vpu_addr
mmu_context_map_sgt: bo_pin
mmu_context_unmap_sgt mmu_context_remove_node: bo_unbind_locked
mmu_context_map_page mmu_cd_set: mmu_context_map_sgt            # ivpu_mmu_context.c
mmu_invalidate_tlb: mmu_context_map_sgt mmu_context_unmap_sgt
pgtable_alloc_page: mmu_context_map_page
pgtable_free_page mmu_cd_clear: mmu_context_fini
mmu_reg_write_cr0 mmu_reg_write_irq_ctrl: mmu_enable            # ivpu_mmu.c
mmu_cdtab_entry_set: mmu_cd_set mmu_cd_clear
mmu_cmdq_cmd_write: mmu_enable mmu_cmdq_sync mmu_cdtab_entry_set mmu_invalidate_tlb
mmu_cmdq_sync: mmu_enable mmu_cdtab_entry_set mmu_invalidate_tlb
'''
ROOTS = {'open': 'open', 'postclose': 'close', 'gem_bo_free': 'free', 'pm_runtime_suspend_cb': 'suspend',
         'get_param_ioctl': 'ioctl GET_PARAM', 'bo_create_ioctl': 'ioctl BO_CREATE', 'bo_info_ioctl': 'ioctl BO_INFO',
         'submit_ioctl': 'ioctl SUBMIT', 'bo_wait_ioctl': 'ioctl BO_WAIT'}
MESSAGES = {'jsm_register_db': 'REGISTER_DB', 'jsm_unregister_db': 'UNREGISTER_DB',
            'jsm_pwr_d0i3_enter': 'PWR_D0I3_ENTER'}
PAGE = 4096


class Node:
    """A function with what it calls, or a statement (is_call false)."""

    def __init__(self, name, is_call=True):
        self.name, self.is_call, self.children, self.times = name, is_call, [], 1

    def key(self):
        """Equal for equal trees."""
        return self.name, self.times, tuple(child.key() for child in self.children)


def callers_read():
    """Function -> its possible callers."""
    result = {}
    for line in CALLERS.strip().splitlines():
        functions, callers = line.split('#')[0].split(':')
        for function in functions.split():
            result.setdefault(function, set()).update(callers.split())
    return result


def trace_read(path):
    """The functions in order, without `ivpu_`."""
    result = []
    with open(path, encoding='ascii') as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith('Attaching'):
                continue
            if not line.startswith('kprobe:intel_vpu:ivpu_'):
                sys.exit(f'{path}:{number}: not "kprobe:intel_vpu:ivpu_FUNCTION"')
            result.append(line.removeprefix('kprobe:intel_vpu:ivpu_'))
    return result


def trees_build(functions):
    """(trees in order of their roots, threads by interrupt). What interrupts a function becomes a child of it."""
    callers, roots, stack, interrupt, interrupted = callers_read(), [], [], None, []
    for position, function in enumerate(functions):
        node = Node(function)
        if function in ('hw_irq_handler', 'pm_runtime_resume_cb') and stack:
            if function == 'hw_irq_handler':
                interrupt, interrupted = node, list(stack)
            stack[-1].children.append(node)
            stack.append(node)
            continue
        if function == 'irq_thread_handler' and interrupt:
            interrupt.thread = node
            stack = interrupted + [node]
            continue
        while stack and stack[-1].name not in callers.get(function, ()):
            if function in ROOTS and not any(open_node.name in callers.get(function, ()) for open_node in stack):
                stack = []
                break
            stack.pop()
        if stack:
            stack[-1].children.append(node)
        elif function in ROOTS:
            roots.append(node)
        else:
            sys.exit(f'call {position + 1}: ivpu_{function} has no open caller; is CALLERS complete?')
        stack.append(node)
    return roots


def compressed(children):
    """The same calls with runs of equal blocks of one to three put together."""
    result, i = [], 0
    keys = [child.key() for child in children]
    while i < len(children):
        for length in (1, 2, 3):
            times = 1
            while keys[i + times * length:i + (times + 1) * length] == keys[i:i + length]:
                times += 1
            if times > 1:
                break
        if times == 1:
            result.append(children[i])
            i += 1
            continue
        if length == 1:
            block = children[i]
        else:
            block = Node('repeat', False)
            block.children = children[i:i + length]
        block.times = times * (block.times if length == 1 else 1)
        result.append(block)
        i += times * length
    return result


class Writer:
    """The scenario's text."""

    def __init__(self):
        self.events, self.text, self.resumes, self.lines = {}, {}, [], []

    def event(self, node):
        """The name of an interrupt; equal ones are one event."""
        thread = getattr(node, 'thread', None)
        key = node.key(), thread.key() if thread else None
        if key not in self.events:
            name = 'job_done' if thread else f'reply{len(self.events)}'
            self.events[key] = name
            self.text[f'interrupt {name}'] = node
            if thread:
                self.text[f'thread {name}'] = thread
        return self.events[key]

    def prepare(self, node, message=None):
        """Statements for what is no call: interrupts, waking up, jobs and messages."""
        message = MESSAGES.get(node.name, message)
        for child in node.children:
            if child.name != 'hw_irq_handler':
                self.prepare(child, message)
        thread = getattr(node, 'thread', None)
        if thread:
            self.prepare(thread)
        result = []
        for child in node.children:
            if child.name == 'hw_irq_handler':
                self.prepare(child)
                result.append(Node(f'play {self.event(child)}', False))
            elif child.name == 'pm_runtime_resume_cb':
                self.text.setdefault(f'resume {len(self.text)}', child)
                result.append(Node('power', False))
            else:
                result.append(child)
        if node.name == 'job_signal_and_destroy':
            result.insert(0, Node('job done', False))
        elif node.name == 'job_done_callback':
            result.insert(0, Node('ipc receive callback', False))
        elif node.name == 'ipc_send' and message:
            result.append(Node(f'ipc send VPU_JSM_MSG_{message}', False))
        elif node.name == 'ipc_receive' and any(child.name == 'ipc_rx_msg_del' for child in result):
            result.insert(-1, Node(f'ipc receive VPU_JSM_MSG_{message}_DONE' if message else 'ipc receive boot', False))
        elif node.name.startswith('pm_runtime_'):
            what = 'runtime resume' if 'resume' in node.name else 'runtime suspend'
            result.insert(0, Node(f'pm {what}', False))
            result.append(Node(f'pm {what} done', False))
        elif node.name == 'submit_ioctl':
            result.append(Node('job submit', False))
        node.children = compressed(result)

    def tree(self, node, depth=1):
        """Lines of a tree."""
        times = f' x{node.times}' if node.times > 1 else ''
        if node.name == 'repeat':
            times = f' {node.times}'
        self.lines.append('    ' * depth + ('ivpu_' if node.is_call else '') + node.name + times)
        for child in node.children:
            self.tree(child, depth + 1)


def sizes_of(roots):
    """Bytes of the buffers of the submission, in its order: a page for each page that was mapped."""
    for root in roots:
        if root.name == 'submit_ioctl':
            pins = [child for child in root.children if child.name == 'bo_pin']
            return [max(1, sum(call.name == 'mmu_context_map_page' for child in pin.children
                               for call in child.children)) * PAGE for pin in pins]
    return []


def process_write(roots):
    """What the process did: its calls in their order. Files close in the order in which they were opened."""
    lines, sizes, files, opened, buffers, alive = ['process inference'], sizes_of(roots), [], 0, 0, []
    for root in roots:
        match root.name:
            case 'open':
                files.append(f'file{opened}')
                opened += 1
                lines.append(f'open file {files[-1]}')
            case 'postclose':
                lines.append(f'close file {files.pop(0)}')
            case 'get_param_ioctl':
                parameter = 'CORE_CLOCK_RATE' if root.children else 'DEVICE_ID'
                lines.append(f'get_param {parameter} file {files[-1]}')
            case 'bo_create_ioctl':
                size = sizes[buffers] if buffers < len(sizes) else PAGE
                alive.append(f'buffer{buffers}')
                lines.append(f'bo_create buffer{buffers} {size} file {files[-1]}')
                buffers += 1
            case 'bo_info_ioctl':
                lines.append(f'bo_info buffer{buffers - 1} file {files[-1]}')
            case 'submit_ioctl':
                lines.append(f'submit {" ".join(alive)} file {files[-1]}')
            case 'bo_wait_ioctl':
                lines.append(f'wait {alive[0]} status 0 file {files[-1]}')
            case 'gem_bo_free':
                lines.append(f'bo_destroy {alive.pop(0)} file {files[-1]}')
    return [lines[0], *('    ' + line for line in lines[1:])]


def main():
    """The scenario on standard output."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    roots = trees_build(trace_read(sys.argv[1]))
    process = process_write(roots)
    writer = Writer()
    for root in roots:
        writer.prepare(root)
    writer.lines += ['# Made by make_scenario.py from a trace.', 'generation 6.13', 'set autosuspend_ms 3000', '']
    runs = []
    for root in roots:
        same = next((run for run in reversed(runs) if ROOTS[run[0].name] == ROOTS[root.name]), None)
        if same and same[0].key() == root.key():
            same[1] += 1
        else:
            runs.append([root, 1])
    for root, times in runs:
        writer.lines.append(ROOTS[root.name] + (f' times {times}' if times > 1 else ''))
        writer.tree(root)
    for name, tree in writer.text.items():
        writer.lines.append('resume' if name.startswith('resume') else name)
        writer.tree(tree)
    print('\n'.join([*writer.lines, '', *process]))


if __name__ == '__main__':
    main()
