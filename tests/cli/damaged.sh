#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Damaged entries beside good ones: exit code 5, each named with its reason on
# standard error; the good ones are in the bundle.
source "$(dirname "$0")/lib.sh"
begin

copy_cache mixed
truncate -s 100 "mixed/$new/add_kernel.cubin"
run 5 pack mixed -o b.tar.zst
has "$stderr" "^kbundle: damaged: triton/$new/add_kernel.cubin: ."
equal 'lines on standard error' "$(wc -l <"$stderr")" 1
has "$stdout" '^packed 2 entries'
has "$stdout" '1 damaged'

run 0 list b.tar.zst
has "$stdout" " triton/$old\$"
has "$stdout" " triton/$tune\$"
has_not "$stdout" "$new"
run 0 verify b.tar.zst

run 0 pack mixed -o c.tar.zst --accept=partial
has "$stderr" "^kbundle: damaged: triton/$new/"
same_bytes b.tar.zst c.tar.zst
run 5 pack mixed -o c.tar.zst --accept=none

run 5 inspect mixed
has "$stderr" "^kbundle: damaged: triton/$new/"
run 0 inspect mixed --accept partial,none

# damaged ones alone: nothing, which outranks
rm -r "mixed/$old" "mixed/$tune"
run 4 pack mixed -o d.tar.zst
has "$stderr" "^kbundle: damaged: triton/$new/"
[ ! -e d.tar.zst ] || fail "an output was made"

# a name of any bytes is shown so that it cannot write to a terminal
copy_cache strange
mv "strange/$new/add_kernel.ttir" "strange/$new/"$'add\e[31m\nkernel'
run 5 pack strange -o e.tar.zst
has_not "$stderr" $'\e'
equal 'lines on standard error' "$(wc -l <"$stderr")" 1
run 5 pack strange -o e.tar.zst --json
json "$stdout" .status >/dev/null
