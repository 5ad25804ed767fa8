#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -q silences counts but never the names of what is damaged; -v names leftovers.
source "$(dirname "$0")/lib.sh"
begin

copy_cache mixed
truncate -s 100 "mixed/$new/add_kernel.cubin"
mkdir "mixed/$(printf '%032x' 1)"

run 5 pack mixed -o b.tar.zst
has "$stdout" '1 left over'
has_not "$stdout" '^leftover: '
for quiet in -q --quiet; do
	run 5 pack "$quiet" mixed -o b.tar.zst
	is_empty "$stdout"
	has "$stderr" "^kbundle: damaged: triton/$new/"
done
for verbose in -v --verbose; do
	run 5 pack "$verbose" mixed -o b.tar.zst
	has "$stdout" "^leftover: triton/$(printf '%032x' 1): ."
	has "$stderr" "^kbundle: damaged: triton/$new/"
done

run 0 unpack -q b.tar.zst target
is_empty "$stdout"
is_empty "$stderr"
run 0 verify -q b.tar.zst target
is_empty "$stdout"
is_empty "$stderr"
echo x >>"target/$old/add_kernel.ptx"
run 5 verify -q b.tar.zst target
is_empty "$stdout"
has "$stderr" "^kbundle: drifted: triton/$old"

# inspect names leftovers anyway
run 5 inspect mixed
has "$stdout" '^leftover: triton/'
run 5 inspect -v mixed
has "$stdout" " triton/$old\$"
run 5 inspect -q mixed
is_empty "$stdout"
has "$stderr" "^kbundle: damaged: triton/$new/"
