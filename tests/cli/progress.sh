#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Progress is drawn on a terminal only, and erased; -q has none.
source "$(dirname "$0")/lib.sh"
begin
command -v script >/dev/null || skip "no script(1) to make a terminal"
copies cache 300
export TERM=xterm
line=$'\r[a-z]+: .*\033\\[K'

on_terminal() { # ARGUMENT...: standard error is the terminal
	script -qec "$(printf '%q ' "$kbundle" "$@") 2>&1 >out" /dev/null >"$stdout"
}

on_terminal pack cache -o b.tar.zst
grep -qE "$line" "$stdout" || fail "no progress on a terminal"
# the last thing said to the terminal erases the line
equal 'the end' "$(tail -c 4 "$stdout" | od -An -tx1 | tr -d ' ')" 0d1b5b4b

on_terminal pack -q cache -o b.tar.zst
is_empty "$stdout"
TERM=dumb on_terminal pack cache -o b.tar.zst
is_empty "$stdout"
run 0 pack cache -o b.tar.zst
is_empty "$stderr"
