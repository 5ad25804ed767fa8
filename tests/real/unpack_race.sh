#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# unpack_race.sh [ROUNDS]: two unpacks of one bundle into one root at once,
# and an unpack while Triton compiles the same kernels into that root. All
# must succeed, leave no staging, and the cache must be complete.
# Exit 77: PyPI cannot be reached.
. "$(dirname "$0")/lib.sh"

rounds=${1:-50}
begin
use_triton 3.9.0

kernels=(--count 10 --targets "cuda:80,cuda:90")
bundle=$work/bundle.kbundle.tar.zst
root=$work/root

must_be_clean() {
	local staging
	staging=$(find "$root" -name 'tmp.*')
	[ -z "$staging" ] || fail "left behind: $staging"
}

triton compile.py "$work/old" "${kernels[@]}" --jobs 2
run 0 "$kbundle" pack -q "$work/old" -o "$bundle"
run 0 "$kbundle" unpack -q "$bundle" "$root"
mv "$root" "$work/expected"

for round in $(seq "$rounds"); do
	"$kbundle" unpack -q "$bundle" "$root" &
	first=$!
	"$kbundle" unpack -q "$bundle" "$root" &
	second=$!
	wait $first || fail "round $round: the first unpack gives $?"
	wait $second || fail "round $round: the second unpack gives $?"
	must_be_clean
	diff -r "$work/expected" "$root" || fail "round $round: not complete"
	rm -rf "$root"
done
say "$rounds rounds of two unpacks"

# from before Triton begins to after its first entries
for delay in 0 0.7 1.0 1.3 1.6 2.0; do
	triton compile.py "$root" "${kernels[@]}" &
	compiler=$!
	sleep $delay
	run 0 "$kbundle" unpack -q "$bundle" "$root"
	wait $compiler || fail "after $delay s: the compiler gives $?"
	must_be_clean
	triton hit.py "$root" "${kernels[@]}" || fail "after $delay s: misses"
	rm -rf "$root"
done
say "unpacked while Triton compiled the same"
