#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What bootstrap would install on other distributions: package managers, meson and ninja are stand-ins that write down
# how they were called. usage: test_bootstrap.sh BOOTSTRAP
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
cp "$1" "$folder/bootstrap"
calls=$folder/calls
# shellcheck source=tests/tap.sh
. "${0%/*}/../tap.sh"

# stand_in NAME BODY: a command of that name; BODY is shell, $calls is where it notes what it does.
stand_in() {
  printf '#!/bin/sh\ncalls=%s\n%s\n' "$calls" "$2" >"$folder/bin/$1"
  chmod +x "$folder/bin/$1"
}

# shellcheck disable=SC2016 # expanded by the stand-in
note='echo "${0##*/} $*" >>"$calls"'
for command in apt-get dnf pacman meson ninja npm; do
  stand_in "$command" "$note"
done
stand_in dpkg-query 'exit 1'
stand_in rpm 'exit 1'
# shellcheck disable=SC2016
stand_in pacman '[ "$1" != -T ] || exit 127
'"$note"
# shellcheck disable=SC2016
stand_in apt-cache 'case $2 in bpftool | linux-tools-generic) echo "  Candidate: (none)" ;; *) echo "  Candidate: 1" ;; esac'
stand_in uname 'echo 6.99-test'
stand_in sudo 'exit 1'

# bootstrap USER-ID DISTRIBUTION COMMAND: runs it there; the output is in $folder/output.
bootstrap() {
  stand_in id "echo $1"
  echo "ID=$2" >"$folder/os-release"
  : >"$calls"
  rm -rf "$folder/build"
  (cd "$folder" && OS_RELEASE="$folder/os-release" PATH="$folder/bin:/usr/bin:/bin" sh ./bootstrap "$3") \
    >"$folder/output" 2>&1 </dev/null
}

verdict() {
  result "$1" "$2" "$folder/output" "$calls"
}

called() {
  grep -q -- "$1" "$calls"
}

bootstrap 0 fedora build && ! called '^npm' && called '^dnf install -y .*\belfutils-devel\b.*\bbpftool\b' &&
  called '^ninja -C build'
verdict $? "Fedora: dnf installs, then it is built"
bootstrap 0 fedora test
called '^dnf install -y .*\bcheck-devel\b.*\bvalgrind\b.*\bperf\b'
verdict $? "Fedora: the tests need more packages"
called '^npm install --prefix build/npm .*\bspeedscope@1\b' && called '^meson test'
verdict $? "npm installs speedscope into the build folder, for the tests"
stand_in npm 'exit 1'
bootstrap 0 fedora test
grep -q 'npm cannot install speedscope' "$folder/output" && called '^meson test'
verdict $? "the tests run without speedscope if npm fails"
bootstrap 0 arch build && called '^pacman -S --needed --noconfirm .*\blibelf\b.*\bbpf\b'
verdict $? "Arch: pacman installs"
bootstrap 0 debian build && called 'apt-get install .*\blibdw-dev\b'
verdict $? "Debian: apt-get installs"
bootstrap 0 ubuntu build && called 'apt-get install .*\blinux-tools-6.99-test\b' && ! called ' bpftool\b'
verdict $? "Ubuntu: bpftool comes from the package named after the kernel"
bootstrap 1000 debian build
[ $? -eq 1 ] && ! called apt-get && grep -q 'root required.*apt-get' "$folder/output"
verdict $? "without root and sudo it prints the command to run as root, and stops"
stand_in apt-cache 'exit 0'
bootstrap 0 debian build
called '^apt-get update'
verdict $? "package lists are read when there are none"
stand_in dpkg-query 'printf installed'
bootstrap 1000 debian build && ! called apt-get && called '^meson setup build'
verdict $? "nothing is installed, and root not asked for, when all is there"
bootstrap 1000 slackware build && grep -q 'unknown distribution' "$folder/output" && called '^ninja'
verdict $? "on another distribution it names the libraries and builds"
bootstrap 0 debian nonsense
[ $? -eq 2 ] && grep -q '^usage' "$folder/output"
verdict $? "an unknown command is wrong usage"
finish
