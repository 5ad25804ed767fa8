#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# verify BUNDLE DIR names what differs and what is missing (exit code 5), and
# counts what the bundle lacks.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst

fresh() {
	rm -rf live
	run 0 unpack b.tar.zst live
}

drifted() { # KEY: exactly one line, which names it
	run 5 verify b.tar.zst live
	has "$stderr" "^kbundle: drifted: triton/$1"
	equal 'lines on standard error' "$(wc -l <"$stderr")" 1
	has "$stdout" '1 drifted'
	run 5 verify b.tar.zst live --json
	equal drifted "$(json "$stdout" .counts.drifted)" 1
	run 0 verify b.tar.zst live --accept=partial
	run 5 verify - live <b.tar.zst
	has "$stderr" "^kbundle: drifted: triton/$1"
}

fresh
tree live >before
run 0 verify b.tar.zst live
tree live | diff before - || fail "verify changed something"

printf X | dd of="live/$new/add_kernel.cubin" bs=1 seek=2000 conv=notrunc \
	status=none
drifted "$new"
fresh
rm "live/$old/add_kernel.ptx"
drifted "$old"
fresh
echo 1 >"live/$new/more.txt"
drifted "$new"
fresh
sed -i 's/num_warps": 1/num_warps": 2/' "live/$old/add_kernel.json"
drifted "$old"

fresh
rm -r "live/$new"
run 5 verify b.tar.zst live
has "$stderr" "^kbundle: missing: triton/$new"
run 5 verify b.tar.zst live --json
equal missing "$(json "$stdout" .counts.missing)" 1

fresh
cp -r "live/$old" "live/$(printf '%032x' 7)"
run 0 verify b.tar.zst live
has "$stdout" '1 not in the bundle'
run 0 verify b.tar.zst live --json
equal extra "$(json "$stdout" .counts.extra)" 1
