#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# real_triton.sh VERSION: that Triton, from PyPI, compiles kernels into a
# cache; the cache is packed, removed, and unpacked elsewhere; and Triton,
# which may neither compile nor write, must find every kernel there. Moved by
# cp instead, it must find none.
# Exit 77: PyPI cannot be reached, or no mount namespace can be had.
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || { echo "usage: $0 TRITON_VERSION" >&2; exit 2; }
version=$1
begin
use_triton "$version"

targets=cuda:75,cuda:80,cuda:90
autotune=()
case $version in
3.[0-3].*) ;;
3.[4-8].*) targets+=,cuda:100 autotune=(--autotune) ;;
*) targets+=,cuda:100,hip:gfx942 autotune=(--autotune) ;;
esac
kernels=(--count 10 --targets "$targets")
everything=("${kernels[@]}" "${autotune[@]}")

old=$work/old/cache
new="$work/a space, a ' and a \", grün и 核/cache"
full=$work/full.kbundle.tar.zst
slim=$work/slim.kbundle.tar.zst

# must_hit ROOT: Triton finds everything there
must_hit() {
	triton hit.py "$1" "${everything[@]}" || fail "Triton misses in $1"
}

# must_be_slim ROOT: of each kernel no more than group, metadata and binary
must_be_slim() {
	local extra
	extra=$(find "$1" -type f ! -name '*.json' ! -name '*.cubin' \
		! -name '*.hsaco')
	[ -z "$extra" ] || fail "not slim: $extra"
	[ -n "$(find "$1" -name '*.cubin')" ] || fail "no cubin in $1"
}

say "Triton $version compiles"
triton compile.py "$old" "${everything[@]}" --jobs 2
must_hit "$old"

run 0 "$kbundle" pack -q "$old" -o "$full"
run 0 "$kbundle" pack -q --slim "$old" -o "$slim"
cp -a "$old" "$work/copied"
entries=$(entries_of "$old")
rm -rf "$work/old"

# The same tree, script and traps, moved by cp: an autotune result holds no
# path, so that the control asks for the kernels alone.
control=$(triton hit.py "$work/copied" "${kernels[@]}" --expect-hits 0) ||
	fail "moved by cp: $control"
say "control: $control"

say "packed, unpacked elsewhere"
run 0 "$kbundle" unpack -q "$full" "$new"
must_hit "$new"
[ "$(entries_of "$new")" = "$entries" ] || fail "not $entries entries"
run 0 "$kbundle" verify -q "$full" "$new"

say "the copied tree, and the unpacked one, give the same bundle again"
for root in "$work/copied" "$new"; do
	run 0 "$kbundle" pack -q "$root" -o "$work/again"
	cmp "$work/again" "$full" || fail "another bundle from $root"
done

say "packed slim"
root="$work/slim's cache"
run 0 "$kbundle" unpack -q "$slim" "$root"
must_hit "$root"
must_be_slim "$root"
mv "$root" "$work/packed-slim"

say "packed full, unpacked slim"
run 0 "$kbundle" unpack -q --slim "$full" "$root"
must_hit "$root"
diff -r "$work/packed-slim" "$root" || fail "the slim trees differ"

say "untarred at the token, read-only, without kbundle"
for bundle in "$full" "$slim"; do
	code=0
	in_triton_environment "$here/at_token.sh" "$bundle" \
		"$python" "$here/hit.py" /opt/kbundle/triton \
		"${everything[@]}" || code=$?
	[ $code != 77 ] || skip "all else passed"
	[ $code = 0 ] || fail "Triton misses in the untarred bundle"
done
