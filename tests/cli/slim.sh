#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --slim keeps what a hit needs, the same at pack and at unpack; entries of
# Triton 2.1 stay whole.
source "$(dirname "$0")/lib.sh"
begin

files() { # DIR
	find "$1" -type f -printf '%f\n' | sort | tr '\n' ' '
}
kept='__grp__add_kernel.json add_kernel.cubin add_kernel.json '

run 0 pack "$cache" -o full.tar.zst
run 0 pack --slim "$cache" -o slim.tar.zst
[ "$(stat -c %s slim.tar.zst)" -lt "$(stat -c %s full.tar.zst)" ] ||
	fail "slim is not smaller"

run 0 unpack slim.tar.zst a
run 0 unpack --slim full.tar.zst b
equal 'slimmed at pack' "$(files "a/$new")" "$kept"
equal 'slimmed at unpack' "$(files "b/$new")" "$kept"
equal 'the 2.1 entry' "$(files "a/$old")" "$(files "$cache/$old")"
python3 - a/"$new" <<'EOF'
import json, os, sys
group = json.load(open(os.path.join(sys.argv[1], "__grp__add_kernel.json")))
assert list(group) == ["child_paths"], group
assert list(group["child_paths"]) == ["add_kernel.cubin", "add_kernel.json"]
EOF
run 0 pack --slim b -o again.tar.zst
same_bytes slim.tar.zst again.tar.zst
run 0 pack a -o again.tar.zst
same_bytes slim.tar.zst again.tar.zst
