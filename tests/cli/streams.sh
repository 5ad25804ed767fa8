#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# '-' is standard input and standard output, with identical bytes.
source "$(dirname "$0")/lib.sh"
begin

run 0 pack "$cache" -o file
run 0 pack "$cache" -o -
same_bytes "$stdout" file
has "$stderr" '^packed 3 entries'
run 0 pack -q "$cache" -o -
same_bytes "$stdout" file
is_empty "$stderr"
"$kbundle" pack -q "$cache" -o - | cat >piped
same_bytes piped file

for verb in list inspect verify; do
	run 0 "$verb" file
	cp "$stdout" expected
	run 0 "$verb" - <file
	same_bytes "$stdout" expected
	# a pipe, which cannot be read twice
	run_as 0 "$kbundle" "$verb" - < <(cat file)
	if [ "$verb" != verify ]; then # whose counts may know the size
		same_bytes "$stdout" expected
	fi
done

run 0 cat file "triton/$new/add_kernel.ptx"
same_bytes "$stdout" "$cache/$new/add_kernel.ptx"
run 0 cat - "triton/$new/add_kernel.ptx" < <(cat file)
same_bytes "$stdout" "$cache/$new/add_kernel.ptx"

run 0 unpack file place
tree place >expected
rm -r place
run 0 unpack - place < <(cat file)
tree place | diff expected - || fail "a pipe gave another tree"
rm -r place
"$kbundle" pack -q "$cache" -o - | "$kbundle" unpack -q - place
tree place | diff expected - || fail "a pipe gave another tree"

# a bundle never goes to a terminal
if command -v script >/dev/null; then
	script -qec "'$kbundle' pack '$cache' -o -" typescript >"$stdout" &&
		fail "wrote to a terminal"
	has "$stdout" 'is a terminal'
fi
