#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# inspect says what a bundle holds, and what pack would take from a directory.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst
id=$(sed -n '/^sha256:/p' "$stdout")

run 0 inspect b.tar.zst
is_empty "$stderr"
has "$stdout" "^$id\$"
has "$stdout" '^root triton: triton, token /opt/kbundle/triton$'
has "$stdout" '^\(no target\) +1 entry +1 file '
has "$stdout" '^cuda:sm_75 +2 entries +15 files '
has "$stdout" '^all +3 entries +16 files '

copy_cache mixed
mkdir "mixed/$(printf '%032x' 1)"
tree mixed >before
run 0 inspect mixed
is_empty "$stderr"
has "$stdout" "^root triton: triton, at $work/mixed\$"
has "$stdout" '^cuda:sm_75 +2 entries +15 files '
has "$stdout" '^all +3 entries +16 files '
has "$stdout" "^leftover: triton/$(printf '%032x' 1): ."
tree mixed | diff before - || fail "inspect changed something"

run 0 inspect --json mixed
equal 'entries named' "$(json "$stdout" '[.entries[].path] | sort | join(" ")')" \
	"$old $tune $new"
