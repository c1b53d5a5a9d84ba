#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab: chroot
# lab: runtime
# lab: covers tests/lab/level_zero/**
# What the Level Zero program's options promise happens on Intel's real runtime: addresses, reloads, waiting, errors.
# shellcheck disable=SC2317 # "try" calls the functions
set -u
# shellcheck source=tests/lab/level_zero/checks.sh
. "$LAB_SOURCE/tests/lab/level_zero/checks.sh"

# in_heap BASE: every address is in the 4 GiB heap that begins there.
in_heap() {
  local address
  for address in $(rows module 6) $(rows kernel 6); do
    if ((address < $1 || address >= $1 + (1 << 32))); then
      echo "$address is not in the heap at $1"
      return 1
    fi
  done
  [[ -n $(rows kernel 6) ]]
}

# elf_agrees: addresses and sizes of kernels are those of the symbols that readelf finds in the loaded modules.
elf_agrees() {
  local module
  for module in transformer systolic; do
    diff <(readelf -sW "dump/$module.loaded-debug.elf" 2>/dev/null |
      awk '$4 == "FUNC" { print $8, "0x" substr($2, 5), $3 }' | sed 's/ 0x0*/ 0x/' | sort) \
      <(rows kernel 4 5 6 7 | awk -v module="$module" '$1 == module { print $2, $3, $4 }' | sort) || return
  done
}

# The range that the truth gives a module has all of its kernels, and nothing of the other module's.
modules_apart() {
  rows module 4 6 7 | while read -r module address size; do
    rows kernel 4 5 6 7 | while read -r of kernel start length; do
      if [[ $of == "$module" ]] && ((start < address || start + length > address + size)); then
        echo "$kernel is outside of $module"
      elif [[ $of != "$module" ]] && ((start >= address && start < address + size)); then
        echo "$kernel is in $module"
      fi
    done
  done | { ! grep .; }
}

# started VARIANT OPTION...: the program in the background, after it printed its process id, which is in $process.
started() {
  local variant=$1
  shift
  rm -f truth
  : >printed # what the program before said must not be taken for this one's
  "$source/run-without-gpu" bmg "$programs/launcher-$variant" --truth truth "$@" >printed 2>&1 &
  process=$!
  until grep -q '^pid' printed; do
    if ! kill -0 "$process"; then
      cat printed
      return 1
    fi
    sleep 0.05
  done
  equal "pid $process" "$(head -n 1 printed)"
}

mapped() {
  grep -q "$1" "/proc/$process/maps"
}

unmapped() {
  [[ -r /proc/$process/maps ]] && ! mapped "$1"
}

# refused STATUS TEXT COMMAND...: fails with that status and one line that has the text.
refused() {
  local status=0 wanted=$1 text=$2
  shift 2
  "$@" >refusal 2>&1 || status=$?
  grep -v '^pid ' refusal >line
  equal "$wanted 1" "$status $(wc -l <line)" && grep -F -- "$text" line
}

# framed VARIANT: how many of the functions that launch begin with a frame pointer, and how many of them there are.
framed() {
  objdump --disassemble --no-show-raw-insn "$programs/launcher-$1" | awk '
    /^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3); line = 0
      ours = name ~ /^(append|layer|attention|embedding|feed_forward)_|^forward$|^worker_run$/; functions += ours }
    ours && ++line <= 8 && /mov +%rsp,%rbp/ { frames++ }
    END { print frames + 0, functions }'
}

# The first thread made some turns, none of them before its time: at 0, 20, ... 300 ms.
rate_held() {
  local turns
  turns=$(rows launch 5 10 | awk '$1 == "launcher-fp" { print $2 }' | sort -u)
  ((turns >= 1 && turns <= 16))
}

differ() {
  [[ -s $1 && -s $2 ]] && ! cmp "$1" "$2"
}

options_explained() {
  equal "$(grep -cE '^\s+\{ "[a-z-]+", [A-Z]+,' "$source/options.c")" "$("$programs/launcher-fp" --help | grep -c '^  --')"
}

mkdir dump
for product in bmg:0x800000000000 lnl:0x800100000000; do
  heap=${product#*:} product=${product%:*}
  try "$product: runs" launcher fp "$product" --dump dump
  try "$product: code is in the heap at $heap" in_heap "$heap"
  try "$product: the loaded files have the same addresses and sizes" elf_agrees
  try "$product: a module's range has its kernels only" modules_apart
  rows kernel 4 5 6 >first
  try "$product: runs again" launcher nofp "$product"
  try "$product: addresses are the same in every process" diff first <(rows kernel 4 5 6)
done

try "lnl: modules are loaded four times" launcher fp lnl --reloads 3 --threads 2
# Not always each of them: the runtime frees memory on a thread of its own, when it gets to it.
try "lnl: and come back to where they were" grep -qx same <(rows reload 5)
try "bmg: modules are loaded often" launcher fp bmg --reloads 400 --formats native
try "bmg: an address is used again when the runtime's pool is full" grep -qx reused <(rows reload 5)
try "lnl: modules are created in the one order and in the other" launcher fp lnl --reloads 2 --alternate --formats native
try "lnl: and one module comes to where the other was" equal "$(rows module 4 3 6 | sed -n 's/^transformer\t1\t//p')" \
  "$(rows module 4 3 6 | sed -n 's/^systolic\t2\t//p')"
try "bmg: modules of earlier loads stay" launcher fp bmg --reloads 22 --keep --formats native
try "bmg: and each has an address of its own" equal 46 "$(rows module 6 | sort -u | wc -l)"
try "tells each step" launcher fp bmg --reloads 1 --steps --formats native
try "in its order" equal "loaded 0 launched 0 unloaded 0 loaded 1 launched 1 unloaded 1" \
  "$(sed -n 's/^step //p' printed | tr '\n' ' ' | sed 's/ $//')"

try "waits for a file" started fp --wait gate
try "the loader is there" mapped libze_loader
try "the driver is not" unmapped libze_intel_gpu
try "nothing was launched" equal "" "$(cat truth 2>/dev/null)"
touch gate
try "goes on when the file is there" wait "$process"
try "and launches" equal 10 "$(rows launch 1 | wc -l)"
try "the late variant waits for a signal" started late --wait-signal
try "without the loader" unmapped libze_loader
kill -USR1 "$process"
try "goes on after the signal" wait "$process"
try "and launches as well" equal 10 "$(rows launch 1 | wc -l)"

try "makes turns for a time at a rate" launcher fp bmg --duration 300 --rate 50 --threads 2
try "no more than the rate allows, and at least one" rate_held

try "with frame pointers every function begins with one" equal "20 20" "$(framed fp)"
try "without, none does" equal "0 20" "$(framed nofp)"

try "--help has every option" options_explained
try "an unknown option is refused" refused 2 "no option --nonsense" "$programs/launcher-fp" --nonsense
try "a number out of range is refused" refused 2 "--threads: 65" "$programs/launcher-fp" --threads 65
try "an unknown site is refused" refused 2 "no site nowhere" "$programs/launcher-fp" --sites nowhere=1
try "without a GPU and without the wrapper one line names call and result" refused 1 \
  "zeInit: GPUs: ZE_RESULT_ERROR_UNINITIALIZED" "$programs/launcher-fp" --formats spirv
try "what cannot be launched with a site's arguments is refused" refused 2 "no kernel tiny with the arguments" \
  "$programs/launcher-fp" --site-kernel tiny
try "a site that launches two kernels has no other" refused 2 "embedding_scale launches two kernels" \
  "$programs/launcher-fp" --site-kernel matmul_tile
try "a module that is not there is named" refused 1 "nowhere/transformer.spv: No such file" \
  "$source/run-without-gpu" bmg "$programs/launcher-fp" --modules nowhere
mkdir other
cp "$programs"/modules/*.bmg.bin other
echo "this is no module" >other/transformer.bmg.bin
try "what is no module is refused by the runtime" refused 1 \
  "zeModuleCreate: other/transformer.bmg.bin: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE" \
  "$source/run-without-gpu" bmg "$programs/launcher-fp" --formats native --modules other
for module in transformer systolic; do
  cp "$programs/modules/$module.pvc.nodebug.bin" "other/$module.bmg.bin"
done
try "another product's module is compiled again from the SPIR-V in it" \
  launcher fp bmg --formats native --modules other --dump other
try "so that it is another one then" differ other/transformer.bmg.bin other/transformer.native.bin
try "an unknown product is refused" refused 2 "no product xyz" "$source/run-without-gpu" xyz true
finish
