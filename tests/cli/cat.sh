#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cat writes the stored bytes; with --root, what unpack would write.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst
mkdir plain
tar --zstd -xf b.tar.zst -C plain

(cd plain && find triton -type f | sort) >members
while read -r member; do
	run 0 cat b.tar.zst "$member"
	same_bytes "$stdout" "plain/$member"
	is_empty "$stderr"
done <members

group=triton/$new/__grp__add_kernel.json
run 0 cat b.tar.zst "$group"
has "$stdout" "\"/opt/kbundle/triton/$new/add_kernel.cubin\""

# several, one after another, in the order that was asked for
run 0 cat b.tar.zst "$group" "triton/$old/add_kernel.ptx" "$group"
cat "plain/$group" "plain/triton/$old/add_kernel.ptx" "plain/$group" >expected
same_bytes "$stdout" expected

# --root, which is made absolute
run 0 unpack b.tar.zst 'a place'
run 0 cat --root='a place' b.tar.zst "$group"
same_bytes "$stdout" "a place/$new/__grp__add_kernel.json"
run 0 cat --root="$work/./a place/" b.tar.zst "$group" "triton/$new/add_kernel.cubin"
cat "a place/$new/__grp__add_kernel.json" "$cache/$new/add_kernel.cubin" >expected
same_bytes "$stdout" expected

for member in triton "triton/$new" "/$group" "$group/" "../$group" "$group.x"; do
	run 1 cat b.tar.zst "$member"
	is_empty "$stdout"
	has "$stderr" '^kbundle: '
done
