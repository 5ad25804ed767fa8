#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# live_pack.sh: packs a cache again and again while Triton compiles into it.
# Each pack must succeed in full (what Triton has not committed yet is no
# error), and Triton must then find every packed entry elsewhere.
# Exit 77: PyPI cannot be reached.
. "$(dirname "$0")/lib.sh"

begin
use_triton 3.9.0

kernels=(--count 24 --targets "cuda:80,cuda:90")
live=$work/live
bundles=0
last=0

triton compile.py "$live" "${kernels[@]}" &
compiler=$!
while [ -z "$(find "$live" -name '__grp__*' 2>/dev/null)" ]; do
	kill -0 $compiler || fail "nothing was compiled"
	sleep 0.05
done
while kill -0 $compiler 2>/dev/null; do
	bundles=$((bundles + 1))
	run 0 "$kbundle" pack -q "$live" -o "$work/$bundles.kbundle.tar.zst"
	sleep 0.1
done
wait $compiler || fail "the compiler failed"
[ $bundles -ge 3 ] || fail "only $bundles bundles while Triton compiled"

# each is looked at whose number of entries is another
for n in $(seq $bundles); do
	root=$work/unpacked-$n
	run 0 "$kbundle" unpack -q "$work/$n.kbundle.tar.zst" "$root"
	entries=$(entries_of "$root")
	[ "$entries" -ge "$last" ] || fail "entries vanish: $entries, $last"
	[ "$entries" != "$last" ] || continue
	last=$entries
	triton hit.py "$root" "${kernels[@]}" --expect-hits "$entries" ||
		fail "bundle $n packs entries that Triton misses"
done
say "$bundles bundles while Triton compiled, up to $last entries"
