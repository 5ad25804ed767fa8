#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --as, --expect, --sync, --validate, --publish and --threads.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst
id=$(sed -n '/^sha256:/p' "$stdout")

run 0 unpack b.tar.zst at --as=/mnt/cache
has "at/$new/__grp__add_kernel.json" "\"/mnt/cache/$new/add_kernel.cubin\""
run 0 pack at -o again.tar.zst
same_bytes b.tar.zst again.tar.zst
run 0 unpack b.tar.zst at2 --as=relative/./path/
has "at2/$new/__grp__add_kernel.json" \
	"\"$work/relative/path/$new/add_kernel.cubin\""
[ ! -e relative ] || fail "the path of --as was made"

run 0 unpack b.tar.zst expected --expect="$id"
run 2 unpack b.tar.zst x --expect=sha256:12
run 2 unpack b.tar.zst x --expect="md5:${id#sha256:}"
run 2 unpack b.tar.zst x --publish=entry
[ ! -e x ] || fail "a target was made"
tree expected >plain

n=0
for options in "--publish=entry --expect=$id" --publish=all --sync=default \
	--sync=file --sync=none --validate=structure --validate=none \
	--threads=1 --threads=3; do
	rm -rf expected
	# shellcheck disable=SC2086 # split on purpose
	run 0 unpack b.tar.zst expected $options
	tree expected | diff plain - || fail "another tree with $options"
	n=$((n + 1))
done
say "$n sets of options gave the same tree"

# the number of threads never changes a bundle
for threads in 1 2 5 64; do
	run 0 pack "$cache" --threads="$threads" -o threads.tar.zst
	same_bytes b.tar.zst threads.tar.zst
done
