#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGINT and SIGTERM roll back: exit code 130 and 143, nothing published,
# nothing left.
source "$(dirname "$0")/lib.sh"
begin
copies cache 40
run 0 pack cache -o b.tar.zst
half=$(($(stat -c %s b.tar.zst) / 2))

catches() { # PID: has the program installed its handlers (2 and 15)?
	local mask
	mask=$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status" 2>/dev/null) || return
	(((0x${mask:-0} & 0x4002) == 0x4002))
}

interrupted() { # SIGNAL EXIT: while half of the bundle is still to come
	local code=0
	rm -rf target fifo
	mkfifo fifo
	env --default-signal=INT "$kbundle" unpack --json - target \
		<fifo >"$stdout" 2>"$stderr" &
	pid=$!
	exec 3>fifo
	head -c "$half" b.tar.zst >&3
	wait_until catches "$pid"
	kill -s "$1" "$pid"
	tail -c +$((half + 1)) b.tar.zst >&3 2>/dev/null || true
	exec 3>&-
	wait "$pid" || code=$?
	equal "exit code after SIG$1" "$code" "$2"
	equal 'code in the document' "$(json "$stdout" .error.code)" CANCELLED
	equal 'exit in the document' "$(json "$stdout" .error.exit)" "$2"
	has "$stderr" '^kbundle: '
	[ ! -e target ] || fail "something is left: $(find target | head -3)"
}
interrupted INT 130
interrupted TERM 143

# pack: stopped at once, signalled, continued; a try that came too late counts
# for nothing
copies cache 400
for try in $(seq 20); do
	code=0
	rm -f out.tar.zst
	env --default-signal=INT "$kbundle" pack cache -o out.tar.zst \
		>"$stdout" 2>"$stderr" &
	pid=$!
	wait_until catches "$pid"
	kill -s INT "$pid" 2>/dev/null || true
	wait "$pid" || code=$?
	[ "$code" != 0 ] || continue
	break
done
say "pack was interrupted at try $try"
equal 'exit code of pack' "$code" 130
equal 'what is left' "$(find . -maxdepth 1 -name '*out.tar.zst*' \
	-o -maxdepth 1 -name '.kbundle*' | wc -l)" 0
