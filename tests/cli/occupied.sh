#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What stands in an entry's place is never touched: exit code 5, each place
# named, the others published.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst

mkdir target elsewhere
echo mine >"target/$old"
ln -s "$work/elsewhere" "target/$new"
run 5 unpack b.tar.zst target
has "$stderr" "^kbundle: occupied: triton/$old: ."
has "$stderr" "^kbundle: occupied: triton/$new: ."
has "$stdout" '^unpacked 1 entry'
has "$stdout" '2 place occupied'
equal 'the file' "$(cat "target/$old")" mine
[ -L "target/$new" ] || fail "the link is gone"
equal 'files behind the link' "$(find elsewhere -mindepth 1 | wc -l)" 0
[ -e "target/$tune" ] || fail "the third was not published"
equal 'staging left' "$(find target -name 'tmp.*' | wc -l)" 0

run 5 unpack -q b.tar.zst target
has "$stderr" "^kbundle: occupied: triton/$old"
run 0 unpack b.tar.zst target --accept=partial

# an empty directory is no obstacle
rm "target/$old"
mkdir "target/$old"
run 5 unpack b.tar.zst target
has "$stdout" '^unpacked 1 entry'
