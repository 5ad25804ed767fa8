#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nothing to pack or unpack: exit code 4, no output, and why.
source "$(dirname "$0")/lib.sh"
begin

mkdir empty leftovers
mkdir "leftovers/$old" # the framework made it and wrote nothing
for cache_dir in empty leftovers; do
	run 4 pack "$cache_dir" -o out.tar.zst
	has "$stderr" '^kbundle: '
	[ ! -e out.tar.zst ] || fail "$cache_dir: an output was made"
	run 4 pack "$cache_dir" -o -
	is_empty "$stdout"
	run 0 pack "$cache_dir" -o out.tar.zst --accept=none
	[ ! -e out.tar.zst ] || fail "$cache_dir: an output was made"
	run 4 pack "$cache_dir" -o out.tar.zst --accept=partial
done

run 4 pack leftovers -o out.tar.zst --json
equal status "$(json "$stdout" .status)" empty
equal leftovers "$(json "$stdout" .counts.leftover)" 1
equal id "$(json "$stdout" .id)" null

# nothing that was asked for
run 4 pack "$cache" --name='no_such_*' -o out.tar.zst
[ ! -e out.tar.zst ] || fail "an output was made"
run 4 pack "$cache" --name='no_such_*' -o out.tar.zst --json
equal unselected "$(json "$stdout" .counts.unselected)" 3

run 0 pack "$cache" -o b.tar.zst
run 4 unpack b.tar.zst target --key=no-such-key
run 4 unpack b.tar.zst target --key=no-such-key --json
equal status "$(json "$stdout" .status)" empty
[ ! -e target ] || fail "a target was made"
run 0 unpack b.tar.zst target --key=no-such-key --accept=none,partial
