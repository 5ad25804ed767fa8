#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A bundle that is not sound: exit code 3, one sentence, nothing published.
source "$(dirname "$0")/lib.sh"
begin
copies cache 4
run 0 pack cache -o good --frame-size=64K
size=$(stat -c %s good)

refused() { # FILE
	local verb name
	for verb in unpack verify; do
		for name in "$1" -; do
			set -- "$1" "$verb" "$name"
			[ "$verb" = verify ] || set -- "$@" target
			run 3 "${@:2}" <"$1"
			is_empty "$stdout"
			has "$stderr" '^kbundle: .'
			equal "$1: lines on standard error" \
				"$(wc -l <"$stderr")" 1
		done
	done
	[ ! -e target ] || fail "$1: something was published"
	run 3 verify --json "$1"
	equal 'exit in the document' "$(json "$stdout" .error.exit)" 3
}

printf 'not a bundle' >bundle.letter
refused bundle.letter
: >bundle.empty
refused bundle.empty
tar --zstd -C "$cache" -cf bundle.foreign .
refused bundle.foreign
for keep in 3 100 $((size / 2)) $((size - 1)); do
	head -c "$keep" good >bundle.cut
	refused bundle.cut
done
{ cat good && printf x; } >bundle.extended
refused bundle.extended
cat good good >bundle.twice
refused bundle.twice
for at in 0 5 $((size / 3)) $((size / 2)) $((size - 30)) $((size - 2)); do
	python3 - good bundle.flipped "$at" <<'EOF'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[3])] ^= 0x41
open(sys.argv[2], "wb").write(data)
EOF
	refused bundle.flipped
done

# the wrong bundle
wrong=sha256:$(printf '%064d' 0)
run 3 unpack good target --expect="$wrong"
[ ! -e target ] || fail "something was published"
run 3 verify good --expect="$wrong"
has "$stderr" "^kbundle: .*$wrong"
run 3 unpack good target --expect="$wrong" --json
equal code "$(json "$stdout" .error.code)" DIGEST

# a limit
run 3 unpack good target --limit-entries=3
has "$stderr" '^kbundle: .*limit'
run 3 unpack good target --limit-file=100
run 3 unpack good target --limit-total=1K
[ ! -e target ] || fail "something was published"
run 0 unpack good target --limit-entries=4
