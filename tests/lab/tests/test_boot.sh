#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.1 6.12 newest
# lab: short newest
# lab: covers core/main.c core/config/command_line.c
# The guest is what the lab promises: the kernel that was asked for, root, the project and its build in it.
set -eu
uname -r
case $LAB_KERNEL in
newest) [ "$(uname -r | cut -d. -f1)" -ge 7 ] ;;
*) [[ $(uname -r) == "$LAB_KERNEL".* ]] ;;
esac
test "$(id -u)" -eq 0
test -x "$LAB_BUILD/iaprof"
test -r /sys/kernel/btf/vmlinux
"$LAB_BUILD/iaprof" --version
cat /proc/uptime
