#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is not there: exit code 1, one sentence with its name, nothing made.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst

missing() { # NAME ARGUMENT...
	local name=$1
	shift
	run 1 "$@"
	is_empty "$stdout"
	has "$stderr" "^kbundle: .*$name"
	equal 'lines on standard error' "$(wc -l <"$stderr")" 1
}

missing no-such-root pack no-such-root -o out.tar.zst
missing no-such-root pack "$cache" no-such-root -o out.tar.zst
[ ! -e out.tar.zst ] || fail "an output was made"
missing no-such-folder pack "$cache" -o no-such-folder/out.tar.zst
missing no-such-bundle unpack no-such-bundle target
[ ! -e target ] || fail "a target was made"
missing no-such-bundle list no-such-bundle
missing no-such-bundle cat no-such-bundle triton/x/y
missing no-such-bundle verify no-such-bundle
missing no-such-thing inspect no-such-thing
missing no-such-root verify b.tar.zst no-such-root
missing "triton/$new/no-such-file" cat b.tar.zst "triton/$new/no-such-file"
missing no-such-spool pack --spool=no-such-spool -o - "$cache"

# the program tells what kind of error it was
run 1 pack no-such-root -o out.tar.zst --json
equal code "$(json "$stdout" .error.code)" NOTFOUND
equal exit "$(json "$stdout" .error.exit)" 1
