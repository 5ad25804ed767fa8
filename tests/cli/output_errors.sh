#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A result that cannot be written is an error: a full device, a reader that
# left, a closed descriptor.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst

member=triton/$new/add_kernel.ptx
for arguments in 'list b.tar.zst' 'inspect b.tar.zst' 'verify b.tar.zst' \
	'list --json b.tar.zst' "cat b.tar.zst $member" "pack $cache -o -"; do
	code=0
	# shellcheck disable=SC2086 # split on purpose
	"$kbundle" $arguments >/dev/full 2>"$stderr" || code=$?
	equal "exit code of '$arguments' with a full device" "$code" 1
	has "$stderr" '^kbundle: .*No space left on device'
	code=0
	# shellcheck disable=SC2086 # split on purpose
	"$kbundle" $arguments >&- 2>"$stderr" || code=$?
	equal "exit code of '$arguments' without standard output" "$code" 1
	has "$stderr" '^kbundle: .*Bad file descriptor'
done

# a reader that left: an error, and not the end of the program by a signal
copies many 400
run 0 pack many -o many.tar.zst
for arguments in 'list -v many.tar.zst' 'list --json many.tar.zst'; do
	# shellcheck disable=SC2086 # split on purpose
	{ "$kbundle" $arguments 2>"$stderr" || echo $? >code; } |
		head -c 1 >/dev/null
	equal "exit code of '$arguments' for a reader that left" \
		"$(cat code)" 1
	has "$stderr" 'Broken pipe'
	rm code
done

# a file that is opened never takes the place of a closed stream
"$kbundle" pack "$cache" -o c.tar.zst <&- >&- 2>&- || true
run 0 verify b.tar.zst
"$kbundle" unpack b.tar.zst target <&- >&- 2>&- || true
run 0 verify b.tar.zst target
